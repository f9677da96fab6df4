//! Files and folders of YAML into objects, and everything that is wrong with them into messages that say where.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

/// One YAML document.
pub(crate) struct Document {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// Where a document stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    file: PathBuf,
    /// The line that it begins on, from 1.
    line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.file.display(), self.line)
    }
}

/// All documents of these files and folders, in the order given; folders by file name, as `kubectl apply` takes them:
/// `.yaml`, `.yml` and `.json`, and with `recursive` the folders below. A text that is no YAML is a message, not an error.
///
/// # Errors
/// A path that does not exist or cannot be read.
pub(crate) fn read(paths: &[PathBuf], recursive: bool) -> anyhow::Result<(Vec<Document>, Vec<String>)> {
    let mut files = Vec::new();
    for path in paths {
        list(path, recursive, true, &mut files)?;
    }
    if files.is_empty() {
        bail!("no .yaml, .yml or .json file in {}; with -R the folders below are read too", join(paths));
    }
    let (mut documents, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        let text = match file.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()).context("cannot read standard input")?,
            false => fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?,
        };
        split(&file, &text, &mut documents, &mut problems);
    }
    Ok((documents, problems))
}

fn join(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn list(path: &Path, recursive: bool, named: bool, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if path.as_os_str() == "-" {
        files.push(path.to_owned());
        return Ok(());
    }
    let meta = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    if meta.is_dir() {
        if !named && !recursive {
            return Ok(());
        }
        let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut entries: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        entries.sort();
        for entry in entries {
            list(&entry, recursive, false, files)?;
        }
        return Ok(());
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    if named || ["yaml", "yml", "json"].contains(&extension) {
        files.push(path.to_owned());
    }
    Ok(())
}

/// The documents of one text, split at `---` lines so that a broken one does not hide the others.
fn split(file: &Path, text: &str, documents: &mut Vec<Document>, problems: &mut Vec<String>) {
    let (mut first, mut part) = (1, String::new());
    let mut parts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line == "---" || line.starts_with("--- ") {
            parts.push((first, std::mem::take(&mut part)));
            first = number + 2;
        } else {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts.push((first, part));
    for (line, part) in parts {
        let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        if part.lines().all(blank) {
            continue;
        }
        let leading = part.lines().take_while(|line| blank(line)).count();
        let place = Place { file: file.to_owned(), line: line + leading };
        match serde_saphyr::from_str::<Value>(&part) {
            Ok(Value::Object(mut map)) if map.get("kind").is_some_and(|kind| kind == "List") => {
                let items = map.remove("items").and_then(|items| items.as_array().cloned()).unwrap_or_default();
                documents.extend(items.into_iter().map(|value| Document { place: place.clone(), value }));
            }
            Ok(value @ Value::Object(_)) => documents.push(Document { place, value }),
            Ok(_) => problems.push(format!("{place}: no object; a manifest begins with apiVersion and kind")),
            Err(error) => {
                let at = error.location().map(|at| usize::try_from(at.line()).unwrap_or(1)).unwrap_or(1);
                let place = Place { file: file.to_owned(), line: line + at.saturating_sub(1) };
                let message = error.to_string();
                let first = message.lines().next().unwrap_or("no YAML").to_owned();
                problems.push(format!("{place}: {first}"));
            }
        }
    }
}
