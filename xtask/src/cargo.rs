//! Turns a call of cargo in the repository into what it printed.

use anyhow::{Context, Result, bail};
use std::path::Path;
use testbed::repository;

/// What `cargo ARGUMENTS` prints on standard output, run quietly in a folder.
///
/// # Errors
/// When cargo does not start or fails; the error has its own message.
pub(crate) fn text(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = repository::cargo();
    let output = command.arg("--quiet").args(arguments).current_dir(root).output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("`cargo {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
