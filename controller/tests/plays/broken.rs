//! Servers made worse on purpose: the same plays, judged by the same checks, must find every one.

use crate::faults::{Fault, Strike, Twist};
use crate::matrix::play;
use crate::scenarios::{self, Scenario};

/// Why a play fails.
fn why(scenario: &Scenario, fault: Option<Fault>, ordinal: usize, twist: Twist) -> Option<String> {
    let strike = fault.map(|fault| Strike { ordinal, fault, leases: false });
    let why = play(scenario, strike, twist).result.err()?;
    Some(format!("{}, {fault:?} at {ordinal}: {why}", scenario.name))
}

/// One of these plays fails, and for this reason.
fn is_found(what: &str, reason: &str, plays: impl Iterator<Item = Option<String>>) {
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
    is_found("no `test` in any patch", "TruthfulStatus", zombies(Twist::NoTests));
}

#[test]
fn a_server_without_rules_is_found() {
    is_found("no rules in the CRDs", "Capacity", zombies(Twist::NoRules));
}

#[test]
fn reads_that_show_the_past_for_ever_are_found() {
    // What there was then depends on how far the controller had come: one of these moments is too early for the end.
    let plays = [200, 150, 300, 100].map(|at| move || undisturbed("agent-yes", Twist::OldReads(at)));
    is_found("reads of what was at the beginning", "not within", plays.into_iter().map(|play| play()));
}

#[test]
fn writes_that_are_answered_and_forgotten_are_found() {
    let plays = [undisturbed("life", Twist::Forgets)];
    is_found("writes to licenses are forgotten", "AllOrNothing", plays.into_iter());
}
