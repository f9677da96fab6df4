//! What a claim knows into what is to be done now, whether it was asked for already or not.

use crate::claim::{Claim, Fact, Record, Work};
use crate::event::Action;
use crate::leg::{Activity, Hold, Leg, Vote};
use crate::reason::Reason;

/// What is to be done in this state.
pub(crate) fn wanted(claim: &Claim, now_ms: u64) -> Vec<Action> {
    match claim.record {
        Record::Absent if claim.leaving.is_some() => Vec::new(),
        Record::Absent => vec![Action::Record],
        Record::Missing if claim.is_settled() => Vec::new(),
        Record::Missing => vec![Action::Confirm],
        // the Match is there after all: the caller begins again from it
        Record::Pending | Record::Committed if !claim.whole => Vec::new(),
        Record::Pending => first_phase(claim, now_ms),
        Record::Committed => match claim.ends() {
            Some(reason) => decision(claim, Action::Release(reason)),
            None => stand(claim),
        },
        Record::Aborted | Record::Released | Record::Gone => give_back(claim),
    }
}

fn first_phase(claim: &Claim, now_ms: u64) -> Vec<Action> {
    if let Some(reason) = objection(claim, now_ms) {
        return decision(claim, Action::Abort(reason));
    }
    let reserves = reserves(claim);
    if !reserves.is_empty() {
        return reserves;
    }
    if !claim.legs.iter().all(Leg::accepts) {
        return asks(claim);
    }
    if !claim.agreed {
        return vec![Action::Check];
    }
    decision(claim, Action::Commit)
}

/// Everybody who is not reserved yet; in order, if an order is given: then one after the other, the root first.
fn reserves(claim: &Claim) -> Vec<Action> {
    let is_free = |number: usize| claim.legs.get(number).is_some_and(|leg| leg.hold == Hold::Free);
    let root = (claim.root == Hold::Free).then_some(Action::ReserveRoot);
    let ordered = claim.order.iter().copied().filter(|number| is_free(*number));
    let others = (0..claim.legs.len()).filter(|number| is_free(*number) && !claim.order.contains(number));
    let all = root.into_iter().chain(ordered.chain(others).map(Action::Reserve));
    if claim.order.is_empty() { all.collect() } else { all.take(1).collect() }
}

/// The agents whose turn has come: everybody below has accepted, and they do not know it yet.
fn asks(claim: &Claim) -> Vec<Action> {
    let mut actions = Vec::new();
    for (number, leg) in claim.legs.iter().enumerate() {
        let waits = leg.speaks().is_some_and(|agent| !agent.asked && agent.vote == Vote::Pending);
        if waits && claim.below(number).all(Leg::accepts) {
            actions.push(Action::Ask(number));
        }
    }
    actions
}

/// One decision at a time: which of two lands first must not depend on the network.
fn decision(claim: &Claim, action: Action) -> Vec<Action> {
    if claim.asked.iter().any(|action| action.decides()) { Vec::new() } else { vec![action] }
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
    let says_no = |leg: &Leg| {
        let agent = leg.speaks()?;
        match agent.vote {
            Vote::Rejected => Some(Reason::Rejected),
            Vote::Pending | Vote::Accepted => agent.silent.then_some(Reason::ReserveTimedOut),
        }
    };
    let late = (now_ms >= claim.deadline_ms).then_some(Reason::ReserveTimedOut);
    let legs = || claim.legs.iter().find_map(|leg| refusal(&leg.hold));
    claim.leaving.or(root).or_else(legs).or_else(|| claim.legs.iter().find_map(says_no)).or(late)
}

/// What a claim that stands still has to tell: the root, the agents, then the batch Job. An agent and a batch Job are told
/// only if the claim was seen to stand after their ballot or uid was read: otherwise it might be another one's.
fn stand(claim: &Claim) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut confirm = false;
    let mut clear = |fact: Fact, action: Action| match claim.cleared.contains(&fact) {
        true => Some(action),
        false => {
            confirm = true;
            None
        }
    };
    if !claim.told {
        actions.push(Action::TellRoot);
    }
    let mut agents_know = true;
    for (number, leg) in claim.legs.iter().enumerate() {
        if leg.speaks().is_some_and(|agent| !agent.committed && agent.vote == Vote::Accepted) {
            agents_know = false;
            actions.extend(clear(Fact::Ballot(number), Action::TellAgent(number)));
        }
    }
    match claim.work {
        Work::Absent => actions.push(Action::MakeWork),
        Work::Foreign => actions.push(Action::ClearWork),
        Work::Suspended if agents_know => actions.extend(clear(Fact::Work, Action::StartWork)),
        Work::None | Work::Suspended | Work::Started | Work::Finished(_) => {}
    }
    if confirm {
        actions.push(Action::Confirm);
    }
    actions
}

/// The end. First the work stops; then the offers with an agent are given back, then the others, then the root: whoever
/// sees something free may match it again, and must find nothing of this claim at work.
fn give_back(claim: &Claim) -> Vec<Action> {
    let mut actions = stops(claim);
    if claim.has_unfinished_work() {
        actions.push(Action::StopWork);
        return actions;
    }
    if !claim.holds_anything() {
        return actions;
    }
    if claim.work != Work::None && !claim.swept {
        actions.push(Action::LookForWork);
        return actions;
    }
    actions.extend(frees(claim));
    actions
}

/// Agents at work, and those that may still start, are told to stop; of one that is silent at work it is written that its
/// work is lost.
fn stops(claim: &Claim) -> Vec<Action> {
    let mut actions = Vec::new();
    for (number, leg) in claim.legs.iter().enumerate() {
        match leg.speaks() {
            Some(agent) if leg.is_active() && agent.silent => actions.push(Action::MarkLost(number)),
            Some(agent) if !agent.release && (leg.is_active() || may_start(claim, leg)) => {
                actions.push(Action::StopAgent(number));
            }
            _ => {}
        }
    }
    actions
}

/// Whether an agent that does nothing yet may start while another one's entry is taken away. Alone it cannot: what it needs to
/// start is the entry that is taken away. Neither can it if nobody was ever told that the claim stands.
fn may_start(claim: &Claim, leg: &Leg) -> bool {
    let idle = leg.speaks().is_some_and(|agent| agent.activity == Activity::Idle && !agent.release);
    idle && has_more_agents(claim)
}

fn has_more_agents(claim: &Claim) -> bool {
    let agents = claim.legs.iter().filter(|leg| leg.agent.is_some()).count();
    claim.record != Record::Aborted && (agents > 1 || !claim.whole)
}

fn frees(claim: &Claim) -> Vec<Action> {
    let legs = |agents: bool| claim.legs.iter().enumerate().filter(move |(_, leg)| leg.agent.is_some() == agents);
    // a reserve that is still under way may yet land: its answer comes first
    let reserving = |number: usize| claim.asked.contains(&Action::Reserve(number));
    let is_open = |agents: bool| legs(agents).any(|(number, leg)| leg.is_held() || reserving(number));
    let free = |agents: bool| {
        let all = legs(agents).filter(|(number, leg)| leg.is_held() && !reserving(*number));
        all.map(|(number, _)| Action::Free(number)).collect()
    };
    // read without an entry, or held: an entry that nobody knows of might be an agent's at work
    let is_unread = |(number, leg): (usize, &Leg)| !leg.is_held() && !claim.absent.contains(&number);
    let unlisted = !claim.whole && !claim.listed;
    let look = vec![Action::LookForEntries];
    if is_open(true) {
        return match claim.legs.iter().any(|leg| leg.is_active() || may_start(claim, leg)) {
            true => Vec::new(),
            false if has_more_agents(claim) && (unlisted || legs(true).any(is_unread)) => look,
            false => free(true),
        };
    }
    if is_open(false) {
        return if unlisted || legs(true).any(is_unread) { look } else { free(false) };
    }
    match claim.root == Hold::Held && !claim.asked.contains(&Action::ReserveRoot) {
        true if unlisted || claim.legs.iter().enumerate().any(is_unread) => look,
        true => vec![Action::FreeRoot],
        false => Vec::new(),
    }
}
