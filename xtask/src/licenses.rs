//! Turns the sources of the crates that a release contains into one file with the texts of their licences.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testbed::repository;

use crate::output::{line, step};
use crate::{cargo, notice};

/// How the names of files with licences begin, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
const RULE: &str = "--------------------------------------------------------------------------------";

/// Writes the texts of the licences of all crates in NOTICE into a file.
///
/// # Errors
/// When cargo fails, a crate is not where cargo says, or the file cannot be written.
pub(crate) fn write(file: &Path) -> Result<()> {
    let text = step("licences", text)?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    line(format_args!("  wrote {}", file.display()));
    Ok(())
}

/// Each text once, below the names of all files that have it; first the crates whose sources contain no such file.
///
/// # Errors
/// When cargo fails, or a crate is not where cargo says.
pub(crate) fn text() -> Result<String> {
    let folders = folders()?;
    let mut without = String::new();
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for notice::Component { name, version, license } in notice::components()? {
        let folder = folders.get(&(name.clone(), version.clone())).with_context(|| format!("no sources of {name}"))?;
        let mut files = Vec::new();
        find(folder, &mut files)?;
        files.sort();
        if files.is_empty() {
            without.push_str(&format!("{name} {version}: {license}\n"));
        }
        for file in files {
            let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
            let place = file.strip_prefix(folder)?.display().to_string();
            owners.entry(text).or_default().push(format!("{name} {version}: {place}"));
        }
    }
    if owners.is_empty() {
        bail!("no crate has a file with its licence");
    }
    let mut texts: Vec<(Vec<String>, String)> = owners.into_iter().map(|(text, owners)| (owners, text)).collect();
    texts.sort();
    let mut all = format!("The sources of these crates contain no text of their licence:\n\n{without}");
    for (owners, text) in texts {
        all.push_str(&format!("\n{RULE}\n{}\n{RULE}\n\n{}\n", owners.join("\n"), text.trim_end()));
    }
    Ok(all)
}

/// Where the sources of each crate are, by name and version.
fn folders() -> Result<BTreeMap<(String, String), PathBuf>> {
    let mut arguments = vec!["metadata", "--locked", "--format-version", "1"];
    arguments.extend(notice::TARGETS.iter().flat_map(|target| ["--filter-platform", *target]));
    let metadata: Value = serde_json::from_str(&cargo::text(&repository::root(), &arguments)?)?;
    let packages = metadata.get("packages").and_then(Value::as_array).context("cargo metadata has no packages")?;
    let field = |package: &Value, name: &str| package.get(name).and_then(Value::as_str).map(str::to_owned);
    let entry = |package: &Value| {
        let folder = PathBuf::from(field(package, "manifest_path")?).parent()?.to_path_buf();
        Some(((field(package, "name")?, field(package, "version")?), folder))
    };
    Ok(packages.iter().filter_map(entry).collect())
}

/// All files with licences in a folder and below it: code of other projects inside a crate has licences of its own.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.file_type()?.is_dir() {
            find(&entry.path(), found)?;
        } else if NAMES.iter().any(|begin| name.starts_with(begin)) && !name.ends_with(".RS") {
            found.push(entry.path());
        }
    }
    Ok(())
}
