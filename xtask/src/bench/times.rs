//! The paper's figures of elapsed time: its algorithms without and with an index, beside what its text states.

use anyhow::Result;

use super::workloads::{Program, number};
use crate::output::step;
use crate::svg::{Chart, Curve};

const SMALL: [u32; 5] = [100, 200, 300, 400, 500];
const LARGE: [u32; 5] = [500, 1000, 2000, 3000, 4000];
const DENSITIES: [&str; 2] = ["0.5", "1.0"];
const SELECTIVITIES: [u32; 2] = [1, 8];

/// Figures 5 and 6, in seconds of processor time.
pub(super) fn charts(program: &Program) -> Result<[(&'static str, Chart); 2]> {
    let mut naive = family(program, &SMALL, "", &["--order", "naive"])?;
    naive.extend(family(program, &SMALL, "this engine, ", &["--prefer", "first-fit", "--rounds", "3"])?);
    let mut indexed = family(program, &LARGE, "", &["--order", "ltr"])?;
    indexed.extend(family(program, &LARGE, "this engine, ", &["--prefer", "first-fit", "--rounds", "3"])?);
    let chart = |title: &str, curves: Vec<Curve>, marks: Vec<(f64, f64, &'static str)>| Chart {
        title: title.to_owned(),
        across: "N (jobs = workstations)",
        up: "seconds",
        curves,
        by_tens: true,
        marks,
    };
    let (worst, at_most) =
        (vec![(500.0, 800.0, "the paper: 800 s")], vec![(4000.0, 580.0, "the paper: at most 580 s")]);
    Ok([
        ("figure-05.svg", chart("Figure 5: left to right, without an index", naive, worst)),
        ("figure-06.svg", chart("Figure 6: left to right, with an index", indexed, at_most)),
    ])
}

/// A curve for each kind of workload.
fn family(program: &Program, sizes: &[u32], whose: &str, options: &[&str]) -> Result<Vec<Curve>> {
    let mut curves = Vec::new();
    for density in DENSITIES {
        for selectivity in SELECTIVITIES {
            let name = format!("{whose}L = {density}, S = {selectivity}");
            let points =
                step(&format!("measuring {}{name}", if whose.is_empty() { "the paper's way, " } else { "" }), || {
                    let time = |n: &u32| {
                        let workload = format!("gang --n {n} --density {density} --selectivity {selectivity}");
                        let line = program.measured(&workload, options)?;
                        Ok((f64::from(*n), number(&line, "cycle_ms") / 1000.0))
                    };
                    sizes.iter().map(time).collect::<Result<Vec<_>>>()
                })?;
            curves.push(Curve { name, points, dashed: !whose.is_empty() });
        }
    }
    Ok(curves)
}
