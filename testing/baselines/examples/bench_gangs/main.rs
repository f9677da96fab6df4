//! A workload file into figures: how long ads take from text to gangs, one JSON line.
//!
//! `cargo run -q --release --example bench_gangs -- FILE [--prefer best|first-fit] [--order ltr|rtl|dynamic|engine|all|naive]
//! [--incremental 0.01] [--explain] [--cycle-steps 100000] [--accounts] [--profile] [--placing [--window 1000] [--steps 200000] [--submitters 1]]`.
//! FILE holds JSON lines as `../shared/bench/gen.py` writes them. Times are processor time of one
//! thread, in milliseconds, medians of `--rounds`.

mod accounts;
mod load;
mod measure;
mod orders;
mod placing;

use std::error::Error;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use gangindex::Indexed;
use matchmaker::{Config, Cycle, Snapshot};
use serde_json::json;

use accounts::with_accounts;
use load::{Prefer, Workload, replaced};
use measure::{Times, peak_rss_mb, scalar_pair_ns};

/// The allocator of the controller.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// After so many milliseconds the allocator gives back to the system what is free; never, if it is negative.
const PURGE: &str = "MIMALLOC_PURGE_DELAY";

type Fallible<T> = Result<T, Box<dyn Error>>;

struct Options {
    file: String,
    prefer: Prefer,
    order: String,
    incremental: f64,
    /// How often each measurement is repeated.
    rounds: usize,
    /// Explains the roots without a gang, too.
    explain: bool,
    /// The steps of a cycle, a quarter of them for reasons; as the controller has them, if none are given.
    cycle_steps: Option<u64>,
    /// Adds a hundred accounts with quotas.
    accounts: bool,
    /// Places jobs together, instead of serving them in turn.
    placing: Option<placing::PlacingOptions>,
    /// Runs one cycle of each kind and reads no clock: for profilers, which count instructions.
    profile: bool,
}

fn options() -> Fallible<Options> {
    let mut options = Options {
        file: String::new(),
        prefer: Prefer::Best,
        order: "engine".to_owned(),
        incremental: 0.01,
        rounds: 5,
        explain: false,
        cycle_steps: None,
        accounts: false,
        placing: None,
        profile: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--prefer" => options.prefer = value()?.parse()?,
            "--order" => options.order = value()?,
            "--incremental" => options.incremental = value()?.parse()?,
            "--rounds" => options.rounds = value()?.parse()?,
            "--explain" => options.explain = true,
            "--cycle-steps" => options.cycle_steps = Some(value()?.parse()?),
            "--accounts" => options.accounts = true,
            "--placing" => _ = options.placing.get_or_insert_default(),
            "--window" => options.placing.get_or_insert_default().window = value()?.parse()?,
            "--steps" => options.placing.get_or_insert_default().steps = value()?.parse()?,
            "--submitters" => options.placing.get_or_insert_default().submitters = value()?.parse()?,
            "--profile" => options.profile = true,
            file => options.file = file.to_owned(),
        }
    }
    if options.file.is_empty() {
        return Err("which FILE? It holds what ../shared/bench/gen.py writes".into());
    }
    Ok(options)
}

/// Starts this program again with an allocator that keeps what is free, because on a virtual machine a page that comes anew from
/// the host costs more than what is measured. Only comes back with an error.
fn again_keeping_memory() -> Fallible<std::io::Error> {
    let mut again = Command::new(std::env::current_exe()?);
    Ok(again.args(std::env::args_os().skip(1)).env(PURGE, "-1").exec())
}

fn main() -> Fallible<()> {
    let options = options()?;
    if !options.profile && std::env::var_os(PURGE).is_none() {
        return Err(again_keeping_memory()?.into());
    }
    // The paper's algorithms know no ranks.
    let prefer = if options.order == "engine" { options.prefer } else { Prefer::FirstFit };
    let workload = Workload::read(&options.file, prefer)?;
    let mut config = Config::product();
    config.cycle_steps_max = options.cycle_steps.unwrap_or(config.cycle_steps_max);
    if let (Some(asked), true) = (options.placing, options.profile) {
        placing::profile(&workload, &config, asked)?;
        return Ok(());
    }
    if options.profile {
        let (snapshot, mut engine, _) = from_text(&workload, &config)?;
        let with = |snapshot: Snapshot| if options.accounts { with_accounts(&snapshot) } else { snapshot };
        cycle_from_nothing(&mut engine, &with(snapshot.clone()), &config);
        if options.explain {
            cycle_with_reasons(&mut engine, &with(snapshot.clone()), &config);
        }
        let next = with(replaced(&workload, &snapshot, options.incremental, 0)?);
        cycle_after_changes(&mut engine, &next, &config);
        return Ok(());
    }
    if let Some(asked) = options.placing {
        writeln!(std::io::stdout(), "{}", placing::figures(&workload, &config, asked, options.rounds)?)?;
        return Ok(());
    }
    let line = match options.order.as_str() {
        "engine" => figures(&workload, &config, &options)?,
        "all" => orders::counts(&workload, &config)?,
        "naive" => orders::naive(&workload, &config)?,
        order => orders::figures(&workload, &config, order.parse()?)?,
    };
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

fn figures(workload: &Workload, config: &Config, options: &Options) -> Fallible<serde_json::Value> {
    let rounds = 0..options.rounds;
    let (mut ingest, mut cold, mut search, mut cycles, mut warm) = <[Times; 5]>::default().into();
    for _ in rounds.clone() {
        ingest.round(|| workload.snapshot())?;
    }
    let mut first = None;
    for _ in rounds.clone() {
        drop(first.take());
        first = Some(cold.round(|| from_text(workload, config))?);
    }
    let (snapshot, mut engine, cycle) = first.ok_or("no round was measured")?;
    let search_alone = Config { verify_gangs: false, ..config.clone() };
    for _ in rounds.clone() {
        search.round(|| cycle_from_nothing(&mut engine, &snapshot, &search_alone));
    }
    for _ in rounds.clone() {
        cycles.round(|| cycle_from_nothing(&mut engine, &snapshot, config));
    }
    let stats = engine.stats;
    for _ in rounds {
        warm.round(|| engine.gangs(&snapshot, config, 0));
    }
    let (incremental_ms, same_gangs) = incremental(workload, &snapshot, &mut engine, config, options)?;
    let explained = if options.explain { explained(&mut engine, &snapshot, config, options)? } else { json!(null) };
    let score: f64 = cycle.gangs.iter().map(|gang| gang.score.own.to_real()).sum();
    Ok(json!({
        "workload": workload.name, "ads": workload.ads.len(), "bytes": workload.bytes(), "roots": snapshot.roots.len(),
        "prefer": format!("{:?}", options.prefer), "matched": cycle.gangs.len(), "score": score,
        "ingest_ms": ingest.median_ms(), "cold_ms": cold.median_ms(), "cycle_ms": cycles.median_ms(),
        "search_ms": search.median_ms(), "warm_ms": warm.median_ms(),
        "scalar_pair_ns": scalar_pair_ns(&snapshot, config)?, "probes": null, "questions": stats.questions,
        "steps": stats.steps, "classes": stats.classes, "looks": stats.looks, "guided": stats.guided, "conditions": stats.conditions,
        "disagreements": cycle.disagreements.len(), "peak_rss_mb": peak_rss_mb(), "incremental_ms": incremental_ms,
        "same_gangs": same_gangs, "answers_bytes": stats.answers_bytes,
        "explained": explained,
    }))
}

/// What a cycle costs with all explanations, and what is explained how.
fn explained(
    engine: &mut Indexed,
    snapshot: &Snapshot,
    config: &Config,
    options: &Options,
) -> Fallible<serde_json::Value> {
    let (mut without, mut with) = (Times::default(), Times::default());
    let mut unmatched = Vec::new();
    for _ in 0..options.rounds {
        without.round(|| cycle_from_nothing(engine, snapshot, config));
        unmatched = with.round(|| cycle_with_reasons(engine, snapshot, config)).unmatched;
    }
    let (cycle_ms, with_reasons_ms) = (without.median_ms(), with.median_ms());
    let reasons: std::collections::HashSet<_> =
        unmatched.iter().map(|found| std::sync::Arc::as_ptr(&found.why)).collect();
    Ok(json!({
        "unmatched": unmatched.len(), "reasons": reasons.len(), "indexed": unmatched.iter().filter(|found| found.indexed).count(),
        "cycle_ms": cycle_ms, "with_reasons_ms": with_reasons_ms, "explain_ms": with_reasons_ms - cycle_ms,
        "first": unmatched.first().map(|found| format!("{} -- {}", matchmaker::why(found), matchmaker::hint(found))),
    }))
}

/// From ads in text to gangs. A function of its own for profilers.
#[inline(never)]
fn from_text(workload: &Workload, config: &Config) -> Fallible<(Snapshot, Indexed, Cycle)> {
    let snapshot = workload.snapshot()?;
    let mut engine = Indexed::new();
    let cycle = engine.gangs(&snapshot, config, 0);
    Ok((snapshot, engine, cycle))
}

/// A cycle over ads that are in their columns; everything else is worked out again. A function of its own for profilers.
#[inline(never)]
fn cycle_from_nothing(engine: &mut Indexed, snapshot: &Snapshot, config: &Config) -> Cycle {
    engine.forget_answers();
    engine.gangs(snapshot, config, 0)
}

/// The same with the reason of every job without a gang, as far as there are steps for them. A function of its own for profilers.
#[inline(never)]
fn cycle_with_reasons(engine: &mut Indexed, snapshot: &Snapshot, config: &Config) -> Cycle {
    engine.forget_answers();
    engine.negotiate(snapshot, config, 0)
}

/// A cycle over a pool of which most was in the one before. A function of its own for profilers.
#[inline(never)]
fn cycle_after_changes(engine: &mut Indexed, snapshot: &Snapshot, config: &Config) -> Cycle {
    engine.gangs(snapshot, config, 0)
}

/// The time of a cycle after a share of the ads has been replaced since the one before, the replacement in the engine included; and which
/// share of the gangs is the same in both.
fn incremental(
    workload: &Workload,
    snapshot: &Snapshot,
    engine: &mut Indexed,
    config: &Config,
    options: &Options,
) -> Fallible<(f64, f64)> {
    let mut rounds = vec![snapshot.clone()];
    for round in 0..options.rounds {
        let last = rounds.last().ok_or("no snapshot")?;
        rounds.push(replaced(workload, last, options.incremental, round)?);
    }
    let mut times = Times::default();
    let (mut before, mut last) = (Cycle::default(), Cycle::default());
    for (round, next) in rounds.iter().enumerate() {
        before = last;
        last = match round {
            0 => engine.gangs(next, config, 0),
            _ => times.round(|| cycle_after_changes(engine, next, config)),
        };
    }
    let time = times.median_ms();
    let before: std::collections::HashMap<_, _> =
        before.gangs.iter().map(|gang| (gang.root(), &gang.members)).collect();
    let same = last.gangs.iter().filter(|gang| before.get(&gang.root()) == Some(&&gang.members)).count();
    Ok((time, same as f64 / last.gangs.len().max(1) as f64))
}
