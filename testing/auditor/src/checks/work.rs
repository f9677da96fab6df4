//! Pods and batch Jobs work only for claims that stood, and only as long as everything is held for them.

use crate::checks::Step;
use crate::checks::gang::there;
use crate::{Invariant, Violation};

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let Some(after) = step.after.filter(|after| after.is_at_work()) else { return Vec::new() };
    let Some(uid) = step.world.works_for(after) else { return Vec::new() };
    let same = step.before.filter(|before| before.uid() == after.uid());
    if same.is_some_and(|before| before.is_at_work() && before.label_of_match() == Some(uid)) {
        return Vec::new();
    }
    if !step.is_of(uid, step.key) {
        return Vec::new();
    }
    let mut all = Vec::new();
    if !step.past.was_committed(uid) {
        let what = format!("it began to work for {uid}, which never was committed");
        all.push(step.violation(Invariant::NoEffectBeforeCommit, what));
    }
    let offers = step.past.members(uid).iter().skip(1).filter_map(|member| there(member, step.world));
    for (key, _) in offers.filter(|(key, _)| step.world.entry(key, uid).is_none()) {
        let what = format!("it began to work for {uid}, and {key} was not held any more");
        all.push(step.violation(Invariant::HeldUntilOver, what));
    }
    all
}
