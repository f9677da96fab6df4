//! The register of a Match goes forward, and what it records never changes.

use crds::Decision;

use crate::checks::Step;
use crate::world::decision;
use crate::{Invariant, Object, Violation};

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let Some(after) = step.after.and_then(Object::found) else { return Vec::new() };
    let Some(before) = step.same().and_then(|(before, _)| before.found()) else {
        let born = decision(after);
        let what = || format!("it was born {born:?}");
        let broken = (born != Decision::Pending).then(|| step.violation(Invariant::Register, what()));
        return broken.into_iter().collect();
    };
    let mut all = Vec::new();
    let (was, is) = (decision(before), decision(after));
    let forward = match (was, is) {
        (Decision::Pending, Decision::Committed | Decision::Aborted) | (Decision::Committed, Decision::Released) => {
            true
        }
        (was, is) => was == is,
    };
    if !forward {
        all.push(step.violation(Invariant::Register, format!("its decision went from {was:?} to {is:?}")));
    }
    if before.spec != after.spec {
        all.push(step.violation(Invariant::Register, "its spec changed".to_owned()));
    }
    all
}
