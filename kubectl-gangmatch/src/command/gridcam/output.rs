//! Runs into a table of means, JSON or CSV.

use gridcam::{Amounts, Estimate, Metrics, Outcome, State, Summary};
use serde_json::{Value, json};

use super::durations::{clock, short};
use super::plan::{JobSource, SimulationPlan};
use super::{Played, Run};

/// One row for each scheme, and a line for each whose queue stood still.
pub(super) fn table(plan: &SimulationPlan, played: &[Played<'_>], timing: bool) -> String {
    let mut headings = vec![
        "SCHEME",
        "WINDOW",
        "COMPLETED",
        "RUNNING",
        "WAITING",
        "TIMED OUT",
        "WAIT AVG",
        "WAIT P95",
        "WAIT MAX",
        "WAIT OF ALL",
        "USED",
    ];
    if timing {
        headings.push("PLACING MAX");
    }
    let several = plan.runs > 1;
    let row = |scheme: &Played<'_>| {
        let Summary { completed, running, waiting, timed_out, wait, p95_wait, max_wait, wait_all, used, .. } =
            scheme.summary;
        let mut row = vec![scheme.scheme.name.clone(), short(scheme.scheme.window)];
        row.extend([completed, running, waiting, timed_out].map(|share| estimate(share, several, "%")));
        row.extend([wait, p95_wait, max_wait, wait_all].map(|wait| estimate(wait, several, "s")));
        row.push(estimate(used, several, "%"));
        if timing {
            let slowest = scheme.runs.iter().map(|run| run.slowest).max().unwrap_or_default();
            let late = if slowest.as_millis() > u128::from(scheme.scheme.window) { " !" } else { "" };
            row.push(format!("{:.1} ms{late}", slowest.as_secs_f64() * 1000.0));
        }
        row
    };
    let rows: Vec<Vec<String>> = played.iter().map(row).collect();
    let frozen: String = played.iter().filter_map(|scheme| stood_still(plan, scheme)).collect();
    format!("{}\n{}{frozen}", heading(plan, played), crate::table::table(&headings, &rows, 0))
}

/// What was simulated.
fn heading(plan: &SimulationPlan, played: &[Played<'_>]) -> String {
    let mut parts = vec![plan.name.clone(), short(plan.until)];
    let jobs = played.first().map(|scheme| format!("{:.0} jobs", scheme.summary.submitted.mean)).unwrap_or_default();
    match (&plan.source, plan.runs) {
        (JobSource::Trace(_), _) => parts.extend(["a trace".to_owned(), jobs]),
        (JobSource::Laws(_), 1) => parts.extend([format!("1 run, seed {}", plan.seed), jobs]),
        (JobSource::Laws(_), runs) => {
            let last = plan.seeds().last().unwrap_or(plan.seed);
            parts.extend([format!("{runs} runs, seeds {}..{last}", plan.seed), format!("{jobs} a run")]);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// Which runs of a scheme stood still, and the first of them in full.
fn stood_still(plan: &SimulationPlan, scheme: &Played<'_>) -> Option<String> {
    let frozen: Vec<&Run> = scheme.runs.iter().filter(|run| run.freeze.is_some()).collect();
    let first = frozen.first()?;
    let freeze = first.freeze?;
    let which = match plan.runs {
        1 => "stood still".to_owned(),
        runs => format!("stood still in {} of {runs} runs; seed {}:", frozen.len(), first.seed),
    };
    let jobs = if freeze.behind == 1 {
        "1 job that fits is".to_owned()
    } else {
        format!("{} jobs that fit are", freeze.behind)
    };
    let name = &scheme.scheme.name;
    Some(format!(
        "{name} {which} from {} on: j{} fits no cluster, and {jobs} behind it\n",
        clock(freeze.since),
        freeze.job
    ))
}

/// A mean with its error, where there is one; small ones with a decimal.
fn estimate(of: Estimate, several: bool, unit: &str) -> String {
    let decimals = if unit == "%" || of.mean < 10.0 { 1 } else { 0 };
    let mean = format!("{:.decimals$}", of.mean);
    if several { format!("{mean} ±{:.decimals$} {unit}", of.error) } else { format!("{mean} {unit}") }
}

/// Everything, by scheme and run. Times in seconds, shares in percent.
pub(super) fn json(plan: &SimulationPlan, played: &[Played<'_>]) -> Value {
    let seconds = |milliseconds: u64| std::time::Duration::from_millis(milliseconds).as_secs_f64();
    let scheme = |scheme: &Played<'_>| {
        json!({
            "name": scheme.scheme.name,
            "window": seconds(scheme.scheme.window),
            "summary": summary(&scheme.summary),
            "runs": scheme.runs.iter().map(run).collect::<Vec<_>>(),
        })
    };
    json!({
        "name": plan.name,
        "until": seconds(plan.until),
        "timeout": plan.timeout.map(seconds),
        "schemes": played.iter().map(scheme).collect::<Vec<_>>(),
    })
}

fn summary(of: &Summary) -> Value {
    let both = |estimate: Estimate| json!({"mean": estimate.mean, "error": estimate.error});
    json!({
        "submitted": both(of.submitted),
        "completed": both(of.completed),
        "running": both(of.running),
        "waiting": both(of.waiting),
        "timedOut": both(of.timed_out),
        "wait": both(of.wait),
        "waitP95": both(of.p95_wait),
        "waitMax": both(of.max_wait),
        "waitOfAll": both(of.wait_all),
        "used": both(of.used),
    })
}

fn run(of: &Run) -> Value {
    let Metrics { submitted, completed, running, waiting, timed_out, .. } = of.metrics;
    let seconds = |milliseconds: f64| milliseconds / 1000.0;
    let exact = |milliseconds: u64| std::time::Duration::from_millis(milliseconds).as_secs_f64();
    json!({
        "seed": of.seed,
        "submitted": submitted,
        "completed": completed,
        "running": running,
        "waiting": waiting,
        "timedOut": timed_out,
        "wait": seconds(of.metrics.average_wait()),
        "waitP95": exact(of.metrics.p95_wait),
        "waitMax": exact(of.metrics.max_wait),
        "waitOfAll": seconds(of.metrics.average_wait_all()),
        "stoodStill": of.freeze.map(|freeze| json!({
            "since": exact(freeze.since),
            "job": format!("j{}", freeze.job),
            "behind": freeze.behind,
        })),
    })
}

/// One line for each run. Waits in seconds.
pub(super) fn csv(played: &[Played<'_>]) -> String {
    let mut lines = "scheme,seed,submitted,completed,running,waiting,timed_out,wait,wait_p95,wait_max,wait_of_all,stood_still_since\n".to_owned();
    for scheme in played {
        for run in &scheme.runs {
            let name = scheme.scheme.name.replace('"', "\"\"");
            let name = if name.contains([',', '"', '\n']) { format!("\"{name}\"") } else { name };
            let Metrics { submitted, completed, running, waiting, timed_out, p95_wait, max_wait, .. } = run.metrics;
            let counts =
                [run.seed, submitted, completed, running, waiting, timed_out].map(|count| count.to_string()).join(",");
            let average = run.metrics.average_wait() / 1000.0;
            let of_all = run.metrics.average_wait_all() / 1000.0;
            let since = run.freeze.map(|freeze| thousandths(freeze.since)).unwrap_or_default();
            let (p95, max) = (thousandths(p95_wait), thousandths(max_wait));
            lines.push_str(&format!("{name},{counts},{average:.3},{p95},{max},{of_all:.3},{since}\n"));
        }
    }
    lines
}

fn thousandths(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
}

/// What became of each job of each run.
pub(super) fn jobs(plan: &SimulationPlan, scheme: &Played<'_>) -> Vec<Value> {
    let seconds = |milliseconds: u64| std::time::Duration::from_millis(milliseconds).as_secs_f64();
    let one = |run: &Run, outcome: &Outcome| {
        let job = run.jobs.get(outcome.job)?;
        let Amounts { cpus, disk, memory } = job.amounts;
        let state = match outcome.state {
            State::Completed => "completed",
            State::Running => "running",
            State::Waiting => "waiting",
            State::TimedOut => "timedOut",
        };
        let cluster = outcome.placed.and_then(|(_, cluster)| plan.clusters.get(cluster));
        Some(json!({
            "scheme": scheme.scheme.name,
            "seed": run.seed,
            "id": format!("j{}", outcome.job),
            "arrival": seconds(job.at),
            "service": seconds(job.service),
            "cpus": cpus,
            "disk": disk,
            "memory": memory,
            "state": state,
            "start": outcome.placed.map(|(start, _)| seconds(start)),
            "cluster": cluster.map(|cluster| cluster.name.as_str()),
        }))
    };
    scheme.runs.iter().flat_map(|run| run.outcomes.iter().filter_map(|outcome| one(run, outcome))).collect()
}
