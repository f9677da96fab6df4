//! The six workloads of table 1 of the paper, by its appendix A.
//!
//! The appendix leaves open the number of groups, the jitter, the sizes, the amounts of work and how determinants are drawn. What is taken
//! for them is at each constant.

use std::collections::BTreeSet;

use sampling::Random;

use crate::network::PERIOD;
use crate::ring::{ID_BITS, Id};
use crate::script::{Happening, Profile, Script};
use crate::spec::{Sizes, Spec, Want};

/// How many groups of nodes there are for each resource (the paper's N). Not in the paper; table 1 does not depend on it.
const GROUPS: u32 = 10;
/// The size of each resource in the first group (BASE_RESOURCE). Not in the paper; a unit.
pub(crate) const BASE: f64 = 100.0;
/// How far a size may be from that of its group, as a part of it. The paper says "some jitter".
const JITTER: f64 = 0.1;
/// MAX_CHF plus 1. A determinant is a whole number from 0 to 99, so that a resource is asked for with probability (CHF + 1) / 100: of the
/// ways to read the appendix, the one that gives the compositions of table 1.
const DETERMINANTS: u64 = 100;
/// The mean time between two events (section 5.3).
const GAP: f64 = 100.0;
/// How long the first nodes settle before anything else happens. Not in the paper; longer than an aggregate takes to the root.
const SETTLING: f64 = 20.0 * PERIOD;

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Its name in the paper.
    pub name: &'static str,
    /// The nodes that join before anything else happens.
    pub nodes: usize,
    /// How many jobs are submitted.
    pub jobs: usize,
    /// How many nodes come and go meanwhile.
    pub churn: Churn,
    /// The constraint heterogeneity factor, 0 to 99: how likely a job is to limit a resource.
    pub chf: u64,
    /// The least and the most work of a job, as in [`Profile::work`]. Not in the paper: with a mean of 200,000, the nodes are busy and
    /// the waiting times of the searches have the paper's ratio.
    pub work: (f64, f64),
}

/// How many nodes come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Churn {
    /// Nodes that join.
    pub joins: usize,
    /// Nodes that fail.
    pub failures: usize,
    /// Nodes that leave as planned.
    pub leaves: usize,
}

/// The workloads of table 1, in its order. It gives the numbers of nodes at the end, of failures, leaves and jobs; with 15,000 events in
/// all, the number of joins follows.
pub const WORKLOADS: [Workload; 6] = [
    stable("S-TR-H40", 40),
    stable("S-TR-H60", 60),
    stable("S-TR-H80", 80),
    dynamic("D-TR-I", 12_685, Churn { joins: 1_570, failures: 454, leaves: 291 }),
    dynamic("D-TR-II", 12_295, Churn { joins: 1_520, failures: 591, leaves: 594 }),
    dynamic("D-TR-III", 12_032, Churn { joins: 2_234, failures: 264, leaves: 470 }),
];

const WORK: (f64, f64) = (20_000.0, 380_000.0);

const fn stable(name: &'static str, chf: u64) -> Workload {
    Workload { name, nodes: 1000, jobs: 10_000, churn: Churn { joins: 0, failures: 0, leaves: 0 }, chf, work: WORK }
}

const fn dynamic(name: &'static str, jobs: usize, churn: Churn) -> Workload {
    Workload { name, nodes: 1000, jobs, churn, chf: 50, work: WORK }
}

/// The kinds of events, before anything is drawn for them.
#[derive(Clone, Copy)]
enum Kind {
    Join,
    Leave,
    Fail,
    Submit,
}

impl Workload {
    /// What happens under a seed.
    #[must_use]
    pub fn script(&self, seed: u64) -> Script {
        let mut arrivals = Random::stream(seed, "arrivals");
        let mut population = Population::new(seed);
        let mut happenings = Vec::new();
        let mut now = 0.0;
        for _ in 0..self.nodes {
            now += arrivals.exponential(GAP);
            happenings.push((now, population.join()));
        }
        let begins = now + SETTLING;
        now = begins;
        for kind in self.order(seed) {
            now += arrivals.exponential(GAP);
            let what = match kind {
                Kind::Join => Some(population.join()),
                Kind::Leave => population.depart().map(Happening::Leave),
                Kind::Fail => population.depart().map(Happening::Fail),
                Kind::Submit => population.profile(self.chf, self.work).map(Happening::Submit),
            };
            happenings.extend(what.map(|what| (now, what)));
        }
        Script { happenings, begins }
    }

    fn order(&self, seed: u64) -> Vec<Kind> {
        let Churn { joins, failures, leaves } = self.churn;
        let counts = [(Kind::Join, joins), (Kind::Fail, failures), (Kind::Leave, leaves), (Kind::Submit, self.jobs)];
        let mut order: Vec<Kind> =
            counts.into_iter().flat_map(|(kind, count)| std::iter::repeat_n(kind, count)).collect();
        Random::stream(seed, "order").shuffle(&mut order);
        order
    }
}

/// The nodes that are present while a workload is drawn.
pub(crate) struct Population {
    nodes: Random,
    jobs: Random,
    departures: Random,
    present: Vec<(Id, Spec)>,
    /// Every id that was ever used.
    ids: BTreeSet<Id>,
}

impl Population {
    pub(crate) fn new(seed: u64) -> Population {
        let [nodes, jobs, departures] = ["nodes", "jobs", "departures"].map(|name| Random::stream(seed, name));
        Population { nodes, jobs, departures, present: Vec::new(), ids: BTreeSet::new() }
    }

    /// Everything that is present.
    pub(crate) fn present(&self) -> &[(Id, Spec)] {
        &self.present
    }

    /// One more node, with an id of its own.
    pub(crate) fn join(&mut self) -> Happening {
        let mut id = self.nodes.below(1 << ID_BITS);
        while !self.ids.insert(id) {
            id = self.nodes.below(1 << ID_BITS);
        }
        let sizes = Sizes::default().map(|_| {
            let group = group(self.nodes.unit());
            group * BASE * self.nodes.uniform(1.0 - JITTER, 1.0 + JITTER)
        });
        self.present.push((id, Spec::new(sizes)));
        Happening::Join(id, Spec::new(sizes))
    }

    /// A node that is present and goes; none if none is left.
    fn depart(&mut self) -> Option<Id> {
        let place = self.departures.index(self.present.len());
        (place < self.present.len()).then(|| self.present.swap_remove(place).0)
    }

    /// A job that some node which is present can run; none if no node is.
    pub(crate) fn profile(&mut self, chf: u64, (least, most): (f64, f64)) -> Option<Profile> {
        let key = self.jobs.below(1 << ID_BITS);
        let work = self.jobs.uniform(least, most);
        let (_, model) = self.jobs.pick(&self.present)?;
        let sizes = model.sizes.map(|size| if self.jobs.below(DETERMINANTS) <= chf { size } else { 0.0 });
        Some(Profile { key, want: Want::new(sizes), work })
    }
}

/// The group of a node, from a number between 0 and 1: group B has a probability in proportion to 1 / B (the paper's equation 3).
fn group(share: f64) -> f64 {
    let groups = || (1..=GROUPS).map(f64::from);
    let total: f64 = groups().map(|group| 1.0 / group).sum();
    let mut left = share * total;
    for group in groups() {
        left -= 1.0 / group;
        if left < 0.0 {
            return group;
        }
    }
    f64::from(GROUPS)
}
