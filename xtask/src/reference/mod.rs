//! Turns definitions in the code into pages of the reference: the fields of the API, and the reasons of conditions.

mod api;
mod reasons;

#[cfg(test)]
mod tests;

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use testbed::repository;

const HEADER: &str = "<!-- Written by `cargo xtask generate`; do not edit. -->\n";

/// All generated pages of the reference.
///
/// # Errors
/// When a source file cannot be read, or is not written as expected.
pub(crate) fn pages() -> Result<Vec<crds::Generated>> {
    let conditions = fs::read_to_string(repository::root().join(reasons::SOURCE)).context(reasons::SOURCE)?;
    let definitions: Vec<Value> = crds::definitions().iter().map(|definition| json!(definition)).collect();
    Ok(vec![
        crds::Generated { path: "docs/reference/api.md".to_owned(), text: api::page(&definitions)? },
        crds::Generated { path: "docs/reference/reasons.md".to_owned(), text: reasons::page(&conditions)? },
    ])
}

/// A text as a cell of a table: what Markdown would take for a column or for HTML is escaped.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// A text as code in a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}
