//! Several runs of one scheme into means with their standard errors.

use crate::metrics::Metrics;
use crate::real;
use crate::simulation::Grid;

/// The mean of a sample, and how far it may be from the true one: its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The standard error; 0 of a single run.
    pub error: f64,
}

impl Estimate {
    /// Of the values of several runs.
    #[must_use]
    pub fn of(sample: &[f64]) -> Estimate {
        Estimate { mean: sampling::mean(sample), error: sampling::standard_error(sample) }
    }
}

/// Runs of one scheme that differ in their seed alone. Shares in percent, waits in seconds; each run counts the same, however many jobs
/// it had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Jobs that arrived.
    pub submitted: Estimate,
    /// Jobs that have run.
    pub completed: Estimate,
    /// Jobs that still run.
    pub running: Estimate,
    /// Jobs that still wait.
    pub waiting: Estimate,
    /// Jobs that were removed after the timeout.
    pub timed_out: Estimate,
    /// The average wait of placed jobs.
    pub wait: Estimate,
    /// The wait that 95 of 100 placed jobs did not exceed.
    pub p95_wait: Estimate,
    /// The longest wait of a placed job.
    pub max_wait: Estimate,
    /// The average wait of all jobs.
    pub wait_all: Estimate,
    /// Processors in use over processors that there were.
    pub used: Estimate,
}

impl Summary {
    /// Of these runs on one grid.
    #[must_use]
    pub fn of(runs: &[Metrics], grid: &Grid<'_>) -> Summary {
        let over = |value: &dyn Fn(&Metrics) -> f64| Estimate::of(&runs.iter().map(value).collect::<Vec<_>>());
        Summary {
            submitted: over(&|run| real(run.submitted)),
            completed: over(&|run| run.percent(run.completed)),
            running: over(&|run| run.percent(run.running)),
            waiting: over(&|run| run.percent(run.waiting)),
            timed_out: over(&|run| run.percent(run.timed_out)),
            wait: over(&|run| run.average_wait() / 1000.0),
            p95_wait: over(&|run| real(run.p95_wait) / 1000.0),
            max_wait: over(&|run| real(run.max_wait) / 1000.0),
            wait_all: over(&|run| run.average_wait_all() / 1000.0),
            used: over(&|run| run.utilization(grid)),
        }
    }
}
