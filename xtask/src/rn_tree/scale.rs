//! What a search costs as the network grows.

use rntree::Cost;
use sampling::{mean, percentile};

use super::{Part, TableRow, heads, progress, real};
use chart::{Chart, Curve};

pub(super) const SIZES: [usize; 6] = [500, 1_000, 2_000, 4_000, 8_000, 16_000];
const CANDIDATES: [usize; 3] = [1, 2, 4];
pub(super) const JOBS: usize = 10_000;
/// The seed of the networks and of the jobs.
const SEED: u64 = 1;

pub(super) fn parts(sizes: &[usize], jobs: usize) -> Vec<Part> {
    let mut table =
        heads(&["nodes", "candidates", "messages, 75 %", "mean", "largest", "nodes visited, mean", "largest"]);
    let mut curves = CANDIDATES.map(|candidates| Curve { name: format!("k = {candidates}"), ..Curve::default() });
    for (place, nodes) in sizes.iter().enumerate() {
        let start = std::time::Instant::now();
        let costs = rntree::costs(*nodes, &CANDIDATES, jobs, SEED);
        progress(place + 1, sizes.len(), &format!("{nodes} nodes: {:.1} s", start.elapsed().as_secs_f64()));
        for (cost, curve) in costs.iter().zip(&mut curves) {
            table.push(shown(cost));
            curve.points.push((real(*nodes), percentile(&cost.messages, 0.75)));
        }
    }
    let chart = Chart {
        title: "The cost of a search as the network grows".to_owned(),
        across: "nodes",
        up: "messages, 75th percentile",
        caption: vec![
            format!("Networks at rest, seed {SEED}; {jobs} jobs like those of the dynamic workloads (CHF 50)."),
            "k: how many candidates a search is to find.".to_owned(),
        ],
        curves: curves.into(),
        ..Chart::default()
    };
    vec![Part::Table("scale", table), Part::Figure("rn-tree-scale.svg", chart.svg())]
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
