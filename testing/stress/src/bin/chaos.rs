//! Turns minutes and a seed into a soak, and prints what came of it.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{ArgAction, Parser};
use stress::{Soak, SoakReport, soak};

/// Faults by chance between the real controller and the real API server, audited revision by revision.
#[derive(Parser)]
#[command(name = "chaos")]
struct ChaosArguments {
    /// How long.
    #[arg(long, default_value_t = 2)]
    minutes: u64,
    /// What happens when; without it another one each time. Processes run beside each other, so that the same seed brings the
    /// same faults, but not to the microsecond.
    #[arg(long)]
    seed: Option<u64>,
    /// Whether one of the two controllers is elected to write; else both do, all the time.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    elect: bool,
    /// Add a tenant who attacks in each round: costly and large ads, forged labels, workloads beyond a quota, evictions.
    #[arg(long)]
    attacks: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = ChaosArguments::parse();
    let seed =
        arguments.seed.unwrap_or_else(|| jiff::Timestamp::now().as_nanosecond().unsigned_abs() as u64 % 1_000_000);
    let time = Duration::from_secs(arguments.minutes.saturating_mul(60));
    let wish = Soak { seed, time, elect: arguments.elect, attacks: arguments.attacks };
    line(&format!("seed {seed}"));
    match run(wish).await {
        Ok(report) => {
            for (fault, times) in &report.faults {
                line(&format!("  {times:5} {fault}"));
            }
            line(&format!("{}; 0 violations", sum(&report)));
            ExitCode::SUCCESS
        }
        Err(error) => {
            line(&format!(
                "{error:#}\nagain: cargo xtask chaos --seed {seed}{}",
                if wish.attacks { " --attacks" } else { "" }
            ));
            ExitCode::FAILURE
        }
    }
}

async fn run(wish: Soak) -> Result<SoakReport> {
    soak(wish, |report| line(&format!("round {}: {}", report.rounds, sum(report)))).await
}

fn sum(report: &SoakReport) -> String {
    let audited = &report.audited;
    format!(
        "{} faults, {} writes ({} refused with 409 or 422), {} revisions audited, {} gangs committed, {} aborted, {} released; \
         at rest {} ms after the last fault at the latest",
        report.faults(),
        report.writes,
        report.conflicts,
        audited.revisions,
        audited.committed,
        audited.aborted,
        audited.released,
        report.rest.as_millis(),
    )
}

fn line(text: &str) {
    writeln!(std::io::stdout().lock(), "{text}").ok();
}
