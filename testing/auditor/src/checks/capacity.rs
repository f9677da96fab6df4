//! No offer gives away more than it has. An owner may lower what it has below what is given away: then that only shrinks.

use crds::OfferStatus;

use crate::checks::Step;
use crate::{Invariant, Object, Violation};

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let Some((capacity, Some(after))) = step.after.and_then(Object::offer) else { return Vec::new() };
    let before = step.same().and_then(|(before, _)| before.ledger());
    let mut all = Vec::new();
    for (resource, has) in capacity {
        let (now, was) = (used(after, resource), before.map_or(0, |ledger| used(ledger, resource)));
        let external = after.external_usage.get(resource).copied().unwrap_or(0);
        if now > was && now.saturating_add(external) > *has {
            let what =
                format!("{now} {resource} given away and {external} used outside, of {has}; before it was {was}");
            all.push(step.violation(Invariant::Capacity, what));
        }
    }
    for (uid, entry) in &after.claims {
        let Some(key) = &entry.share else { continue };
        let seat = after.shared.get(key);
        let fits = |(resource, takes): (&String, &i64)| {
            seat.and_then(|seat| seat.get(resource)).is_some_and(|has| takes <= has)
        };
        if !entry.allocation.iter().all(fits) {
            let what = format!("the entry of {uid} shares the seat `{key}`, which is not there or too small");
            all.push(step.violation(Invariant::Capacity, what));
        }
    }
    all
}

/// What is given away of a resource: by entries with a seat of their own, and by shared seats.
fn used(ledger: &OfferStatus, resource: &str) -> i64 {
    let own =
        ledger.claims.values().filter(|entry| entry.share.is_none()).filter_map(|entry| entry.allocation.get(resource));
    let shared = ledger.shared.values().filter_map(|seat| seat.get(resource));
    own.chain(shared).sum()
}
