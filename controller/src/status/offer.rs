//! An offer and its ledger into the rest of its status: whether it can be claimed now, how much is taken, and its state in one word.

use crds::conditions::{Finding, Holds, reasons, set, types};
use crds::{ClaimPolicy, NamespacesFrom, OfferState, OfferStatus, StopPolicy};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use matchmaker::Usage;
use pool::{AgentLiveness, NodeProblem, Objects, OfferRef, lease_key, node_problem, trusted, usage, used_text};

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
    let alive = offer.fields.agent.as_ref().map(|_| (types::ALIVE, alive(offer, life)));
    if alive.is_none() {
        status.conditions.retain(|condition| condition.type_ != types::ALIVE);
    }
    let found = [
        (types::ACCEPTED, (accepted, accepted_reason, accepted_message)),
        (types::READY, (ready, reason, message)),
        (types::OVERCOMMITTED, overcommitted),
    ];
    for (type_, (holds, reason, message)) in found.into_iter().chain(alive) {
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
    let fields = offer.fields;
    if let Err(rejected) = offer.ad {
        return (Holds::False, reasons::NOT_ACCEPTED, rejected.reason.to_owned());
    }
    match fields.stop_policy {
        StopPolicy::Hold => return (Holds::False, reasons::DRAINING, "spec.stopPolicy is Hold".to_owned()),
        StopPolicy::HoldAndDrain => {
            return (Holds::False, reasons::EVICTING, "spec.stopPolicy is HoldAndDrain".to_owned());
        }
        StopPolicy::None => {}
    }
    let life = objects.agent(offer.kind, &offer.key());
    let lost = match fields.claim_policy {
        ClaimPolicy::Agent => life != AgentLiveness::Renewed,
        ClaimPolicy::Auto => life == AgentLiveness::Expired,
    };
    if lost {
        return (Holds::False, reasons::AGENT_LOST, alive(offer, life).2);
    }
    if let Some((reason, message)) = node(offer, objects) {
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

/// Why only jobs of its own namespace can claim an offer that allows others; empty if they can.
fn why_not_others(offer: OfferRef<'_>, objects: &Objects) -> String {
    let namespace = offer.key().namespace;
    let allowed = offer.fields.allowed_namespaces.as_ref();
    if allowed.is_none_or(|allowed| allowed.from == NamespacesFrom::Same) {
        return String::new();
    }
    let why = if !trusted(&namespace, &objects.namespaces) {
        "the namespace lacks the label gangmatch.dev/offers=cluster"
    } else if objects.costly_offers.contains(&namespace) {
        "for some minutes, because the expressions of the offers of this namespace were too expensive for jobs of other namespaces: make \
         them shorter"
    } else {
        return String::new();
    };
    format!("only jobs in namespace {namespace} can claim it: {why}")
}

/// Whether the agent shows that it is alive. The message names what it has to renew.
fn alive(offer: OfferRef<'_>, life: AgentLiveness) -> (Holds, &'static str, String) {
    let lease = lease_key(offer.kind, &offer.key());
    let seconds = offer.silence_seconds().unwrap_or(0);
    match life {
        AgentLiveness::Renewed => (Holds::True, reasons::LEASE_RENEWED, String::new()),
        AgentLiveness::Expired => {
            (Holds::False, reasons::LEASE_EXPIRED, format!("Lease {lease} was not renewed for {seconds} s"))
        }
        AgentLiveness::Unknown | AgentLiveness::Absent => {
            (Holds::Unknown, reasons::NO_LEASE, format!("there is no Lease {lease} with a holder"))
        }
    }
}

/// What its node has against it.
fn node(offer: OfferRef<'_>, objects: &Objects) -> Option<(&'static str, String)> {
    let name = offer.node_name.unwrap_or_default();
    Some(match node_problem(offer, objects)? {
        NodeProblem::Missing => (reasons::NODE_MISSING, format!("there is no node {name}")),
        NodeProblem::NotReady => (reasons::NODE_NOT_READY, format!("node {name} is not ready")),
        NodeProblem::Cordoned => (reasons::NODE_CORDONED, format!("node {name} is cordoned")),
        NodeProblem::Duplicate(first) => {
            (reasons::DUPLICATE_NODE, format!("node {name} is already offered by the older Machine {first}"))
        }
    })
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
