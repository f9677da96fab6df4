//! Nothing is given back before the Match has ended, nor while somebody of the gang works, the last pod included; the job is given
//! back last.

use crds::Activity;

use crate::checks::Step;
use crate::{Invariant, Object, Violation};

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let Some((before, after)) = step.same() else { return Vec::new() };
    let mut all = Vec::new();
    let kept = |uid: &String| after.ledger().is_some_and(|ledger| ledger.claims.contains_key(uid));
    let removed = before.ledger().into_iter().flat_map(|ledger| &ledger.claims).filter(|(uid, _)| !kept(uid));
    for (uid, entry) in removed {
        if !step.world.has_ended(uid) {
            let what = format!("the entry of {uid} was taken out before its Match had ended");
            all.push(step.violation(Invariant::HeldUntilOver, what));
        }
        if entry.activity == Activity::Active {
            let what = format!("the entry of {uid} was taken out while its agent worked");
            all.push(step.violation(Invariant::HeldUntilOver, what));
        }
        let works = |key| step.world.entry(key, uid).is_some_and(|entry| entry.activity == Activity::Active);
        if let Some(other) = step.world.holders(uid).find(|key| works(key)) {
            let what = format!("the entry of {uid} was taken out while {other} worked for the same gang");
            all.push(step.violation(Invariant::HeldUntilOver, what));
        }
        if let Some((work, _)) = step.world.works(uid).find(|(key, work)| work.is_at_work() && step.is_of(uid, key)) {
            let what = format!("the entry of {uid} was taken out while {work} worked for it");
            all.push(step.violation(Invariant::HeldUntilOver, what));
        }
    }
    all.extend(root_freed(step, before, after));
    all
}

fn root_freed(step: &Step<'_>, before: &Object, after: &Object) -> Option<Violation> {
    let uid = before.claimed_by().filter(|uid| after.claimed_by() != Some(uid))?;
    if !step.world.has_ended(uid) {
        let what = format!("it was given back before its Match {uid} had ended");
        return Some(step.violation(Invariant::HeldUntilOver, what));
    }
    let holder = step.world.holders_in_time(uid).next()?;
    Some(step.violation(Invariant::HeldUntilOver, format!("it was given back by {uid}, and {holder} was still held")))
}
