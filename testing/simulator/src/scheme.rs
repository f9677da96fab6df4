//! Accounts and preemption in a history.

use std::collections::BTreeMap;

use policy::Mode;

use crate::chance::Chance;

/// What the administrator has said, and how the clocks are set.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// The reasons for which gangs are preempted.
    pub reasons: Vec<Mode>,
    /// Offers prefer some jobs, in circles.
    pub is_ranked: bool,
    /// How long a gang runs undisturbed at first.
    pub min_runtime_s: i64,
    /// How many gangs may end for one job.
    pub max_victims: usize,
    /// How long offers are held for a job.
    pub nomination_ms: u64,
    /// By coordinator, by how much its time of day is wrong.
    pub skews_s: Vec<i64>,
    /// At the first of these writes, the coordinator crashes that makes it: before it, or after it.
    pub crashes: BTreeMap<Write, bool>,
}

/// The writes of a nomination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Write {
    /// The nomination is stored.
    N1,
    /// A victim is released.
    N2,
    /// The job of a victim is freed.
    N3,
    /// The job of the nomination is reserved.
    N4,
    /// The nomination is taken out.
    N5,
}

impl Write {
    /// All of them.
    pub const ALL: [Write; 5] = [Write::N1, Write::N2, Write::N3, Write::N4, Write::N5];
}

impl Scheme {
    /// One of many. `disturbed`: clocks may be wrong.
    pub fn new(chance: &mut Chance, coordinators: u8, disturbed: bool) -> Scheme {
        let all = [Mode::Rank, Mode::Share, Mode::Priority];
        let mut reasons: Vec<Mode> = all.into_iter().filter(|_| chance.permille(500)).collect();
        if reasons.is_empty() {
            reasons = all.to_vec();
        }
        let is_wrong = disturbed && chance.permille(400);
        let skew =
            |chance: &mut Chance| if is_wrong { 3600 * (i64::try_from(chance.below(3)).unwrap_or(1) - 1) } else { 0 };
        Scheme {
            reasons,
            is_ranked: chance.permille(600),
            min_runtime_s: i64::try_from(chance.between(1, 3)).unwrap_or(1),
            max_victims: 1 + usize::from(chance.permille(700)),
            nomination_ms: chance.between(4_000, 8_000),
            skews_s: (0..coordinators).map(|_| skew(chance)).collect(),
            crashes: if disturbed { crashes(chance) } else { BTreeMap::new() },
        }
    }

    /// The number of the account that a job is charged to.
    pub fn account_of(&self, job: u8) -> u8 {
        job % 2
    }

    /// The priority of a job.
    pub fn priority_of(&self, job: u8) -> i32 {
        i32::from(job / 2)
    }
}

fn crashes(chance: &mut Chance) -> BTreeMap<Write, bool> {
    let mut crashes = BTreeMap::new();
    for write in Write::ALL {
        if chance.permille(250) {
            crashes.insert(write, chance.permille(500));
        }
    }
    crashes
}
