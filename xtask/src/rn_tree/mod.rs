//! Turns the experiments of the RN-Tree's paper into tables and figures, ours beside what the paper states.

mod assumptions;
mod claims;
mod figures;
mod results;
mod scale;
mod shape;
mod table1;

#[cfg(test)]
mod tests;

use anyhow::{Result, bail};
use clap::ValueEnum;
use rntree::WORKLOADS;

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
    let sizes = |all: &[usize]| wish.nodes.map_or(all.to_vec(), |nodes| vec![nodes]);
    let parts = match experiment {
        Experiment::Shape => shape::parts(&sizes(&shape::SIZES), wish.seeds),
        Experiment::Table1 => table1::parts(&WORKLOADS, wish.seeds),
        Experiment::Figures => figures::parts(&WORKLOADS, &claims::LIGHT, wish.seeds, wish.walk),
        Experiment::Scale => scale::parts(&sizes(&scale::SIZES), scale::JOBS),
    };
    parts.iter().try_for_each(|part| wish.show(part))
}

/// One thing that an experiment shows. The same seeds give the same parts.
#[derive(Clone, Debug)]
enum Part {
    /// A table, by its name in the page.
    Table(&'static str, Vec<TableRow>),
    /// What stands before the next table, for people.
    Heading(&'static str),
    /// A figure as SVG, by the name of its file.
    Figure(&'static str, String),
}

impl Wish {
    fn show(&self, part: &Part) -> Result<()> {
        match part {
            Part::Table(name, rows) => self.table(name, rows),
            Part::Heading(text) => {
                self.heading(text);
                Ok(())
            }
            Part::Figure(name, svg) => self.figure(name, svg),
        }
    }

    /// Prints a table, and puts it into the page on demand.
    fn table(&self, name: &str, rows: &[TableRow]) -> Result<()> {
        let table = markdown(rows);
        line(if self.json { json(name, rows).to_string() } else { table.clone() });
        if self.write { page::replace(PAGE, name, &table) } else { Ok(()) }
    }

    fn heading(&self, text: &str) {
        if !self.json {
            line(format!("\n{text}\n"));
        }
    }

    fn figure(&self, name: &str, svg: &str) -> Result<()> {
        if self.write { page::figure(name, svg) } else { Ok(()) }
    }
}

/// Says on standard error how far a long run is.
fn progress(done: usize, all: usize, what: &str) {
    eprintln!("{done} of {all}: {what}");
}

/// A count as a real number.
fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
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
