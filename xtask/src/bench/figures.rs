//! Turns probes, counted on the paper's workload, into the paper's figures and a table.

use std::fmt::Write as _;

use anyhow::Result;
use chart::{Chart, Curve};
use serde_json::Value;

use super::workloads::Program;
use crate::output::step;
use crate::page;

const SIZES: [u32; 5] = [500, 1000, 2000, 3000, 4000];
const DENSITIES: [&str; 2] = ["0.5", "1.0"];
const SELECTIVITIES: [u32; 4] = [1, 2, 4, 8];
const ORDERS: [&str; 3] = ["ltr", "rtl", "dynamic"];

/// What was counted on one workload.
struct Point {
    n: u32,
    density: &'static str,
    selectivity: u32,
    line: Value,
}

impl Point {
    /// Probes of an order, or the engine's questions.
    fn count(&self, of: &str) -> f64 {
        let found = if of == "engine" {
            self.line.get("questions")
        } else {
            self.line.get("probes").and_then(|all| all.get(of))
        };
        found.and_then(Value::as_f64).unwrap_or(f64::NAN)
    }
}

/// Counts and measures, draws the paper's figures 5 to 12, and writes the counts into the document.
pub(crate) fn draw() -> Result<()> {
    let program = Program::build("bench_gangs")?;
    let mut points = Vec::new();
    for n in SIZES {
        step(&format!("counting probes, N = {n}"), || {
            for density in DENSITIES {
                for selectivity in SELECTIVITIES {
                    let workload = format!("gang --n {n} --density {density} --selectivity {selectivity}");
                    let line = program.measured(&workload, &["--order", "all"])?;
                    points.push(Point { n, density, selectivity, line });
                }
            }
            Ok(())
        })?;
    }
    let times = super::times::charts(&program)?;
    for (name, chart) in times.into_iter().chain(charts(&points)) {
        page::figure(name, &chart.svg())?;
    }
    page::replace(super::PAGE, "probes", &table(&points))
}

fn charts(points: &[Point]) -> [(&'static str, Chart); 6] {
    let curve = |name: &str, of: &str, density: &str, selectivity: u32| {
        let wanted = points.iter().filter(|point| point.density == density && point.selectivity == selectivity);
        let points = wanted.map(|point| (f64::from(point.n), point.count(of))).collect();
        Curve { name: name.to_owned(), points, dashed: of == "engine", ..Curve::default() }
    };
    let family = |of: &str, densities: &[&str]| -> Vec<Curve> {
        let each = |density: &str| SELECTIVITIES.map(|s| curve(&format!("L = {density}, S = {s}"), of, density, s));
        densities.iter().flat_map(|density| each(density)).collect()
    };
    let ours = |density: &str| curve(&format!("this engine, L = {density}"), "engine", density, 1);
    let with = |mut curves: Vec<Curve>, more: Curve| {
        curves.push(more);
        curves
    };
    let chart = |title: &str, curves: Vec<Curve>, marks: Vec<(f64, f64, &'static str)>| Chart {
        title: title.to_owned(),
        across: "N (jobs = workstations)",
        up: "probes",
        curves,
        marks,
        ..Chart::default()
    };
    let orders = |density: &str| {
        vec![curve("left to right", "ltr", density, 1), curve("dynamic", "dynamic", density, 1), ours(density)]
    };
    let stated = || vec![(4000.0, 425_000.0, "the paper: up to 425,000")];
    let few = || vec![(4000.0, 11_000.0, "the paper: less than 11,000")];
    let mut last = family("rtl", &["1.0"]);
    last.push(curve("left to right, L = 0.5", "ltr", "0.5", 1));
    [
        ("figure-07.svg", chart("Figure 7: left to right", with(family("ltr", &DENSITIES), ours("0.5")), stated())),
        ("figure-08.svg", chart("Figure 8: dynamic", with(family("dynamic", &DENSITIES), ours("0.5")), few())),
        ("figure-09.svg", chart("Figure 9: L = 1, S = 1", orders("1.0"), Vec::new())),
        ("figure-10.svg", chart("Figure 10: L = 0.5, S = 1", orders("0.5"), [stated(), few()].concat())),
        ("figure-11.svg", chart("Figure 11: right to left", with(family("rtl", &DENSITIES), ours("1.0")), Vec::new())),
        ("figure-12.svg", chart("Figure 12: right to left, L = 1", with(last, ours("1.0")), Vec::new())),
    ]
}

fn table(points: &[Point]) -> String {
    let mut text =
        "| N | L | S | left to right | right to left | dynamic | questions of the engine |\n|---|---|---|---|---|---|---|".to_owned();
    for point in points {
        let [ltr, rtl, dynamic] = ORDERS.map(|order| point.count(order));
        let (n, density, s, engine) = (point.n, point.density, point.selectivity, point.count("engine"));
        let _ = write!(text, "\n| {n} | {density} | {s} | {ltr} | {rtl} | {dynamic} | {engine} |");
    }
    text
}
