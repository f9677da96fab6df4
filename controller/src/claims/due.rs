//! What the objects show of a claim into what is to be done about it now: whether it is to be driven on, and when it is to be looked at
//! again.

use std::collections::BTreeSet;
use std::sync::Arc;

use claiming::{Action, Decision, Event, step};
use crds::{Job, Match};
use kube::ResourceExt;
use pool::{ObjectKey, Objects, WorkloadObject, is_foreign};

use crate::claims::exit_reason::exits_at;
use crate::claims::observation::{Moment, Observation, observe};
use crate::claims::view::View;

/// What is to be done about claims now.
#[derive(Debug, Default)]
pub(crate) struct DueSteps {
    /// Claims that have a next step.
    pub(crate) claims: Vec<View>,
    /// Ended Matches beyond what their jobs want to keep, with their uids.
    pub(crate) outlived: Vec<(ObjectKey, String)>,
    /// Batch Jobs that were made for Matches that are gone, and have ended.
    pub(crate) outlived_work: Vec<Arc<WorkloadObject>>,
    /// What is there, if all were looked at.
    pub(crate) known: Option<Known>,
}

/// All claims that are there, by the uids of their Matches.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Those that are undecided.
    pub(crate) undecided: BTreeSet<String>,
    /// All.
    pub(crate) claims: BTreeSet<String>,
}

/// What is to be done about one claim.
#[derive(Debug, Default)]
pub(crate) struct NextStep {
    /// Its Match is undecided.
    pub(crate) undecided: bool,
    /// It has a next step.
    pub(crate) asks: bool,
    /// When that will change if nothing else happens, on the monotonic clock.
    pub(crate) at_ms: Option<u64>,
    /// A digest of what the objects show of the claim.
    pub(crate) seen: u64,
}

/// What is to be done about a claim now.
pub(crate) fn next(view: &View, objects: &Objects, moment: &Moment<'_>) -> NextStep {
    let decision = view.decision();
    let undecided = decision == Decision::Pending;
    // A Match counts for a job of its own namespace only.
    if undecided && view.key.namespace != view.root.key.namespace {
        return NextStep::default();
    }
    let Observation { claim, agent_by_ms, seen } = observe(view, objects, moment);
    let deadline_ms = claim.deadline_ms;
    let asked = step(claim, Event::Tick, moment.now_ms).1;
    // Of pods that are still to end nothing is asked in their time: their end is seen.
    let is_ending = asked == [Action::ListWork] && objects.workloads.pods_of_claim(view.whose(objects)) > 0;
    let stop_by_ms = if is_ending { (moment.stop_by_ms)(view, "") } else { 0 };
    let asks = !asked.is_empty() && moment.now_ms >= stop_by_ms;
    // To start a workload is the only thing to be done for a committed claim.
    let starts = |action: &Action| matches!(action, Action::MakeWork | Action::StartWork(_) | Action::ReadDecision);
    let is_start = decision == Decision::Committed && asked.iter().all(starts);
    let starts_at_ms = if asks && is_start { (moment.starts_at)(view) } else { None };
    let asks = asks && starts_at_ms.is_none();
    let by_clock = exits_at(view, decision, objects).filter(|at| *at > moment.now.as_second()).map(|at| {
        let left_ms = at.saturating_mul(1000).saturating_sub(moment.now.as_millisecond());
        moment.now_ms.saturating_add(u64::try_from(left_ms).unwrap_or(0))
    });
    let later =
        [deadline_ms, stop_by_ms].into_iter().chain(agent_by_ms).filter(|at| *at > moment.now_ms && *at != u64::MAX);
    NextStep { undecided, asks, at_ms: by_clock.into_iter().chain(later).chain(starts_at_ms).min(), seen }
}

/// Batch Jobs that were made for the Match with this uid, which is gone and which nothing names, and that have ended.
pub(crate) fn outlived_work(uid: &str, objects: &Objects) -> Vec<Arc<WorkloadObject>> {
    let over = |batch: &&Arc<WorkloadObject>| batch.marks.made && batch.ended.is_some();
    objects.workloads.labelled_with(uid).filter(over).cloned().collect()
}

/// The oldest ended Matches of a job beyond its `matchHistoryLimit`. Those that still hold something stay.
pub(crate) fn outlived(job: &Job, objects: &Objects) -> Vec<(ObjectKey, String)> {
    let keep = usize::try_from(job.spec.match_history_limit).unwrap_or(0);
    let is_over = |found: &&Arc<Match>| found.decision().is_terminal();
    let uid = job.uid().unwrap_or_default();
    let mut ended: Vec<_> = objects.matches.of_root(&uid).map(|(_, found)| found).filter(is_over).collect();
    if ended.len() <= keep {
        return Vec::new();
    }
    ended.sort_by_key(|found| std::cmp::Reverse(found.spec.attempt));
    let views = ended.into_iter().skip(keep).map(|found| View::of(found.clone()));
    let settled = views.filter(|view| view.claim(objects, u64::MAX, None).is_settled());
    settled.map(|view| (view.key, view.uid)).collect()
}

/// The newest epoch under which anything was written. A Match that was not recorded by a controller says nothing of it.
pub(crate) fn newest_epoch(objects: &Objects) -> i64 {
    let offers = objects.offers().filter_map(|offer| offer.status).map(|status| status.epoch);
    let matches = objects.matches.values().filter(|found| is_foreign(found).is_none());
    offers.chain(matches.map(|found| found.spec.epoch)).max().unwrap_or(0)
}

/// The newest epoch that these objects show.
pub(crate) fn newest_epoch_of(changes: &pool::Changes, objects: &Objects) -> i64 {
    let offers = changes.offers().filter_map(|(kind, key)| Some(objects.offer(kind, key)?.status?.epoch));
    let matches = changes.matches.iter().filter_map(|key| objects.matches.get(key));
    let matches = matches.filter(|found| is_foreign(found).is_none()).map(|found| found.spec.epoch);
    offers.chain(matches).max().unwrap_or(0)
}
