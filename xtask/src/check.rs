//! Turns the working tree into a yes, or into what is wrong with its format, lints, house rules and generated files.

use anyhow::{Context, Result, bail};
use testbed::repository;

use crate::output::{noisy_step, step};
use crate::{generate, tidy};

/// All checks, cheapest first.
pub(crate) fn run() -> Result<()> {
    step("cargo fmt --check", || cargo(&["fmt", "--all", "--check"]))?;
    tidy()?;
    noisy_step("cargo clippy", "about 3 minutes on 2 cores", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
    })?;
    generate::check()
}

/// Takes what is found no more out of the list of exceptions of the house rules.
pub(crate) fn shrink() -> Result<()> {
    tidy::shrink(&repository::root())
}

/// The house rules alone.
pub(crate) fn tidy() -> Result<()> {
    step("tidy", || {
        let findings = tidy::findings(&repository::root())?;
        if !findings.is_empty() {
            bail!("{} findings:\n{}", findings.len(), findings.join("\n"));
        }
        Ok(())
    })
}

fn cargo(arguments: &[&str]) -> Result<()> {
    let status = repository::cargo().args(arguments).status();
    if !status.context("cargo does not start")?.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(())
}
