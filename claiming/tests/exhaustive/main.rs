//! All states of small worlds, by the production step function: every invariant holds, everything can be given back; and with
//! any one rule left out, it does not.
#![cfg(test)]

mod check;
mod knowledge;
mod search;
mod server;
mod setting;
mod system;
mod world;

use search::{Found, Search};
use setting::{Gang, INNER, L, L2, LEAF, M, M2, People, SET, Setting, Without, Workload};

const fn gang(root: usize, root_life: u8, name: usize, legs: &'static [setting::Member]) -> Gang {
    Gang { root, root_life, name, legs }
}

const QUIET: People = People {
    delete_matches: false,
    replace_job: false,
    replace_offer: None,
    suspend_and_finish: false,
    delete_batch: false,
    silence: false,
    reject: false,
    ballots: 2,
};
const DELETES: People = People { delete_matches: true, ..QUIET };

const fn setting(name: &'static str, gangs: &'static [Gang], workload: Workload, people: People) -> Setting {
    Setting { name, gangs, workload, people, without: Without::Nothing }
}

/// Two jobs, both offers.
const A: Setting = setting("A", &[gang(0, 1, 0, &[M, L]), gang(1, 1, 1, &[M, L])], Workload::Template, DELETES);
/// One job, two attempts at the same offers.
const B: Setting = setting("B", &[gang(0, 1, 0, &[M, L]), gang(0, 1, 1, &[M, L])], Workload::Template, DELETES);
/// One job, two attempts at different offers.
const B2: Setting = setting("B2", &[gang(0, 1, 0, &[L]), gang(0, 1, 1, &[M])], Workload::Template, DELETES);
/// One name: the Match is deleted and written again.
const C: Setting = setting("C", &[gang(0, 1, 0, &[M, L]), gang(0, 1, 0, &[M, L])], Workload::Template, DELETES);
const C1: Setting = Setting { gangs: &[gang(0, 1, 0, &[M]), gang(0, 1, 0, &[M])], ..C };
/// The job is deleted and made again.
const D: Setting = setting(
    "D",
    &[gang(0, 1, 0, &[M, L]), gang(0, 2, 1, &[M, L])],
    Workload::Template,
    People { replace_job: true, ..QUIET },
);
/// An offer is deleted and made again: without an agent, and with one.
const E1: Setting = setting(
    "E1",
    &[gang(0, 1, 0, &[M]), gang(1, 1, 1, &[M2])],
    Workload::Template,
    People { replace_offer: Some(0), ..DELETES },
);
const E2: Setting = setting(
    "E2",
    &[gang(0, 1, 0, &[L]), gang(1, 1, 1, &[L2])],
    Workload::Template,
    People { replace_offer: Some(1), ..DELETES },
);
/// The job is suspended, or finishes.
const F: Setting = setting(
    "F",
    &[gang(0, 1, 0, &[M, L]), gang(0, 1, 1, &[M, L])],
    Workload::Template,
    People { suspend_and_finish: true, ..QUIET },
);
/// A batch Job that was there before.
const G: Setting = setting("G", &[gang(0, 1, 0, &[M]), gang(0, 1, 1, &[M])], Workload::Reference, DELETES);
/// Pods one by one.
const H: Setting = setting("H", &[gang(0, 1, 0, &[M]), gang(1, 1, 1, &[M])], Workload::Pods, DELETES);
/// Three Matches: one name twice, and a second attempt.
const I: Setting =
    setting("I", &[gang(0, 1, 0, &[M]), gang(0, 1, 0, &[M]), gang(0, 1, 1, &[M])], Workload::None, DELETES);
/// Agents alone: one falls silent, votes are refused.
const L1: Setting = setting(
    "L",
    &[gang(0, 1, 0, &[L]), gang(1, 1, 1, &[L])],
    Workload::None,
    People { silence: true, reject: true, ..DELETES },
);
const SILENT: Setting = Setting { people: People { silence: true, ..QUIET }, ..A };
/// An agent below an agent.
const N: Setting = setting("N", &[gang(0, 1, 0, &[INNER, LEAF])], Workload::None, People { ballots: 1, ..DELETES });

/// Three offers at one port of each of two jobs.
const K: Setting = setting("K", &[gang(0, 1, 0, &SET), gang(1, 1, 1, &SET)], Workload::None, DELETES);

fn holds(settings: &[Setting]) {
    for setting in settings {
        let begun = std::time::Instant::now();
        match Search::new(setting).run(usize::MAX) {
            Found::Nothing(states) => {
                println!("{:3} {states:9} states in {:?}", setting.name, begun.elapsed());
                assert!(states > 1000, "{}: only {states} states", setting.name);
            }
            Found::Wrong { what, trace, states } => {
                panic!("{}: {what}, after {} moves of {states} states: {trace:?}", setting.name, trace.len())
            }
        }
    }
}

/// All worlds, by name.
const ALL: [Setting; 14] = [A, B, B2, C, D, E1, E2, F, G, H, I, K, L1, N];

#[test]
fn small_worlds_hold() {
    holds(&[E1, G, H, I, K, N]);
}

/// Worlds that take long are searched on demand: `GANGMATCH_WORLDS="A B"`.
#[test]
fn worlds_on_demand_hold() {
    let wanted = std::env::var("GANGMATCH_WORLDS").unwrap_or_default();
    let named = |setting: &&Setting| wanted.split_whitespace().any(|name| name == setting.name);
    holds(&ALL.iter().filter(named).copied().collect::<Vec<_>>());
}

/// What is left out, where that shows first, and what it breaks.
#[rustfmt::skip]
const BROKEN: [(Without, Setting, &str); 35] = [
    (Without::C1, A, "I1"),
    (Without::C1, K, "I1"),
    (Without::DecisionOnce, K, "I3"),
    (Without::C5, A, "I4"),
    (Without::E2, A, "I3"),
    (Without::E4, A, "I4"),
    (Without::J1, B, "I3"),
    (Without::J2, F, "I6"),
    (Without::DecisionOnce, A, "I3"),
    (Without::TestMatchUid, C, "I3"),
    (Without::TestOfferUid, E1, "I6"),
    (Without::TestJobUid, D, "I6"),
    (Without::TestBatchUid, B, "I4"),
    (Without::TestGeneration, F, "I6"),
    (Without::Suspended, B, "I4"),
    (Without::R1Confirm, B, "I4"),
    (Without::R1Foreign, C1, "I4"),
    (Without::R2, G, "I4"),
    (Without::QuorumRead, A, "I3"),
    (Without::EndRead, I, "I3"),
    (Without::R5Look, B, "I4"),
    (Without::R5Finished, A, "I9"),
    (Without::R3, B2, "I4"),
    (Without::R4, A, "I9"),
    (Without::R5AgentsFirst, A, "I4"),
    (Without::R5AgentsFirst, N, "I4"),
    (Without::R6, B2, "I4"),
    (Without::R7, B, "I9"),
    (Without::R8, A, "I3"),
    (Without::R9Offer, E1, "I5"),
    (Without::R9Offer, E2, "I5"),
    (Without::R9Agent, E2, "I5"),
    (Without::R10, SILENT, "I4"),
    (Without::R11, H, "I4"),
    (Without::ChildrenFirst, N, "an inner agent votes"),
];

/// A check that cannot fail proves nothing.
#[test]
fn nothing_can_be_left_out() {
    let mut missed = Vec::new();
    for (without, setting, expected) in BROKEN {
        let setting = Setting { without, ..setting };
        let name = setting.name;
        match Search::new(&setting).run(1_000_000) {
            Found::Wrong { what, trace, states } => {
                println!("without {without:?}, in {name}: {what}; {} moves, {states} states", trace.len());
                if !what.starts_with(expected) {
                    missed.push(format!("without {without:?}, in {name}: not {expected}, but {what}: {trace:?}"));
                }
            }
            Found::Nothing(states) => {
                missed.push(format!("without {without:?}, in {name}: nothing wrong in {states} states"));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
