//! A gang is preempted only for a nomination that was stored and names it, and a nomination is never replaced.

use crds::{Decision, Nomination};

use crate::checks::Step;
use crate::world::decision;
use crate::{Invariant, Object, Violation};

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let Some((before, after)) = step.same() else { return Vec::new() };
    released(step, before, after).into_iter().chain(replaced(step, before, after)).collect()
}

fn released(step: &Step<'_>, before: &Object, after: &Object) -> Option<Violation> {
    let (was, is) = (before.found()?, after.found()?);
    let reason = is.status.as_ref().and_then(|status| status.reason.as_deref());
    let is_preempted = decision(was) == Decision::Committed
        && decision(is) == Decision::Released
        && reason.is_some_and(|reason| reason == "Preempted");
    (is_preempted && !step.past.was_named(after.uid())).then(|| {
        step.violation(Invariant::Preemption, "it was preempted, and no stored nomination has named it".to_owned())
    })
}

fn replaced(step: &Step<'_>, before: &Object, after: &Object) -> Option<Violation> {
    let (was, is) = (nomination(before)?, nomination(after)?);
    (was != is).then(|| step.violation(Invariant::Preemption, "its nomination was replaced".to_owned()))
}

/// The nomination of a job.
pub(crate) fn nomination(object: &Object) -> Option<&Nomination> {
    object.job()?.status.as_ref()?.nomination.as_ref()
}
