//! Places the pods of JobSets that have several machines at one port, round robin over namespaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::WorkKind;
use pool::Objects;

use crate::context::Context;
use crate::workloads::{Unplaced, place_pod, unplaced};
use crate::write::answer::Answer;
use crate::write::fair::FairSet;
use crate::write::lane::Lane;
use crate::write::pacing::Outcome;

/// Places them, beside the main loop.
#[derive(Debug)]
pub(crate) struct PodPlacer {
    /// The pods that are to be placed, by uid.
    queue: FairSet<String>,
    lane: Lane<String>,
}

impl Default for PodPlacer {
    fn default() -> Self {
        PodPlacer { queue: FairSet::default(), lane: Lane::new("the places of pods") }
    }
}

impl PodPlacer {
    /// Begins to place those that are held, as many as there is room for.
    pub(crate) fn begin(&mut self, context: &Arc<Context>, objects: &Objects) {
        let wanted: BTreeMap<String, Unplaced> = unplaced(objects).map(|pod| (pod.uid.clone(), pod)).collect();
        let names = wanted.iter().map(|(uid, pod)| (pod.key.namespace.as_str(), uid.clone()));
        for uid in self.lane.turns(&mut self.queue, names, context.now_ms()) {
            let Some(pod) = wanted.get(&uid).cloned() else { continue };
            let (namespace, placer) = (pod.key.namespace.clone(), context.clone());
            self.lane.begin(&namespace, (uid, false), &context.cache, async move { place(&placer, &pod).await });
        }
    }

    /// Waits until something of what was begun has ended; for ever, if nothing was begun.
    pub(crate) async fn placed(&mut self) {
        self.lane.ended().await;
    }

    /// When there is something to do if nothing changes: a pause ends.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        self.lane.next_ms(now_ms)
    }
}

async fn place(context: &Context, pod: &Unplaced) -> Outcome {
    let leave = || context.cache.update(|all| all.workloads.leave_unplaced(&pod.key));
    let patch = match context.cluster.read_work(WorkKind::Pod, &pod.key).await {
        Answer::Done(seen) if seen.work.uid == pod.uid => place_pod(&seen.raw),
        Answer::Done(_) | Answer::Missing => None,
        Answer::Unknown(unknown) => return unknown.into(),
        Answer::Denied(refused) => return Outcome::Refused(refused.message),
        Answer::Exists => return Outcome::Again,
    };
    let Some(patch) = patch else {
        leave();
        return Outcome::Done;
    };
    match context.cluster.patch_work(WorkKind::Pod, &pod.key, &patch).await {
        Answer::Done(_) | Answer::Missing => {
            leave();
            Outcome::Done
        }
        Answer::Denied(refused) => Outcome::Refused(refused.message),
        Answer::Unknown(unknown) => unknown.into(),
        Answer::Exists => Outcome::Again,
    }
}
