//! Turns a call of cargo in the repository into what it printed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What `cargo ARGUMENTS` prints on standard output, run quietly in a folder.
///
/// # Errors
/// When cargo does not start or fails; the error has its own message.
pub(crate) fn text(root: &Path, arguments: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("--quiet").args(arguments).current_dir(root).stdin(Stdio::null());
    let output = command.output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("`cargo {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
