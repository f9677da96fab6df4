//! Servers made worse on purpose: the same plays, judged by the same checks, must find every one.

use crate::faults::{Fault, Strike, Twist};
use crate::histories::is_found;
use crate::matrix::play;
use crate::mistakes::Mistake;
use crate::scenarios::{self, Scenario};

/// Why a play fails.
fn why(scenario: &Scenario, fault: Option<Fault>, ordinal: usize, twist: Twist) -> Option<String> {
    let strike = fault.map(|fault| Strike { ordinal, fault, leases: false });
    let why = play(scenario, strike, twist).result.err()?;
    Some(format!("{}, {fault:?} at {ordinal}: {why}", scenario.name))
}

/// One of these plays fails, and for this reason.
fn is_found_by(what: &str, reason: &str, plays: impl Iterator<Item = Option<String>>) {
    let mut others = Vec::new();
    let found = plays.flatten().find(|why| {
        others.push(why.clone());
        why.contains(reason)
    });
    let Some(found) = found else { panic!("{what}: nobody notices that {reason}, but {others:?}") };
    println!("{what}: {}", found.lines().next().unwrap_or_default());
}

fn zombies(twist: Twist) -> impl Iterator<Item = Option<String>> {
    (1..=13).map(move |ordinal| why(&scenarios::ZOMBIE, Some(Fault::Held), ordinal, twist))
}

fn undisturbed(name: &str, twist: Twist) -> Option<String> {
    let scenario = scenarios::ALL.iter().find(|scenario| scenario.name == name).unwrap();
    why(scenario, None, 0, twist)
}

#[test]
fn patches_that_do_not_test_are_found() {
    is_found_by("no `test` in any patch", "TruthfulStatus", zombies(Twist::NoTests));
}

#[test]
fn a_server_without_rules_is_found() {
    is_found_by("no rules in the CRDs", "Capacity", zombies(Twist::NoRules));
}

#[test]
fn reads_that_show_the_past_for_ever_are_found() {
    // What there was then depends on how far the controller had come: one of these moments is too early for the end.
    let plays = [200, 150, 300, 100].map(|at| move || undisturbed("agent-yes", Twist::OldReads(at)));
    is_found_by("reads of what was at the beginning", "not within", plays.into_iter().map(|play| play()));
}

#[test]
fn writes_that_are_answered_and_forgotten_are_found() {
    let plays = [undisturbed("life", Twist::Forgets)];
    is_found_by("writes to licenses are forgotten", "AllOrNothing", plays.into_iter());
}

#[test]
fn history_finds_no_capacity_rule() {
    is_found(Mistake::NoCapacityRule, 10);
}

#[test]
fn history_finds_removes_active() {
    is_found(Mistake::RemovesActive, 5);
}

#[test]
fn history_finds_decides_twice() {
    is_found(Mistake::DecidesTwice, 0);
}

#[test]
fn history_finds_looks_for_no_entries() {
    is_found(Mistake::LooksForNoEntries, 5);
}

#[test]
fn history_finds_no_sweeper() {
    is_found(Mistake::NoSweeper, 1);
}

#[test]
fn history_finds_no_uid_test() {
    is_found(Mistake::NoUidTest, 20);
}

#[test]
fn history_finds_resurrects() {
    is_found(Mistake::Resurrects, 15);
}
