//! Why an offer takes no new claims, if it does not.

use std::fmt;

use crds::{ClaimPolicy, StopPolicy};

use crate::agents::AgentLiveness;
use crate::node::{NodeProblem, node_problem};
use crate::objects::Objects;
use crate::offer_ref::OfferRef;
use crate::snapshot::CycleInputs;

/// Why an offer takes no new claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closure {
    /// Its `stopPolicy` is `Hold`.
    Draining,
    /// Its `stopPolicy` is `HoldAndDrain`.
    Evicting,
    /// It is being deleted.
    Deleted,
    /// Its agent is silent.
    AgentLost,
    /// Its node cannot be used.
    Node(NodeProblem),
    /// Work may go on under a former object of its name, or entries of its ledger are being restored.
    Unverified,
}

impl fmt::Display for Closure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Closure::Draining => "draining, stopPolicy is Hold",
            Closure::Evicting => "evicting, stopPolicy is HoldAndDrain",
            Closure::Deleted => "being deleted",
            Closure::AgentLost => "its agent is silent",
            Closure::Node(NodeProblem::Missing) => "its node does not exist",
            Closure::Node(NodeProblem::NotReady) => "its node is not ready",
            Closure::Node(NodeProblem::Cordoned) => "its node is cordoned",
            Closure::Node(NodeProblem::Duplicate(_)) => "another Machine stands for its node",
            Closure::Unverified => "former claims on it are being checked",
        })
    }
}

/// Why new claims may not be made on an offer; none if its owner accepts claims, its agent is alive, its node is usable, and no work goes on
/// under a former object of its name.
pub(crate) fn closure(offer: OfferRef<'_>, objects: &Objects, inputs: &CycleInputs) -> Option<Closure> {
    match offer.fields.stop_policy {
        StopPolicy::Hold => return Some(Closure::Draining),
        StopPolicy::HoldAndDrain => return Some(Closure::Evicting),
        StopPolicy::None => {}
    }
    if offer.metadata.deletion_timestamp.is_some() {
        return Some(Closure::Deleted);
    }
    let agent = objects.agent(offer.kind, &offer.key());
    let is_alive = match offer.fields.claim_policy {
        ClaimPolicy::Agent => agent == AgentLiveness::Renewed,
        // No vote is needed; but the attributes of an offer whose agent is lost are out of date.
        ClaimPolicy::Auto => agent != AgentLiveness::Expired,
    };
    if !is_alive {
        return Some(Closure::AgentLost);
    }
    if let Some(problem) = node_problem(offer, objects) {
        return Some(Closure::Node(problem));
    }
    inputs.unverified.contains(offer.uid()).then_some(Closure::Unverified)
}
