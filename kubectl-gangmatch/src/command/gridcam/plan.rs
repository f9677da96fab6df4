//! What to simulate, once the file is understood.

use gridcam::{Amounts, Arrival, Laws, Scheme};

/// The most jobs of a run.
pub(super) const JOBS_MAX: usize = 1_000_000;

/// A whole simulation. Times in milliseconds.
pub(super) struct SimulationPlan {
    pub(super) name: String,
    pub(super) seed: u64,
    pub(super) runs: u64,
    pub(super) until: u64,
    pub(super) timeout: Option<u64>,
    pub(super) clusters: Vec<Cluster>,
    pub(super) source: JobSource,
    pub(super) schemes: Vec<Named>,
}

/// Where jobs come from.
pub(super) enum JobSource {
    /// Each run draws its own.
    Laws(Box<Laws>),
    /// They are given.
    Trace(Vec<Arrival>),
}

/// A cluster.
pub(super) struct Cluster {
    pub(super) name: String,
    pub(super) amounts: Amounts,
}

/// A scheme under the name that the file gives it.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) scheme: Scheme,
    /// In milliseconds.
    pub(super) window: u64,
}

impl SimulationPlan {
    /// The seeds of the runs.
    pub(super) fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.runs).map(move |run| first.wrapping_add(run))
    }
}
