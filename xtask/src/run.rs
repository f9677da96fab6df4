//! Turns a verb into one of our own programs, built and run.

use std::process::ExitCode;

use anyhow::{Context, Result};
use testbed::repository;

use crate::plane;

/// Faults between the controller and the API server, by chance.
pub(crate) fn chaos(minutes: u64, seed: Option<u64>, elect: bool, attacks: bool) -> Result<ExitCode> {
    let mut flags = vec![format!("--minutes={minutes}"), format!("--elect={elect}")];
    flags.extend(seed.map(|seed| format!("--seed={seed}")));
    flags.extend(attacks.then(|| "--attacks".to_owned()));
    program(&["--bin", "chaos"], &flags)
}

/// Claims on a real API server, measured.
pub(crate) fn load(
    sizes: &[(&str, usize)],
    words: &[(&str, String)],
    drain: Option<&str>,
    work: bool,
) -> Result<ExitCode> {
    let mut flags: Vec<String> = sizes.iter().map(|(name, size)| format!("--{name}={size}")).collect();
    flags.extend(words.iter().map(|(name, word)| format!("--{name}={word}")));
    flags.extend(work.then(|| "--work".to_owned()));
    flags.extend(drain.map(|depths| format!("--drain={depths}")));
    program(&["--release", "--bin", "load"], &flags)
}

/// Attacks of one tenant, and what the others notice of them.
pub(crate) fn attack(only: Option<&str>, samples: usize, scale: usize) -> Result<ExitCode> {
    let only = only.map_or_else(|| "--attack".to_owned(), |rows| format!("--attack={rows}"));
    let flags = [only, format!("--samples={samples}"), format!("--scale={scale}")];
    program(&["--release", "--bin", "load"], &flags)
}

/// Builds the control plane if need be, then the program, and runs it; its exit code is ours.
fn program(what: &[&str], flags: &[String]) -> Result<ExitCode> {
    plane::build()?;
    let mut command = repository::cargo();
    let status =
        command.args(["run", "--quiet"]).args(what).arg("--").args(flags).status().context("cargo does not start")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
