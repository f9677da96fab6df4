//! Thousands of histories hold, and every mistake that is put in is found.
#![cfg(test)]

use simulator::{HistoryPlan, Planted, run, shrink};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many, all in all. `GANGMATCH_SIMULATED` runs another number, and `GANGMATCH_SEED` begins elsewhere.
const HISTORIES: u64 = 20_000;

fn histories(part: u64, parts: u64) {
    let number = |name: &str, default| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default);
    let (first, count): (u64, u64) = (number("GANGMATCH_SEED", 0), number("GANGMATCH_SIMULATED", HISTORIES));
    let (mut events, mut stood) = (0, 0);
    for seed in (first + part..first + count).step_by(usize::try_from(parts).unwrap()) {
        let plan = HistoryPlan::new(seed, Planted::Nothing);
        let outcome = run(&plan, false);
        events += outcome.events;
        stood += outcome.committed;
        if let Some(wrong) = outcome.wrong {
            panic!("cargo run --bin simulator -- --seed {seed} --shrink\n{wrong}\n{:#?}", shrink(&plan));
        }
    }
    println!("{} histories: {events} events, {stood} claims that stood", count / parts);
    assert!(stood > count / parts, "only {stood} claims stood: hardly anything was tried");
}

#[test]
fn one_half_of_the_histories_holds() {
    histories(0, 2);
}

#[test]
fn the_other_half_of_the_histories_holds() {
    histories(1, 2);
}

/// A check that cannot fail proves nothing.
#[test]
fn every_mistake_is_found() {
    for planted in Planted::ALL {
        let found =
            (0..20_000).find_map(|seed| run(&HistoryPlan::new(seed, planted), false).wrong.map(|wrong| (seed, wrong)));
        let (seed, wrong) = found.unwrap_or_else(|| panic!("{planted:?} was not found"));
        println!("{planted:?}: seed {seed}: {wrong}");
    }
}

#[test]
fn the_same_seed_is_the_same_history() {
    for seed in 0..50 {
        let plan = HistoryPlan::new(seed, Planted::Nothing);
        assert_eq!(run(&plan, true).log, run(&plan, true).log, "seed {seed}");
    }
}

#[test]
fn a_shrunk_plan_still_goes_wrong() {
    let plan = HistoryPlan::new(0, Planted::NoSweeper);
    let seed = (0..100).find(|seed| run(&HistoryPlan::new(*seed, plan.planted), false).wrong.is_some()).unwrap();
    let small = shrink(&HistoryPlan::new(seed, plan.planted));
    assert!(run(&small, false).wrong.is_some());
    assert!(small.happenings.len() <= HistoryPlan::new(seed, plan.planted).happenings.len());
}
