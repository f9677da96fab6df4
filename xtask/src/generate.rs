//! Turns the Kubernetes types, the chart's values, the metrics and the dependencies into the files that are generated from them, or compares.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testbed::repository;

use crate::output::{line, step};
use crate::{chart_values, notice, page, reference};

/// The page with the table of metrics.
const METRICS: &str = "docs/operation.md";

/// A generated file.
#[derive(Debug)]
pub(crate) struct Generated {
    /// From the repository's root.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What is generated of the types of the API.
#[derive(Debug)]
pub(crate) struct Kinds {
    /// The manifests of the definitions.
    files: Vec<Generated>,
    /// The definitions of all kinds.
    pub(crate) definitions: Vec<Value>,
}

impl Kinds {
    /// As they are now. A program of the crate `crds` prints them, so that this one, with which everything begins, is built soon.
    ///
    /// # Errors
    /// When it does not compile.
    pub(crate) fn read() -> Result<Kinds> {
        let program = repository::build(&["--workspace", "--example", "generate"], "generate")?;
        let output = Command::new(program).output().context("the example `generate` of crds does not start")?;
        let mut printed: Value = serde_json::from_slice(&output.stdout).context("the example `generate` of crds")?;
        let mut list = |name: &str| printed.get_mut(name).and_then(Value::as_array_mut).map(std::mem::take);
        let (files, definitions) = list("files").zip(list("definitions")).context("a list is missing")?;
        let text = |file: &Value, name: &str| file.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let files = files.iter().map(|file| Generated { path: text(file, "path"), text: text(file, "text") });
        Ok(Kinds { files: files.collect(), definitions })
    }
}

/// Writes what differs.
pub(crate) fn write() -> Result<()> {
    let written = step("generate", || {
        let stale = stale()?;
        for file in &stale {
            let path = repository::root().join(&file.path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(stale)
    })?;
    for file in &written {
        line(format_args!("  wrote {}", file.path));
    }
    Ok(())
}

/// Fails when anything differs.
pub(crate) fn check() -> Result<()> {
    step("generate --check", || {
        let stale: Vec<String> = stale()?.into_iter().map(|file| file.path).collect();
        if !stale.is_empty() {
            bail!("out of date, `cargo xtask generate` writes them anew: {}", stale.join(", "));
        }
        Ok(())
    })
}

/// The generated files whose text on disk is another one.
fn stale() -> Result<Vec<Generated>> {
    let root = repository::root();
    let differs = |file: &Generated| fs::read_to_string(root.join(&file.path)).ok().as_ref() != Some(&file.text);
    let Kinds { mut files, definitions } = Kinds::read()?;
    files.push(Generated { path: chart_values::PATH.to_owned(), text: chart_values::text()? });
    let metrics = page::with(METRICS, "metrics", &metrics_table::markdown())?;
    files.push(Generated { path: METRICS.to_owned(), text: metrics });
    files.push(Generated { path: notice::PATH.to_owned(), text: notice::text()? });
    files.extend(reference::pages(&definitions)?);
    Ok(files.into_iter().filter(differs).collect())
}
