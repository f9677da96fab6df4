//! What came of a simulation.

/// How often a job was preempted, and how often it may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// How often it was.
    pub times: u32,
    /// How often it may be before it has run to its end.
    pub most: u32,
}

/// Nominations of a simulation.
#[derive(Clone, Copy, Debug, Default)]
pub struct NominationCount {
    /// How many there were.
    pub made: u64,
    /// How many of them were not claimed.
    pub dropped: u64,
}

/// Figures of a simulation. Charges are in micros.
#[derive(Clone, Debug, Default)]
pub struct FairnessReport {
    /// By half-life and account, what was held: charge times seconds.
    pub held: Vec<Vec<i128>>,
    /// What was charged, times seconds.
    pub charged: i128,
    /// The part of it that was held by gangs that were preempted: their work is lost.
    pub lost: i128,
    /// How many gangs were claimed.
    pub claims: u64,
    /// How many jobs have run to their end.
    pub finished: u64,
    /// How many gangs were preempted.
    pub preemptions: u64,
    /// What became of nominations.
    pub nominations: NominationCount,
    /// The job that was preempted most often.
    pub worst: Put,
    /// A job that was preempted more often than it may be.
    pub beyond: Option<Put>,
    /// Claims that were aborted.
    pub aborted: u64,
    /// How long the job waited that needs many machines, in seconds; none if it was not claimed.
    pub big_waited: Option<i64>,
    /// How many machines were free while some were held for a job that has waited long, times seconds.
    pub kept_idle: i64,
}

impl FairnessReport {
    /// By half-life, how far the account that is farthest from its weight is from it: in points of a hundred.
    pub fn distances(&self, weights: &[i64]) -> Vec<f64> {
        let all_weights: i64 = weights.iter().sum();
        let distance = |held: &Vec<i128>| {
            let all: i128 = held.iter().sum();
            let off = held.iter().zip(weights).map(|(held, weight)| {
                let (held, weight) = (*held as f64 / all.max(1) as f64, *weight as f64 / all_weights as f64);
                100.0 * (held - weight).abs()
            });
            off.fold(0.0, f64::max)
        };
        self.held.iter().map(distance).collect()
    }

    /// The work that was lost to preemption, in percent of what was charged.
    pub fn lost_percent(&self) -> f64 {
        100.0 * self.lost as f64 / self.charged.max(1) as f64
    }
}

impl Put {
    /// That of a job of this run, if nothing runs undisturbed for less than `least` seconds.
    pub(super) fn of(times: u32, run: i64, least: i64) -> Put {
        let mut most = 0;
        while most < 20 && least << most < run {
            most += 1;
        }
        Put { times, most }
    }
}
