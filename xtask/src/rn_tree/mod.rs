//! Turns the experiments of the RN-Tree's paper into tables and figures, ours beside what the paper states.

mod assumptions;
mod claims;
mod figures;
mod results;
mod scale;
mod shape;
mod table1;

use anyhow::Result;
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
    match experiment {
        Experiment::Shape => shape::run(wish),
        Experiment::Table1 => table1::run(wish),
        Experiment::Figures => figures::run(wish),
        Experiment::Scale => scale::run(wish),
    }
}

impl Wish {
    /// Prints a table, and puts it into the page on demand.
    fn table(&self, name: &str, rows: &[String]) -> Result<()> {
        let table = rows.join("\n");
        line(&if self.json { json(name, rows).to_string() } else { table.clone() });
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

/// A table as data: its name, the heads of its columns, and its rows.
fn json(name: &str, rows: &[String]) -> serde_json::Value {
    let cells = |row: &String| -> Vec<String> {
        let inner = row.trim_start_matches("| ").trim_end_matches(" |");
        inner.split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    let columns = rows.first().map(cells);
    let rows: Vec<Vec<String>> = rows.iter().skip(HEADS).map(cells).collect();
    serde_json::json!({"table": name, "columns": columns, "rows": rows})
}

/// How many lines of a table stand above its rows.
const HEADS: usize = 2;

/// A row of a table.
fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().collect();
    format!("| {} |", cells.join(" | "))
}

/// The first two rows of a table.
fn heads(heads: &[&str]) -> Vec<String> {
    vec![row(heads.iter().map(|head| (*head).to_owned())), format!("|{}", "---|".repeat(heads.len()))]
}
