//! One event into what the claim knows after it.

use crate::claim::Claim;
use crate::event::{Action, Decision, Event, Work};
use crate::leg::{Agent, Hold};

/// The claim with what the event says about the cluster.
pub(crate) fn apply(mut claim: Claim, event: Event) -> Claim {
    match event {
        Event::Tick => {}
        Event::MatchCreated => {
            claim.progress.asked.remove(&Action::CreateMatch);
            decide(&mut claim, Decision::Pending);
        }
        Event::RootReserved => hold_root(&mut claim, Hold::Held),
        Event::RootRefused(reason) => hold_root(&mut claim, Hold::Refused(reason)),
        Event::Reserved(leg) => reserved(&mut claim, leg),
        Event::Refused(leg, reason) => hold(&mut claim, leg, Action::Reserve(leg), Hold::Refused(reason)),
        Event::Entry(leg, agent) => entry(&mut claim, leg, agent),
        Event::Verified => {
            claim.progress.asked.remove(&Action::Verify);
            claim.verified = true;
        }
        Event::NotVerified(reason) => {
            claim.progress.asked.remove(&Action::Verify);
            claim.exit.get_or_insert(reason);
        }
        Event::ExitConfirmed(reason) => {
            claim.progress.asked.remove(&Action::ConfirmExit(reason));
            claim.progress.confirmed_exit = Some(reason);
        }
        Event::Decided(decision) => {
            claim.progress.asked.retain(|action| !action.decides());
            decide(&mut claim, decision);
        }
        Event::DecisionRead(decision) => decision_read(&mut claim, decision),
        Event::JobNotified => {
            claim.progress.asked.remove(&Action::NotifyJob);
            claim.root_notified = true;
        }
        Event::Work(found) => work(&mut claim, found),
        Event::NoWork => no_work(&mut claim),
        Event::Freed(leg) => {
            hold(&mut claim, leg, Action::Free(leg), Hold::Gone);
            claim.progress.absent.insert(leg);
        }
        Event::NoEntries => no_entries(&mut claim),
        Event::RootFreed => {
            claim.progress.asked.remove(&Action::FreeRoot);
            claim.root = Hold::Gone;
        }
        Event::Exit(reason) => {
            claim.exit.get_or_insert(reason);
        }
        Event::Epoch(epoch) => claim.epochs.newest = claim.epochs.newest.max(epoch),
        Event::Failed(action) => {
            claim.progress.asked.remove(&action);
            claim.progress.halted = true;
        }
    }
    claim
}

/// The decision goes one way; an old answer does not turn it back.
fn decide(claim: &mut Claim, decision: Decision) {
    let forward = match claim.decision {
        Decision::Absent | Decision::Missing => true,
        Decision::Pending => decision != Decision::Absent && decision != Decision::Missing,
        Decision::Committed => matches!(decision, Decision::Released | Decision::Gone),
        Decision::Aborted | Decision::Released => decision == Decision::Gone,
        Decision::Gone => false,
    };
    if forward {
        claim.decision = decision;
    }
    claim.progress.ended_at_server |= decision.has_ended();
}

/// The decision was read after it was asked for. If the answer is Committed, the claim was committed after all that was known then was
/// read. If the server does not know of an end, there was none: the caller begins again.
fn decision_read(claim: &mut Claim, decision: Decision) {
    claim.progress.asked.remove(&Action::ReadDecision);
    let pending = std::mem::take(&mut claim.progress.pending_evidence);
    if decision == Decision::Committed {
        claim.progress.confirmed.extend(pending);
    }
    claim.progress.halted |= claim.decision.has_ended() && !decision.has_ended();
    decide(claim, decision);
}

fn hold_root(claim: &mut Claim, hold: Hold) {
    claim.progress.asked.remove(&Action::ReserveRoot);
    claim.root = hold;
}

fn hold(claim: &mut Claim, leg: usize, answered: Action, hold: Hold) {
    claim.progress.asked.remove(&answered);
    if let Some(known) = claim.legs.get_mut(leg) {
        known.hold = hold;
    }
}

/// The entry is there: written just now, so that its registers have their first values; or found.
fn reserved(claim: &mut Claim, leg: usize) {
    claim.progress.absent.remove(&leg);
    claim.progress.asked.remove(&Action::ListEntries);
    let is_new = claim.has_asked(Action::Reserve(leg));
    let asked = claim.votes_at_once(leg);
    hold(claim, leg, Action::Reserve(leg), Hold::Held);
    if let Some(known) = claim.legs.get_mut(leg).filter(|_| is_new) {
        known.agent = known.agent.map(|_| Agent { asked, ..Agent::default() });
    }
}

fn entry(claim: &mut Claim, leg: usize, agent: Agent) {
    claim.progress.asked.retain(|action| !action.is_about_entry(leg));
    claim.progress.absent.remove(&leg);
    if let Some(known) = claim.legs.get_mut(leg) {
        known.hold = Hold::Held;
        known.agent = Some(agent);
    }
}

fn work(claim: &mut Claim, found: Work) {
    claim.progress.asked.retain(|action| !action.is_about_work());
    claim.progress.no_work = false;
    claim.work = found;
}

/// Counts only as the answer to a read that was asked for after the end.
fn no_work(claim: &mut Claim) {
    claim.progress.no_work = claim.progress.asked.remove(&Action::ListWork);
}

/// Counts only as the answer to a read, as above.
fn no_entries(claim: &mut Claim) {
    if !claim.progress.asked.remove(&Action::ListEntries) {
        return;
    }
    claim.progress.entries_listed = true;
    let free = claim.legs.iter().enumerate().filter(|(_, leg)| !leg.is_held());
    claim.progress.absent.extend(free.map(|(number, _)| number));
}

impl Action {
    /// Whether it turns the decision.
    pub(crate) fn decides(self) -> bool {
        matches!(self, Action::Commit | Action::Abort(_) | Action::Release(_))
    }

    fn is_about_entry(self, leg: usize) -> bool {
        match self {
            Action::RequestVote(of)
            | Action::NotifyAgent(of, _)
            | Action::StopAgent(of)
            | Action::MarkLost(of)
            | Action::Free(of)
            | Action::Reserve(of) => of == leg,
            _ => false,
        }
    }

    fn is_about_work(self) -> bool {
        matches!(
            self,
            Action::MakeWork | Action::ClearWork | Action::StartWork(_) | Action::StopWork | Action::ListWork
        )
    }
}
