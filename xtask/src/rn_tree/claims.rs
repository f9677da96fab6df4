//! What the paper says in words about its figures, each sentence beside our numbers.

use rntree::{WORKLOADS, Workload};
use sampling::mean;

use super::results::{Measured, Outcome, STATIC};
use super::{TableRow, heads};

/// The first workload of table 1 with a twentieth of the work: nearly always some node is free.
pub(super) const LIGHT: Workload = {
    let [busy, ..] = WORKLOADS;
    let (least, most) = busy.work;
    Workload { name: "S-TR-H40 with a twentieth of the work", work: (least / 20.0, most / 20.0), ..busy }
};

/// The sentences as a table. `light` is [`LIGHT`].
pub(super) fn table(all: &[Measured], light: &Measured) -> Vec<TableRow> {
    let (stable, dynamic) = all.split_at(STATIC.min(all.len()));
    let mut table = heads(&["the paper", "here"]);
    let mut claim = |paper: &str, here: String| table.push(vec![paper.to_owned(), here]);
    claim("RNT-ES waits 28 % of RNT-BS, static workloads, average", ratios(stable));
    claim("RNT-ES waits 17 % of RNT-BS, dynamic workloads, average", ratios(dynamic));
    claim("the wait grows with CHF for all three matchmakers", each(stable, " < ", |one| triple(one, |of| of.wait, 1)));
    claim(
        "75 % of the jobs cost RNT-ES 0.4 % of the nodes, average",
        each(all, ", ", |one| percent(one.of[2].cost / one.nodes)) + " (messages, by nodes at the end)",
    );
    claim(
        "the worst search of RNT-ES visits 31.7 % of the nodes",
        each(all, ", ", |one| percent(one.of[2].most_visited)),
    );
    claim(
        "RNT-ES has no substantial additional cost over RNT-BS",
        each(all, ", ", |one| format!("{:.1} against {:.1}", one.of[2].cost, one.of[1].cost)) + " messages (75 %)",
    );
    claim(
        "RNT messages are few beside the basic ones",
        each(all, ", ", |one| {
            format!("{} / {}", percent(one.of[1].tree / one.of[1].basic), percent(one.of[2].tree / one.of[2].basic))
        }) + " (BS / ES)",
    );
    claim(
        "RNT-BS sends more basic messages than RNT-ES and Central",
        each(all, ", ", |one| format!("{:.0} > {:.0} > {:.0}", one.of[1].basic, one.of[2].basic, one.of[0].basic)),
    );
    claim(
        "D-TR-II is the worst of the dynamic workloads",
        each(dynamic, ", ", |one| triple(one, |of| of.wait, 1)) + " (wait)",
    );
    let units = |value: f64| format!("{:.0}", value * 1000.0);
    let waits = light.of.map(|of| units(of.wait)).join(" / ");
    claim(
        "lightly loaded, RNT-BS does essentially as well as Central",
        format!(
            "at a twentieth of the work, a run takes {} and jobs wait {waits} (Central / BS / ES)",
            units(light.of[1].run)
        ),
    );
    table
}

fn each(all: &[Measured], between: &str, shown: impl Fn(&Measured) -> String) -> String {
    all.iter().map(shown).collect::<Vec<_>>().join(between)
}

fn triple(one: &Measured, value: fn(&Outcome) -> f64, digits: usize) -> String {
    one.of.map(|of| format!("{:.digits$}", value(&of))).join(" / ")
}

fn ratios(part: &[Measured]) -> String {
    let ratio = |one: &Measured| one.of[2].wait / one.of[1].wait;
    let average = mean(&part.iter().map(ratio).collect::<Vec<_>>());
    format!("{}; average {}", each(part, ", ", |one| percent(ratio(one))), percent(average))
}

fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", share * 100.0) } else { format!("{:.0} %", share * 100.0) }
}
