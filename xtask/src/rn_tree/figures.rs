//! Waiting times, costs and messages: figures 3 to 5 of the paper.

use rntree::Workload;

use super::results::{self, MATCHMAKERS, Measured, Outcome, STATIC};
use super::{Part, TableRow, claims, heads};
use chart::{Bars, Group, Stack};

/// The part of the basic search's waiting time that the paper states for the extended one: static and dynamic workloads.
pub(super) const RATIOS: [f64; 2] = [0.28, 0.17];
/// The part of the nodes that the paper states for the 75th percentile of the extended search.
pub(super) const COST: f64 = 0.004;

/// What the figures plot, what the paper says about them, and the figures. `light` is a workload for one sentence of the paper only.
pub(super) fn parts(workloads: &[Workload], light: &Workload, seeds: u32, walk: usize) -> Vec<Part> {
    let start = std::time::Instant::now();
    let all = results::measured(&[workloads, &[*light]].concat(), seeds, walk);
    eprintln!("all simulations: {:.1} s", start.elapsed().as_secs_f64());
    let Some((light, all)) = all.split_last() else { return Vec::new() };
    let mut parts = vec![
        Part::Table("figures", table(all)),
        Part::Heading("What the paper says about them:"),
        Part::Table("claims", claims::table(all, light)),
    ];
    parts.extend(charts(all, seeds).map(|(name, chart)| Part::Figure(name, chart.svg())));
    parts
}

fn table(all: &[Measured]) -> Vec<TableRow> {
    let mut table = heads(&[
        "Central / RNT-BS / RNT-ES",
        "wait, mean, thousands",
        "wait, deviation, thousands",
        "cost, 75 %",
        "cost, deviation",
        "basic messages a node",
        "RNT messages a node",
        "restarts",
        "searches tried again",
        "clients told no",
        "jobs lost",
    ]);
    for one in all {
        let each =
            |value: fn(&Outcome) -> f64, digits: usize| one.of.map(|of| format!("{:.digits$}", value(&of))).join(" / ");
        table.push(vec![
            one.name.to_owned(),
            each(|of| of.wait, 1),
            each(|of| of.wait_deviation, 0),
            each(|of| of.cost, 1),
            each(|of| of.cost_deviation, 1),
            each(|of| of.basic, 0),
            each(|of| of.tree, 0),
            each(|of| of.incidents[0], 0),
            each(|of| of.incidents[1], 0),
            each(|of| of.incidents[2], 1),
            each(|of| of.incidents[3], 1),
        ]);
    }
    table
}

fn charts(all: &[Measured], seeds: u32) -> [(&'static str, Bars); 5] {
    let means = || vec![format!("Static workloads left, dynamic ones right. Means of {seeds} seeds.")];
    let crosses = |what: &str| [means(), vec![format!("Crosses: {what}, in the paper's text.")]].concat();
    let chart = |title: &str, up: &'static str, caption: Vec<String>, groups: Vec<Group>| Bars {
        title: title.to_owned(),
        up,
        caption,
        series: MATCHMAKERS.iter().map(|(name, _)| *name).collect(),
        parts: Vec::new(),
        groups,
    };
    let plain = |value: fn(&Outcome) -> f64| groups(all, |_, of, _| Stack { parts: vec![value(of)], stated: None });
    let waits = groups(all, |one, of, (workload, matchmaker)| {
        let ratio = if workload < STATIC { RATIOS[0] } else { RATIOS[1] };
        Stack { parts: vec![of.wait], stated: (matchmaker == 2).then(|| one.of[1].wait * ratio) }
    });
    let costs = groups(all, |one, of, (_, matchmaker)| Stack {
        parts: vec![of.cost],
        stated: (matchmaker == 2).then_some(one.nodes * COST),
    });
    let messages = groups(all, |_, of, _| Stack { parts: vec![of.basic, of.tree], stated: None });
    let mut stacked = chart("Figure 5: messages sent per node", "messages", means(), messages);
    stacked.parts = vec!["Basic messages", "RNT messages"];
    let time = "thousands of units of time";
    [
        (
            "rn-tree-3-wait.svg",
            chart("Figure 3 (a, b): mean job wait time", time, crosses("28 % and 17 % of RNT-BS"), waits),
        ),
        (
            "rn-tree-3-deviation.svg",
            chart("Figure 3 (c, d): job wait time, standard deviation", time, means(), plain(|of| of.wait_deviation)),
        ),
        (
            "rn-tree-4-cost.svg",
            chart(
                "Figure 4 (a, b): matchmaking cost, 75th percentile",
                "messages",
                crosses("0.4 % of the nodes"),
                costs,
            ),
        ),
        (
            "rn-tree-4-deviation.svg",
            chart(
                "Figure 4 (c, d): matchmaking cost, standard deviation",
                "messages",
                means(),
                plain(|of| of.cost_deviation),
            ),
        ),
        ("rn-tree-5-messages.svg", stacked),
    ]
}

/// A group for each workload, a bar for each matchmaker; `bar` also gets the places of both.
fn groups(all: &[Measured], bar: impl Fn(&Measured, &Outcome, (usize, usize)) -> Stack) -> Vec<Group> {
    let group = |(workload, one): (usize, &Measured)| {
        let bars = one.of.iter().enumerate().map(|(matchmaker, of)| bar(one, of, (workload, matchmaker)));
        Group { name: one.name.to_owned(), bars: bars.collect() }
    };
    all.iter().enumerate().map(group).collect()
}
