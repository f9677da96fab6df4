//! Turns the repository into a list of findings: where it breaks the house rules that no compiler knows.

mod book;
mod exceptions;
mod features;
mod imports;
mod links;
mod names;
mod sources;
mod words;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub(crate) use self::book::{CONTENTS, OUTER_PAGES};
use self::imports::Reached;
use crate::cargo;

/// Folders that are not ours to judge, wherever they are.
const SKIPPED: [&str; 4] = ["target", ".git", ".work", "node_modules"];
/// What is read; the rest is not text of ours.
const EXTENSIONS: [&str; 7] = ["rs", "md", "yaml", "toml", "tpl", "json", "txt"];

/// Where each crate has a paragraph.
const CRATES: &str = "docs/architecture.md";

/// One text file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Relative to the repository's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    fn is_test(&self) -> bool {
        self.path.split('/').any(|part| ["tests", "benches", "tests.rs"].contains(&part))
            || self.path.ends_with("_tests.rs")
    }
}

/// Everything that is wrong, each with the file or the crate it is about; sorted.
pub(crate) fn findings(root: &Path) -> Result<Vec<String>> {
    let sources = sources(root)?;
    let mut findings = imports::findings(&metadata(root)?, &reached(root)?);
    findings.extend(imports::unnamed(&metadata(root)?, root, &sources));
    findings.extend(imports::undescribed(&metadata(root)?, &fs::read_to_string(root.join(CRATES))?));
    findings.extend(exceptions::findings(&excepted(&sources), &fs::read_to_string(root.join(exceptions::LIST))?));
    findings.extend(features::compiled_twice(&tree(root, "normal,build")?, &tree(root, "normal,build,dev")?));
    findings.extend(features::in_two_packages(&metadata(root)?));
    findings.extend(sources.iter().flat_map(sources::findings));
    let headings = links::headings(&sources);
    findings
        .extend(sources.iter().flat_map(|source| links::findings(source, |path| root.join(path).exists(), &headings)));
    findings.extend(book::findings(&sources));
    findings.sort();
    Ok(findings)
}

/// Takes what is found no more out of the list of exceptions.
pub(crate) fn shrink(root: &Path) -> Result<()> {
    let path = root.join(exceptions::LIST);
    match exceptions::shrunk(&excepted(&sources(root)?), &fs::read_to_string(&path)?) {
        Ok(list) => Ok(fs::write(path, list)?),
        Err(findings) => bail!("the list of exceptions can only shrink:\n{}", findings.join("\n")),
    }
}

/// What the rules with exceptions find.
fn excepted(sources: &[Source]) -> exceptions::Found {
    let mut found = names::found(sources);
    found.extend(sources.iter().flat_map(words::found));
    found
}

fn sources(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    read(root, root, &mut sources)?;
    sources.retain(|source| source.path != exceptions::LIST);
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(sources)
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
    Ok(serde_json::from_str(&cargo::text(root, &["metadata", "--no-deps", "--format-version", "1"])?)?)
}

/// All packages of the workspace with their features, with dependencies of these kinds.
fn tree(root: &Path, edges: &str) -> Result<String> {
    cargo::text(root, &["tree", "--workspace", "--edges", edges, "--prefix", "none", "--format", features::FORMAT])
}

/// Asked of each crate by itself: in the workspace as a whole, the programs switch features of shared packages on.
fn reached(root: &Path) -> Result<Reached> {
    let mut reached = Reached::new();
    for (member, _) in imports::LIMITED {
        let tree = cargo::text(root, &["tree", "--package", member, "--edges", "normal,build", "--prefix", "none"])?;
        let names = tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned);
        reached.insert(member.to_owned(), names.collect());
    }
    Ok(reached)
}
