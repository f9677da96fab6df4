//! Turns the Kubernetes types, the chart's values, the metrics and the dependencies into the files that are generated from them, or compares.

use std::fs;

use anyhow::{Context, Result, bail};
use testbed::repository;

use crate::output::{line, step};
use crate::{chart_values, notice, page, reference};

/// The page with the table of metrics.
const METRICS: &str = "docs/operation.md";

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
fn stale() -> Result<Vec<crds::Generated>> {
    let root = repository::root();
    let differs = |file: &crds::Generated| fs::read_to_string(root.join(&file.path)).ok().as_ref() != Some(&file.text);
    let mut files = crds::generated();
    files.push(crds::Generated { path: chart_values::PATH.to_owned(), text: chart_values::text()? });
    let metrics = page::with(METRICS, "metrics", &metrics_table::markdown())?;
    files.push(crds::Generated { path: METRICS.to_owned(), text: metrics });
    files.push(crds::Generated { path: notice::PATH.to_owned(), text: notice::text()? });
    files.extend(reference::pages()?);
    Ok(files.into_iter().filter(differs).collect())
}
