//! What is simulated.

use std::collections::BTreeSet;

use anyhow::Result;
use classad::{Dialect, parse_expr};
use matchmaker::PreemptionTerms;
use policy::{Mode, Permitted};

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
    pub past: PriorUse,
    /// The administrator's terms of preemption; absent: nothing is preempted.
    pub rules: Option<Rules>,
    /// The administrator's terms of reservation; absent: nothing is reserved.
    pub reservation: Option<ReservationRules>,
    /// A job that needs many machines at once. When it is claimed, the simulation ends.
    pub big: Option<BigJob>,
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
    /// Jobs of one machine arrive at random, all of the first account, with so much work in all, in percent of what the machines can do. If
    /// more wait than there are numbers for, some do not come.
    Stream {
        /// The work, in percent.
        load: i64,
        /// Seconds; runs are distributed exponentially.
        mean_run: i64,
        /// The longest run, in seconds.
        longest: i64,
        /// Of a thousand jobs, how many state how long they run at most.
        stated: u64,
    },
    /// These jobs, one after the other, of the first account: the machines of each, by their numbers, and its run in seconds.
    Fixed(Vec<(Vec<usize>, i64)>),
}

/// A job of the last account that needs many machines at once.
#[derive(Clone, Copy, Debug)]
pub struct BigJob {
    /// When it comes, in seconds.
    pub comes: i64,
    /// How many machines it needs.
    pub machines: usize,
}

/// The administrator's terms of reservation, for one job at a time.
#[derive(Clone, Copy, Debug)]
pub struct ReservationRules {
    /// How long a job has to have waited.
    pub after_seconds: i64,
    /// How long machines are held for it.
    pub for_seconds: i64,
}

/// What was before the simulation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorUse {
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

    /// What is preempted under these rules.
    ///
    /// # Errors
    /// If the requirements cannot be parsed.
    pub(super) fn terms(&self) -> Result<PreemptionTerms> {
        Ok(PreemptionTerms {
            permitted: Permitted {
                reasons: self.reasons.clone(),
                min_runtime_seconds: self.min_runtime_seconds,
                max_victims: self.max_victims,
                leaves_above: self.leaves_above,
            },
            requirements: parse_expr(&self.requirements, Dialect::Gangmatch)?,
            rank: parse_expr("0", Dialect::Gangmatch)?,
        })
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
            past: PriorUse::Fresh,
            rules: None,
            reservation: None,
            big: None,
            leader_every: 7 * 3_600,
        }
    }

    /// A pool of some slots under a stream of jobs of one slot, with runs of an hour on average and `longest` seconds at most, half of which state
    /// that. A job that needs half of the pool comes when the stream has run for twice as long.
    pub fn half_of_the_pool(seed: u64, slots: usize, load: i64, longest: i64) -> Setting {
        Setting {
            workload: Workload::Stream { load, mean_run: 3_600.min(longest / 3), longest, stated: 500 },
            big: Some(BigJob { comes: 2 * longest, machines: slots / 2 }),
            ..Setting::saturated(seed, slots, &[1000, 1000], 8)
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
            past: PriorUse::Fresh,
            rules: Some(Rules { evictions_per_hour: 36_000, grace_seconds: 0, ..Rules::of(&[Mode::Rank]) }),
            reservation: None,
            big: None,
            leader_every: 86_400,
        }
    }
}
