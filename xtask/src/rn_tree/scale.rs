//! What a search costs as the network grows.

use anyhow::Result;
use rntree::Cost;
use sampling::{mean, percentile};

use super::{TableRow, Wish, heads, progress};
use chart::{Chart, Curve};

const SIZES: [usize; 6] = [500, 1_000, 2_000, 4_000, 8_000, 16_000];
const CANDIDATES: [usize; 3] = [1, 2, 4];
const JOBS: usize = 10_000;

pub(super) fn run(wish: &Wish) -> Result<()> {
    let sizes = wish.nodes.map_or(SIZES.to_vec(), |nodes| vec![nodes]);
    let mut table =
        heads(&["nodes", "candidates", "messages, 75 %", "mean", "largest", "nodes visited, mean", "largest"]);
    let mut curves = CANDIDATES.map(|candidates| Curve { name: format!("k = {candidates}"), ..Curve::default() });
    for (place, nodes) in sizes.iter().enumerate() {
        let start = std::time::Instant::now();
        let costs = rntree::costs(*nodes, &CANDIDATES, JOBS, 1);
        progress(place + 1, sizes.len(), &format!("{nodes} nodes: {:.1} s", start.elapsed().as_secs_f64()));
        for (cost, curve) in costs.iter().zip(&mut curves) {
            table.push(shown(cost));
            curve.points.push((f64::from(u32::try_from(*nodes)?), percentile(&cost.messages, 0.75)));
        }
    }
    let chart = Chart {
        title: format!("The cost of a search as the network grows ({JOBS} jobs, CHF 50)"),
        across: "nodes",
        up: "messages, 75th percentile",
        curves: curves.into(),
        ..Chart::default()
    };
    wish.table("scale", &table)?;
    wish.figure("rn-tree-scale.svg", &chart.svg())
}

fn shown(cost: &Cost) -> TableRow {
    let largest = |sample: &[f64]| format!("{:.0}", sample.iter().copied().fold(0.0, f64::max));
    vec![
        cost.nodes.to_string(),
        cost.candidates.to_string(),
        format!("{:.0}", percentile(&cost.messages, 0.75)),
        format!("{:.1}", mean(&cost.messages)),
        largest(&cost.messages),
        format!("{:.1}", mean(&cost.visited)),
        largest(&cost.visited),
    ]
}
