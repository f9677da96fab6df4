//! The objects into what is to be done about a claim now: whether it needs somebody to drive it on.

use std::collections::BTreeSet;
use std::sync::Arc;

use claiming::{Action, Event, Record, step};
use crds::{Job, Match};
use jiff::Timestamp;
use kube::ResourceExt;
use pool::{ObjectKey, Objects, WorkObject};

use crate::claims::leave::{leave, leaves_at};
use crate::claims::view::View;

/// What is to be done about claims now.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Claims that have a next step.
    pub(crate) claims: Vec<View>,
    /// Ended Matches beyond what their jobs want to keep, with their uids.
    pub(crate) outlived: Vec<(ObjectKey, String)>,
    /// Batch Jobs that were made for Matches that are gone, and have ended.
    pub(crate) outlived_work: Vec<Arc<WorkObject>>,
    /// The uids of all Matches that are undecided, if all were looked at.
    pub(crate) undecided: Option<BTreeSet<String>>,
}

/// What counts beside the objects.
pub(crate) struct Moment<'m> {
    /// What the clock on the wall says.
    pub(crate) now: Timestamp,
    /// The same moment on this process's monotonic clock.
    pub(crate) now_ms: u64,
    /// The epoch under which this process leads; `None` if nobody is elected.
    pub(crate) epoch: Option<i64>,
    /// When an undecided claim is called off, on the monotonic clock.
    pub(crate) deadline_ms: &'m dyn Fn(&View) -> u64,
    /// Whether a claim is under way: what is to be done about it is known to whoever drives it.
    pub(crate) under_way: &'m dyn Fn(&View) -> bool,
}

/// What one claim comes to.
#[derive(Debug, Default)]
pub(crate) struct Next {
    /// Its Match is undecided.
    pub(crate) undecided: bool,
    /// It has a next step.
    pub(crate) asks: bool,
    /// When it will have one if nothing else happens, on the monotonic clock.
    pub(crate) at_ms: Option<u64>,
}

/// What a claim comes to now.
pub(crate) fn next(view: &View, objects: &Objects, moment: &Moment<'_>) -> Next {
    let undecided = view.record() == Record::Pending;
    // A Match speaks for a job of its own namespace only, whoever wrote it.
    if undecided && view.key.namespace != view.root.key.namespace {
        return Next::default();
    }
    let deadline_ms = if undecided { (moment.deadline_ms)(view) } else { u64::MAX };
    let claim = view.claim(objects, deadline_ms, moment.epoch);
    let event = leave(view, objects, moment.now.as_second()).map_or(Event::Woke, Event::Leave);
    let asked = step(claim, event, moment.now_ms).1;
    // of pods that are still to end nothing is asked: their end is seen
    let waits = asked == [Action::LookForWork] && objects.works.pods_of(&view.uid) > 0;
    let asks = !asked.is_empty() && !waits;
    let by_clock = leaves_at(view, objects).filter(|at| *at > moment.now.as_second()).map(|at| {
        let left_ms = at.saturating_mul(1000).saturating_sub(moment.now.as_millisecond());
        moment.now_ms.saturating_add(u64::try_from(left_ms).unwrap_or(0))
    });
    let deadline_ms = Some(deadline_ms).filter(|at| *at > moment.now_ms && *at != u64::MAX);
    Next { undecided, asks, at_ms: by_clock.into_iter().chain(deadline_ms).min().filter(|_| !asks) }
}

/// Batch Jobs that go with the Match with this uid, which is gone, and nothing names it.
pub(crate) fn outlived_work(uid: &str, objects: &Objects) -> Vec<Arc<WorkObject>> {
    let over = |batch: &&Arc<WorkObject>| batch.made && batch.ended.is_some();
    objects.works.of_match(uid).filter(over).cloned().collect()
}

/// The oldest ended Matches of a job beyond its `matchHistoryLimit`. Those that still hold something stay.
pub(crate) fn outlived(job: &Job, objects: &Objects) -> Vec<(ObjectKey, String)> {
    let keep = usize::try_from(job.spec.match_history_limit).unwrap_or(0);
    let is_over = |found: &&Arc<Match>| found.status.as_ref().is_some_and(|status| status.decision.is_terminal());
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

/// The newest epoch under which somebody has written.
pub(crate) fn newest_epoch(objects: &Objects) -> i64 {
    let offers = objects.offers().filter_map(|offer| offer.status()).map(|status| status.epoch);
    offers.chain(objects.matches.values().map(|found| found.spec.epoch)).max().unwrap_or(0)
}

/// The newest epoch that these objects show.
pub(crate) fn newest_epoch_of(changes: &pool::Changes, objects: &Objects) -> i64 {
    let offers = changes.offers().filter_map(|(kind, key)| Some(objects.offer(kind, key)?.status()?.epoch));
    let matches = changes.matches.iter().filter_map(|key| Some(objects.matches.get(key)?.spec.epoch));
    offers.chain(matches).max().unwrap_or(0)
}
