//! Turns what was measured into parts of the documents: tables and figures.

use anyhow::{Context, Result};
use testbed::repository;

use crate::output::line;

const FIGURES: &str = "docs/figures";

/// A page, which is named from the root of the repository, with this text between the marks of this name.
pub(crate) fn with(page: &str, name: &str, text: &str) -> Result<String> {
    let path = repository::root().join(page);
    let old = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = old.split_once(&begin).with_context(|| format!("{page} has no mark `{begin}`"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{page} has no mark `{end}`"))?;
    Ok(format!("{before}{begin}{text}\n{end}{after}"))
}

/// Writes that page.
pub(crate) fn replace(page: &str, name: &str, text: &str) -> Result<()> {
    std::fs::write(repository::root().join(page), with(page, name, text)?)?;
    line(format_args!("wrote {page}"));
    Ok(())
}

/// Writes a picture of this name for the documents.
pub(crate) fn figure(name: &str, svg: &str) -> Result<()> {
    let folder = repository::root().join(FIGURES);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(name);
    std::fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    line(format_args!("wrote {FIGURES}/{name}"));
    Ok(())
}
