//! Creates the Jobs that ask for labelled workloads, round robin over namespaces, with pauses for those that are refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use pool::{Objects, WorkloadObject};

use crate::context::Context;
use crate::workloads::{Asking, Asks, Problem, asks, reference};
use crate::write::answer::Answer;
use crate::write::fair::FairSet;
use crate::write::lane::Lane;
use crate::write::pacing::Outcome;
use kube::runtime::events::EventType;

/// How many workloads get a message at once about what keeps them from a gang.
const TOLD_MAX: usize = 256;
/// How often it is said of a workload what keeps it from its gang: the API server forgets Events after an hour.
const AGAIN_MS: u64 = 50 * 60 * 1000;

/// Makes them, beside the main loop.
#[derive(Debug)]
pub(crate) struct JobCreator {
    /// The workloads for which a Job is to be made, by uid.
    queue: FairSet<String>,
    lane: Lane<String>,
    /// What was said of which workload, by its uid, and when.
    warned: BTreeMap<String, (Problem, u64)>,
}

impl Default for JobCreator {
    fn default() -> Self {
        JobCreator {
            queue: FairSet::default(),
            lane: Lane::new("Jobs for labelled workloads"),
            warned: BTreeMap::new(),
        }
    }
}

impl JobCreator {
    /// Begins to make those that are missing, as many as there is room for, and says of those that do not get a gang why not.
    pub(crate) fn begin(&mut self, context: &Arc<Context>, objects: &Objects) {
        let now_ms = context.now_ms();
        let Asks { jobs, problems } = asks(objects);
        for (work, problem) in self.due(&problems, now_ms) {
            let note = problem.note(&work);
            context.events.tell_about(reference(&work), EventType::Warning, problem.reason(), &note);
        }
        let wanted: BTreeMap<&str, &Asking> = jobs.iter().map(|asking| (asking.work.uid.as_str(), asking)).collect();
        for asking in self.next(&wanted, now_ms) {
            let (namespace, uid) = (asking.work.key.namespace.clone(), asking.work.uid.clone());
            let maker = context.clone();
            self.lane.begin(&namespace, (uid, false), &context.cache, async move { make(&maker, &asking).await });
        }
    }

    /// Those of the ones that are wanted for which a Job is to be made now.
    fn next(&mut self, wanted: &BTreeMap<&str, &Asking>, now_ms: u64) -> Vec<Asking> {
        let names = wanted.iter().map(|(uid, asking)| (asking.work.key.namespace.as_str(), (*uid).to_owned()));
        let turns = self.lane.turns(&mut self.queue, names, now_ms);
        turns.iter().filter_map(|uid| wanted.get(uid.as_str())).map(|asking| (*asking).clone()).collect()
    }

    /// Waits until something of what was begun has ended; for ever, if nothing was begun.
    pub(crate) async fn made(&mut self) {
        self.lane.ended().await;
    }

    /// When there is something to do if nothing changes: a pause ends.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        self.lane.next_ms(now_ms)
    }

    /// The workloads for which an Event is to say now what keeps them from a gang.
    fn due(&mut self, problems: &[(Arc<WorkloadObject>, Problem)], now_ms: u64) -> Vec<(Arc<WorkloadObject>, Problem)> {
        let still: BTreeMap<&str, &Problem> =
            problems.iter().map(|(work, problem)| (work.uid.as_str(), problem)).collect();
        self.warned.retain(|uid, (said, at)| {
            still.get(uid.as_str()) == Some(&&*said) && now_ms.saturating_sub(*at) < AGAIN_MS
        });
        let is_new = |(work, _): &&(Arc<WorkloadObject>, Problem)| !self.warned.contains_key(&work.uid);
        let due: Vec<_> = problems.iter().filter(is_new).take(TOLD_MAX).cloned().collect();
        self.warned.extend(due.iter().map(|(work, problem)| (work.uid.clone(), (problem.clone(), now_ms))));
        due
    }
}

/// Makes a Job.
async fn make(context: &Context, asking: &Asking) -> Outcome {
    let work = &asking.work;
    match context.cluster.create(&asking.job()).await {
        Answer::Done(made) => {
            context.cache.update(|all| all.jobs.put(made));
            Outcome::Done
        }
        Answer::Denied(refused) => {
            let note = format!("the Job that asks for a gang was refused: {}", refused.message);
            if context.events.is_new(&work.uid, "NotAskedFor") {
                context.events.tell_about(reference(work), EventType::Warning, "NotAskedFor", &note);
            }
            Outcome::Refused(refused.message)
        }
        Answer::Unknown(unknown) => unknown.into(),
        // The namespace was deleted, or the Job exists already.
        Answer::Missing => Outcome::Refused("no such namespace".to_owned()),
        Answer::Exists => Outcome::Done,
    }
}

#[cfg(test)]
mod tests {
    use crds::Job;

    use super::*;

    #[test]
    fn a_problem_is_told_once_and_another_one_again() {
        let work = |ad: &str| {
            let work = WorkloadObject { uid: "u".to_owned(), ..WorkloadObject::default() };
            (Arc::new(work), Problem::AdMissing { ad: ad.to_owned() })
        };
        let mut adopter = JobCreator::default();
        assert_eq!(adopter.due(&[work("a")], 0).len(), 1);
        assert_eq!(adopter.due(&[work("a")], AGAIN_MS - 1).len(), 0);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS - 1).len(), 1);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS * 2).len(), 1, "before it is forgotten");
        assert_eq!(adopter.due(&[], AGAIN_MS * 2).len(), 0);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS * 2).len(), 1, "it was there meanwhile");
    }

    #[test]
    fn b1_three_hundred_of_one_namespace_leave_room_for_one_of_another() {
        let mut adopter = JobCreator::default();
        let pair = |namespace: &str, number: u32| {
            let (key, uid) = (pool::ObjectKey::new(namespace, "w"), format!("{namespace}-{number}"));
            let template = Arc::new(Job::new("ad", crds::JobSpec::default()));
            Asking {
                work: Arc::new(WorkloadObject { key, uid, ..WorkloadObject::default() }),
                ad: template,
                owner: None,
            }
        };
        let all: Vec<_> = (0..300).map(|number| pair("b", number)).chain([pair("c", 0)]).collect();
        let wanted: BTreeMap<&str, &_> = all.iter().map(|asking| (asking.work.uid.as_str(), asking)).collect();
        let next = adopter.next(&wanted, 0);
        let place = next.iter().position(|asking| asking.work.key.namespace == "c");
        assert_eq!(place, Some(1), "after one of b");
        assert!(next.len() < 64, "{}", next.len());
        assert_eq!(adopter.next(&BTreeMap::new(), 0).len(), 0, "those that are gone are forgotten");
        assert!(adopter.queue.is_empty());
    }
}
