//! Measurements of networks at rest: the shape of the tree (the paper's figure 2), and what searches cost as networks grow.

use sampling::{Drand48, Random};

use crate::real;
use crate::ring::Ring;
use crate::settled::Settled;
use crate::tree::Tree;
use crate::workload::{Population, WORKLOADS};

/// The shape of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many nodes.
    pub nodes: usize,
    /// The edges from the root to the farthest node.
    pub height: usize,
    /// The largest number of children of one node.
    pub most_children: usize,
}

/// The tree over so many nodes, with ids from the generator that the paper used.
#[must_use]
pub fn shape(nodes: usize, seed: u32) -> Shape {
    let mut ids = Drand48::new(seed);
    let tree = Tree::new(&Ring::new((0..nodes).map(|_| ids.state())));
    Shape { nodes, height: tree.height(), most_children: tree.most_children() }
}

/// What searches in a network at rest cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// How many nodes.
    pub nodes: usize,
    /// How many candidates each search was to find.
    pub candidates: usize,
    /// The messages of each search.
    pub messages: Vec<f64>,
    /// The different nodes that each search visited.
    pub visited: Vec<f64>,
}

/// Searches for jobs like those of the dynamic workloads, in a network of so many nodes: the costs for each number of candidates. The
/// jobs are the same for each.
#[must_use]
pub fn costs(nodes: usize, candidates: &[usize], jobs: usize, seed: u64) -> Vec<Cost> {
    let [.., like] = WORKLOADS;
    let mut population = Population::new(seed);
    for _ in 0..nodes {
        population.join();
    }
    let network = Settled::new(population.present().iter().map(|(id, spec)| (*id, spec.clone(), 0)));
    let profiles: Vec<_> = (0..jobs).filter_map(|_| population.profile(like.chf, like.work)).collect();
    let cost = |candidates: &usize| {
        let mut random = Random::stream(seed, "choices");
        let search = |profile: &crate::script::Profile| {
            let walk = network.search(profile.key, profile.want.clone(), *candidates, |open| random.index(open))?;
            Some((real(walk.search.messages()), real(walk.search.visited())))
        };
        let (messages, visited) = profiles.iter().filter_map(search).unzip();
        Cost { nodes, candidates: *candidates, messages, visited }
    };
    candidates.iter().map(cost).collect()
}
