//! The workloads of the benchmark generator as pools: a second author of ads. Skipped where there is no generator.

use std::collections::BTreeSet;
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

/// The lines that the generator writes; none if it is not here.
fn generated(workload: &str, seed: u64) -> Option<String> {
    let generator = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/bench/gen.py");
    let mut python = Command::new("python3");
    python.arg(&generator).args(workload.split(' ')).args(["--seed", &seed.to_string()]);
    let output = python.output().ok().filter(|output| output.status.success());
    if output.is_none() {
        eprintln!("SKIPPED, NOTHING WAS TESTED: cannot run {}", generator.display());
    }
    Some(String::from_utf8(output?.stdout).unwrap())
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

#[test]
fn the_workloads_of_the_benchmarks_keep_the_law() {
    let pools: u64 = std::env::var("SUMMARY_WORKLOADS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let mut rows = Vec::new();
    for workload in WORKLOADS {
        let mut tally = Tally::default();
        for seed in 1..=pools {
            let Some(lines) = generated(workload, seed) else { return };
            check(&world(&lines), &Limits::default(), &mut tally);
        }
        rows.push(tally.row(&format!("`{workload}`"), &pools.to_string()));
    }
    page::compare("workloads", &format!("{HEAD}\n{}", rows.join("\n")));
}
