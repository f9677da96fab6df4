//! What people, agents, the Job controller and the garbage collector do.

use claiming::{Activity, Digest, Vote};

use crate::server::{Write, land, may_vote_again};
use crate::setting::{Setting, Without, Workload};
use crate::world::{Batch, Register, State};

/// One move of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// A write of a coordinator for this Match.
    Writes(usize, Write),
    DeleteMatch(usize),
    DeleteJob(usize),
    MakeJob(usize),
    Suspend(usize),
    Finish(usize),
    DeleteOffer(usize),
    MakeOffer(usize),
    DeleteBatch(usize),
    VoteYes(usize, usize),
    VoteNo(usize, usize),
    Active(usize, usize),
    /// An agent ends its work: by itself, because it is told to, because its entry is gone.
    Ended(usize, usize),
    Obeys(usize, usize),
    NoticesGone(usize, usize),
    FallsSilent(usize),
    BatchFinishes(usize),
    PodLands(usize),
    PodCollected(usize),
    CollectMatch(usize),
}

/// All moves of people and of the system; those of people are left out while it is seen whether everything can be given back.
pub(crate) fn moves(state: &State, setting: &Setting, people: bool, visit: &mut impl FnMut(Move, State)) {
    agents(state, setting, people, visit);
    works(state, setting, people, visit);
    for gang in 0..setting.gangs.len() {
        let wanted = setting.gangs[gang];
        let orphan = state.roots[wanted.root].life != wanted.root_life;
        if orphan && state.registers[gang].is_there() {
            let mut next = *state;
            next.registers[gang] = Register::Gone;
            visit(Move::CollectMatch(gang), next);
        }
    }
    if people {
        owners(state, setting, visit);
    }
}

fn agents(state: &State, setting: &Setting, people: bool, visit: &mut impl FnMut(Move, State)) {
    for (number, offer) in state.offers.iter().enumerate() {
        for gang in 0..setting.gangs.len() {
            let Some((leg, _)) =
                setting.gangs[gang].legs.iter().enumerate().find(|(_, leg)| leg.offer == number && leg.agent)
            else {
                continue;
            };
            let mut next = *state;
            let own = &mut next.offers[number];
            let Some(entry) = &mut own.entries[gang] else {
                if own.works[gang] && (!own.silent || setting.lacks(Without::R10)) {
                    own.works[gang] = false;
                    visit(Move::NoticesGone(number, gang), next);
                }
                continue;
            };
            if offer.works[gang] && entry.activity == Activity::Active && (people || entry.release) && !offer.silent {
                let what = if entry.release { Move::Obeys(number, gang) } else { Move::Ended(number, gang) };
                entry.activity = Activity::Ended;
                own.works[gang] = false;
                visit(what, next);
                continue;
            }
            if people && !offer.silent {
                votes(state, setting, (number, gang, leg), visit);
            }
        }
    }
}

fn votes(
    state: &State,
    setting: &Setting,
    (number, gang, leg): (usize, usize, usize),
    visit: &mut impl FnMut(Move, State),
) {
    let offer = &state.offers[number];
    let Some(seen) = offer.entries[gang] else { return };
    let works_on = offer.works.iter().any(|works| *works) && !setting.lacks(Without::R9Agent);
    let asked = seen.asked || setting.lacks(Without::ChildrenFirst);
    if seen.vote == Vote::Pending && asked && !works_on {
        for (what, vote) in
            [(Move::VoteYes(number, gang), Vote::Accepted), (Move::VoteNo(number, gang), Vote::Rejected)]
        {
            let allowed = if vote == Vote::Accepted {
                may_vote_again(state, setting, number, gang)
            } else {
                setting.people.reject
            };
            if !allowed {
                continue;
            }
            let mut next = *state;
            let own = &mut next.offers[number];
            if vote == Vote::Accepted {
                own.ballots[gang] += 1;
            }
            if let Some(entry) = &mut own.entries[gang] {
                entry.vote = vote;
                entry.ballot = Digest(if vote == Vote::Accepted { own.ballots[gang].into() } else { 0 });
            }
            let children = setting.gangs[gang].legs.iter().filter(|other| other.parent == Some(leg));
            let mut votes = children.map(|child| state.offers[child.offer].entries[gang].map(|entry| entry.vote));
            if votes.any(|vote| vote != Some(Vote::Accepted)) && state.registers[gang] == Register::Pending {
                next.torn = Some("an inner agent votes before those below it");
            }
            visit(what, next);
        }
    }
    let may = (seen.committed || setting.lacks(Without::E4)) && offer.knows[gang] && !seen.release;
    if seen.activity == Activity::Idle && may {
        let mut next = *state;
        let own = &mut next.offers[number];
        own.works[gang] = true;
        if let Some(entry) = &mut own.entries[gang] {
            entry.activity = Activity::Active;
        }
        visit(Move::Active(number, gang), next);
    }
}

fn works(state: &State, setting: &Setting, people: bool, visit: &mut impl FnMut(Move, State)) {
    for number in 0..state.work.len() {
        let place = state.work[number];
        if place.batch == Batch::Started && people {
            let mut next = *state;
            next.work[number].batch = Batch::Finished;
            next.work[number].pod = None;
            next.work[number].pod_under_way = None;
            visit(Move::BatchFinishes(number), next);
        }
        if place.pod_under_way.is_some() && place.pod.is_none() {
            let mut next = *state;
            next.work[number].pod = next.work[number].pod_under_way.take();
            visit(Move::PodLands(number), next);
        }
        if place.pod.is_some() && (place.batch != Batch::Started || place.pod != Some(place.of)) {
            let mut next = *state;
            next.work[number].pod = None;
            visit(Move::PodCollected(number), next);
        }
        let committed = state.registers.get(usize::from(place.of)) == Some(&Register::Committed);
        let there = matches!(place.batch, Batch::Suspended | Batch::Started) && setting.workload != Workload::Reference;
        if people && setting.people.delete_batch && !state.batch_deleted && there && committed {
            let mut next = *state;
            next.work[number].batch = Batch::None;
            next.batch_deleted = true;
            visit(Move::DeleteBatch(number), next);
        }
    }
}

fn owners(state: &State, setting: &Setting, visit: &mut impl FnMut(Move, State)) {
    let people = setting.people;
    for gang in (0..setting.gangs.len()).filter(|gang| people.delete_matches && state.registers[*gang].is_there()) {
        let mut next = *state;
        next.registers[gang] = Register::Gone;
        visit(Move::DeleteMatch(gang), next);
    }
    for (number, root) in state.roots.iter().enumerate() {
        let mut next = *state;
        let own = &mut next.roots[number];
        if people.replace_job && root.life < 2 && setting.gangs.iter().any(|gang| gang.root == number) {
            *own = crate::world::Root { life: if root.life == 1 { 0 } else { 2 }, ..Default::default() };
            visit(if root.life == 1 { Move::DeleteJob(number) } else { Move::MakeJob(number) }, next);
            next = *state;
        }
        if people.suspend_and_finish && number == 0 {
            let own = &mut next.roots[number];
            if !root.changed && !root.finished && root.claim.is_none() {
                own.changed = true;
                visit(Move::Suspend(number), next);
                next = *state;
                next.roots[number].finished = true;
                visit(Move::Finish(number), next);
            }
        }
    }
    for (number, offer) in state.offers.iter().enumerate() {
        let mut next = *state;
        let own = &mut next.offers[number];
        if people.replace_offer == Some(number) && offer.life < 2 {
            own.life = if offer.life == 1 { 0 } else { 2 };
            own.entries = Default::default();
            visit(if offer.life == 1 { Move::DeleteOffer(number) } else { Move::MakeOffer(number) }, next);
            next = *state;
        }
        if people.silence && number == 1 && !offer.silent {
            let own = &mut next.offers[number];
            own.silent = true;
            if !setting.lacks(Without::R10) {
                own.works = Default::default();
            }
            visit(Move::FallsSilent(number), next);
        }
    }
}

/// The moves of coordinators: writes that were asked for at some time, landing now.
pub(crate) fn lands(state: &State, setting: &Setting, gang: usize, write: Write) -> Option<State> {
    if write == Write::FreeRoot && state.freed_root[gang] {
        return None;
    }
    land(state, setting, gang, write)
}

/// Whether this gang can have been found: its job and its offers were there, and nobody works for a former owner's offer.
pub(crate) fn may_be_found(state: &State, setting: &Setting, gang: usize) -> bool {
    let wanted = setting.gangs[gang];
    let job = state.roots[wanted.root].life >= wanted.root_life;
    let offers = wanted.legs.iter().all(|leg| state.offers[leg.offer].life >= leg.life);
    let recreated_under_live_claims = |leg: &crate::setting::Member| {
        leg.life == 2
            && (0..setting.gangs.len()).any(|other| {
                let names = setting.gangs[other].legs.iter().any(|old| old.offer == leg.offer && old.life == 1);
                names && state.registers[other] != Register::Unborn && !state.seen[other].exorcised
            })
    };
    job && offers && !wanted.legs.iter().any(recreated_under_live_claims)
}
