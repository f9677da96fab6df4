//! Turns the experiments of the RN-Tree's paper into tables and figures, ours beside what the paper states.

mod assumptions;
mod claims;
mod figures;
mod results;
mod scale;
mod shape;
mod table1;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::output::line;
use crate::page;

/// The page that the tables are for.
const PAGE: &str = "docs/rn-tree.md";

/// An experiment.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Experiment {
    /// Height and width of the tree (the paper's figure 2).
    Shape,
    /// The workloads (table 1), and what the paper does not say about them.
    Table1,
    /// Waiting times, costs and messages (figures 3 to 5), and what the paper says about them.
    Figures,
    /// What a search costs as the network grows. Not in the paper.
    Scale,
}

/// What of an experiment is wanted.
pub(crate) struct Wish {
    /// How many seeds, from 1; every figure is their mean.
    pub(crate) seeds: u32,
    /// Only a network of this size.
    pub(crate) nodes: Option<usize>,
    /// How many steps at random come before a search, in the figures.
    pub(crate) walk: usize,
    /// Whether the tables are printed as JSON, a line each.
    pub(crate) json: bool,
    /// Whether the tables and figures go into the documents.
    pub(crate) write: bool,
}

/// Runs an experiment and prints its tables.
pub(crate) fn run(experiment: Experiment, wish: &Wish) -> Result<()> {
    if wish.walk > 0 && !matches!(experiment, Experiment::Figures) {
        bail!("--walk belongs to `figures`: no other experiment simulates searches one after the other");
    }
    match experiment {
        Experiment::Shape => shape::run(wish),
        Experiment::Table1 => table1::run(wish),
        Experiment::Figures => figures::run(wish),
        Experiment::Scale => scale::run(wish),
    }
}

impl Wish {
    /// Prints a table, and puts it into the page on demand.
    fn table(&self, name: &str, rows: &[TableRow]) -> Result<()> {
        let table = markdown(rows);
        line(if self.json { json(name, rows).to_string() } else { table.clone() });
        if self.write { page::replace(PAGE, name, &table) } else { Ok(()) }
    }

    /// Prints what stands between two tables, for people.
    fn heading(&self, text: &str) {
        if !self.json {
            line(format!("\n{text}\n"));
        }
    }

    /// Writes a figure on demand.
    fn figure(&self, name: &str, svg: &str) -> Result<()> {
        if self.write { page::figure(name, svg) } else { Ok(()) }
    }
}

/// Says on standard error how far a long run is.
fn progress(done: usize, all: usize, what: &str) {
    eprintln!("{done} of {all}: {what}");
}

/// A row of a table, by its cells. The first row of a table has the heads of its columns.
type TableRow = Vec<String>;

/// The first row of a table.
fn heads(heads: &[&str]) -> Vec<TableRow> {
    vec![heads.iter().map(|head| (*head).to_owned()).collect()]
}

/// A table as it stands in a page.
fn markdown(rows: &[TableRow]) -> String {
    let mut lines: Vec<String> = rows.iter().map(|cells| format!("| {} |", cells.join(" | "))).collect();
    let columns = rows.first().map_or(0, Vec::len);
    lines.insert(lines.len().min(1), format!("|{}", "---|".repeat(columns)));
    lines.join("\n")
}

/// A table as data: its name, the heads of its columns, and the other rows.
fn json(name: &str, rows: &[TableRow]) -> serde_json::Value {
    let (columns, rows) = rows.split_first().map_or((None, rows), |(heads, rows)| (Some(heads), rows));
    serde_json::json!({"table": name, "columns": columns, "rows": rows})
}
