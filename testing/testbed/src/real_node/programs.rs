//! Turns the name of a program into the place where it is, and a command line into what it prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Where programs of the system are that are not in the `PATH` of every user.
const SYSTEM_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// The environment's `PATH`, and the folders for programs of the system.
pub(crate) fn path() -> String {
    match std::env::var("PATH") {
        Ok(path) if !path.is_empty() => format!("{path}:{SYSTEM_FOLDERS}"),
        _ => format!("/usr/local/bin:/usr/bin:/bin:{SYSTEM_FOLDERS}"),
    }
}

/// Where a program is, if it is there.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    path().split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// What a command prints.
///
/// # Errors
/// When it does not succeed; the error has its words.
pub(crate) fn run(command: &[&str]) -> Result<String> {
    let (program, arguments) = command.split_first().context("a command has a program")?;
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", path())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("`{program}` does not start"))?;
    if !output.status.success() {
        bail!("`{}`: {}", command.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
