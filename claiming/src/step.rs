//! One event into the next claim and the actions it calls for.

use crate::claim::{Claim, Fact, Work};
use crate::event::{Action, Event};
use crate::learn::learn;
use crate::leg::Vote;
use crate::wanted::wanted;

/// Takes in one event; returns the claim after it and the actions to start now. `now_ms` is the caller's monotonic clock.
///
/// An action is asked for once, until it is answered. Answers may come in any order, late, or twice.
pub fn step(claim: Claim, event: Event, now_ms: u64) -> (Claim, Vec<Action>) {
    let mut claim = learn(claim, event);
    if claim.resting || claim.is_fenced() {
        return (claim, Vec::new());
    }
    let mut actions = wanted(&claim, now_ms);
    actions.retain(|action| !claim.asked.contains(action));
    if actions.contains(&Action::Confirm) {
        claim.covered = facts(&claim).collect();
    }
    claim.asked.extend(actions.iter().copied());
    (claim, actions)
}

/// What is known now that may be acted on only if the claim still stands.
fn facts(claim: &Claim) -> impl Iterator<Item = Fact> {
    let votes = claim.legs.iter().enumerate().filter_map(|(number, leg)| {
        let agent = leg.speaks()?;
        (agent.vote == Vote::Accepted).then_some(Fact::Ballot(number))
    });
    votes.chain((claim.work == Work::Suspended).then_some(Fact::Work))
}
