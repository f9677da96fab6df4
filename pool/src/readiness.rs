//! Whether an offer accepts claims, and how much of it is taken: its conditions Ready, Alive and Overcommitted.

use crds::conditions::{Holds, reasons};
use crds::{NamespacesFrom, OfferState, Res, StopPolicy};
use matchmaker::{Usage, Verdict};

use crate::agents::{AgentLiveness, lease_key};
use crate::closure::{Closure, NodeProblem, closure};
use crate::consent::trusted;
use crate::cycle_inputs::CycleInputs;
use crate::objects::Objects;
use crate::offer_ref::OfferRef;

/// Why an offer accepts no claims: a reason and a sentence. `None` if it does, as far as its own objects tell.
pub fn not_ready(offer: OfferRef<'_>, objects: &Objects) -> Option<(&'static str, String)> {
    if let Err(problem) = offer.ad {
        return Some((reasons::NOT_ACCEPTED, problem.reason.to_owned()));
    }
    match closure(offer, objects, &CycleInputs::default())? {
        Closure::Draining => Some((reasons::DRAINING, "spec.stopPolicy is Hold".to_owned())),
        Closure::Evicting => Some((reasons::EVICTING, "spec.stopPolicy is HoldAndDrain".to_owned())),
        Closure::AgentLost => {
            let life = objects.agent(offer.kind, &offer.key());
            Some((reasons::AGENT_LOST, alive(offer, life).2))
        }
        Closure::Node(problem) => Some(of_node(offer, problem)),
        Closure::Deleted | Closure::Unverified => None,
    }
}

/// The condition Ready of an offer, of which this much is taken.
pub fn ready(offer: OfferRef<'_>, usage: &Usage, has_claims: bool, objects: &Objects) -> (Holds, &'static str, String) {
    if let Some((reason, message)) = not_ready(offer, objects) {
        return (Holds::False, reason, message);
    }
    let message = why_not_others(offer, objects);
    let is_full = !offer.capacity.is_empty() && offer.capacity.iter().all(|(name, all)| usage.used(name) >= *all);
    let is_trusted = message.is_empty() || trusted(&offer.key().namespace, &objects.namespaces);
    let reason = match (is_full, is_trusted, has_claims) {
        (true, ..) => reasons::FULL,
        (false, false, _) => reasons::NAMESPACE_NOT_TRUSTED,
        (false, true, true) => reasons::CLAIMED,
        (false, true, false) => reasons::AVAILABLE,
    };
    (Holds::True, reason, message)
}

/// The state of an offer in one word, given its condition Ready.
pub fn offer_state(offer: OfferRef<'_>, ready: Holds, reason: &str, has_claims: bool) -> OfferState {
    match (offer.fields.stop_policy, ready, reason) {
        (StopPolicy::Hold, _, reasons::DRAINING) => OfferState::Draining,
        (StopPolicy::HoldAndDrain, _, reasons::EVICTING) => OfferState::Evicting,
        (_, Holds::True, reasons::FULL) => OfferState::Full,
        (_, Holds::True, _) if has_claims => OfferState::Claimed,
        (_, Holds::True, _) => OfferState::Available,
        _ => OfferState::Unavailable,
    }
}

/// The condition Overcommitted of an offer, of which this much is taken.
pub fn overcommitted(capacity: &Res, usage: &Usage) -> (Holds, &'static str, String) {
    match capacity.iter().find(|(name, all)| usage.used(name) > **all) {
        Some((name, all)) => {
            (Holds::True, reasons::CLAIMS_EXCEED_CAPACITY, format!("{} of {all} {name} are in use", usage.used(name)))
        }
        None => (Holds::False, reasons::WITHIN_CAPACITY, String::new()),
    }
}

/// Whether the agent shows that it is alive. The message names what it has to renew.
pub fn alive(offer: OfferRef<'_>, life: AgentLiveness) -> (Holds, &'static str, String) {
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
fn of_node(offer: OfferRef<'_>, problem: NodeProblem) -> (&'static str, String) {
    let name = offer.node_name.unwrap_or_default();
    match problem {
        NodeProblem::Missing => (reasons::NODE_MISSING, format!("there is no node {name}")),
        NodeProblem::NotReady => (reasons::NODE_NOT_READY, format!("node {name} is not ready")),
        NodeProblem::Cordoned => (reasons::NODE_CORDONED, format!("node {name} is cordoned")),
        NodeProblem::Duplicate(first) => {
            (reasons::DUPLICATE_NODE, format!("node {name} is already offered by the older Machine {first}"))
        }
    }
}

/// Why only jobs of its own namespace can claim an offer that allows others; empty if they can.
pub fn why_not_others(offer: OfferRef<'_>, objects: &Objects) -> String {
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

/// The reason of the condition Matched for what a cycle has found about a job.
pub fn matched_reason(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Unusable(_) => reasons::NOT_ACCEPTED,
        Verdict::Never { .. } | Verdict::NoCandidates { .. } => reasons::NO_CANDIDATES,
        Verdict::TooExpensive { .. } => reasons::EXPRESSION_TOO_EXPENSIVE,
        Verdict::RefusedByOffers { .. } => reasons::REFUSED_BY_OFFERS,
        Verdict::Limit(_) | Verdict::NoConsistentGang => reasons::NO_CONSISTENT_GANG,
        Verdict::QuotaExceeded(_) => reasons::QUOTA_EXCEEDED,
        Verdict::WaitingForCapacity => reasons::WAITING_FOR_CAPACITY,
        Verdict::BackingOff => reasons::BACKING_OFF,
        Verdict::GaveUp => reasons::SEARCH_BUDGET_EXHAUSTED,
    }
}
