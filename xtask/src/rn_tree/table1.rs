//! The workloads: table 1 of the paper.

use rntree::{Traffic, Workload};

use super::{Part, assumptions, heads, progress};

/// A column of the table as it is printed in the paper, in the order of [`rntree::WORKLOADS`].
const PAPER: [Column; 6] = [
    Column {
        counts: [1000, 0, 0, 10_000],
        composition: [20.5, 42.8, 29.6, 7.1],
        difficulty: [100.0, 49.4, 25.0, 12.7],
        departed: 0.0,
    },
    Column {
        counts: [1000, 0, 0, 10_000],
        composition: [5.7, 27.8, 43.7, 22.8],
        difficulty: [100.0, 48.9, 25.2, 12.7],
        departed: 0.0,
    },
    Column {
        counts: [1000, 0, 0, 10_000],
        composition: [0.6, 8.7, 37.9, 52.7],
        difficulty: [100.0, 48.7, 25.2, 12.7],
        departed: 0.0,
    },
    Column {
        counts: [1825, 454, 291, 12_685],
        composition: [11.5, 36.7, 38.5, 13.3],
        difficulty: [100.0, 50.0, 25.8, 13.2],
        departed: 29.0,
    },
    Column {
        counts: [1335, 591, 594, 12_295],
        composition: [12.0, 36.9, 37.6, 13.5],
        difficulty: [100.0, 50.3, 25.4, 12.9],
        departed: 47.0,
    },
    Column {
        counts: [2500, 264, 470, 12_032],
        composition: [12.3, 37.2, 37.5, 13.1],
        difficulty: [100.0, 50.1, 25.5, 12.9],
        departed: 22.7,
    },
];

struct Column {
    /// Nodes at the end, failed, left; jobs.
    counts: [usize; 4],
    composition: [f64; 4],
    difficulty: [f64; 4],
    departed: f64,
}

impl Column {
    /// The column of our own workload: the counts are the same under every seed, the rest are means.
    fn of(workload: &Workload, seeds: u32) -> Column {
        let all: Vec<Traffic> = (1..=seeds).map(|seed| workload.script(u64::from(seed)).traffic()).collect();
        let mean = |of: &dyn Fn(&Traffic) -> f64| sampling::mean(&all.iter().map(of).collect::<Vec<_>>());
        let each = |of: fn(&Traffic) -> [f64; 4]| {
            [mean(&|one| of(one)[0]), mean(&|one| of(one)[1]), mean(&|one| of(one)[2]), mean(&|one| of(one)[3])]
        };
        Column {
            counts: all.first().map_or([0; 4], |one| [one.present, one.failed, one.left, one.jobs]),
            composition: each(|one| one.composition),
            difficulty: each(|one| one.difficulty),
            departed: mean(&|one| one.departed()),
        }
    }

    fn cells(&self) -> Vec<String> {
        let percents = self.composition.iter().chain(&self.difficulty).chain([&self.departed]);
        self.counts.iter().map(usize::to_string).chain(percents.map(|value| format!("{value:.1}"))).collect()
    }
}

const ROWS: [&str; 13] = [
    "present nodes",
    "failed nodes",
    "left nodes",
    "jobs",
    "% of jobs with 0 constraints",
    "% of jobs with 1 constraint",
    "% of jobs with 2 constraints",
    "% of jobs with 3 constraints",
    "% of nodes that meet jobs with 0 constraints",
    "% of nodes that meet jobs with 1 constraint",
    "% of nodes that meet jobs with 2 constraints",
    "% of nodes that meet jobs with 3 constraints",
    "node departure %",
];

/// Each cell as ours beside the paper's.
pub(super) fn parts(workloads: &[Workload], seeds: u32) -> Vec<Part> {
    let column = |(place, workload): (usize, &Workload)| {
        let column = Column::of(workload, seeds);
        progress(place + 1, workloads.len(), &format!("{}, {seeds} seeds", workload.name));
        column.cells()
    };
    let ours: Vec<Vec<String>> = workloads.iter().enumerate().map(column).collect();
    let paper = PAPER.map(|column| column.cells());
    let mut head = vec!["ours / the paper's"];
    head.extend(workloads.iter().map(|workload| workload.name));
    let mut table = heads(&head);
    for (place, name) in ROWS.iter().enumerate() {
        let cell = |(ours, paper): (&Vec<String>, &Vec<String>)| match (ours.get(place), paper.get(place)) {
            (Some(ours), Some(paper)) if ours == paper => ours.clone(),
            (Some(ours), Some(paper)) => format!("{ours} / {paper}"),
            _ => String::new(),
        };
        table.push(std::iter::once((*name).to_owned()).chain(ours.iter().zip(&paper).map(cell)).collect());
    }
    vec![
        Part::Table("table1", table),
        Part::Heading("What the paper does not give:"),
        Part::Table("assumptions", assumptions::table()),
    ]
}
