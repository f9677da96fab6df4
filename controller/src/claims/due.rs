//! The objects into the claims that need somebody to drive them on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use claiming::{Action, Event, Record, step};
use crds::Match;
use kube::ResourceExt;
use pool::{ObjectKey, Objects, WorkObject};

use crate::claims::leave::leave;
use crate::claims::view::{View, views};

/// What is to be done about claims now.
pub(crate) struct Due {
    /// Claims that have a next step.
    pub(crate) claims: Vec<View>,
    /// Uids of Matches that are undecided.
    pub(crate) undecided: BTreeSet<String>,
    /// Ended Matches beyond what their jobs want to keep, with their uids.
    pub(crate) outlived: Vec<(ObjectKey, String)>,
    /// Batch Jobs that were made for Matches that are gone, and have ended.
    pub(crate) outlived_work: Vec<Arc<WorkObject>>,
    /// When the first of the undecided is called off, if it waits for somebody until then.
    pub(crate) next_ms: Option<u64>,
}

/// What counts beside the objects.
pub(crate) struct Moment<'m> {
    /// Seconds since 1970.
    pub(crate) now: i64,
    /// The same moment on this process's monotonic clock.
    pub(crate) now_ms: u64,
    /// The epoch under which this process leads; `None` if nobody is elected.
    pub(crate) epoch: Option<i64>,
    /// When an undecided claim is called off, on the monotonic clock.
    pub(crate) deadline_ms: &'m dyn Fn(&View) -> u64,
}

/// Which claims need driving.
pub(crate) fn due(objects: &Objects, moment: &Moment<'_>) -> Due {
    let views = views(objects);
    let mut due = Due {
        claims: Vec::new(),
        undecided: BTreeSet::new(),
        outlived: outlived(objects),
        outlived_work: outlived_work(objects, &views),
        next_ms: None,
    };
    for (uid, view) in views {
        // A Match speaks for a job of its own namespace only, whoever wrote it.
        if view.record() == Record::Pending && view.key.namespace != view.root.key.namespace {
            continue;
        }
        let deadline_ms = match view.record() {
            Record::Pending => {
                due.undecided.insert(uid);
                (moment.deadline_ms)(&view)
            }
            _ => u64::MAX,
        };
        let claim = view.claim(objects, deadline_ms, moment.epoch);
        let event = leave(&view, objects, moment.now).map_or(Event::Woke, Event::Leave);
        let asked = step(claim, event, moment.now_ms).1;
        // of pods that are still to end nothing is asked: their end is seen
        let waits = asked == [Action::LookForWork] && objects.works.pods_of(&view.uid) > 0;
        if !asked.is_empty() && !waits {
            due.claims.push(view);
        } else if deadline_ms > moment.now_ms && deadline_ms != u64::MAX {
            due.next_ms = Some(due.next_ms.map_or(deadline_ms, |next| next.min(deadline_ms)));
        }
    }
    due
}

/// Batch Jobs go with the Match that they were made for.
fn outlived_work(objects: &Objects, views: &BTreeMap<String, View>) -> Vec<Arc<WorkObject>> {
    let over = objects.works.labelled().filter(|(_, batch)| batch.made && batch.ended.is_some());
    over.filter(|(uid, _)| !views.contains_key(*uid)).map(|(_, batch)| batch.clone()).collect()
}

/// The oldest ended Matches of each job beyond its `matchHistoryLimit`. Those that still hold something stay.
fn outlived(objects: &Objects) -> Vec<(ObjectKey, String)> {
    let mut all = Vec::new();
    for held in objects.jobs.iter().map(|(_, held)| held) {
        let uid = held.object.uid().unwrap_or_default();
        let keep = usize::try_from(held.object.spec.match_history_limit).unwrap_or(0);
        let is_over = |found: &&Arc<Match>| found.status.as_ref().is_some_and(|status| status.decision.is_terminal());
        let of_job = objects.matches.of_root(&uid).map(|(_, found)| found).filter(is_over);
        let mut ended: Vec<_> = of_job.collect();
        ended.sort_by_key(|found| std::cmp::Reverse(found.spec.attempt));
        for found in ended.into_iter().skip(keep) {
            let view = View::of(found.clone());
            if view.claim(objects, u64::MAX, None).is_settled() {
                all.push((view.key, view.uid));
            }
        }
    }
    all
}

/// The newest epoch under which somebody has written.
pub(crate) fn newest_epoch(objects: &Objects) -> i64 {
    let offers = objects.offers().filter_map(|offer| offer.status()).map(|status| status.epoch);
    offers.chain(objects.matches.values().map(|found| found.spec.epoch)).max().unwrap_or(0)
}
