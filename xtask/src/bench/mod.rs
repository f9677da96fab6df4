//! Turns the workloads into a table of what was measured beside what was wanted, and into figures for the documents.

mod figures;
mod placing;
mod rows;
mod times;
mod workloads;

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use self::rows::{Bar, ROWS, Row};
use self::workloads::{Program, number};
use crate::output::line;
use crate::page;

pub(crate) use self::figures::draw;

const PAGE: &str = "docs/performance.md";
const HEADS: &str = "| workload | prefers | matched | cold ms (must, stretch) | cycle ms (must, stretch) | without verification | cycle / scalar pair | \
    after 1 % changed, of a cycle | gangs as before | questions | steps | classes | bytes an ad in the engine | bytes of the ad itself | verdict |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

const HARD: &str = "| pool | jobs x offers | matched | cycle ms | of a scalar scan | search | classes | questions | steps | peak MB |\n\
    |---|---|---|---|---|---|---|---|---|---|";

/// Measures every workload, or the small ones, and prints a table; on demand it takes the place of the one in the document.
pub(crate) fn run(quick: bool, write: bool) -> Result<()> {
    let (program, footprint) = (Program::build("bench_gangs")?, Program::build("footprint")?);
    let mut table = HEADS.to_owned();
    line(HEADS);
    let mut cycles = Vec::new();
    for row in ROWS.iter().filter(|row| !(quick && row.large)) {
        let options = ["--prefer", row.prefer];
        let figures = program.measured(row.workload, &options)?;
        let text = shown(row, &figures, &footprint.measured(row.workload, &options)?);
        line(&text);
        let _ = write!(table, "\n{text}");
        cycles.push((row.workload, row.prefer, number(&figures, "cycle_ms")));
    }
    let cycle = |workload: &str| {
        let found = cycles.iter().find(|(own, prefer, _)| *own == workload && *prefer == "first-fit");
        found.map_or(f64::NAN, |(_, _, ms)| *ms)
    };
    let selective = cycle(rows::SELECTIVE) / cycle(rows::SMALL);
    let bar = Bar { must: 1.3, stretch: 1.3 };
    let mut sums = format!("- S = 8 takes {selective:.2} of the time of S = 1 (must 1.3): {}", verdict(selective, bar));
    if !quick {
        let growth = (cycle(rows::LARGE) / cycle(rows::SMALL)).ln() / 25f64.ln();
        let kept = verdict(growth, Bar { must: 0.9, stretch: 0.7 });
        let _ = write!(
            sums,
            "\n- The cycle grows with N^{growth:.2} from 4,000 to 100,000 (must 0.9, stretch 0.7): {kept}"
        );
    }
    line(&sums);
    let hard = hard(if quick { "0.1" } else { "1" })?;
    if write {
        page::replace(PAGE, "bench", &format!("{table}\n\n{sums}"))?;
        page::replace(PAGE, "hard", &hard)?;
    }
    Ok(())
}

/// Measures jobs that are placed together, and prints a table; on demand it takes the place of the one in the document.
pub(crate) fn placing(write: bool) -> Result<()> {
    let table = placing::table()?;
    if write {
        page::replace(PAGE, "placing", &table)?;
    }
    Ok(())
}

/// The pools that are hard, a line each.
fn hard(share: &str) -> Result<String> {
    let mut table = HARD.to_owned();
    line(HARD);
    for figures in Program::build("adversarial")?.lines(&[share])? {
        let of = |name: &str| number(&figures, name);
        let text = |name: &str| figures.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let cycles = figures.get("cycles").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let last = |name: &str| cycles.last().map_or(f64::NAN, |cycle| number(cycle, name));
        let row = format!(
            "| {} | {} x {} | {} | {:.1} | {} | {} | {} | {} | {} | {:.0} |",
            text("set"),
            of("roots"),
            of("offers"),
            last("matched"),
            last("ms"),
            scan(of("of_a_scan")),
            text("way"),
            of("classes"),
            of("questions"),
            of("steps"),
            of("peak_rss_mb"),
        );
        line(&row);
        let _ = write!(table, "\n{row}");
    }
    Ok(table)
}

fn shown(row: &Row, figures: &Value, bytes: &Value) -> String {
    let of = |name: &str| number(figures, name);
    let changed = of("incremental_ms") / of("cycle_ms");
    let bars = [
        ("cold", of("cold_ms"), row.cold),
        ("cycle", of("cycle_ms"), row.cycle),
        ("1 %", changed, row.incremental),
        ("memory", number(bytes, "engine_bytes"), row.memory),
        ("questions", of("questions"), row.questions.map(|must| Bar { must, stretch: must })),
        ("matched", -of("matched"), row.matched.map(|must| Bar { must: -must, stretch: -must })),
    ];
    let mut misses = Vec::new();
    let mut all_stretch = true;
    for (name, value, bar) in bars {
        let Some(bar) = bar else { continue };
        match verdict(value, bar) {
            "stretch" => {}
            "must" => all_stretch = false,
            _ => misses.push(name),
        }
    }
    let judged = match (misses.is_empty(), all_stretch) {
        (false, _) => format!("MISSED: {}", misses.join(", ")),
        (true, true) => "stretch".to_owned(),
        (true, false) => "must".to_owned(),
    };
    let timed = |value: f64, bar: Option<Bar>| match bar {
        Some(bar) => format!("{value:.1} ({}, {})", bar.must, bar.stretch),
        None => format!("{value:.1}"),
    };
    format!(
        "| `{}` | {} | {} | {} | {} | {:.1} | {:.0} | {:.0} % | {:.0} % | {} | {} | {} | {:.0} | {:.0} | {judged} |",
        row.workload,
        row.prefer,
        of("matched"),
        timed(of("cold_ms"), row.cold),
        timed(of("cycle_ms"), row.cycle),
        of("search_ms"),
        of("cycle_ms") * 1e6 / of("scalar_pair_ns"),
        changed * 100.0,
        of("same_gangs") * 100.0,
        of("questions"),
        of("steps"),
        of("classes"),
        number(bytes, "engine_bytes"),
        number(bytes, "ad_bytes"),
    )
}

/// A part of a scan, where a scan is long enough to be compared with.
fn scan(part: f64) -> String {
    if part.is_finite() { format!("{part:.4}") } else { "none".to_owned() }
}

/// What a value comes to; smaller is better, and what was not measured is missed.
fn verdict(value: f64, bar: Bar) -> &'static str {
    if value <= bar.stretch {
        "stretch"
    } else if value <= bar.must {
        "must"
    } else {
        "MISSED"
    }
}
