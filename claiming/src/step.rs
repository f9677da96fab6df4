//! One event into the next claim and the actions it calls for.

use crate::apply::apply;
use crate::claim::{Claim, Evidence};
use crate::event::{Action, Event, Work};
use crate::leg::Vote;
use crate::next_actions::next_actions;

/// Takes in one event; returns the claim after it and the actions to start now. `now_ms` is the caller's monotonic clock.
///
/// An action is asked for once, until it is answered. Answers may come in any order, late, or twice.
pub fn step(claim: Claim, event: Event, now_ms: u64) -> (Claim, Vec<Action>) {
    let mut claim = apply(claim, event);
    if claim.progress.halted || claim.is_fenced() {
        return (claim, Vec::new());
    }
    let mut actions = next_actions(&claim, now_ms);
    actions.retain(|action| !claim.has_asked(*action));
    if actions.contains(&Action::ReadDecision) {
        claim.progress.pending_evidence = evidence(&claim).collect();
    }
    claim.progress.asked.extend(actions.iter().copied());
    (claim, actions)
}

/// What is known now that may be acted on only if the claim is still committed.
fn evidence(claim: &Claim) -> impl Iterator<Item = Evidence> {
    let votes = claim.legs.iter().enumerate().filter_map(|(number, leg)| {
        let agent = leg.held_agent()?;
        (agent.vote == Vote::Accepted).then_some(Evidence::Ballot(number, agent.ballot))
    });
    let work = if let Work::Suspended(version) = claim.work { Some(Evidence::Work(version)) } else { None };
    votes.chain(work)
}
