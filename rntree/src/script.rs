//! What happens to a network, event by event, and table 1 of the paper about it.

use crate::real;
use crate::ring::Id;
use crate::spec::{Spec, Want};

/// Everything that happens to a network from outside, the same for every matchmaker.
#[derive(Clone, Debug)]
pub struct Script {
    /// What happens when, in units of time; ascending.
    pub happenings: Vec<(f64, Happening)>,
    /// When the first nodes have joined and settled: upkeep is counted from then on.
    pub begins: f64,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A node joins.
    Join(Id, Spec),
    /// A node leaves as planned.
    Leave(Id),
    /// A node fails, without notice.
    Fail(Id),
    /// A client submits a job.
    Submit(Profile),
}

/// A job as its client describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The key of the job on the ring, which decides which node owns it.
    pub key: Id,
    /// What it wants of a node.
    pub want: Want,
    /// How long it runs on a node of the smallest group, in units of time.
    pub work: f64,
}

/// The column of a workload in table 1 of the paper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Nodes that are present at the end.
    pub present: usize,
    /// Nodes that failed.
    pub failed: usize,
    /// Nodes that left as planned.
    pub left: usize,
    /// Jobs that were submitted.
    pub jobs: usize,
    /// The percentage of the jobs with 0, 1, 2 and 3 constraints.
    pub composition: [f64; 4],
    /// Of the jobs with 0, 1, 2 and 3 constraints: the mean percentage of the nodes that meet one when it is submitted.
    pub difficulty: [f64; 4],
}

impl Script {
    /// How many nodes ever join.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.happenings.iter().filter(|(_, what)| matches!(what, Happening::Join(..))).count()
    }

    /// How many nodes are present at the end.
    #[must_use]
    pub fn present(&self) -> usize {
        let gone = |(_, what): &&(f64, Happening)| matches!(what, Happening::Leave(_) | Happening::Fail(_));
        self.nodes() - self.happenings.iter().filter(gone).count()
    }

    /// When the last thing happens.
    #[must_use]
    pub fn ends(&self) -> f64 {
        self.happenings.last().map_or(0.0, |(at, _)| *at)
    }

    /// Its column of table 1.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let mut traffic = Traffic::default();
        let mut present: Vec<(Id, &Spec)> = Vec::new();
        let mut shares: [Vec<f64>; 4] = Default::default();
        for (_, what) in &self.happenings {
            match what {
                Happening::Join(node, spec) => present.push((*node, spec)),
                Happening::Leave(node) | Happening::Fail(node) => {
                    present.retain(|(other, _)| other != node);
                    let kind =
                        if matches!(what, Happening::Leave(_)) { &mut traffic.left } else { &mut traffic.failed };
                    *kind += 1;
                }
                Happening::Submit(job) => {
                    traffic.jobs += 1;
                    let able = present.iter().filter(|(_, spec)| job.want.is_met_by(spec)).count();
                    if let Some(shares) = shares.get_mut(job.want.constraints()) {
                        shares.push(100.0 * real(able) / real(present.len()));
                    }
                }
            }
        }
        traffic.present = present.len();
        traffic.composition = shares.each_ref().map(|shares| 100.0 * real(shares.len()) / real(traffic.jobs));
        traffic.difficulty = shares.each_ref().map(|shares| sampling::mean(shares));
        traffic
    }
}

impl Traffic {
    /// The paper's *Node Departure %*: of all nodes that were ever there, those that have gone.
    #[must_use]
    pub fn departed(&self) -> f64 {
        let gone = self.failed + self.left;
        100.0 * real(gone) / real(self.present + gone)
    }
}
