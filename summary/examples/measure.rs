//! Pools of several sizes into the cost of keeping, publishing, merging and reading their summaries: a table for `docs/performance.md`.
//!
//! `cargo run --release --example measure`

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use classad::{Ad, Dialect, Expr, Name, parse_ad, parse_expr};
use sampling::{Random, percentile};
use summary::{Job, JobPort, Limits, Offer, OfferFacts, Pool, Summary, Verdict, verdict};

/// How many changes of one offer are measured.
const CHANGES: usize = 20_000;

/// How many summaries an exchange merges.
const MEMBERS: u32 = 32;

/// A machine with the attributes that a node has; its name and address are its own.
fn machine(number: u64, random: &mut Random) -> Ad {
    let text = format!(
        r#"[ Type = "Machine"; MyType = "Machine"; Name = "host-{number}"; Namespace = "grid"; Owner = "ops"; NodeName = "host-{number}";
             Arch = "{arch}"; OpSys = "LINUX"; Memory = {memory}; Cpus = {cpus}; Disk = {disk}; KFlops = {kflops}; LoadAvg = {load};
             KeyboardIdle = {idle}; Rack = "r{rack}"; HasGpu = {gpu}; Gpus = HasGpu ? 4 : 0; Subnet = "128.105.{rack}";
             MemoryPerCpu = Memory / Cpus; Start = LoadAvg < 0.3 && KeyboardIdle > 900; Big = Memory > 100000;
             Rank = other.Owner == "ops" ? 10 : 0; Constraint = Start && other.Type == "Job"; Address = "<128.105.{rack}.{number}:9618>" ]"#,
        arch = random.pick(&["X86_64", "arm64"]).unwrap_or(&""),
        memory = 1024 << random.below(10),
        cpus = 1 << random.below(8),
        disk = random.below(4_000_000),
        kflops = random.below(100_000),
        load = random.unit(),
        idle = random.below(100_000),
        rack = random.below(200),
        gpu = random.happens(100),
    );
    parse_ad(&text, Dialect::Gangmatch).unwrap_or_default()
}

fn facts(ad: &Ad, free: i64) -> OfferFacts {
    let free = BTreeMap::from([("slots".to_owned(), free), ("memory".to_owned(), free * 1024)]);
    OfferFacts::of(&Offer {
        kind: "Machine",
        body: ad,
        ports: &[],
        opaque: &["Uid", "Labels", "Members", "Capacity", "Free"],
        free,
        shared: false,
    })
}

/// Microseconds that each of many calls took: the median and the 99th percentile.
fn timed(calls: usize, mut call: impl FnMut(usize)) -> (f64, f64) {
    let one = |number| {
        let begin = Instant::now();
        call(number);
        begin.elapsed().as_secs_f64() * 1e6
    };
    let times: Vec<f64> = (0..calls).map(one).collect();
    (percentile(&times, 0.5), percentile(&times, 0.99))
}

/// A job whose constraints rule out every machine in their last part, so that all is read.
fn verdict_of(summary: &Summary) -> Verdict {
    let body = parse_ad("[ Image = 300000; Cmd = \"sim\" ]", Dialect::Gangmatch).unwrap_or_default();
    let text = r#"cpu.Type == "Machine" && cpu.Memory >= Image && (cpu.Arch == "x86_64" || cpu.Arch == "arm64") && cpu.Rack == "r999""#;
    let constraint = parse_expr(text, Dialect::Gangmatch).ok();
    let (label, nothing) = (Name::new("cpu"), Ad::new());
    let port = JobPort {
        label: &label,
        attributes: &nothing,
        constraint: constraint.as_ref(),
        request: None::<&Expr>,
        counted: false,
    };
    verdict(&Job { body: &body, ports: &[port], implicit: false }, summary)
}

fn row(offers: u64) -> String {
    let mut random = Random::stream(1, "pool");
    let ads: Vec<Ad> = (0..offers).map(|number| machine(number, &mut random)).collect();
    let mut pool = Pool::new();
    let begin = Instant::now();
    for (number, ad) in ads.iter().enumerate() {
        pool.put(number, facts(ad, 4));
    }
    let filled = begin.elapsed().as_secs_f64() * 1e3;
    let mut place = Random::stream(1, "changes");
    let changes: Vec<(usize, Ad)> =
        (0..CHANGES).map(|_| (place.index(ads.len()), machine(place.below(offers), &mut random))).collect();
    let (replaced, replaced_99) = timed(CHANGES, |number| {
        if let Some((at, ad)) = changes.get(number) {
            pool.put(*at, facts(ad, 3));
        }
    });
    let (taken, taken_99) = timed(CHANGES, |number| {
        if let Some((at, ad)) = changes.get(number) {
            pool.remove(at);
            pool.put(*at, facts(ad, 2));
        }
    });
    let limits = Limits::default();
    let (published, _) = timed(20, |_| drop(black_box(pool.summary(&limits))));
    let summary = pool.summary(&limits);
    let (merged, _) = timed(20, |_| {
        let all = (0..MEMBERS).fold(Summary::default(), |all, _| all.merge(&summary, &limits));
        black_box(all.bounded(&limits));
    });
    let (read, _) = timed(2_000, |_| drop(black_box(verdict_of(&summary))));
    format!(
        "| {offers} | {filled:.0} | {replaced:.1} ({replaced_99:.1}) | {taken:.1} ({taken_99:.1}) | {:.1} | {} | {:.1} | {read:.1} |",
        published / 1e3,
        summary.bytes(),
        merged / 1e3,
    )
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| offers | all added, ms | one replaced, µs (p99) | one removed and added, µs (p99) | published, ms | bytes of JSON | \
         {MEMBERS} merged, ms | one verdict, µs |\n|---|---|---|---|---|---|---|---|"
    )?;
    for offers in [1_000, 10_000, 100_000] {
        writeln!(out, "{}", row(offers))?;
    }
    Ok(())
}
