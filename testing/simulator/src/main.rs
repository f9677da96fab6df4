//! Runs histories by seed: one in full, or many until one goes wrong. Or a full pool with accounts, for many half-lives.

mod experiments;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use simulator::{HistoryPlan, Planted, run, shrink};

use experiments::Experiment;

/// Runs gangmatch's engine and claims in a world in memory.
#[derive(Parser)]
struct Program {
    #[command(subcommand)]
    experiment: Option<Experiment>,
    #[command(flatten)]
    histories: SimulatorArguments,
}

/// How histories are run.
#[derive(clap::Args)]
struct SimulatorArguments {
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds to run; with one, its history is printed.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Make the plan of a history that goes wrong as small as it gets.
    #[arg(long)]
    shrink: bool,
    /// A mistake to put in, to see it found.
    #[arg(long, value_enum, default_value_t)]
    planted: Planted,
}

fn main() -> Result<ExitCode> {
    let program = Program::parse();
    let mut out = std::io::stdout().lock();
    match program.experiment {
        Some(experiment) => experiment.run(&mut out).map(|()| ExitCode::SUCCESS),
        None => histories(&program.histories, &mut out),
    }
}

fn histories(arguments: &SimulatorArguments, out: &mut impl std::io::Write) -> Result<ExitCode> {
    let (mut events, mut committed) = (0u64, 0u64);
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.count) {
        let plan = HistoryPlan::new(seed, arguments.planted);
        let outcome = run(&plan, false);
        events += outcome.events;
        committed += outcome.committed;
        if outcome.wrong.is_none() && arguments.count > 1 {
            continue;
        }
        let plan = if arguments.shrink && outcome.wrong.is_some() { shrink(&plan) } else { plan };
        let outcome = run(&plan, true);
        for line in &outcome.log {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{plan:#?}")?;
        writeln!(
            out,
            "{} events, {} writes, {} ms, {} committed, {} aborted",
            outcome.events, outcome.writes, outcome.ended_ms, outcome.committed, outcome.aborted
        )?;
        match outcome.wrong {
            Some(wrong) => {
                writeln!(out, "seed {seed}: {wrong}")?;
                return Ok(ExitCode::FAILURE);
            }
            None => writeln!(out, "seed {seed}: everything holds")?,
        }
    }
    if arguments.count > 1 {
        writeln!(out, "{} histories hold: {events} events, {committed} claims that stood", arguments.count)?;
    }
    Ok(ExitCode::SUCCESS)
}
