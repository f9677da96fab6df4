//! Runs into charts: what was completed when, who waited how long, what was free when.

use std::time::Duration;

use chart::{Chart, Curve};
use gridcam::Outcome;

use super::plan::SimulationPlan;
use super::{Played, Run};

/// How many points a curve over time has after the first.
const POINTS: u32 = 120;

/// The charts, each with the name of its file.
pub(super) fn charts(plan: &SimulationPlan, played: &[Played<'_>]) -> [(&'static str, Chart); 3] {
    let over_time = |title: &str, up: &'static str, value: &dyn Fn(&Run, u64) -> f64| Chart {
        title: format!("{}: {title}", plan.name),
        across: "hours",
        up,
        curves: played.iter().map(|scheme| means(plan, scheme, value)).collect(),
        ..Chart::default()
    };
    let all: f64 = plan.clusters.iter().map(|cluster| real(cluster.amounts.cpus)).sum();
    let free = |run: &Run, time: u64| all - at_work(run, time);
    let waits = Chart {
        title: format!("{}: jobs that were placed within a time", plan.name),
        across: "seconds",
        up: "percent of all jobs",
        curves: played.iter().map(waits).collect(),
        across_by_tens: true,
        ..Chart::default()
    };
    [
        ("completed.svg", over_time("completed jobs", "jobs", &completed)),
        ("waits.svg", waits),
        ("used.svg", over_time("free processors", "processors", &free)),
    ]
}

/// The mean of all runs of a scheme over time, with its standard error.
fn means(plan: &SimulationPlan, scheme: &Played<'_>, value: &dyn Fn(&Run, u64) -> f64) -> Curve {
    let mut curve = Curve { name: scheme.scheme.name.clone(), ..Curve::default() };
    for point in 0..=POINTS {
        let time = plan.until / u64::from(POINTS) * u64::from(point);
        let estimate = gridcam::Estimate::of(&scheme.runs.iter().map(|run| value(run, time)).collect::<Vec<_>>());
        curve.points.push((Duration::from_millis(time).as_secs_f64() / 3600.0, estimate.mean));
        curve.errors.push(estimate.error);
    }
    curve
}

/// When a placed job began, when it is done, and its processors.
fn service(run: &Run, outcome: &Outcome) -> Option<(u64, u64, u64)> {
    let (start, _) = outcome.placed?;
    let job = run.jobs.get(outcome.job)?;
    Some((start, start.saturating_add(job.service), job.amounts.cpus))
}

fn completed(run: &Run, time: u64) -> f64 {
    let done = run.outcomes.iter().filter_map(|outcome| service(run, outcome)).filter(|(_, end, _)| *end <= time);
    done.map(|_| 1.0).sum()
}

/// The processors in use at a time.
fn at_work(run: &Run, time: u64) -> f64 {
    let services = run.outcomes.iter().filter_map(|outcome| service(run, outcome));
    services.filter(|(start, end, _)| (*start..*end).contains(&time)).map(|(_, _, cpus)| real(cpus)).sum()
}

/// The share of all jobs of all runs that were placed within a time, in steps of a tenth of a power of ten.
fn waits(scheme: &Played<'_>) -> Curve {
    let jobs: usize = scheme.runs.iter().map(|run| run.outcomes.len()).sum();
    let wait = |run: &Run, outcome: &Outcome| {
        let (start, _) = outcome.placed?;
        Some(Duration::from_millis(start.saturating_sub(run.jobs.get(outcome.job)?.at)).as_secs_f64())
    };
    let mut waits: Vec<f64> =
        scheme.runs.iter().flat_map(|run| run.outcomes.iter().filter_map(|outcome| wait(run, outcome))).collect();
    waits.sort_by(f64::total_cmp);
    let mut curve = Curve { name: scheme.scheme.name.clone(), ..Curve::default() };
    let longest = waits.last().copied().unwrap_or(0.0);
    for step in 0..=80 {
        let within = 10f64.powf(f64::from(step) / 10.0 - 1.0);
        let share = count(waits.partition_point(|wait| *wait <= within)) / count(jobs).max(1.0);
        curve.points.push((within, share * 100.0));
        if within >= longest {
            break;
        }
    }
    curve
}

fn count(count: usize) -> f64 {
    u64::try_from(count).map_or(f64::INFINITY, real)
}

/// A count as a real number.
#[expect(clippy::cast_precision_loss, reason = "no count reaches 2^53")]
fn real(count: u64) -> f64 {
    count as f64
}
