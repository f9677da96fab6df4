//! The simulations of all workloads, reduced to what the paper plots.

use std::sync::atomic::{AtomicUsize, Ordering};

use rntree::{Matchmaker, SimulationReport, Workload, simulate};
use sampling::{deviation, mean, percentile};

use super::{progress, real};

/// The matchmakers, in the order of every array of them.
pub(super) const MATCHMAKERS: [(&str, Matchmaker); 3] =
    [("Central", Matchmaker::Central), ("RNT-BS", Matchmaker::BASIC), ("RNT-ES", Matchmaker::EXTENDED)];

/// How many of the workloads are static; they come first.
pub(super) const STATIC: usize = 3;

/// What the paper plots of one workload under one matchmaker: means over the seeds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// Job wait time in thousands of units of time: mean and standard deviation.
    pub(super) wait: f64,
    pub(super) wait_deviation: f64,
    /// Matchmaking cost in messages: 75th percentile and standard deviation.
    pub(super) cost: f64,
    pub(super) cost_deviation: f64,
    /// The largest part of the nodes that a search visited.
    pub(super) most_visited: f64,
    /// Messages for each node: basic, and for the tree.
    pub(super) basic: f64,
    pub(super) tree: f64,
    /// How long a job runs, in thousands of units of time.
    pub(super) run: f64,
    /// Counts: restarts, retries, clients who were told that no node meets the request, lost jobs.
    pub(super) incidents: [f64; 4],
}

/// One workload under the three matchmakers.
pub(super) struct Measured {
    pub(super) name: &'static str,
    /// Nodes that are present at the end.
    pub(super) nodes: f64,
    pub(super) of: [Outcome; 3],
}

impl Outcome {
    fn of(report: &SimulationReport) -> Outcome {
        let (basic, tree) = report.messages_per_node();
        let incidents = [report.restarts, report.retries, report.unmatched, report.lost];
        Outcome {
            wait: mean(&report.waits) / 1000.0,
            wait_deviation: deviation(&report.waits) / 1000.0,
            cost: percentile(&report.costs, 0.75),
            cost_deviation: deviation(&report.costs),
            most_visited: report.visited.iter().copied().fold(0.0, f64::max),
            basic,
            tree,
            run: mean(&report.runs) / 1000.0,
            incidents: incidents.map(real),
        }
    }

    /// The means of several; of the largest parts visited, the largest.
    fn mean(all: &[Outcome]) -> Outcome {
        let of = |value: fn(&Outcome) -> f64| mean(&all.iter().map(value).collect::<Vec<_>>());
        Outcome {
            wait: of(|one| one.wait),
            wait_deviation: of(|one| one.wait_deviation),
            cost: of(|one| one.cost),
            cost_deviation: of(|one| one.cost_deviation),
            most_visited: all.iter().map(|one| one.most_visited).fold(0.0, f64::max),
            basic: of(|one| one.basic),
            tree: of(|one| one.tree),
            run: of(|one| one.run),
            incidents: [
                of(|one| one.incidents[0]),
                of(|one| one.incidents[1]),
                of(|one| one.incidents[2]),
                of(|one| one.incidents[3]),
            ],
        }
    }
}

/// Simulates each workload under each matchmaker and seed, those of the tree after a walk of so many steps; a thread for each workload.
pub(super) fn measured(workloads: &[Workload], seeds: u32, walk: usize) -> Vec<Measured> {
    let done = AtomicUsize::new(0);
    let all = workloads.len() * seeds as usize;
    let one = &|workload: &Workload| {
        of(workload, seeds, walk, |seed| {
            let place = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(place, all, &format!("{}, seed {seed}", workload.name));
        })
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = workloads.iter().map(|workload| scope.spawn(move || one(workload))).collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|measured| measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

fn of(workload: &Workload, seeds: u32, walk: usize, done: impl Fn(u64)) -> Measured {
    let mut all: [Vec<Outcome>; 3] = Default::default();
    let mut nodes = Vec::new();
    for seed in (1..=seeds).map(u64::from) {
        let script = workload.script(seed);
        nodes.push(script.present());
        for (figures, (_, matchmaker)) in all.iter_mut().zip(MATCHMAKERS) {
            figures.push(Outcome::of(&simulate(&script, matchmaker.after_walk(walk), seed)));
        }
        done(seed);
    }
    let nodes = nodes.first().map_or(0.0, |nodes| real(*nodes));
    Measured { name: workload.name, nodes, of: all.each_ref().map(|figures| Outcome::mean(figures)) }
}
