//! An offer and its ledger into the rest of its status: whether it can be claimed now, how much is taken, and its state in one word.

use crds::OfferStatus;
use crds::conditions::{Finding, set, types};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pool::{Objects, OfferRef, alive, offer_state, overcommitted, ready, usage, used_text};

use crate::status::draft::acceptance;
use crate::status::finding::cut;

/// How long `status.used` may be, in characters.
const USED_MAX: usize = 256;

/// The next status of an offer whose ledger is that of `ledger`: everything else in it follows.
pub(crate) fn offer_status(offer: OfferRef<'_>, ledger: OfferStatus, objects: &Objects, now: Timestamp) -> OfferStatus {
    let mut status = ledger;
    let usage = usage(Some(&status));
    let generation = offer.metadata.generation;
    let has_claims = !status.claims.is_empty();
    let (holds, reason, message) = ready(offer, &usage, has_claims, objects);
    let (accepted, accepted_reason, accepted_message) = acceptance(offer.ad);
    let life = objects.agent(offer.kind, &offer.key());
    let agent = offer.fields.agent.as_ref().map(|_| (types::ALIVE, alive(offer, life)));
    if agent.is_none() {
        status.conditions.retain(|condition| condition.type_ != types::ALIVE);
    }
    let found = [
        (types::ACCEPTED, (accepted, accepted_reason, accepted_message)),
        (types::READY, (holds, reason, message)),
        (types::OVERCOMMITTED, overcommitted(offer.capacity, &usage)),
    ];
    for (type_, (holds, reason, message)) in found.into_iter().chain(agent) {
        set(&mut status.conditions, Finding { type_, holds, reason, message }, generation, Time(now));
    }
    status.observed_generation = generation;
    status.used = Some(cut(&used_text(offer.capacity, &usage), USED_MAX));
    status.state = Some(offer_state(offer, holds, reason, has_claims));
    status
}
