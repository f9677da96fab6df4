//! Windows of jobs that are placed together, beside serving them in turn: a table.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use super::rows::Bar;
use super::verdict;
use super::workloads::{Program, number};
use crate::output::line;

/// A workload, and what is wanted of it.
struct PlacingRow {
    /// The generator's arguments.
    workload: &'static str,
    options: &'static [&'static str],
    /// At least so many gangs, and so many if all goes well.
    placed: Option<Bar>,
    /// At most so many times the gangs that were found.
    bound: Option<Bar>,
    /// Milliseconds.
    time: Option<Bar>,
    /// Times a cycle in turn.
    ratio: Option<Bar>,
    /// The most that are possible, where that is proven.
    most: &'static str,
}

const fn bar(must: f64, stretch: f64) -> Option<Bar> {
    Some(Bar { must, stretch })
}

const PLAIN: PlacingRow =
    PlacingRow { workload: "", options: &[], placed: None, bound: None, time: None, ratio: None, most: "" };
/// Products with seats that are valid in one part of the network.
const PRODUCTS: PlacingRow = PlacingRow { time: bar(1000.0, 200.0), ..PLAIN };
/// A window of 1000 jobs of very many.
const MODERN: PlacingRow = PlacingRow { ratio: bar(1.5, 1.2), ..PLAIN };
/// One product: what is possible can be found exactly.
const ONE: PlacingRow = PlacingRow { options: &["--window", "20000"], time: bar(1000.0, 200.0), ..PLAIN };

const ROWS: [PlacingRow; 17] = [
    PlacingRow {
        workload: "gang --n 200 --density 1 --selectivity 8 --products 10",
        placed: bar(162.0, 162.0),
        most: "162",
        ..PRODUCTS
    },
    PlacingRow { workload: "gang --n 200 --density 1 --selectivity 8 --products 10 --seed 2", ..PRODUCTS },
    PlacingRow { workload: "gang --n 200 --density 1 --selectivity 8 --products 10 --seed 3", ..PRODUCTS },
    PlacingRow {
        workload: "gang --n 500 --density 1 --selectivity 8 --products 20",
        placed: bar(415.0, 419.0),
        most: "420",
        ..PRODUCTS
    },
    PlacingRow { workload: "gang --n 500 --density 1 --selectivity 8 --products 20 --seed 2", ..PRODUCTS },
    PlacingRow { workload: "gang --n 500 --density 1 --selectivity 8 --products 20 --seed 3", ..PRODUCTS },
    PlacingRow {
        workload: "gang --n 1000 --density 1 --selectivity 8 --products 20",
        placed: bar(824.0, 828.0),
        bound: bar(848.0, 840.0),
        time: bar(1000.0, 100.0),
        most: "832",
        ..PLAIN
    },
    PlacingRow { workload: "gang --n 1000 --density 1 --selectivity 8 --products 20 --seed 2", ..PRODUCTS },
    PlacingRow { workload: "gang --n 1000 --density 1 --selectivity 8 --products 20 --seed 3", ..PRODUCTS },
    PlacingRow {
        workload: "gang --n 1000 --density 1 --selectivity 8 --products 20 --seed 4",
        options: &["--submitters", "20"],
        ..PRODUCTS
    },
    PlacingRow {
        workload: "gang --n 1000 --density 1 --selectivity 8 --products 40",
        placed: bar(816.0, 824.0),
        most: "at most 828",
        ..PRODUCTS
    },
    PlacingRow {
        workload: "gang --n 500 --density 1 --selectivity 8",
        placed: bar(421.0, 421.0),
        bound: bar(421.0, 421.0),
        most: "421",
        ..ONE
    },
    PlacingRow {
        workload: "gang --n 1000 --density 1 --selectivity 8",
        placed: bar(839.0, 839.0),
        bound: bar(839.0, 839.0),
        most: "839",
        ..ONE
    },
    PlacingRow {
        workload: "gang --n 2000 --density 1 --selectivity 8",
        placed: bar(1694.0, 1694.0),
        bound: bar(1694.0, 1694.0),
        most: "1694",
        ..ONE
    },
    PlacingRow {
        workload: "gang --n 4000 --density 1 --selectivity 8",
        placed: bar(3375.0, 3375.0),
        bound: bar(3375.0, 3375.0),
        most: "3375",
        ..ONE
    },
    PlacingRow { workload: "modern --machines 10000 --jobs 100000", placed: bar(958.0, 958.0), ..MODERN },
    PlacingRow { workload: "modern --machines 10000 --jobs 100000 --seed 2", placed: bar(998.0, 998.0), ..MODERN },
];

const HEADS: &str = "| workload | in turn | placed (must, goal) | bound | optimum | ranks, placed / in turn | steps | ms (must, goal) | ms in turn | times (must, goal) | verdict |\n\
    |---|---|---|---|---|---|---|---|---|---|---|";

/// Measures all of them, and prints the table.
pub(super) fn table() -> Result<String> {
    let program = Program::build("bench_gangs")?;
    let mut table = HEADS.to_owned();
    line(HEADS);
    for row in &ROWS {
        let figures = program.measured(row.workload, &[&["--placing", "--rounds", "9"], row.options].concat())?;
        let text = shown(row, &figures);
        line(&text);
        let _ = write!(table, "\n{text}");
    }
    Ok(table)
}

fn shown(row: &PlacingRow, figures: &Value) -> String {
    let of = |name: &str| number(figures, name);
    let negated = |bar: Bar| Bar { must: -bar.must, stretch: -bar.stretch };
    let bars = [
        ("placed", -of("placed"), row.placed.map(negated)),
        ("bound", of("bound"), row.bound),
        ("time", of("placed_ms"), row.time),
        ("ratio", of("placed_ms") / of("in_turn_ms"), row.ratio),
    ];
    let judged: Vec<(&str, &str)> =
        bars.iter().filter_map(|(name, value, bar)| Some((*name, verdict(*value, (*bar)?)))).collect();
    let misses: Vec<&str> = judged.iter().filter(|(_, judged)| *judged == "MISSED").map(|(name, _)| *name).collect();
    let verdict = match judged.iter().all(|(_, judged)| *judged == "stretch") {
        _ if judged.is_empty() => String::new(),
        _ if !misses.is_empty() => format!("MISSED: {}", misses.join(", ")),
        true => "goal".to_owned(),
        false => "must".to_owned(),
    };
    let wanted = |bar: Option<Bar>| bar.map(|bar| format!(" ({}, {})", bar.must, bar.stretch)).unwrap_or_default();
    let options = row.options.iter().fold(String::new(), |all, option| all + " " + option);
    format!(
        "| `{}`{options} | {} | {}{} | {} | {} | {:.3} | {} | {:.0}{} | {:.1} | {:.2}{} | {verdict} |",
        row.workload,
        of("in_turn"),
        of("placed"),
        wanted(row.placed),
        of("bound"),
        row.most,
        of("ranks") / of("ranks_in_turn"),
        of("steps"),
        of("placed_ms"),
        wanted(row.time),
        of("in_turn_ms"),
        of("placed_ms") / of("in_turn_ms"),
        wanted(row.ratio),
    )
}
