//! Terms and votes of an entry are final, its registers go forward; nobody works who was not committed; epochs never go back.

use crds::{Activity, ClaimEntry, Vote};

use crate::checks::Step;
use crate::{Invariant, Object, Violation};

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let mut all = Vec::new();
    for (uid, was, is) in step.entries() {
        if let Some(broken) = was.and_then(|was| changed(was, is)) {
            all.push(step.violation(Invariant::Entry, format!("the entry of {uid}: {broken}")));
        }
        let told = is.committed && !was.is_some_and(|was| was.committed);
        if told && !step.past.was_committed(uid) {
            let what = format!("the entry of {uid} says committed, its Match never was");
            all.push(step.violation(Invariant::NoEffectBeforeCommit, what));
        }
        let works = is.activity == Activity::Active && was.is_none_or(|was| was.activity != Activity::Active);
        if works && !is.committed {
            let what = format!("the entry of {uid} became active, and was not committed");
            all.push(step.violation(Invariant::NoEffectBeforeCommit, what));
        }
        if works && is.release && was.is_some_and(|was| was.release) {
            let what = format!("the entry of {uid} became active after it was told to stop");
            all.push(step.violation(Invariant::NoEffectBeforeCommit, what));
        }
    }
    let epoch = |object: &Object| object.ledger().map_or(0, |ledger| ledger.epoch);
    if let Some((before, after)) = step.same()
        && epoch(after) < epoch(before)
    {
        let what = format!("its epoch went from {} back to {}", epoch(before), epoch(after));
        all.push(step.violation(Invariant::Fencing, what));
    }
    all
}

/// What changed in an entry that may not.
fn changed(was: &ClaimEntry, is: &ClaimEntry) -> Option<String> {
    if (&was.match_key, &was.allocation, &was.share) != (&is.match_key, &is.allocation, &is.share) {
        return Some("its terms changed".to_owned());
    }
    if was.vote != is.vote && was.vote != Vote::Pending {
        return Some(format!("its vote went from {:?} to {:?}", was.vote, is.vote));
    }
    if !was.ballot.is_empty() && was.ballot != is.ballot {
        return Some("its ballot was cast a second time".to_owned());
    }
    if (was.committed && !is.committed) || (was.release && !is.release) {
        return Some("what it was told was taken back".to_owned());
    }
    (rank(is.activity) < rank(was.activity)).then(|| format!("it went from {:?} to {:?}", was.activity, is.activity))
}

fn rank(activity: Activity) -> u8 {
    match activity {
        Activity::Idle => 0,
        Activity::Active => 1,
        Activity::Ended | Activity::Lost => 2,
    }
}
