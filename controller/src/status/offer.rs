//! An offer and its ledger into the rest of its status: whether it can be claimed now, how much is taken, and its state in one word.

use crds::conditions::{Finding, Holds, reasons, set, types};
use crds::{OfferState, OfferStatus, StopPolicy};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use matchmaker::Usage;
use pool::{Objects, OfferRef, alive, not_ready, usage, used_text, why_not_others};

use crate::status::job::acceptance;

/// The next status of an offer whose ledger is that of `ledger`: everything else in it follows.
pub(crate) fn offer_status(offer: OfferRef<'_>, ledger: OfferStatus, objects: &Objects, now: Timestamp) -> OfferStatus {
    let mut status = ledger;
    let usage = usage(Some(&status));
    let generation = offer.metadata.generation;
    let over = offer.capacity.iter().find(|(name, all)| usage.used(name) > **all);
    let (ready, reason, message) = readiness(offer, &status, &usage, objects);
    let (accepted, accepted_reason, accepted_message) = acceptance(offer.ad);
    let overcommitted = match over {
        Some((name, all)) => {
            (Holds::True, reasons::CLAIMS_EXCEED_CAPACITY, format!("{} of {all} {name} are in use", usage.used(name)))
        }
        None => (Holds::False, reasons::WITHIN_CAPACITY, String::new()),
    };
    let life = objects.agent(offer.kind, &offer.key());
    let agent = offer.fields.agent.as_ref().map(|_| (types::ALIVE, alive(offer, life)));
    if agent.is_none() {
        status.conditions.retain(|condition| condition.type_ != types::ALIVE);
    }
    let found = [
        (types::ACCEPTED, (accepted, accepted_reason, accepted_message)),
        (types::READY, (ready, reason, message)),
        (types::OVERCOMMITTED, overcommitted),
    ];
    for (type_, (holds, reason, message)) in found.into_iter().chain(agent) {
        set(&mut status.conditions, Finding { type_, holds, reason, message }, generation, Time(now));
    }
    status.observed_generation = generation;
    status.used = Some(used_text(offer.capacity, &usage));
    status.state = Some(state(offer, ready, reason));
    status
}

fn readiness(
    offer: OfferRef<'_>,
    status: &OfferStatus,
    usage: &Usage,
    objects: &Objects,
) -> (Holds, &'static str, String) {
    if let Some((reason, message)) = not_ready(offer, objects) {
        return (Holds::False, reason, message);
    }
    let message = why_not_others(offer, objects);
    let full = !offer.capacity.is_empty() && offer.capacity.iter().all(|(name, all)| usage.used(name) >= *all);
    match (full, status.claims.is_empty()) {
        (true, _) => (Holds::True, reasons::FULL, message),
        (false, false) => (Holds::True, reasons::CLAIMED, message),
        (false, true) => (Holds::True, reasons::AVAILABLE, message),
    }
}

fn state(offer: OfferRef<'_>, ready: Holds, reason: &str) -> OfferState {
    match (offer.fields.stop_policy, ready, reason) {
        (StopPolicy::Hold, _, reasons::DRAINING) => OfferState::Draining,
        (StopPolicy::HoldAndDrain, _, reasons::EVICTING) => OfferState::Evicting,
        (_, Holds::True, reasons::FULL) => OfferState::Full,
        (_, Holds::True, reasons::CLAIMED) => OfferState::Claimed,
        (_, Holds::True, _) => OfferState::Available,
        _ => OfferState::Unavailable,
    }
}
