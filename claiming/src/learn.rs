//! One event into what the claim knows after it.

use crate::claim::{Claim, Fact, Record, Work};
use crate::event::{Action, Event};
use crate::leg::{Agent, Hold, Vote};

/// What the event says about the cluster.
pub(crate) fn learn(mut claim: Claim, event: Event) -> Claim {
    match event {
        Event::Woke => {}
        Event::Recorded => {
            claim.asked.remove(&Action::Record);
            decide(&mut claim, Record::Pending);
        }
        Event::RootReserved => hold_root(&mut claim, Hold::Held),
        Event::RootRefused(reason) => hold_root(&mut claim, Hold::Refused(reason)),
        Event::Reserved(leg) => reserved(&mut claim, leg),
        Event::Refused(leg, reason) => hold(&mut claim, leg, Action::Reserve(leg), Hold::Refused(reason)),
        Event::Entry(leg, agent) => entry(&mut claim, leg, agent),
        Event::Agreed => {
            claim.asked.remove(&Action::Check);
            claim.agreed = true;
        }
        Event::Disagreed(reason) => {
            claim.asked.remove(&Action::Check);
            claim.leaving.get_or_insert(reason);
        }
        Event::Decided(record) => {
            claim.asked.retain(|action| !action.decides());
            decide(&mut claim, record);
        }
        Event::Confirmed(record) => confirmed(&mut claim, record),
        Event::Told => {
            claim.asked.remove(&Action::TellRoot);
            claim.told = true;
        }
        Event::Work(found) => work(&mut claim, found),
        Event::NoWork => no_work(&mut claim),
        Event::Freed(leg) => {
            hold(&mut claim, leg, Action::Free(leg), Hold::Gone);
            claim.absent.insert(leg);
        }
        Event::Nowhere => nowhere(&mut claim),
        Event::RootFreed => {
            claim.asked.remove(&Action::FreeRoot);
            claim.root = Hold::Gone;
        }
        Event::Leave(reason) => {
            claim.leaving.get_or_insert(reason);
        }
        Event::Epoch(epoch) => claim.newest = claim.newest.max(epoch),
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
        Record::Absent | Record::Missing => true,
        Record::Pending => record != Record::Absent && record != Record::Missing,
        Record::Committed => matches!(record, Record::Released | Record::Gone),
        Record::Aborted | Record::Released => record == Record::Gone,
        Record::Gone => false,
    };
    if forward {
        claim.record = record;
    }
}

/// The register was read after it was asked for, so the claim stood after everything that was known then.
fn confirmed(claim: &mut Claim, record: Record) {
    claim.asked.remove(&Action::Confirm);
    let covered = std::mem::take(&mut claim.covered);
    if record == Record::Committed {
        claim.cleared.extend(covered);
    }
    decide(claim, record);
}

fn hold_root(claim: &mut Claim, hold: Hold) {
    claim.asked.remove(&Action::ReserveRoot);
    claim.root = hold;
}

fn hold(claim: &mut Claim, leg: usize, answered: Action, hold: Hold) {
    claim.asked.remove(&answered);
    if let Some(known) = claim.legs.get_mut(leg) {
        known.hold = hold;
    }
}

/// The entry is there: written just now, so that its registers are as they are born; or found.
fn reserved(claim: &mut Claim, leg: usize) {
    claim.absent.remove(&leg);
    claim.asked.remove(&Action::LookForEntries);
    let born = claim.asked.contains(&Action::Reserve(leg));
    let asked = claim.votes_at_once(leg);
    hold(claim, leg, Action::Reserve(leg), Hold::Held);
    if let Some(known) = claim.legs.get_mut(leg).filter(|_| born) {
        known.agent = known.agent.map(|_| Agent { asked, ..Agent::default() });
    }
}

fn entry(claim: &mut Claim, leg: usize, agent: Agent) {
    claim.asked.retain(|action| !action.is_about_entry(leg));
    claim.absent.remove(&leg);
    let Some(known) = claim.legs.get_mut(leg) else { return };
    let voted = |agent: Option<Agent>| agent.is_some_and(|agent| agent.vote == Vote::Accepted);
    if !voted(known.speaks()) {
        claim.covered.remove(&Fact::Ballot(leg));
        claim.cleared.remove(&Fact::Ballot(leg));
    }
    known.hold = Hold::Held;
    known.agent = Some(agent);
}

fn work(claim: &mut Claim, found: Work) {
    claim.asked.retain(|action| !action.is_about_work());
    if found == Work::Suspended {
        claim.covered.remove(&Fact::Work);
        claim.cleared.remove(&Fact::Work);
    }
    claim.swept = false;
    claim.work = found;
}

/// Counts only as the answer to a look that was asked for after the end.
fn no_work(claim: &mut Claim) {
    claim.swept = claim.asked.remove(&Action::LookForWork);
}

/// Counts only as the answer to a look, as above.
fn nowhere(claim: &mut Claim) {
    if !claim.asked.remove(&Action::LookForEntries) {
        return;
    }
    claim.listed = true;
    let free = claim.legs.iter().enumerate().filter(|(_, leg)| !leg.is_held());
    claim.absent.extend(free.map(|(number, _)| number));
}

impl Action {
    /// Whether it turns the register.
    pub(crate) fn decides(self) -> bool {
        matches!(self, Action::Commit | Action::Abort(_) | Action::Release(_))
    }

    fn is_about_entry(self, leg: usize) -> bool {
        let about = [
            Action::Ask(leg),
            Action::TellAgent(leg),
            Action::StopAgent(leg),
            Action::MarkLost(leg),
            Action::Free(leg),
            Action::Reserve(leg),
        ];
        about.contains(&self)
    }

    fn is_about_work(self) -> bool {
        matches!(
            self,
            Action::MakeWork | Action::ClearWork | Action::StartWork | Action::StopWork | Action::LookForWork
        )
    }
}
