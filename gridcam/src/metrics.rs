//! What became of the jobs of a run, in numbers.

use crate::arrivals::Arrival;
use crate::model::Amounts;
use crate::simulation::{Grid, Outcome, State};
use crate::{count, real};

/// One run in numbers. Times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Jobs that arrived: the sum of the four that follow.
    pub submitted: u64,
    /// Jobs that have run.
    pub completed: u64,
    /// Jobs that still run: "scheduled" in the thesis.
    pub running: u64,
    /// Jobs that still wait.
    pub waiting: u64,
    /// Jobs that were removed after the timeout.
    pub timed_out: u64,
    /// The longest wait of a placed job.
    pub max_wait: u64,
    /// The wait that 95 of 100 placed jobs did not exceed.
    pub p95_wait: u64,
    /// The waits of placed jobs, summed.
    pub sum_wait: u64,
    /// The waits of all jobs, summed: of those without a cluster until the end, or until the timeout.
    pub sum_wait_all: u64,
    /// Processors in use, summed over time.
    pub used: u64,
}

impl Metrics {
    /// Of these outcomes of a run.
    #[must_use]
    pub fn of(jobs: &[Arrival], grid: &Grid<'_>, outcomes: &[Outcome]) -> Metrics {
        let mut metrics = Metrics { submitted: count(outcomes), ..Metrics::default() };
        let mut waits = Vec::new();
        for outcome in outcomes {
            let Some(job) = jobs.get(outcome.job) else { continue };
            let number = match outcome.state {
                State::Completed => &mut metrics.completed,
                State::Running => &mut metrics.running,
                State::Waiting => &mut metrics.waiting,
                State::TimedOut => &mut metrics.timed_out,
            };
            *number += 1;
            let wait = outcome.wait(job, grid);
            metrics.sum_wait_all = metrics.sum_wait_all.saturating_add(wait);
            if let Some((start, _)) = outcome.placed {
                waits.push(wait);
                let ran = job.service.min(grid.until.saturating_sub(start));
                metrics.used = metrics.used.saturating_add(job.amounts.cpus.saturating_mul(ran));
            }
        }
        waits.sort_unstable();
        metrics.max_wait = waits.last().copied().unwrap_or(0);
        metrics.p95_wait = waits.get((waits.len() * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
        metrics.sum_wait = waits.iter().copied().fold(0, u64::saturating_add);
        metrics
    }

    /// How many of the submitted jobs these are, in percent.
    #[must_use]
    pub fn percent(&self, jobs: u64) -> f64 {
        ratio(jobs, self.submitted) * 100.0
    }

    /// The average wait of placed jobs, in milliseconds.
    #[must_use]
    pub fn average_wait(&self) -> f64 {
        ratio(self.sum_wait, self.completed.saturating_add(self.running))
    }

    /// The average wait of all jobs, in milliseconds.
    #[must_use]
    pub fn average_wait_all(&self) -> f64 {
        ratio(self.sum_wait_all, self.submitted)
    }

    /// Processors in use over processors that there were, in percent.
    #[must_use]
    pub fn utilization(&self, grid: &Grid<'_>) -> f64 {
        let cpus: u64 = grid.clusters.iter().map(|cluster| cluster.cpus).fold(0, u64::saturating_add);
        ratio(self.used, cpus.saturating_mul(grid.until)) * 100.0
    }
}

impl Outcome {
    /// How long the job waited, in milliseconds: until it was placed, timed out, or the end.
    #[must_use]
    pub fn wait(&self, job: &Arrival, grid: &Grid<'_>) -> u64 {
        match (self.state, self.placed) {
            (State::TimedOut, _) => grid.timeout.unwrap_or(0),
            (_, Some((start, _))) => start.saturating_sub(job.at),
            (_, None) => grid.until.saturating_sub(job.at),
        }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { real(part) / real(whole) }
}

/// A blocked queue that stood still until the end: its first job fits no cluster, not even an empty one, and others that fit wait behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Since when no job was placed, in milliseconds.
    pub since: u64,
    /// The first job of the queue, by its number in the list of arrivals.
    pub job: usize,
    /// How many jobs that wait behind it fit what is free at the end.
    pub behind: u64,
}

/// Whether the queue of a blocked scheme stood still at the end of a run.
#[must_use]
pub fn freeze(jobs: &[Arrival], grid: &Grid<'_>, outcomes: &[Outcome]) -> Option<Freeze> {
    let arrival = |outcome: &Outcome| jobs.get(outcome.job);
    let waits = |outcome: &&Outcome| outcome.state == State::Waiting;
    let rank = |outcome: &&Outcome| arrival(outcome).map(|job| (std::cmp::Reverse(job.priority), job.at, outcome.job));
    let first = outcomes.iter().filter(waits).min_by_key(rank)?;
    let head = arrival(first)?;
    let fits = |job: &Arrival, clusters: &[Amounts]| {
        let accepted = |cluster: &usize| job.accepts.as_ref().is_none_or(|accepted| accepted.contains(cluster));
        clusters.iter().enumerate().any(|(cluster, free)| accepted(&cluster) && job.amounts.fit(*free))
    };
    if fits(head, grid.clusters) {
        return None;
    }
    let mut free = grid.clusters.to_vec();
    for outcome in outcomes.iter().filter(|outcome| outcome.state == State::Running) {
        if let (Some((_, cluster)), Some(job)) = (outcome.placed, arrival(outcome))
            && let Some(free) = free.get_mut(cluster)
        {
            *free = free.without(job.amounts);
        }
    }
    let behind: Vec<&Outcome> =
        outcomes.iter().filter(waits).filter(|one| arrival(one).is_some_and(|job| fits(job, &free))).collect();
    let last_start = outcomes.iter().filter_map(|outcome| outcome.placed).map(|(start, _)| start).max();
    let since = head.at.max(last_start.unwrap_or(0));
    (!behind.is_empty()).then(|| Freeze { since, job: first.job, behind: count(&behind) })
}

#[cfg(test)]
mod tests {
    use super::Metrics;
    use crate::arrivals::Arrival;
    use crate::simulation::{Grid, Outcome, State};

    #[test]
    fn waits_that_are_too_long_to_be_summed_are_summed_to_the_largest_number() {
        let jobs = [Arrival::default(), Arrival::default()];
        let grid = Grid { clusters: &[], window: 1, until: u64::MAX, timeout: None };
        let outcome = |job| Outcome { job, state: State::Running, placed: Some((u64::MAX, 0)) };
        assert_eq!(Metrics::of(&jobs, &grid, &[0, 1].map(outcome)).sum_wait, u64::MAX);
    }
}
