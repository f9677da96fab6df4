//! The objects into the claims that need somebody to drive them on.

use std::collections::BTreeSet;

use claiming::{Event, Record, step};
use kube::ResourceExt;
use pool::{ObjectKey, Objects};

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
}

/// Which claims need driving. `now` is in seconds since 1970.
pub(crate) fn due(objects: &Objects, now: i64) -> Due {
    let mut due = Due { claims: Vec::new(), undecided: BTreeSet::new(), outlived: outlived(objects) };
    for (uid, view) in views(objects) {
        // A Match speaks for a job of its own namespace only, whoever wrote it.
        if view.record() == Record::Pending && view.key.namespace != view.root.key.namespace {
            continue;
        }
        if view.record() == Record::Pending {
            due.undecided.insert(uid);
        }
        let claim = view.claim(objects, u64::MAX);
        let event = leave(&view, objects, now).map_or(Event::Woke, Event::Leave);
        if !step(claim, event, 0).1.is_empty() {
            due.claims.push(view);
        }
    }
    due
}

/// The oldest ended Matches of each job beyond its `matchHistoryLimit`. Those that still hold something stay.
fn outlived(objects: &Objects) -> Vec<(ObjectKey, String)> {
    let mut all = Vec::new();
    for held in objects.jobs.iter().map(|(_, held)| held) {
        let uid = held.object.uid().unwrap_or_default();
        let keep = usize::try_from(held.object.spec.match_history_limit).unwrap_or(0);
        let of_job = objects.matches.values().filter(|found| {
            found.spec.members.first().is_some_and(|root| root.uid == uid)
                && found.status.as_ref().is_some_and(|status| status.decision.is_terminal())
        });
        let mut ended: Vec<_> = of_job.collect();
        ended.sort_by_key(|found| std::cmp::Reverse(found.spec.attempt));
        for found in ended.into_iter().skip(keep) {
            let view = View::of(crds::Match::clone(found));
            if view.claim(objects, u64::MAX).is_settled() {
                all.push((view.key, view.uid));
            }
        }
    }
    all
}
