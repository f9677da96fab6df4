//! The RN-Tree: matching jobs to nodes without a centre, and a simulation of it.
//!
//! Nodes of a Chord ring form a tree by a rule that each of them can evaluate alone. Each node knows, for each of its children, the most
//! that any node below that child has of each resource; a search for a node that can run a job skips what cannot hold one. The source is
//! J.-S. Kim, B. Bhattacharjee, P. J. Keleher, A. Sussman: *Matching Jobs to Resources in Distributed Desktop Grid Environments*; "the
//! paper" is this one throughout the crate. `docs/rn-tree.md` compares its results with ours.
//!
//! ```
//! use rntree::{Settled, Spec, Stop, Want};
//! let nodes = [(10, 1.0), (40, 1.0), (70, 2.0), (110, 1.0), (150, 1.0), (190, 4.0), (230, 2.0)];
//! let network = Settled::new(nodes.map(|(id, cpu)| (id, Spec::new([cpu, 1.0, 1.0]), 0)));
//! assert_eq!(network.ring().parent(190), Some(110));
//! // Node 150 answers for the key 120. It has no child and a CPU that is too slow, so the request climbs, and goes down where
//! // a CPU of 4 was reported.
//! let walk = network.search(120, Want::new([3.0, 0.0, 0.0]), 1, |_| 0).unwrap();
//! assert_eq!(walk.path, [150, 70, 40, 110, 190]);
//! assert_eq!(walk.search.stopped(), Some(Stop::Enough));
//! ```
//!
//! In reading order: [`Ring`] and [`Tree`] say which node is the parent of which, [`Aggregate`] what a parent knows, [`Search`] how a job finds
//! its node. [`Settled`] is a network in which the knowledge of every node is exact, [`Network`] one in which nodes come and go.
//! [`Script`] is what happens to a network, and [`simulate`] lets it happen.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod ring;
mod spec;
mod tree;

mod search;
mod settled;

mod fault;
mod network;

mod script;
mod simulation;
mod workload;

mod experiments;

pub use experiments::{Cost, Shape, costs, shape};
#[doc(hidden)]
pub use fault::Fault;
pub use network::{Network, NetworkNode, PERIOD, Refreshed};
pub use ring::{ID_BITS, Id, Ring};
pub use script::{Happening, Profile, Script, Traffic};
pub use search::{Candidate, Search, Step, Stop, Visited};
pub use settled::{Settled, SettledNode, Walk};
#[doc(hidden)]
pub use simulation::simulate_with_fault;
pub use simulation::{Matchmaker, SimulationReport, simulate};
pub use spec::{Aggregate, RESOURCES, Sizes, Spec, Want};
pub use tree::Tree;
pub use workload::{Churn, WORKLOADS, Workload};

/// A count as a real number.
#[expect(clippy::cast_precision_loss, reason = "no experiment has 2^53 of anything")]
fn real(count: usize) -> f64 {
    count as f64
}
