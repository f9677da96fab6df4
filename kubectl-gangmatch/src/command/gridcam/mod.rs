//! `gridcam`: a description of a grid and its jobs into how they fare under each scheme.

mod charts;
mod durations;
mod file;
mod output;
mod plan;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ValueEnum;
use gridcam::{Amounts, Arrival, Freeze, Grid, Metrics, Outcome, Summary, arrivals, freeze, simulate};

use crate::screen::{Screen, shown};
use crate::texts;
use plan::{JobSource, Named, SimulationPlan};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
The file describes clusters, jobs and schemes; docs/gridcam.md has all fields. The same file gives the same output.

Examples:
  kubectl gangmatch gridcam -f examples/gridcam/workloads/table-5.1.yaml
  kubectl gangmatch gridcam -f examples/gridcam/workloads/freeze.yaml --scheme FCFS-blocked --runs 1 --jobs-out jobs.jsonl

Exit status:
  0  all runs were simulated
  1  there is a mistake in the file
  2  an option is wrong, or a file does not exist or cannot be written";

/// What to simulate and how to print it.
#[derive(Debug, clap::Args)]
pub(crate) struct GridcamArguments {
    /// The file that describes the simulation; - means standard input.
    #[arg(value_name = "FILE", required_unless_present = "filename", conflicts_with = "filename")]
    file: Option<PathBuf>,

    /// The same as FILE.
    #[arg(short, long = "filename", value_name = "FILE")]
    filename: Option<PathBuf>,

    /// Draw three charts into this folder: completed.svg, waits.svg and used.svg.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,

    /// The form of the output: a table of means, or every run in JSON or CSV.
    #[arg(short, long, value_enum, default_value_t = Form::Table)]
    output: Form,

    /// The number of runs of each scheme. Default: that of the file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    runs: Option<u64>,

    /// The seed of the first run; each run after it has the next. Default: that of the file.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Simulate this scheme only. Can be repeated.
    #[arg(long, value_name = "NAME")]
    scheme: Vec<String>,

    /// Write what became of each job to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    jobs_out: Option<PathBuf>,

    /// Also print the longest time that this computer took to match a window, which differs from run to run.
    #[arg(long)]
    timing: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    Table,
    Json,
    Csv,
}

/// The runs of one scheme.
struct Played<'p> {
    scheme: &'p Named,
    summary: Summary,
    runs: Vec<Run>,
}

/// One run of one scheme.
struct Run {
    seed: u64,
    jobs: Vec<Arrival>,
    outcomes: Vec<Outcome>,
    metrics: Metrics,
    freeze: Option<Freeze>,
    /// The longest time that matching a window took.
    slowest: Duration,
}

/// Simulates all schemes. 0: done; 1: something in the file is wrong.
pub(crate) fn run(arguments: &GridcamArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    // The command line has one of them.
    let input = arguments.file.as_deref().or(arguments.filename.as_deref()).unwrap_or(Path::new("-"));
    let read = texts::read(input)?;
    let plan = match read.map_err(|problem| vec![problem]).and_then(|text| file::read(&text, input)) {
        Ok(plan) => chosen(plan, arguments)?,
        Err(problems) => {
            for problem in problems {
                writeln!(std::io::stderr(), "error: {}", shown(&problem))?;
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let free: Vec<Amounts> = plan.clusters.iter().map(|cluster| cluster.amounts).collect();
    let played: Vec<Played<'_>> = plan.schemes.iter().map(|scheme| play(&plan, scheme, &free)).collect();
    let mut out = Screen(out);
    match arguments.output {
        Form::Table => write!(out, "{}", output::table(&plan, &played, arguments.timing))?,
        Form::Json => writeln!(out, "{}", serde_json::to_string_pretty(&output::json(&plan, &played))?)?,
        Form::Csv => write!(out, "{}", output::csv(&played))?,
    }
    if let Some(folder) = &arguments.svg {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for (name, chart) in charts::charts(&plan, &played) {
            write_file(&folder.join(name), &chart.svg())?;
        }
    }
    if let Some(path) = &arguments.jobs_out {
        let lines = played.iter().flat_map(|scheme| output::jobs(&plan, scheme)).map(|line| format!("{line}\n"));
        write_file(path, &lines.collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The plan with what the command line says instead.
fn chosen(mut plan: SimulationPlan, arguments: &GridcamArguments) -> anyhow::Result<SimulationPlan> {
    for name in &arguments.scheme {
        if !plan.schemes.iter().any(|scheme| scheme.name == *name) {
            let names: Vec<&str> = plan.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
            bail!("there is no scheme `{name}` in the file; there are {}", names.join(", "));
        }
    }
    plan.schemes.retain(|scheme| arguments.scheme.is_empty() || arguments.scheme.contains(&scheme.name));
    if matches!(plan.source, JobSource::Trace(_)) && (arguments.runs.is_some() || arguments.seed.is_some()) {
        bail!("--runs and --seed have no effect on a trace, in which nothing is drawn; leave them out");
    }
    plan.runs = arguments.runs.unwrap_or(plan.runs);
    plan.seed = arguments.seed.unwrap_or(plan.seed);
    Ok(plan)
}

fn play<'p>(plan: &SimulationPlan, scheme: &'p Named, free: &[Amounts]) -> Played<'p> {
    let grid = Grid { clusters: free, window: scheme.window, until: plan.until, timeout: plan.timeout };
    let runs: Vec<Run> = plan.seeds().map(|seed| one(plan, scheme, &grid, seed)).collect();
    let metrics: Vec<Metrics> = runs.iter().map(|run| run.metrics).collect();
    Played { scheme, summary: Summary::of(&metrics, &grid), runs }
}

fn one(plan: &SimulationPlan, scheme: &Named, grid: &Grid<'_>, seed: u64) -> Run {
    let jobs = match &plan.source {
        JobSource::Laws(laws) => arrivals(laws, seed, plan.until, plan::JOBS_MAX),
        JobSource::Trace(jobs) => jobs.clone(),
    };
    let mut slowest = Duration::ZERO;
    let outcomes = simulate(&jobs, grid, &mut |window| {
        let begun = Instant::now();
        let assignment = scheme.scheme.place(window);
        slowest = slowest.max(begun.elapsed());
        assignment
    });
    let metrics = Metrics::of(&jobs, grid, &outcomes);
    let blocked = matches!(scheme.scheme, gridcam::Scheme::Fcfs { blocked: true, .. });
    let freeze = if blocked { freeze(&jobs, grid, &outcomes) } else { None };
    Run { seed, jobs, outcomes, metrics, freeze, slowest }
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
