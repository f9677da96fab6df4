//! Histories with accounts and preemption hold, and every mistake that is put in is found.
#![cfg(test)]

use std::collections::BTreeSet;

use simulator::scheme::Write;
use simulator::{HistoryPlan, Planted, run, shrink};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many. `GANGMATCH_HISTORIES` runs another number, and `GANGMATCH_SEED` begins elsewhere.
const HISTORIES: u64 = 500;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn histories_with_preemption_hold() {
    let (first, count) = (number("GANGMATCH_SEED", 0), number("GANGMATCH_HISTORIES", HISTORIES));
    let (mut events, mut claims, mut preempted, mut crashes) = (0, 0, 0, BTreeSet::new());
    for seed in first..first + count {
        let plan = HistoryPlan::with_preemption(seed, Planted::Nothing);
        let outcome = run(&plan, false);
        events += outcome.events;
        claims += outcome.committed;
        preempted += outcome.preempted;
        crashes.extend(outcome.crashes);
        if let Some(wrong) = outcome.wrong {
            panic!("cargo run --bin simulator -- preemptions --only {seed}\n{wrong}\n{:#?}", shrink(&plan));
        }
    }
    println!("{count} histories from seed {first}: {events} events, {claims} claims, {preempted} preemptions");
    assert!(preempted > count / 4, "only {preempted} gangs were preempted: hardly anything was tried");
    assert_eq!(crashes.len(), Write::ALL.len(), "coordinators crash at each write of a nomination");
}

/// Two leaders have nominated on one offer, and a victim is freed offer by offer: what it has freed already is not free once more.
#[test]
fn k2_what_a_victim_has_freed_is_given_away_once() {
    for seed in [1_766, 4_792] {
        let outcome = run(&HistoryPlan::with_preemption(seed, Planted::Nothing), false);
        assert_eq!(outcome.wrong, None, "seed {seed}");
    }
}

#[test]
fn every_mistake_of_preemption_is_found() {
    for (planted, law) in Planted::OF_PREEMPTION {
        let wrong =
            |seed: u64| run(&HistoryPlan::with_preemption(seed, planted), false).wrong.map(|wrong| (seed, wrong));
        let mut found = (0..5_000).filter_map(wrong).filter(|(_, wrong)| wrong.starts_with(law));
        let (seed, wrong) = found.next().unwrap_or_else(|| panic!("{law} does not find {planted:?}"));
        let holds = run(&HistoryPlan::with_preemption(seed, Planted::Nothing), false).wrong;
        println!("{planted:?}: seed {seed}: {wrong}");
        assert_eq!(holds, None, "{planted:?}: seed {seed} holds without it");
    }
}
