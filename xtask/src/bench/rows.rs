//! The workloads that are measured, each with what it should come to.

/// A bound that must be kept, and the one that is hoped for.
#[derive(Clone, Copy)]
pub(super) struct Bar {
    pub(super) must: f64,
    pub(super) stretch: f64,
}

/// One line of the table.
pub(super) struct Row {
    /// The generator's arguments.
    pub(super) workload: &'static str,
    pub(super) prefer: &'static str,
    /// Milliseconds from text in memory to gangs.
    pub(super) cold: Option<Bar>,
    /// Milliseconds of a cycle over ads that are in the table already.
    pub(super) cycle: Option<Bar>,
    /// Milliseconds of a cycle after one ad in a hundred was replaced, as a part of a cycle from nothing.
    pub(super) incremental: Option<Bar>,
    /// Bytes that the engine keeps for each ad, beside the ad itself.
    pub(super) memory: Option<Bar>,
    /// At most so many questions.
    pub(super) questions: Option<f64>,
    /// At least so many gangs.
    pub(super) matched: Option<f64>,
    /// Left out of a quick run.
    pub(super) large: bool,
}

const fn bar(must: f64, stretch: f64) -> Option<Bar> {
    Some(Bar { must, stretch })
}

const PLAIN: Row = Row {
    workload: "",
    prefer: "first-fit",
    cold: None,
    cycle: None,
    incremental: bar(0.25, 0.05),
    memory: bar(300.0, 200.0),
    questions: None,
    matched: None,
    large: false,
};
/// A pool of 4,000 jobs.
const GANG: Row = Row { cold: bar(30.0, 10.0), cycle: bar(6.0, 1.5), ..PLAIN };
/// The best gangs may take twice the time of the first ones.
const GANG_BEST: Row = Row { prefer: "best", cold: bar(60.0, 20.0), cycle: bar(12.0, 3.0), ..PLAIN };
/// Greedy figures of the quality workload: a hundredth less is let pass.
const PRODUCTS: Row = Row { memory: None, incremental: None, ..PLAIN };

pub(super) const SMALL: &str = "gang --n 4000 --density 0.5 --selectivity 1";
pub(super) const SELECTIVE: &str = "gang --n 4000 --density 0.5 --selectivity 8";
pub(super) const LARGE: &str = "gang --n 100000";
/// Every ad has expressions that no other has: the bars of memory are for ads that share theirs, as those of a pool do.
const UNIQUE: &str = "bilateral --n 8000 --unique";

pub(super) const ROWS: [Row; 21] = [
    Row { workload: "bilateral --n 8000", prefer: "best", cold: bar(80.0, 30.0), cycle: bar(40.0, 10.0), ..PLAIN },
    Row { workload: "bilateral --n 8000", ..PLAIN },
    Row { workload: SMALL, questions: Some(2336.0), matched: Some(2000.0), ..GANG },
    Row { workload: SELECTIVE, matched: Some(2000.0), ..GANG },
    Row {
        workload: "gang --n 4000 --density 1 --selectivity 1",
        questions: Some(3711.0),
        matched: Some(3375.0),
        ..GANG
    },
    Row { workload: "gang --n 4000 --density 1 --selectivity 8", matched: Some(3375.0), ..GANG },
    Row { workload: SMALL, questions: Some(2336.0), matched: Some(2000.0), ..GANG_BEST },
    Row { workload: SELECTIVE, ..GANG_BEST },
    Row { workload: "gang --n 4000 --density 1 --selectivity 1", ..GANG_BEST },
    Row { workload: "gang --n 4000 --density 1 --selectivity 8", ..GANG_BEST },
    Row { workload: LARGE, cold: bar(500.0, 200.0), cycle: bar(50.0, 15.0), large: true, ..PLAIN },
    Row {
        workload: "modern --machines 10000 --jobs 100000",
        prefer: "best",
        cold: bar(500.0, 200.0),
        cycle: bar(120.0, 40.0),
        memory: bar(1500.0, 800.0),
        matched: Some(9126.0 * 0.99),
        large: true,
        ..PLAIN
    },
    Row {
        workload: "modern --machines 100000 --jobs 100000",
        prefer: "best",
        cold: bar(1500.0, 600.0),
        cycle: bar(1000.0, 250.0),
        memory: bar(1500.0, 800.0),
        large: true,
        ..PLAIN
    },
    Row { workload: UNIQUE, prefer: "best", cold: bar(250.0, 80.0), memory: None, ..PLAIN },
    Row { workload: UNIQUE, cold: bar(250.0, 80.0), memory: None, ..PLAIN },
    Row { workload: "gang --n 8000 --host-locked", cycle: bar(15.0, 5.0), matched: Some(3144.0 * 0.99), ..PLAIN },
    Row { workload: "gang --n 200 --density 1 --selectivity 8 --products 10", matched: Some(153.0 * 0.99), ..PRODUCTS },
    Row { workload: "gang --n 500 --density 1 --selectivity 8 --products 20", matched: Some(386.0 * 0.99), ..PRODUCTS },
    Row {
        workload: "gang --n 1000 --density 1 --selectivity 8 --products 20",
        matched: Some(796.0 * 0.99),
        ..PRODUCTS
    },
    Row {
        workload: "gang --n 1000 --density 1 --selectivity 8 --products 40",
        matched: Some(773.0 * 0.99),
        ..PRODUCTS
    },
    Row {
        workload: "gang --n 1000 --density 1 --selectivity 8 --products 20",
        prefer: "best",
        matched: Some(796.0 * 0.99),
        ..PRODUCTS
    },
];
