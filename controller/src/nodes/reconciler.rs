//! Reconciles the Machines of nodes, and the statuses of their classes.

use std::sync::Arc;

use crds::ad::accepted;
use crds::conditions;
use crds::{Machine, MachineClass, MachineClassStatus};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use pool::{ObjectKey, Objects};

use crate::context::Context;
use crate::cycle::backoff::Backoff;
use crate::nodes::changes::{Change, Settled, Tally, plan};
use crate::write::background::{Background, failure};
use crate::write::patch::Ops;
use crate::write::requests::ObjectPatch;

/// The most writes under way at once.
const WRITES_MAX: usize = 16;
/// The most writes in one go: claims must not wait until thousands of nodes are written.
const GO_MAX: usize = 256;
/// How long nothing is written after a write has failed.
const PAUSES: Backoff = Backoff::new(1_000, 16_000);

/// Keeps the Machines of nodes in line.
#[derive(Debug, Default)]
pub(crate) struct MachineReconciler {
    settled: Settled,
    writes: Background,
}

impl MachineReconciler {
    /// Begins to write what is due, unless something is being written: claims do not wait for it. When there is more to do, if nothing
    /// else happens.
    pub(crate) fn begin(&mut self, context: &Arc<Context>, objects: &Objects, now_ms: u64) -> Option<u64> {
        if objects.classes.is_empty() || self.writes.is_running() {
            return None;
        }
        if let Some(until_ms) = self.writes.pause_until_ms(now_ms) {
            return Some(until_ms);
        }
        let plan = plan(objects, &mut self.settled);
        let now = context.clock.now();
        let said = plan.tallies.iter().filter_map(|(name, tally)| status(objects.classes.get(name)?, tally, now));
        let said: Vec<(String, Ops)> = said.collect();
        let mut changes = plan.changes;
        // Of a class it is said what has come of its nodes once all of them are written.
        let said = if changes.len() > GO_MAX { Vec::new() } else { said };
        changes.truncate(GO_MAX);
        if !changes.is_empty() || !said.is_empty() {
            self.writes.begin(keep(context.clone(), changes, said));
        }
        None
    }

    /// Waits until what was begun is written; for ever, if nothing was.
    pub(crate) async fn written(&mut self, context: &Context) {
        self.writes.written("Machines of nodes", &PAUSES, context).await;
    }
}

/// Writes Machines, then the statuses of their classes. Returns why some were not written.
async fn keep(context: Arc<Context>, changes: Vec<Change>, said: Vec<(String, Ops)>) -> Vec<String> {
    let writes = changes.into_iter().map(|change| write(&context, change));
    let writes = futures::stream::iter(writes).buffer_unordered(WRITES_MAX);
    let mut lost_writes: Vec<String> = writes.filter_map(std::future::ready).collect().await;
    let statuses = said.into_iter().map(|(name, ops)| say(&context, name, ops));
    let said = futures::stream::iter(statuses).buffer_unordered(WRITES_MAX);
    lost_writes.extend(said.filter_map(std::future::ready).collect::<Vec<_>>().await);
    lost_writes
}

/// Says of a class what has come of it.
async fn say(context: &Context, name: String, ops: Ops) -> Option<String> {
    let patch = ObjectPatch::Json(ops.build());
    let answer = context.cluster.patch_status::<MachineClass>(&ObjectKey::new("", &name), &patch).await;
    failure(answer.map(|class| context.cache.update(|all| all.wrote_class(class))))
}

/// Makes one write. Returns why it failed, if it did; of an object that has changed, the change comes by watch.
async fn write(context: &Context, change: Change) -> Option<String> {
    let written = match change {
        Change::Create(machine) => context.cluster.create(machine.as_ref()).await,
        Change::Replace { key, version, from, to } => {
            let ops = Ops::default().test(&["metadata", "resourceVersion"], version).spec(&*from, &*to);
            context.cluster.patch::<Machine>(&key, ObjectPatch::Json(ops.build())).await
        }
        Change::Delete { key, uid } => {
            tracing::info!(machine = %key, "its node is deleted or belongs to no class; deleting the Machine");
            return failure(context.cluster.delete::<Machine>(&key, &uid).await);
        }
    };
    failure(written.map(|machine| context.cache.update(|all| all.put(machine))))
}

/// What is to be said of a class; nothing, if it is said already.
fn status(class: &Arc<MachineClass>, tally: &Tally, now: Timestamp) -> Option<(String, Ops)> {
    let from = class.status.clone().unwrap_or_default();
    let count = |count: usize| i32::try_from(count).ok();
    let mut to = MachineClassStatus {
        observed_generation: class.metadata.generation,
        nodes: count(tally.nodes),
        machines: count(tally.machines),
        conditions: from.conditions.clone(),
    };
    conditions::set(&mut to.conditions, accepted(tally.problem.as_ref()), class.metadata.generation, Time(now));
    let version = class.resource_version().unwrap_or_default();
    let ops = Ops::default().test(&["metadata", "resourceVersion"], version).status(&from, &to);
    ops.writes().then(|| (class.name_any(), ops))
}
