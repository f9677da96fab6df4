//! Turns a number of jobs, offers and a pattern of arrival into gangs a second, latencies and the controller's processor time,
//! beside what the same API server can do at all.

mod ads;
mod arrivals;
mod attack;
mod audit;
mod commits;
mod drain;
mod process;
mod raw;
mod report;
mod sets;
mod stage;
mod work;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, Parser, ValueEnum};

use crate::commits::Commits;
use crate::report::Measured;
use crate::stage::LoadStage;

/// Measures claims on a control plane of its own.
#[derive(Clone, Debug, Parser)]
#[command(name = "load")]
struct LoadArguments {
    /// How many jobs.
    #[arg(long, default_value_t = 1000)]
    jobs: usize,
    /// How many machines; each has as many slots as are needed, 256 at most.
    #[arg(long, default_value_t = 100)]
    machines: usize,
    /// How many licenses; each has as many seats as are needed, 256 at most.
    #[arg(long, default_value_t = 20)]
    licenses: usize,
    /// How the jobs arrive.
    #[arg(long, value_enum, default_value_t = Pattern::AtOnce)]
    pattern: Pattern,
    /// Jobs a second, of a steady arrival; jobs in each second's burst, of bursts.
    #[arg(long, default_value_t = 10)]
    rate: usize,
    /// Measure how fast a queue of each of these lengths drains instead, with room for a hundred gangs.
    #[arg(long, value_delimiter = ',', num_args = 0.., default_missing_value = "1000,20000")]
    drain: Option<Vec<usize>>,
    #[command(flatten)]
    sets: SetFlags,
    #[command(flatten)]
    work: WorkFlags,
    #[command(flatten)]
    attack: AttackFlags,
    /// Further flags of the controller, as `--name=value`.
    #[arg(last = true)]
    flags: Vec<String>,
}

// Gangs of many machines. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
struct SetFlags {
    /// Measure so many gangs of many machines and one license instead, one after the other.
    #[arg(long)]
    sets: Option<usize>,
    /// How many machines each has, with `--sets`.
    #[arg(long, default_value_t = 32)]
    size: usize,
}

// Jobs with pods. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
struct WorkFlags {
    /// Give each job a pod, on as many nodes as there are machines, and measure how well the seats of the licenses are used.
    #[arg(long)]
    work: bool,
    /// How many seats each license has, with `--work`.
    #[arg(long, default_value_t = 4)]
    seats: usize,
    /// The shortest and the longest work of a pod in seconds, with `--work`: 5-60.
    #[arg(long, default_value = "5-60", value_parser = span)]
    seconds: (u64, u64),
}

// Attacks. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
struct AttackFlags {
    /// Measure what other tenants notice of attacks instead: of these rows, for example b4,b7, or of all.
    #[arg(long, value_enum, ignore_case = true, value_delimiter = ',', num_args = 0..)]
    attack: Option<Vec<attack::Row>>,
    /// How many latencies are measured without each attack and with it, with `--attack`.
    #[arg(long, default_value_t = 200)]
    samples: usize,
    /// How many objects an attack is made of, in percent, with `--attack`.
    #[arg(long, default_value_t = 100)]
    scale: usize,
}

/// How jobs arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pattern {
    /// All are there when the controller begins.
    AtOnce,
    /// One after the other, so many a second.
    Steady,
    /// So many at once, every second.
    Bursts,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = LoadArguments::parse();
    let done = match &arguments.drain {
        _ if let Some(only) = &arguments.attack.attack => {
            let wish = attack::AttackOptions {
                only: only.clone(),
                samples: arguments.attack.samples,
                scale: arguments.attack.scale,
            };
            attack::run(&wish, &arguments.flags).await
        }
        _ if let Some(samples) = arguments.sets.sets => sets::run(samples, arguments.sets.size, &arguments.flags).await,
        Some(depths) => drain::run(depths, &arguments.flags).await,
        None if arguments.work.work => work::run(&wish(&arguments), &arguments.flags).await,
        None => run(&arguments).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            line(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// `5-60`.
fn span(text: &str) -> Result<(u64, u64), String> {
    let parts = text.split_once('-').and_then(|(least, most)| Some((least.parse().ok()?, most.parse().ok()?)));
    let found: Option<(u64, u64)> = parts.filter(|(least, most)| least <= most);
    found.ok_or_else(|| format!("found `{text}`; write two numbers of seconds, the shorter first: 5-60"))
}

fn wish(arguments: &LoadArguments) -> work::WorkOptions {
    work::WorkOptions {
        jobs: arguments.jobs,
        nodes: arguments.machines,
        licenses: arguments.licenses,
        seats: arguments.work.seats,
        seconds: arguments.work.seconds,
    }
}

async fn run(arguments: &LoadArguments) -> Result<()> {
    let stage = LoadStage::start().await?;
    let before = raw::rate(&stage).await?;
    stage.offers(arguments.jobs, arguments.machines, arguments.licenses).await?;
    let controller = stage.controller(&arguments.flags).await?;
    stage.settle().await?;
    let commits = Commits::follow(&stage);
    let (begun, created, ticks);
    if arguments.pattern == Pattern::AtOnce {
        // It stands still while they are made: it finds them all at once, and nobody else needs the server then.
        process::stand_still(&controller)?;
        arrivals::all(&stage, arguments.jobs).await?;
        ticks = process::milliseconds(&controller)?;
        begun = Instant::now();
        process::go_on(&controller)?;
        created = None;
    } else {
        ticks = process::milliseconds(&controller)?;
        begun = Instant::now();
        created = Some(arrivals::paced(&stage, arguments.jobs, arguments.pattern, arguments.rate).await?);
    }
    let limit = Duration::from_secs(60).max(Duration::from_millis(200).saturating_mul(u32::try_from(arguments.jobs)?));
    let at = commits.wait_for(arguments.jobs, limit).await?;
    let last = at.values().max().map_or(Duration::ZERO, |last| last.duration_since(begun));
    let spent = process::milliseconds(&controller)?.saturating_sub(ticks);
    stage.settle().await?;
    let audited = audit::read(&stage, "load")?;
    process::end(controller)?;
    let after = raw::rate(&stage).await?;
    let latencies = match created {
        Some(created) => report::latencies(&created, &at),
        None => at.values().map(|at| at.duration_since(begun)).collect(),
    };
    let measured = Measured {
        jobs: arguments.jobs,
        took: last,
        paced: arguments.pattern != Pattern::AtOnce,
        cpu_ms: spent,
        raw: [before, after],
        audited,
        latencies,
    };
    measured.lines().iter().for_each(|text| line(text));
    Ok(())
}

pub(crate) fn line(text: &str) {
    writeln!(std::io::stdout().lock(), "{text}").ok();
}
