//! What a simulation has measured.

use crate::real;

/// The measurements of one simulation. Times are in units of time, messages are counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulationReport {
    /// Nodes that were ever there.
    pub nodes: usize,
    /// Of each finished job: from its submission to the start of the run that it finished (the paper's *job wait time*).
    pub waits: Vec<f64>,
    /// Of each finished job: how long that run took.
    pub runs: Vec<f64>,
    /// Of each finished job: the messages of all its searches (the paper's *matchmaking cost*).
    pub costs: Vec<f64>,
    /// Of each finished job: the part of the present nodes that its last search visited.
    pub visited: Vec<f64>,
    /// Messages for the ring, submissions and heartbeats.
    pub basic_messages: f64,
    /// Messages for the tree: searches, parents, aggregates.
    pub tree_messages: f64,
    /// Jobs that started again because their run node had gone.
    pub restarts: usize,
    /// Searches that were tried again.
    pub retries: usize,
    /// Jobs that found another owner because theirs had failed.
    pub reinsertions: usize,
    /// Jobs whose client was told that no node meets their request.
    pub unmatched: usize,
    /// Jobs whose owner and run node failed before either noticed.
    pub lost: usize,
}

impl SimulationReport {
    /// Messages of each kind, for a node that was ever there: basic, and for the tree.
    #[must_use]
    pub fn messages_per_node(&self) -> (f64, f64) {
        (self.basic_messages / real(self.nodes), self.tree_messages / real(self.nodes))
    }
}
