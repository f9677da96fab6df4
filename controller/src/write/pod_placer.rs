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
    let patch = match context.cluster.read_work(WorkKind::Pod, &pod.key).await {
        Answer::Done(seen) if seen.work.uid == pod.uid => place_pod(&seen.raw),
        Answer::Done(_) | Answer::Missing => None,
        other => return outcome(other),
    };
    let placed = match patch {
        Some(patch) => outcome(context.cluster.patch_work(WorkKind::Pod, &pod.key, &patch).await),
        None => Outcome::Done,
    };
    if placed == Outcome::Done {
        context.cache.update(|all| all.workloads.leave_unplaced(&pod.key));
    }
    placed
}

fn outcome<K>(answer: Answer<K>) -> Outcome {
    match answer {
        Answer::Done(_) | Answer::Missing => Outcome::Done,
        // Others write to a new pod, too: it is read once more.
        Answer::Denied(refused) if refused.is_by_test() => Outcome::Again,
        Answer::Denied(refused) => Outcome::Refused(refused.message),
        Answer::Unknown(unknown) => unknown.into(),
        Answer::Exists => Outcome::Again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::answer::{Breach, Denial, Rule};

    #[test]
    fn a_pod_that_others_have_written_to_meanwhile_is_read_again_and_nothing_pauses() {
        assert_eq!(outcome(Answer::<()>::Denied(Denial::default())), Outcome::Again);
        let breaches = vec![Breach { rule: Rule::Epoch, message: String::new() }];
        let refused = Denial { breaches, message: "no".to_owned() };
        assert_eq!(outcome(Answer::<()>::Denied(refused)), Outcome::Refused("no".to_owned()));
    }
}
