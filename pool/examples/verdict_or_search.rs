//! What it costs to find out that a job has no gang: by the engine's search, and by the verdict over a summary. A table for
//! `docs/summaries.md`.
//!
//! `cargo run -q --example verdict_or_search`

use std::hint::black_box;
use std::io::Write;
use std::ops::Range;
use std::time::Instant;

use crds::{AdFields, ExprText, Job, JobSpec, Machine, MachineSpec, Port};
use gangindex::Indexed;
use kube::ResourceExt;
use matchmaker::{Config, Snapshot};
use pool::{CycleInputs, Objects, SnapshotBuilder, published, verdict};
use summary::{Limits, Summary, Verdict};

const MACHINES: usize = 10_000;
/// How many jobs of each sort; no two have the same constraint.
const JOBS: usize = 200;
const ROUNDS: usize = 5;

/// Why nothing in the pool will do, and the constraint of one such job.
type Sort = (&'static str, fn(usize) -> String);

const SORTS: [Sort; 8] = [
    ("a text that no machine has", |job| format!("cpu.Arch == \"arch-{job}\"")),
    ("more than any machine has", |job| format!("cpu.Memory >= {}", 1_000_000 + job)),
    ("an attribute that no machine has", |job| format!("cpu.Memry >= {job}")),
    ("one of two texts that no machine has", |job| {
        format!("cpu.Arch == \"arch-{job}\" || cpu.Arch == \"other-{job}\"")
    }),
    ("arithmetic over an attribute", |job| format!("cpu.Memory * 2 >= {}", 3_000_000 + job)),
    ("a list of texts that no machine has", |job| format!("member(cpu.Arch, {{\"arch-{job}\", \"other-{job}\"}})")),
    ("not less than any machine has", |job| format!("!(cpu.Memory < {})", 1_000_000 + job)),
    ("arithmetic over two attributes", |job| format!("cpu.Memory + cpu.Disk >= {}", 9_000_000 + job)),
];

fn placed<K: ResourceExt>(mut object: K) -> K {
    let uid = format!("uid-{}", object.name_any());
    let meta = object.meta_mut();
    meta.namespace = Some("grid".to_owned());
    meta.uid = Some(uid);
    meta.generation = Some(1);
    object
}

fn machine(number: usize) -> Machine {
    let attributes = [
        ("Arch", if number.is_multiple_of(2) { "X86_64" } else { "arm64" }.into()),
        ("Memory", (1024 + number).into()),
        ("Disk", (4_000 + number * 7).into()),
    ];
    let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let ad = AdFields { attributes: Some(attributes), ..AdFields::default() };
    placed(Machine::new(&format!("m{number}"), MachineSpec { ad, ..MachineSpec::default() }))
}

fn job(number: usize, constraint: &str) -> Job {
    let port = Port { label: "cpu".to_owned(), constraint: Some(ExprText::from(constraint)), ..Port::default() };
    let ad = AdFields { ports: Some(vec![port]), ..AdFields::default() };
    placed(Job::new(&format!("j{number}"), JobSpec { ad, ..JobSpec::default() }))
}

/// A pool of machines with one job of a sort, and with all: one snapshot after the other, as the controller takes them.
fn pools(machines: usize, constraint: fn(usize) -> String) -> [Snapshot; 2] {
    let (mut objects, mut builder) = (Objects::default(), SnapshotBuilder::default());
    (0..machines).for_each(|number| objects.machines.put(machine(number)));
    let mut put = |jobs: Range<usize>| {
        jobs.for_each(|number| objects.jobs.put(job(number, &constraint(number))));
        builder.build(&objects, &CycleInputs::default())
    };
    [put(0..1), put(1..JOBS + 1)]
}

fn microseconds(of: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    of();
    begin.elapsed().as_secs_f64() * 1e6
}

fn each(all: f64) -> f64 {
    all / JOBS as f64
}

/// Microseconds a job: the first search and later ones.
fn searched([one, full]: &[Snapshot; 2], explains: bool) -> [f64; 2] {
    let (mut engine, config) = (Indexed::new(), Config { explains, ..Config::product() });
    // The first job of a sort has the machines read into the index, which serves all others.
    engine.negotiate(one, &config, 0);
    let idle = microseconds(|| drop(black_box(engine.negotiate(one, &config, 0))));
    let first = microseconds(|| assert!(engine.negotiate(full, &config, 0).gangs.is_empty(), "a gang was found"));
    let later = microseconds(|| drop(black_box(engine.negotiate(full, &config, 0))));
    [first, later].map(|cycle| each((cycle - idle).max(0.0)))
}

/// The least of several measurements: what other programs do meanwhile only adds to one.
fn least<const N: usize>(measure: impl Fn() -> [f64; N]) -> [f64; N] {
    (0..ROUNDS)
        .map(|_| measure())
        .reduce(|best, one| {
            let mut pairs = best.into_iter().zip(one);
            std::array::from_fn(|_| pairs.next().map_or(f64::INFINITY, |(best, one)| best.min(one)))
        })
        .unwrap_or([0.0; N])
}

/// Microseconds a job: the first search where there is no machine at all, which is the reading and planning of the ad; the first search and
/// later ones, without a reason; the first search with one; the verdict.
fn measured((_, constraint): &Sort, summary: &Summary) -> [f64; 5] {
    let (pool, nothing) = (pools(MACHINES, *constraint), pools(0, *constraint));
    let [read, _] = least(|| searched(&nothing, false));
    let [first, later] = least(|| searched(&pool, false));
    let [explained, _] = least(|| searched(&pool, true));
    let [_, full] = &pool;
    let verdicts = || {
        microseconds(|| {
            for root in &full.roots {
                let said = full.ad(root.ad).map(|ad| verdict(&ad.ports, summary));
                assert!(matches!(black_box(said), Some(Verdict::Cannot { .. })), "the summary does not rule it out");
            }
        })
    };
    let [verdicts] = least(|| [verdicts()]);
    [read, first, later, explained, each(verdicts)]
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let [one, _] = pools(MACHINES, SORTS[0].1);
    let summary = published(&one).summary(&Limits::default());
    writeln!(
        out,
        "| no machine meets the constraint: | reading the ad, µs | first search, µs | later cycles, µs | first search with its reason, µs | verdict, µs |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    for sort in &SORTS {
        let cells = measured(sort, &summary).map(|cell| format!("{cell:.1}"));
        writeln!(out, "| {} | {} |", sort.0, cells.join(" | "))?;
    }
    Ok(())
}
