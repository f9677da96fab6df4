//! One write on the server: what it tests there, what the rules of the API refuse, and what it changes.

use claiming::{Activity, Agent, Digest, Hold, Vote};

use crate::setting::{Setting, Without, Workload};
use crate::world::{Batch, Register, State, UIDS};

/// A write by somebody who leads, or once led. Legs are numbered as in the gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Write {
    Post,
    ReserveRoot,
    Reserve(usize),
    RequestVote(usize),
    Commit,
    Abort,
    Release,
    NotifyAgent(usize, Digest),
    MakeWork,
    ClearWork,
    StartWork(Digest),
    StopAgent(usize),
    MarkLost(usize),
    StopWork,
    Free(usize),
    FreeRoot,
}

/// The state after a write of this gang has landed; `None` if it is refused.
pub(crate) fn land(state: &State, setting: &Setting, gang: usize, write: Write) -> Option<State> {
    let mut next = *state;
    match write {
        Write::Post => post(&mut next, setting, gang)?,
        Write::ReserveRoot => reserve_root(&mut next, setting, gang)?,
        Write::Reserve(leg) => reserve(&mut next, setting, gang, leg)?,
        Write::Commit | Write::Abort | Write::Release => decide(&mut next, setting, gang, write)?,
        Write::RequestVote(leg) => entry(&mut next, setting, gang, leg)?.asked = true,
        Write::NotifyAgent(leg, ballot) => {
            let any = setting.lacks(Without::R3);
            let entry = entry(&mut next, setting, gang, leg)?;
            let agrees = entry.vote == Vote::Accepted && (any || entry.ballot == ballot);
            agrees.then_some(())?;
            entry.committed = true;
        }
        Write::StopAgent(leg) => {
            let deaf = setting.lacks(Without::R4);
            let entry = entry(&mut next, setting, gang, leg)?;
            entry.release |= !deaf;
        }
        Write::MarkLost(leg) => {
            let entry = entry(&mut next, setting, gang, leg)?;
            (entry.activity == Activity::Active).then_some(())?;
            entry.activity = Activity::Lost;
        }
        Write::Free(leg) => {
            let entry = entry(&mut next, setting, gang, leg)?;
            (entry.activity != Activity::Active || setting.lacks(Without::C5)).then_some(())?;
            next.offers[setting.gangs[gang].legs[leg].offer].entries[gang] = None;
        }
        Write::FreeRoot => {
            let root = &mut next.roots[setting.gangs[gang].root];
            (root.claim == Some(gang as u8)).then_some(())?;
            root.claim = None;
            next.freed_root[gang] = setting.lacks(Without::R7);
        }
        Write::MakeWork | Write::ClearWork | Write::StartWork(_) | Write::StopWork => {
            work(&mut next, setting, gang, write)?;
        }
    }
    Some(next)
}

fn post(next: &mut State, setting: &Setting, gang: usize) -> Option<()> {
    let name = setting.gangs[gang].name;
    let mut namesakes = setting.gangs.iter().zip(next.registers).filter(|(other, _)| other.name == name);
    let free = next.registers[gang] == Register::Unborn && !namesakes.any(|(_, register)| register.is_there());
    free.then_some(())?;
    next.registers[gang] = Register::Pending;
    Some(())
}

fn reserve_root(next: &mut State, setting: &Setting, gang: usize) -> Option<()> {
    let wanted = setting.gangs[gang];
    let root = &mut next.roots[wanted.root];
    (root.life == wanted.root_life || (setting.lacks(Without::TestJobUid) && root.life > 0)).then_some(())?;
    (!root.changed || setting.lacks(Without::TestGeneration)).then_some(())?;
    let free = root.claim.is_none_or(|held| held == gang as u8) || setting.lacks(Without::J1);
    free.then_some(())?;
    (!root.finished || root.claim.is_some() || setting.lacks(Without::J2)).then_some(())?;
    if root.claim.is_none() && (root.finished || root.changed || root.life != wanted.root_life) {
        next.torn = Some("I6: a job is claimed that is not the one that was matched, or that has finished");
    }
    root.claim = Some(gang as u8);
    Some(())
}

fn reserve(next: &mut State, setting: &Setting, gang: usize, leg: usize) -> Option<()> {
    let member = setting.gangs[gang].legs[leg];
    let offer = &mut next.offers[member.offer];
    (offer.life == member.life || (setting.lacks(Without::TestOfferUid) && offer.life > 0)).then_some(())?;
    let asked = !setting.gangs[gang].legs.iter().any(|other| other.agent && other.parent == Some(leg));
    let vote = if member.agent { Vote::Pending } else { Vote::Accepted };
    let born = Agent { asked, vote, ..Agent::default() };
    match &mut offer.entries[gang] {
        Some(old) if member.agent => {
            // a replay: the vote may not change, nor the registers go back
            let resets = setting.lacks(Without::E2) && old.vote == Vote::Accepted && !old.committed;
            resets.then_some(())?;
            *old = born;
        }
        Some(_) => return None,
        none => {
            *none = Some(born);
            let full = offer.entries.iter().flatten().count() > 1;
            (!full || setting.lacks(Without::C1)).then_some(())?;
            if offer.life != member.life {
                next.torn = Some("I6: an offer is reserved that is not the one that was matched");
            }
        }
    }
    Some(())
}

fn entry<'s>(next: &'s mut State, setting: &Setting, gang: usize, leg: usize) -> Option<&'s mut Agent> {
    next.offers[setting.gangs[gang].legs[leg].offer].entries[gang].as_mut()
}

fn decide(next: &mut State, setting: &Setting, gang: usize, write: Write) -> Option<()> {
    let (from, to) = match write {
        Write::Commit => (Register::Pending, Register::Committed),
        Write::Abort => (Register::Pending, Register::Aborted),
        _ => (Register::Committed, Register::Released),
    };
    let mut target = gang;
    if setting.lacks(Without::TestMatchUid) && !next.registers[gang].is_there() {
        let name = setting.gangs[gang].name;
        target = (0..setting.gangs.len())
            .find(|other| setting.gangs[*other].name == name && next.registers[*other].is_there())?;
    }
    let once = next.registers[target] == from;
    let rewritten =
        setting.lacks(Without::DecisionOnce) && write == Write::Abort && next.registers[target] == Register::Committed;
    (once || rewritten).then_some(())?;
    if rewritten {
        next.torn = Some("I3: a commit is taken back");
    }
    next.registers[target] = to;
    next.stood[target] |= to == Register::Committed;
    Some(())
}

fn work(next: &mut State, setting: &Setting, gang: usize, write: Write) -> Option<()> {
    let ended: Vec<bool> = next.seen.iter().map(|seen| seen.registers & super::knowledge::ENDED != 0).collect();
    let place = &mut next.work[setting.place(gang)];
    let own = place.batch != Batch::None && usize::from(place.of) == gang;
    match write {
        Write::MakeWork => {
            let free = place.batch == Batch::None;
            let replaces = setting.workload == Workload::Reference && !own && ended[usize::from(place.of)];
            ((free || replaces) && place.uids < UIDS).then_some(())?;
            place.uids += 1;
            place.uid = place.uids;
            place.of = gang as u8;
            place.batch = if setting.lacks(Without::Suspended) { Batch::Started } else { Batch::Suspended };
        }
        Write::ClearWork => {
            (place.batch != Batch::None && !own && ended[usize::from(place.of)]).then_some(())?;
            place.batch = Batch::None;
        }
        Write::StartWork(uid) => {
            let it = Digest(place.uid.into()) == uid || setting.lacks(Without::TestBatchUid);
            (it && place.batch == Batch::Suspended).then_some(())?;
            place.batch = Batch::Started;
            if setting.workload == Workload::Pods {
                place.pod_under_way = Some(place.of);
            }
        }
        _ => {
            (own && place.batch != Batch::Finished).then_some(())?;
            // suspended, and seen to be: the Job controller makes no more pods, and ends those that are there
            if !setting.lacks(Without::R11) {
                place.pod_under_way = None;
            }
            place.pod = None;
            place.batch = Batch::None;
        }
    }
    Some(())
}

impl crate::setting::Member {
    /// The leg of a claim that has nothing yet.
    pub(crate) fn free(&self) -> claiming::Leg {
        let leg = match self.agent {
            true => claiming::Leg { agent: Some(Agent::default()), ..claiming::Leg::auto(Hold::Free) },
            false => claiming::Leg::auto(Hold::Free),
        };
        self.parent.map_or(leg, |parent| leg.below(parent))
    }
}

/// One more vote may be cast for this Match here.
pub(crate) fn may_vote_again(state: &State, setting: &Setting, offer: usize, gang: usize) -> bool {
    state.offers[offer].ballots[gang] < setting.people.ballots
}
