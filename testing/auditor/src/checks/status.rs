//! A status speaks of the object as it was, a condition's time is that of its change, and none flips back in one attempt.

use crds::conditions::{find, types};

use crate::checks::Step;
use crate::{Invariant, Object, Violation};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let Some(after) = step.after else { return Vec::new() };
    let mut all = Vec::new();
    let conditions = conditions(after);
    let spoken =
        observed(after).into_iter().chain(conditions.iter().filter_map(|condition| condition.observed_generation));
    if let Some(ahead) = spoken.filter(|spoken| *spoken > after.generation()).max() {
        let what = format!("its status speaks of generation {ahead}, it is at {}", after.generation());
        all.push(step.violation(Invariant::TruthfulStatus, what));
    }
    let before = step.same().map_or(&[][..], |(before, _)| self::conditions(before));
    for is in conditions {
        let Some(was) = before.iter().find(|was| was.type_ == is.type_) else { continue };
        let (flipped, dated) = (was.status != is.status, was.last_transition_time != is.last_transition_time);
        // Two changes in one second have one time.
        if dated && !flipped {
            let what = format!("condition {} has a new time and the old status {}", is.type_, is.status);
            all.push(step.violation(Invariant::TruthfulStatus, what));
        }
        if is.last_transition_time < was.last_transition_time {
            let what = format!("the time of condition {} went back", is.type_);
            all.push(step.violation(Invariant::TruthfulStatus, what));
        }
    }
    all.extend(flips_back(step));
    all
}

/// What was true of a job in an attempt and then was not is not true again in the same one.
fn flips_back(step: &Step<'_>) -> Option<Violation> {
    let (Object::Job(was), Object::Job(is)) = step.same()? else { return None };
    let (status, before) = (is.status.as_ref()?, was.status.as_ref()?);
    let attempt = status.attempts.unwrap_or(0);
    let is_new = |type_: &str| find(&before.conditions, type_).is_none_or(|was| was.status != "True");
    let once = [types::MATCHED, types::CLAIMED, types::FINISHED].into_iter().find(|type_| {
        let holds = find(&status.conditions, type_).is_some_and(|found| found.status == "True");
        holds && is_new(type_) && step.past.is_over(step.after.map_or("", Object::uid), type_, attempt)
    })?;
    Some(step.violation(Invariant::TruthfulStatus, format!("condition {once} is true again in attempt {attempt}")))
}

fn observed(object: &Object) -> Option<i64> {
    match object {
        Object::Job(job) => job.status.as_ref()?.observed_generation,
        Object::Machine(machine) => machine.status.as_ref()?.observed_generation,
        Object::License(license) => license.status.as_ref()?.observed_generation,
        Object::Match(_) | Object::Batch(_) | Object::Pod(_) => None,
    }
}

fn conditions(object: &Object) -> &[Condition] {
    match object {
        Object::Job(job) => job.status.as_ref().map_or(&[], |status| &status.conditions),
        Object::Machine(machine) => machine.status.as_ref().map_or(&[], |status| &status.conditions),
        Object::License(license) => license.status.as_ref().map_or(&[], |status| &status.conditions),
        Object::Match(found) => found.status.as_ref().map_or(&[], |status| &status.conditions),
        Object::Batch(_) | Object::Pod(_) => &[],
    }
}
