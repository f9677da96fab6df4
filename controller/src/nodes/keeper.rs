//! The one who writes the Machines of nodes, and what is said of their classes.

use std::sync::Arc;

use crds::conditions::{self, Finding, Holds, reasons, types};
use crds::{Machine, MachineClass, MachineClassStatus};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use pool::Objects;

use crate::api::{Answer, Change as Write};
use crate::claims::Driver;
use crate::nodes::changes::{Change, Settled, Tally, plan};
use crate::patch::Ops;

/// The most writes under way at once.
const WRITES_MAX: usize = 16;
/// The most writes in one go: claims must not wait until thousands of nodes are written.
const GO_MAX: usize = 256;
/// How long nothing is written after something could not be.
const REST_MS: u64 = 1000;

/// Keeps the Machines of nodes in line.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    settled: Settled,
    rest_until_ms: u64,
}

/// What is due: the writes, and what is to be said of the classes.
#[derive(Debug, Default)]
pub(crate) struct Work {
    changes: Vec<Change>,
    said: Vec<(String, Ops)>,
    /// There is nothing to do before that.
    rests_until_ms: Option<u64>,
}

impl Keeper {
    /// What is due.
    pub(crate) fn plan(&mut self, objects: &Objects, now: Timestamp, now_ms: u64) -> Work {
        if objects.classes.is_empty() {
            return Work::default();
        }
        if now_ms < self.rest_until_ms {
            return Work { rests_until_ms: Some(self.rest_until_ms), ..Work::default() };
        }
        let plan = plan(objects, &mut self.settled);
        let said = plan.tallies.iter().filter_map(|(name, tally)| status(objects.classes.get(name)?, tally, now));
        Work { said: said.collect(), changes: plan.changes, rests_until_ms: None }
    }

    /// Writes what is due. When there is more to do, if nothing else happens.
    pub(crate) async fn keep(&mut self, driver: &Driver, work: Work) -> Option<u64> {
        let more = work.changes.len() > GO_MAX;
        let writes = work.changes.into_iter().take(GO_MAX).map(|change| write(driver, change));
        let statuses = work.said.into_iter().map(|(name, ops)| async move {
            let patch = Write::Json(ops.build());
            lost(driver.cluster.patch_class_status(&name, &patch).await.map(|class: MachineClass| {
                driver.world.learn(|all| {
                    all.classes.insert(class.name_any(), Arc::new(class));
                });
            }))
        });
        let writes = futures::stream::iter(writes).buffer_unordered(WRITES_MAX);
        let mut lost: Vec<String> = writes.filter_map(std::future::ready).collect().await;
        if !more {
            let said = futures::stream::iter(statuses).buffer_unordered(WRITES_MAX);
            lost.extend(said.filter_map(std::future::ready).collect::<Vec<_>>().await);
        }
        if let Some(first) = lost.first() {
            tracing::warn!(writes = lost.len(), first, "Machines of nodes not written; they are tried again");
            self.rest_until_ms = driver.now_ms().saturating_add(REST_MS);
            return Some(self.rest_until_ms);
        }
        if more { Some(driver.now_ms()) } else { work.rests_until_ms }
    }
}

/// Makes one write; why not, if nobody took it. What was changed in between comes by watch and is looked at anew.
async fn write(driver: &Driver, change: Change) -> Option<String> {
    match change {
        Change::Create(machine) => match driver.cluster.create(machine.as_ref()).await {
            Answer::Done(made) => {
                driver.world.learn(|all| all.machines.put(made));
                None
            }
            answer => lost(answer.map(|_| ())),
        },
        Change::Replace { key, version, from, to } => {
            let ops = Ops::default().test(&["metadata", "resourceVersion"], version).spec(&*from, &*to);
            match driver.cluster.patch::<Machine>(&key, Write::Json(ops.build())).await {
                Answer::Done(changed) => {
                    driver.world.learn(|all| all.machines.put(changed));
                    None
                }
                answer => lost(answer.map(|_| ())),
            }
        }
        Change::Delete { key, uid } => {
            tracing::info!(machine = %key, "its node is gone, or belongs to no class: the Machine goes");
            lost(driver.cluster.delete::<Machine>(&key, &uid).await)
        }
    }
}

fn lost(answer: Answer<()>) -> Option<String> {
    match answer {
        Answer::Refused(refused) if !refused.message.is_empty() => Some(refused.message),
        Answer::Lost(why) => Some(why),
        Answer::Done(()) | Answer::Refused(_) | Answer::Missing | Answer::Exists => None,
    }
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
    let (holds, reason, message) = match &tally.problem {
        None => (Holds::True, reasons::ACCEPTED, String::new()),
        Some(problem) => (Holds::False, problem.reason, problem.message.clone()),
    };
    let finding = Finding { type_: types::ACCEPTED, holds, reason, message };
    conditions::set(&mut to.conditions, finding, class.metadata.generation, Time(now));
    let version = class.resource_version().unwrap_or_default();
    let ops = Ops::default().test(&["metadata", "resourceVersion"], version).status(&from, &to);
    ops.writes().then(|| (class.name_any(), ops))
}
