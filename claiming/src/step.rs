//! One event into the next claim and the actions it calls for.

use crate::claim::{Claim, Hold, Record};
use crate::event::{Action, Event};
use crate::reason::Reason;

/// Takes in one event; returns the claim after it and the actions to start now. `now_ms` is the caller's monotonic clock.
///
/// An action is asked for once, until it is answered. Answers may come in any order, late, or twice.
pub fn step(claim: Claim, event: Event, now_ms: u64) -> (Claim, Vec<Action>) {
    let mut claim = learn(claim, event);
    if claim.resting {
        return (claim, Vec::new());
    }
    let mut actions = wanted(&claim, now_ms);
    actions.retain(|action| !claim.asked.contains(action));
    claim.asked.extend(actions.iter().copied());
    (claim, actions)
}

/// What the event says about the cluster.
fn learn(mut claim: Claim, event: Event) -> Claim {
    match event {
        Event::Woke => {}
        Event::Recorded => {
            claim.asked.remove(&Action::Record);
            decide(&mut claim, Record::Pending);
        }
        Event::RootReserved => hold_root(&mut claim, Hold::Held),
        Event::RootRefused(reason) => hold_root(&mut claim, Hold::Refused(reason)),
        Event::Reserved(leg) => hold(&mut claim, leg, Action::Reserve(leg), Hold::Held),
        Event::Refused(leg, reason) => hold(&mut claim, leg, Action::Reserve(leg), Hold::Refused(reason)),
        Event::Agreed => {
            claim.asked.remove(&Action::Check);
            claim.agreed = true;
        }
        Event::Disagreed(reason) => {
            claim.asked.remove(&Action::Check);
            claim.leaving.get_or_insert(reason);
        }
        Event::Decided(record) => {
            let decides = |action: &Action| matches!(action, Action::Commit | Action::Abort(_) | Action::Release(_));
            claim.asked.retain(|action| !decides(action));
            decide(&mut claim, record);
        }
        Event::Told => {
            claim.asked.remove(&Action::TellRoot);
            claim.told = true;
        }
        Event::Freed(leg) => hold(&mut claim, leg, Action::Free(leg), Hold::Gone),
        Event::RootFreed => {
            claim.asked.remove(&Action::FreeRoot);
            claim.root = Hold::Gone;
        }
        Event::Leave(reason) => {
            claim.leaving.get_or_insert(reason);
        }
        Event::Failed(action) => {
            claim.asked.remove(&action);
            claim.resting = true;
        }
    }
    claim
}

/// The register goes one way; an old answer does not turn it back.
fn decide(claim: &mut Claim, record: Record) {
    let forward = match claim.record {
        Record::Absent => true,
        Record::Pending => record != Record::Absent,
        Record::Committed => matches!(record, Record::Released | Record::Gone),
        Record::Aborted | Record::Released => record == Record::Gone,
        Record::Gone => false,
    };
    if forward {
        claim.record = record;
    }
}

fn hold_root(claim: &mut Claim, hold: Hold) {
    claim.asked.remove(&Action::ReserveRoot);
    claim.root = hold;
}

fn hold(claim: &mut Claim, leg: usize, answered: Action, hold: Hold) {
    claim.asked.remove(&answered);
    if let Some(known) = claim.legs.get_mut(leg) {
        *known = hold;
    }
}

/// What is to be done in this state, whether it was asked for already or not.
fn wanted(claim: &Claim, now_ms: u64) -> Vec<Action> {
    match claim.record {
        Record::Absent if claim.leaving.is_some() => Vec::new(),
        Record::Absent => vec![Action::Record],
        Record::Pending => first_phase(claim, now_ms),
        Record::Committed => match claim.leaving {
            Some(reason) => decision(claim, Action::Release(reason)),
            None if claim.told => Vec::new(),
            None => vec![Action::TellRoot],
        },
        Record::Aborted | Record::Released | Record::Gone => give_back(claim),
    }
}

fn first_phase(claim: &Claim, now_ms: u64) -> Vec<Action> {
    if let Some(reason) = objection(claim, now_ms) {
        return decision(claim, Action::Abort(reason));
    }
    let mut reserves = Vec::new();
    if claim.root == Hold::Free {
        reserves.push(Action::ReserveRoot);
    }
    for (leg, held) in claim.legs.iter().enumerate() {
        if *held == Hold::Free {
            reserves.push(Action::Reserve(leg));
        }
    }
    if !reserves.is_empty() {
        return reserves;
    }
    if !claim.agreed {
        return vec![Action::Check];
    }
    decision(claim, Action::Commit)
}

/// One decision at a time: which of two lands first must not depend on the network.
fn decision(claim: &Claim, action: Action) -> Vec<Action> {
    let decides = |action: &Action| matches!(action, Action::Commit | Action::Abort(_) | Action::Release(_));
    if claim.asked.iter().any(decides) { Vec::new() } else { vec![action] }
}

/// The first reason to call an undecided claim off.
fn objection(claim: &Claim, now_ms: u64) -> Option<Reason> {
    let refusal = |hold: &Hold| match hold {
        Hold::Refused(reason) => Some(*reason),
        Hold::Gone => Some(Reason::MemberGone),
        Hold::Free | Hold::Held => None,
    };
    let root = match claim.root {
        Hold::Gone => Some(Reason::JobDeleted),
        other => refusal(&other),
    };
    let late = (now_ms >= claim.deadline_ms).then_some(Reason::ReserveTimedOut);
    claim.leaving.or(root).or_else(|| claim.legs.iter().find_map(refusal)).or(late)
}

/// Offers first, the root last: whoever sees the root free may match it again, and must find nothing of it left.
fn give_back(claim: &Claim) -> Vec<Action> {
    let mut actions = Vec::new();
    for (leg, held) in claim.legs.iter().enumerate() {
        // a reserve that is still under way may yet land: its answer comes first
        if *held == Hold::Held && !claim.asked.contains(&Action::Reserve(leg)) {
            actions.push(Action::Free(leg));
        }
    }
    let reserving = claim.asked.iter().any(|action| matches!(action, Action::Reserve(_) | Action::ReserveRoot));
    let any_left = claim.legs.contains(&Hold::Held);
    if !any_left && !reserving && claim.root == Hold::Held {
        actions.push(Action::FreeRoot);
    }
    actions
}
