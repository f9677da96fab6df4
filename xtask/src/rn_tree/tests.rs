//! The parts of each experiment, in small.

use rntree::{Churn, WORKLOADS, Workload};

use super::{Part, claims, figures, markdown, scale, shape, table1};

/// A workload with fewer nodes and jobs.
fn small(workload: Workload) -> Workload {
    let few = |count: usize| count / 40;
    let Churn { joins, failures, leaves } = workload.churn;
    let churn = Churn { joins: few(joins), failures: few(failures), leaves: few(leaves) };
    Workload { nodes: 50, jobs: few(workload.jobs), churn, ..workload }
}

fn shapes() -> Vec<Part> {
    shape::parts(&[100, 1_000], 3)
}

fn workloads() -> Vec<Part> {
    table1::parts(&WORKLOADS.map(small), 2)
}

fn waits() -> Vec<Part> {
    figures::parts(&WORKLOADS.map(small), &small(claims::LIGHT), 2, 0)
}

fn waits_after_walks() -> Vec<Part> {
    figures::parts(&WORKLOADS.map(small), &small(claims::LIGHT), 1, 5)
}

fn costs() -> Vec<Part> {
    scale::parts(&[100, 400], 200)
}

/// What is printed of a part, or written for it.
fn text(part: &Part) -> String {
    match part {
        Part::Table(name, rows) => format!("{name}\n{}", markdown(rows)),
        Part::Heading(text) => (*text).to_owned(),
        Part::Figure(name, svg) => format!("{name}\n{svg}"),
    }
}

/// The parts, after a test that a second run gives the same bytes.
fn same_twice(parts: fn() -> Vec<Part>) -> Vec<String> {
    let [first, second] = [parts(), parts()].map(|parts| parts.iter().map(text).collect::<Vec<_>>());
    assert_eq!(first, second);
    first
}

#[test]
fn the_shapes_are_the_same_bytes_under_the_same_seeds() {
    let parts = same_twice(shapes);
    assert!(parts[0].starts_with("shape\n") && parts[1].starts_with("rn-tree-2-shape.svg\n<svg"), "{parts:?}");
}

#[test]
fn table_1_is_the_same_bytes_under_the_same_seeds() {
    let parts = same_twice(workloads);
    assert!(parts[0].starts_with("table1\n") && parts[2].starts_with("assumptions\n"), "{parts:?}");
}

/// Each workload has a thread of its own; the order in which they end does not show.
#[test]
fn the_figures_are_the_same_bytes_under_the_same_seeds() {
    let parts = same_twice(waits);
    assert!(parts[0].starts_with("figures\n") && parts[2].starts_with("claims\n"), "{parts:?}");
    assert_eq!(parts.iter().filter(|part| part.contains("<svg")).count(), 5);
    assert_ne!(parts, same_twice(waits_after_walks), "a walk and other seeds show");
}

#[test]
fn the_costs_are_the_same_bytes_under_the_same_seeds() {
    let parts = same_twice(costs);
    assert!(parts[0].starts_with("scale\n") && parts[1].starts_with("rn-tree-scale.svg\n<svg"), "{parts:?}");
}

/// A line of 85 characters is as wide as the room beside the margin, in a wide typeface.
#[test]
fn every_figure_has_a_caption_that_fits() {
    for part in [shapes(), waits(), costs()].concat() {
        let Part::Figure(name, svg) = part else { continue };
        let below = svg.lines().filter(|line| line.starts_with("<text x=\"80\"") && !line.contains("font-size"));
        let lines: Vec<&str> = below.filter_map(|line| line.split(['>', '<']).nth(2)).collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| line.chars().count() <= 85), "{name}: {lines:?}");
    }
}
