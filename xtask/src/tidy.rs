//! Turns the repository into a list of findings: where it breaks the house rules that no compiler knows.

mod imports;
mod links;
mod sources;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::imports::Reached;

/// Folders that are not ours to judge, wherever they are.
const SKIPPED: [&str; 4] = ["target", ".git", ".work", "node_modules"];
/// What is read; the rest is not text of ours.
const EXTENSIONS: [&str; 6] = ["rs", "md", "yaml", "toml", "tpl", "json"];

/// One text file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Relative to the repository's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Everything that is wrong, each with the file or the crate it is about; sorted.
pub(crate) fn findings(root: &Path) -> Result<Vec<String>> {
    let mut sources = Vec::new();
    read(root, root, &mut sources)?;
    let mut findings = imports::findings(&metadata(root)?, &reached(root)?);
    findings.extend(sources.iter().flat_map(sources::findings));
    findings.extend(sources.iter().flat_map(|source| links::findings(source, |path| root.join(path).exists())));
    findings.sort();
    Ok(findings)
}

fn read(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        let name = entry.file_name();
        if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
            read(root, &path, sources)?;
        }
        let known = path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known));
        if kind.is_file() && known {
            let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            let text = fs::read_to_string(&path).with_context(|| format!("{relative} is not text"))?;
            sources.push(Source { path: relative, text });
        }
    }
    Ok(())
}

fn metadata(root: &Path) -> Result<Value> {
    Ok(serde_json::from_str(&cargo(root, &["metadata", "--no-deps", "--format-version", "1"])?)?)
}

/// Asked of each crate by itself: in the workspace as a whole, the programs switch features of shared packages on.
fn reached(root: &Path) -> Result<Reached> {
    let mut reached = Reached::new();
    for (member, _) in imports::LIMITED {
        let tree = cargo(root, &["tree", "--package", member, "--edges", "normal,build", "--prefix", "none"])?;
        let names = tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned);
        reached.insert(member.to_owned(), names.collect());
    }
    Ok(reached)
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("--quiet").args(arguments).current_dir(root).stdin(Stdio::null());
    let output = command.output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("`cargo {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
