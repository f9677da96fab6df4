//! Turns the crate `conformance` into a program that the checkers of the conformance cases can run.

use anyhow::Result;
use testbed::repository;

use crate::output::line;

/// Builds the program, with patterns as HTCondor matches them, and prints its path as the last line.
pub(crate) fn run() -> Result<()> {
    let program = repository::program("conformance")?;
    line(program.display());
    Ok(())
}
