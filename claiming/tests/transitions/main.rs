//! The table of docs/claiming.md, row by row: a claim and what happens in, actions out. And what holds of every row.
#![cfg(test)]

mod notation;

use std::collections::BTreeSet;

use claiming::{Action, Agent, Claim, Decision, Event, Hold, Leg, Reason, step};
use notation::{Row, rows};
use proptest::prelude::*;

const DOCUMENT: &str = include_str!("../../../docs/claiming.md");

fn run(row: &Row) -> (Claim, Vec<String>) {
    let (mut claim, mut actions) = (row.claim.clone(), Vec::new());
    for event in &row.events {
        (claim, actions) = step(claim, *event, row.now_ms);
    }
    (claim, actions.iter().map(|action| format!("{action:?}")).collect())
}

#[test]
fn every_row_is_what_happens() {
    let rows = rows(DOCUMENT);
    assert!(rows.len() > 90, "only {} rows were found", rows.len());
    let wrong = rows.iter().filter_map(|row| {
        let actions = run(row).1;
        (actions != row.actions).then(|| format!("{}\n    asks for {actions:?}", row.text))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_action_and_every_event_has_a_row() {
    let head = |text: &str| text.split('(').next().unwrap_or_default().to_owned();
    let rows = rows(DOCUMENT);
    let asked: BTreeSet<String> = rows.iter().flat_map(|row| &row.actions).map(|action| head(action)).collect();
    let heard: BTreeSet<String> =
        rows.iter().flat_map(|row| &row.events).map(|one| head(&format!("{one:?}"))).collect();
    let source = include_str!("../../src/event.rs");
    for (name, known) in [("Action", asked), ("Event", heard)] {
        let body =
            source.split(&format!("pub enum {name} {{")).nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
        let variants = body.lines().map(str::trim).filter(|line| line.starts_with(char::is_uppercase));
        for variant in variants {
            let variant = variant.trim_end_matches(',').split('(').next().unwrap();
            assert!(known.contains(variant), "{name}::{variant} has no row");
        }
    }
}

#[test]
fn what_it_has_of_each_offer_is_told_in_their_order() {
    let row = |row: &Row| row.text.starts_with("| `Pending root:Held legs:Held,Free` |");
    let rows = rows(DOCUMENT);
    let row = rows.iter().find(|found| row(found)).expect("the table has a claim that has one of two offers");
    assert_eq!(row.claim.holds(), [Hold::Held, Hold::Free]);
}

/// What is asked for is not asked for again; and saying the last thing twice, or waking, changes nothing.
#[test]
fn nothing_is_asked_for_twice() {
    for row in rows(DOCUMENT) {
        let (claim, _) = run(&row);
        let again = step(claim.clone(), Event::Tick, row.now_ms);
        assert_eq!(again.1, [], "{}", row.text);
        assert_eq!(again.0, claim, "{}", row.text);
    }
}

#[test]
fn the_straight_path_settles() {
    let path = [
        (Event::Tick, &[Action::CreateMatch][..]),
        (Event::MatchCreated, &[Action::ReserveRoot, Action::Reserve(0)]),
        (Event::RootReserved, &[]),
        (Event::Reserved(0), &[Action::Verify]),
        (Event::Verified, &[Action::Commit]),
        (Event::Decided(Decision::Committed), &[Action::NotifyJob]),
    ];
    let mut claim = Claim::new(1, 1000);
    for (event, expected) in path {
        let actions;
        (claim, actions) = step(claim, event, 0);
        assert_eq!(actions, expected, "{event:?}");
        assert!(!claim.is_settled(), "{event:?}");
    }
    let (mut claim, actions) = step(claim, Event::JobNotified, 0);
    assert!(claim.is_settled() && actions.is_empty());
    for event in [Event::Exit(Reason::Done), Event::Decided(Decision::Released), Event::Freed(0)] {
        claim = step(claim, event, 0).0;
        assert!(!claim.is_settled(), "{event:?}");
    }
    assert!(step(claim, Event::RootFreed, 0).0.is_settled());
}

#[test]
fn nothing_recorded_leaves_nothing() {
    let (claim, actions) = step(Claim::new(1, 1000), Event::Exit(Reason::JobDeleted), 0);
    assert_eq!(actions, []);
    assert!(claim.is_settled());
}

#[test]
fn of_a_large_set_some_are_reserved_at_a_time_and_none_after_a_refusal() {
    const LEGS: usize = 40;
    let claim = Claim::seen(Decision::Pending, Hold::Free, vec![Hold::Free; LEGS], 1000);
    let (mut claim, first) = step(claim, Event::Tick, 0);
    let reserves = |actions: &[Action]| actions.iter().filter(|action| matches!(action, Action::Reserve(_))).count();
    assert_eq!((first[0], first.len(), reserves(&first)), (Action::ReserveRoot, 33, 32));
    let mut actions;
    (claim, actions) = step(claim, Event::RootReserved, 0);
    assert_eq!(actions, []);
    (claim, actions) = step(claim, Event::Reserved(5), 0);
    assert_eq!(actions, [Action::Reserve(32)], "one is done, another one begins");
    (claim, actions) = step(claim, Event::Refused(7, Reason::CapacityTaken), 0);
    assert_eq!(actions, [Action::Abort(Reason::CapacityTaken)]);
    (claim, actions) = step(claim, Event::Reserved(0), 0);
    assert_eq!(actions, [], "those under way are awaited, and no other one begins");
    (_, actions) = step(claim, Event::Decided(Decision::Aborted), 0);
    assert_eq!(actions, [Action::Free(0), Action::Free(5)]);
}

#[test]
fn a_whole_set_is_reserved_before_it_is_verified() {
    let mut claim = Claim::seen(Decision::Pending, Hold::Held, vec![Hold::Free; 63], 1000);
    let mut pending;
    (claim, pending) = step(claim, Event::Tick, 0);
    let mut asked = 0;
    while let Some(Action::Reserve(leg)) = pending.first().copied() {
        pending.remove(0);
        asked += 1;
        let more;
        (claim, more) = step(claim, Event::Reserved(leg), 0);
        pending.extend(more);
    }
    assert_eq!((asked, pending), (63, vec![Action::Verify]));
}

#[test]
fn inner_agents_are_born_waiting() {
    let agent = Leg { agent: Some(Agent::default()), ..Leg::auto(Hold::Free) };
    let claim = Claim::seen(
        Decision::Pending,
        Hold::Free,
        vec![agent, Leg::auto(Hold::Free).below(0), agent.below(1), agent],
        1000,
    );
    let at_once: Vec<bool> = (0..4).map(|leg| claim.votes_at_once(leg)).collect();
    assert_eq!(at_once, [false, false, true, true]);
}

#[test]
fn reasons_are_words_and_back() {
    for reason in Reason::ALL {
        assert_eq!(Reason::of(reason.as_str()), Some(reason));
        assert_eq!(reason.to_string(), format!("{reason:?}"));
    }
    assert_eq!(Reason::of("Bored"), None);
}

proptest! {
    /// Any events in any order, also about legs that do not exist and in trees that are none: the step ends, a claim that has
    /// ended stays so, and nothing is given back before.
    #[test]
    fn any_events_in_any_order(picks in prop::collection::vec(any::<(u8, u8)>(), 0..40)) {
        let rows = rows(DOCUMENT);
        let events: Vec<Event> = rows.iter().flat_map(|row| row.events.clone()).collect();
        let start = &rows[picks.first().map_or(0, |pick| usize::from(pick.0) % rows.len())];
        let mut claim = start.claim.clone();
        for (high, low) in picks {
            let event = events[(usize::from(high) * 256 + usize::from(low)) % events.len()];
            let ended = claim.decision.has_ended();
            let (next, actions) = step(claim, event, u64::from(low));
            claim = next;
            let still = claim.decision.has_ended();
            prop_assert!(still || !ended);
            for action in actions {
                let text = format!("{action:?}");
                let gives_back = ["Free", "StopAgent", "MarkLost", "StopWork", "List"].iter().any(|one| text.starts_with(one));
                prop_assert!(!gives_back || still, "{text} before the end");
                let takes = ["Reserve", "Commit", "NotifyAgent", "StartWork", "MakeWork"].iter().any(|one| text.starts_with(one));
                prop_assert!(!takes || !still, "{text} after the end");
            }
        }
    }
}
