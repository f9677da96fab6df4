//! Servers and controllers made worse on purpose: the same plays, judged by the same checks, must find every one.

use crate::faults::{Fault, Strike, Twist};
use crate::matrix::play;
use crate::scenarios;

/// Plays until one fails: which, and why.
fn found(twist: Twist, names: &[&str], faults: &[Fault]) -> Option<String> {
    for scenario in scenarios::ALL.iter().filter(|scenario| names.contains(&scenario.name)) {
        let calm = play(scenario, None, twist);
        if let Err(why) = calm.result {
            return Some(format!("{}, undisturbed: {why}", scenario.name));
        }
        for fault in faults {
            for ordinal in 1..=calm.log.len() {
                let strike = Strike { ordinal, fault: *fault, leases: false };
                if let Err(why) = play(scenario, Some(strike), twist).result {
                    return Some(format!("{}, {fault:?} at {ordinal}: {why}", scenario.name));
                }
            }
        }
    }
    None
}

fn is_found(what: &str, twist: Twist, names: &[&str], faults: &[Fault]) {
    let Some(found) = found(twist, names, faults) else { panic!("{what}: nobody notices") };
    println!("{what}: {}", found.lines().next().unwrap_or_default());
}

#[test]
fn patches_that_do_not_test_are_found() {
    is_found("no `test` in any patch", Twist::NoTests, &["life", "job-deleted"], &[Fault::Late]);
}

#[test]
fn patches_that_do_not_ask_whose_uid_it_is_are_found() {
    is_found("no `test` of a uid", Twist::NoUidTests, &["member-again-half-way"], &[]);
}

#[test]
fn reads_that_show_the_past_are_found() {
    let names = ["match-deleted", "workload-deleted", "job-deleted-half-way", "agent-lost"];
    is_found("reads of what was 3 s ago", Twist::OldReads(3_000), &names, &[Fault::KilledAfter]);
}

#[test]
fn a_server_without_rules_is_found() {
    is_found("no rules in the CRDs", Twist::NoRules, &["both-lead"], &[Fault::AnswerLost]);
}
