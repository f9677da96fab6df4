//! Fair shares and preemption in a full pool, over many half-lives. `GANGMATCH_FAIRNESS=all` runs more seeds, for longer.
#![cfg(test)]

use policy::Mode;
use simulator::fairness::{PriorUse, ReservationRules, Rules, Setting, Workload, run};

const WEIGHTS: [i64; 3] = [1000, 2000, 4000];

fn is_full() -> bool {
    std::env::var_os("GANGMATCH_FAIRNESS").is_some_and(|value| value == "all")
}

/// One of two numbers: the second one in a full run.
fn either(few: u64, many: u64) -> u64 {
    if is_full() { many } else { few }
}

/// The distances from the weights, by half-life.
fn distances(setting: &Setting) -> Vec<f64> {
    let report = run(setting).unwrap();
    assert_eq!(report.aborted, 0, "seed {}: nothing goes wrong here", setting.seed);
    report.distances(&WEIGHTS)
}

#[test]
fn from_a_fresh_start_shares_are_those_of_the_weights_in_every_half_life() {
    for seed in 0..either(1, 5) {
        let half_lives = i64::try_from(either(3, 8)).unwrap();
        let distances = distances(&Setting::saturated(seed, 100, &WEIGHTS, half_lives));
        println!("seed {seed}: {distances:.2?}");
        assert!(distances.iter().all(|distance| *distance <= 3.0), "seed {seed}: {distances:?}");
    }
}

#[test]
fn after_one_account_had_everything_shares_are_those_of_the_weights_from_the_fourth_half_life_on() {
    for seed in 0..either(1, 5) {
        for account in 0..WEIGHTS.len() {
            let past = PriorUse::Monopoly(account);
            let half_lives = i64::try_from(either(5, 8)).unwrap();
            let setting = Setting { past, ..Setting::saturated(seed, 100, &WEIGHTS, half_lives) };
            let distances = distances(&setting);
            println!("seed {seed}, {past:?}: {distances:.2?}");
            assert!(distances.iter().skip(3).all(|distance| *distance <= 5.0), "seed {seed}, {past:?}: {distances:?}");
            assert!(distances[0] > 5.0, "seed {seed}, {past:?}: the past counts: {distances:?}");
        }
    }
}

#[test]
fn gangs_of_one_two_and_five_machines_are_shared_alike() {
    for seed in 0..either(1, 5) {
        let mut setting = Setting::saturated(seed, 100, &WEIGHTS, i64::try_from(either(2, 8)).unwrap());
        setting.workload = Workload::Saturated { mean_run: setting.half_life / 20, sizes: vec![1, 2, 5] };
        let distances = distances(&setting);
        println!("seed {seed}: {distances:.2?}");
        assert!(distances.iter().all(|distance| *distance <= 3.0), "seed {seed}: {distances:?}");
    }
}

#[test]
fn preemption_by_share_loses_little_work_and_preempts_no_job_too_often() {
    for seed in 0..either(1, 2) {
        let mut setting = Setting::saturated(seed, 100, &WEIGHTS, 8);
        if !is_full() {
            setting.until = 6 * 3_600;
        }
        setting.workload = Workload::Saturated { mean_run: 3_600, sizes: vec![1] };
        setting.rules = Some(Rules::of(&[Mode::Share]));
        let report = run(&setting).unwrap();
        let lost = report.lost_percent();
        println!("seed {seed}: {lost:.2} % lost, {} claims, {} preemptions", report.claims, report.preemptions);
        assert!(lost <= 5.0, "seed {seed}: {lost} % of the work is lost");
        assert_eq!(report.beyond, None, "seed {seed}: a job was preempted more often than it may be");
    }
}

#[test]
fn ranks_in_a_circle_end() {
    let report = run(&Setting::circle()).unwrap();
    println!("{} preemptions, worst {:?}", report.preemptions, report.worst);
    assert_eq!(
        (report.finished, report.beyond),
        (3, None),
        "each gang runs to its end, though the machines always prefer another one"
    );
    assert!((12..=33).contains(&report.preemptions), "{} preemptions", report.preemptions);
    assert_eq!(report.worst.most, 11, "five minutes and a week");
}

#[test]
fn without_the_doubling_the_circle_does_not_end() {
    let mut setting = Setting::circle();
    setting.until = 86_400;
    setting.rules.as_mut().unwrap().doubles = false;
    let report = run(&setting).unwrap();
    assert!(report.beyond.is_some() && report.preemptions > 200, "{} preemptions", report.preemptions);
}

/// W1, with as many machines as one half of the pool, and small jobs that would take each as soon as it is free.
#[test]
fn w1_half_of_the_pool_is_claimed_within_the_bound_and_not_at_all_without_reservation() {
    let rules = ReservationRules { after_seconds: 600, for_seconds: 1_800 };
    let slots = usize::try_from(either(16, 100)).unwrap();
    for seed in 0..either(3, 10) {
        let setting = Setting::half_of_the_pool(seed, slots, 200, rules.for_seconds);
        let setting = Setting { until: either(43_200, 8 * 86_400).try_into().unwrap(), ..setting };
        let with = run(&Setting { reservation: Some(rules), ..setting.clone() }).unwrap();
        let without = run(&setting).unwrap();
        println!("seed {seed}: {:?} s, and {:?} without reservation", with.big_waited, without.big_waited);
        let waited = with.big_waited.unwrap_or_else(|| panic!("seed {seed}: it is not claimed"));
        // All runs end within forSeconds. A cycle follows each end at once.
        assert!((600..=600 + 1_800 + 2).contains(&waited), "seed {seed}: {waited} s");
        assert_eq!(without.big_waited, None, "seed {seed}: small jobs take what is free");
        assert_eq!((with.aborted, with.nominations.dropped), (0, 0), "seed {seed}: what is held is claimed");
    }
}

/// One account had everything: the others take what they deserve, though its gangs would run on.
#[test]
fn after_a_monopoly_shares_are_met_by_preemption() {
    let mut setting = Setting { past: PriorUse::Monopoly(2), ..Setting::saturated(0, 30, &WEIGHTS, 1) };
    setting.workload = Workload::Saturated { mean_run: 100 * 3_600, sizes: vec![1] };
    setting.until = 2 * 3_600;
    let without = run(&setting).unwrap();
    setting.rules = Some(Rules { evictions_per_hour: 36_000, ..Rules::of(&[Mode::Share]) });
    let with = run(&setting).unwrap();
    let (without, distance) = (without.distances(&WEIGHTS)[0], with.distances(&WEIGHTS)[0]);
    println!("{} preemptions; {distance:.2} points, and {without:.2} without", with.preemptions);
    assert!(with.preemptions > 5 && distance < 8.0 && without > 30.0, "{distance} {without}");
    assert_eq!(with.beyond, None, "no job was preempted more often than it may be");
}
