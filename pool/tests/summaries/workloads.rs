//! The workloads of the benchmark generator as pools: a second author of ads. Skipped where there is no generator.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use classad::{Dialect, parse_ad};
use matchmaker::{AdId, AdKey, Config, Consent, Offer, PoolAd, Ports, Res, Role, Root, Snapshot, Usage};
use serde_json::Value;
use summary::Limits;

use super::law::{HEAD, Tally, check};
use super::page;
use super::world::World;

/// The arguments of the generator, without its seed.
const WORKLOADS: [&str; 6] = [
    "gang --n 30 --density 0.5 --selectivity 1 --products 3",
    "gang --n 30 --density 1 --selectivity 4",
    "gang --n 30 --density 0.5 --selectivity 1 --host-locked",
    "bilateral --n 40",
    "bilateral --n 40 --unique --gang",
    "modern --machines 30 --jobs 60 --licenses 15",
];

/// Runs the generator for many seeds in one process.
const SCRIPT: &str = "
import sys
sys.path.insert(0, sys.argv[1])
import gen
first, last, arguments = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
for seed in range(first, last + 1):
    sys.argv = ['gen.py', *arguments, '--seed', str(seed)]
    gen.main()
    print()
";

/// How many pools one process of the generator makes.
const BATCH: u64 = 100;

/// What the generator writes for each of these seeds; none if it is not here.
fn generated(workload: &str, seeds: RangeInclusive<u64>) -> Option<Vec<String>> {
    let generator = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/bench");
    let mut python = Command::new("python3");
    python.args(["-B", "-c", SCRIPT]).arg(&generator);
    python.args([seeds.start().to_string(), seeds.end().to_string()]).args(workload.split(' '));
    let output = python.output().ok().filter(|output| output.status.success());
    if output.is_none() {
        eprintln!("SKIPPED, NOTHING WAS TESTED: cannot run gen.py in {}", generator.display());
    }
    let text = String::from_utf8(output?.stdout).unwrap();
    let pools: Vec<String> = text.trim_end().split("\n\n").map(str::to_owned).collect();
    assert_eq!(pools.len() as u64, seeds.end() - seeds.start() + 1);
    Some(pools)
}

fn pool_ad(number: usize, kind: &str, text: &str) -> PoolAd {
    let (initial, rest) = kind.split_at(1);
    let key = AdKey { kind: initial.to_uppercase() + rest, namespace: "n".into(), name: format!("{number:06}") };
    let offer = || Offer {
        capacity: Res::from([("slots".to_owned(), 1)]),
        default_request: Res::new(),
        usage: Usage::default(),
        shared_by: None,
        consent: Consent::Everybody,
        open: true,
        disclosed: false,
    };
    let role = if kind == "job" { Role::Asks } else { Role::Offers(Box::new(offer())) };
    let ad = parse_ad(text, Dialect::Htcondor).unwrap();
    PoolAd { uid: key.name.clone(), key, node_name: None, ports: Arc::new(Ports::of(&ad)), role }
}

fn world(lines: &str) -> World {
    let mut ads = Vec::new();
    for (number, line) in lines.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let kind = line["kind"].as_str().unwrap();
        if ["machine", "license", "job"].contains(&kind) {
            ads.push(pool_ad(number, kind, line["ad"].as_str().unwrap()));
        }
    }
    let mut snapshot = Snapshot::new(ads);
    let jobs: Vec<AdId> = snapshot.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
    for ad in jobs {
        let root = Root { ad, submitter: "ann".into(), priority: 0, since: 0, exclusions: BTreeSet::new() };
        snapshot.roots.push(root);
    }
    World { snapshot, config: Config::product(), text: lines.to_owned() }
}

/// The row of a workload: the law holds for the pools of so many seeds.
fn row(workload: &str, pools: u64) -> Option<String> {
    let mut tally = Tally::default();
    for first in (1..=pools).step_by(usize::try_from(BATCH).unwrap()) {
        for lines in generated(workload, first..=pools.min(first + BATCH - 1))? {
            check(&world(&lines), &Limits::default(), &mut tally);
        }
    }
    Some(tally.row(&format!("`{workload}`"), &pools.to_string()))
}

#[test]
fn the_workloads_of_the_benchmarks_keep_the_law() {
    let pools: u64 = std::env::var("SUMMARY_WORKLOADS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let rows: Option<Vec<String>> = std::thread::scope(|scope| {
        let rows = WORKLOADS.map(|workload| scope.spawn(move || row(workload, pools)));
        rows.into_iter().map(|row| row.join().unwrap()).collect()
    });
    if let Some(rows) = rows {
        page::compare("workloads", &format!("{HEAD}\n{}", rows.join("\n")));
    }
}
