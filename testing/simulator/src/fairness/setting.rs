//! What is simulated.

use std::collections::BTreeSet;

use policy::Mode;

/// A pool, who works in it, and for how long.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What the lengths of runs depend on.
    pub seed: u64,
    /// The weights of the accounts.
    pub weights: Vec<i64>,
    /// After how many seconds what was used counts half.
    pub half_life: i64,
    /// When it ends, in seconds.
    pub until: i64,
    /// The machines, of one slot each.
    pub machines: Vec<Machine>,
    /// The jobs.
    pub workload: Workload,
    /// What was before.
    pub past: Past,
    /// The administrator's terms of preemption; absent: nothing is preempted.
    pub rules: Option<Rules>,
    /// After so many seconds another leader takes over, with what is stored.
    pub leader_every: i64,
}

/// A machine: how it ranks jobs.
#[derive(Clone, Debug)]
pub struct Machine {
    /// An expression over `other`; the job's `Number` is its number.
    pub rank: String,
}

/// The jobs of a setting.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Each account always has jobs that wait.
    Saturated {
        /// Seconds; runs are distributed exponentially.
        mean_run: i64,
        /// How many machines a gang has: one of these, each equally often.
        sizes: Vec<usize>,
    },
    /// These jobs, one after the other, of the first account: the machines of each, by their numbers, and its run in seconds.
    Fixed(Vec<(Vec<usize>, i64)>),
}

/// What was before the simulation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Nothing was used.
    Fresh,
    /// This account has had everything for a long time, and its jobs run.
    Monopoly(usize),
}

/// The administrator's terms of preemption.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The reasons that are permitted.
    pub reasons: BTreeSet<Mode>,
    /// How long a gang runs undisturbed at first.
    pub min_runtime_seconds: i64,
    /// How many gangs may end for one job.
    pub max_victims: usize,
    /// How many gangs may be preempted in an hour.
    pub evictions_per_hour: u32,
    /// How long offers are held for a job.
    pub nomination_seconds: i64,
    /// How long a workload takes to stop.
    pub grace_seconds: i64,
    /// By share, no account is left below the account of the job: as the controller does it.
    pub leaves_above: bool,
    /// `requirements` of the PoolPolicy.
    pub requirements: String,
    /// How often a job was preempted counts. Without that, preemption need not end.
    pub doubles: bool,
}

impl Rules {
    /// The defaults of a PoolPolicy, with these reasons, and pods that stop in half a minute.
    pub fn of(reasons: &[Mode]) -> Rules {
        Rules {
            reasons: reasons.iter().copied().collect(),
            min_runtime_seconds: 300,
            max_victims: 4,
            evictions_per_hour: 60,
            nomination_seconds: 600,
            grace_seconds: 30,
            leaves_above: true,
            requirements: "true".to_owned(),
            doubles: true,
        }
    }
}

impl Setting {
    /// A full pool of some slots, in which accounts of these weights always have jobs that wait, of a twentieth of a half-life each.
    pub fn saturated(seed: u64, slots: usize, weights: &[i64], half_lives: i64) -> Setting {
        let half_life = 86_400;
        Setting {
            seed,
            weights: weights.to_vec(),
            half_life,
            until: half_life * half_lives,
            machines: vec![Machine { rank: "0".to_owned() }; slots],
            workload: Workload::Saturated { mean_run: half_life / 20, sizes: vec![1] },
            past: Past::Fresh,
            rules: None,
            leader_every: 7 * 3_600,
        }
    }

    /// Three gangs, each of two of three machines, and each machine prefers the gang that it does not have: whatever runs, another gang may
    /// take its place. Each would run for a week.
    pub fn circle() -> Setting {
        let prefers = |number: usize| Machine { rank: format!("other.Number == {number} ? 1 : 0") };
        let run = 7 * 86_400;
        Setting {
            seed: 0,
            weights: vec![1000],
            half_life: 86_400,
            until: 60 * 86_400,
            machines: [2, 0, 1].map(prefers).to_vec(),
            workload: Workload::Fixed(vec![(vec![0, 1], run), (vec![1, 2], run), (vec![2, 0], run)]),
            past: Past::Fresh,
            rules: Some(Rules { evictions_per_hour: 36_000, grace_seconds: 0, ..Rules::of(&[Mode::Rank]) }),
            leader_every: 86_400,
        }
    }
}
