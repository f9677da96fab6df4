//! Height and width of the tree: figure 2 of the paper.

use rntree::Shape;

use super::{Part, heads, progress, real};
use chart::{Chart, Curve};

pub(super) const SIZES: [usize; 7] = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/// The largest of [`SIZES`], and the most children that the paper's text gives for it.
const STATED: (f64, f64) = (100_000.0, 25.0);

pub(super) fn parts(sizes: &[usize], seeds: u32) -> Vec<Part> {
    let mut table = heads(&["nodes", "log2 n", "height", "most children of a node"]);
    let mut points: Vec<(f64, [f64; 3])> = Vec::new();
    for (place, nodes) in sizes.iter().enumerate() {
        let start = std::time::Instant::now();
        let shapes: Vec<Shape> = (1..=seeds).map(|seed| rntree::shape(*nodes, seed)).collect();
        let took = start.elapsed().as_secs_f64();
        progress(place + 1, sizes.len(), &format!("{seeds} trees of {nodes} nodes: {took:.2} s"));
        let each =
            |of: fn(&Shape) -> usize| shapes.iter().map(|shape| of(shape).to_string()).collect::<Vec<_>>().join(", ");
        let (heights, widths) = (each(|shape| shape.height), each(|shape| shape.most_children));
        let size = real(*nodes);
        table.push(vec![nodes.to_string(), format!("{:.1}", size.log2()), heights, widths]);
        let mean =
            |of: fn(&Shape) -> usize| sampling::mean(&shapes.iter().map(|shape| real(of(shape))).collect::<Vec<_>>());
        points.push((size, [mean(|shape| shape.height), size.log2(), mean(|shape| shape.most_children)]));
    }
    vec![Part::Table("shape", table), Part::Figure("rn-tree-2-shape.svg", chart(&points, seeds).svg())]
}

fn chart(points: &[(f64, [f64; 3])], seeds: u32) -> Chart {
    let curve = |name: &str, of: fn(&[f64; 3]) -> f64, dashed: bool| {
        let points = points.iter().map(|(size, values)| (*size, of(values))).collect();
        Curve { name: name.to_owned(), points, dashed, ..Curve::default() }
    };
    Chart {
        title: "Figure 2: the shape of the tree".to_owned(),
        across: "nodes",
        up: "edges; children",
        curves: vec![
            curve("height", |[height, _, _]| *height, false),
            curve("log2 n", |[_, log, _]| *log, true),
            curve("most children", |[_, _, widest]| *widest, false),
        ],
        caption: vec![format!("Means of {seeds} seeds. Cross: at most around 25 children, in the paper's text.")],
        marks: vec![(STATED.0, STATED.1, "")],
        ..Chart::default()
    }
}
