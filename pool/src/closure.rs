//! Why an offer takes no new claims, if it does not.

use std::fmt;

use crds::{ClaimPolicy, Machine, StopPolicy};
use kube::ResourceExt;

use crate::agents::AgentLiveness;
use crate::cycle_inputs::CycleInputs;
use crate::key::ObjectKey;
use crate::objects::Objects;
use crate::offer_ref::OfferRef;

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

/// Why a Machine cannot be claimed because of its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeProblem {
    /// There is no node of that name.
    Missing,
    /// The node is not ready.
    NotReady,
    /// The node is cordoned, or being deleted.
    Cordoned,
    /// An older Machine stands for the same node: the one with this key.
    Duplicate(String),
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

/// Why a Machine cannot be claimed because of its node, if so; `None` also for an offer without a node, and if nodes are not watched.
fn node_problem(offer: OfferRef<'_>, objects: &Objects) -> Option<NodeProblem> {
    let nodes = objects.nodes.as_ref()?;
    let name = offer.node_name?;
    let Some(node) = nodes.get(name) else { return Some(NodeProblem::Missing) };
    let age = |machine: &Machine| (machine.metadata.creation_timestamp.clone(), machine.uid().unwrap_or_default());
    let others = objects.machines.of_node(name).map(|held| held.object.as_ref());
    if let Some(first) =
        others.min_by_key(|machine| age(machine)).filter(|first| first.uid().as_deref() != Some(offer.uid()))
    {
        let key = ObjectKey::of(first);
        return Some(NodeProblem::Duplicate(key.to_string()));
    }
    match (node.schedulable, node.ready) {
        (false, _) => Some(NodeProblem::Cordoned),
        (true, false) => Some(NodeProblem::NotReady),
        (true, true) => None,
    }
}
