//! What a claim knows into the actions to take now, whether they were asked for already or not.

use crate::claim::{Claim, Evidence};
use crate::event::{Action, Decision, Work};
use crate::leg::{Activity, Hold, Leg, Vote};
use crate::reason::Reason;

/// The most offers of one claim that are being reserved at the same time. After a refusal, the others are not asked for.
const RESERVES_MAX: usize = 32;
/// The most after an earlier claim of the root was refused: of a gang with more offers than these so many at a time, of a smaller one
/// one after the other. Fewer are given back if another one refuses.
const RESERVES_AFTER_REFUSAL: usize = 8;

/// The actions that this state calls for.
pub(crate) fn next_actions(claim: &Claim, now_ms: u64) -> Vec<Action> {
    match claim.decision {
        Decision::Absent if claim.exit.is_some() => Vec::new(),
        Decision::Absent => vec![Action::CreateMatch],
        Decision::Missing if claim.is_settled() => Vec::new(),
        Decision::Missing => vec![Action::ReadDecision],
        // the Match is there after all: the caller begins again from it
        Decision::Pending | Decision::Committed if !claim.members_known => Vec::new(),
        Decision::Pending => first_phase(claim, now_ms),
        Decision::Committed => match claim.reason_to_end() {
            Some(reason) => end(claim, reason, Action::Release(reason)),
            None => complete(claim),
        },
        Decision::Aborted | Decision::Released | Decision::Gone => free_all(claim),
    }
}

fn first_phase(claim: &Claim, now_ms: u64) -> Vec<Action> {
    if let Some(reason) = objection(claim, now_ms) {
        return end(claim, reason, Action::Abort(reason));
    }
    let reserves = reserves(claim);
    if !reserves.is_empty() {
        return reserves;
    }
    if !claim.legs.iter().all(Leg::accepts) {
        return vote_requests(claim);
    }
    if !claim.verified {
        return vec![Action::Verify];
    }
    decision(claim, Action::Commit)
}

/// The members that are not reserved yet, side by side: those that were asked for, and as many others as may be under way with them.
fn reserves(claim: &Claim) -> Vec<Action> {
    let root = (claim.root == Hold::Free).then_some(Action::ReserveRoot);
    let free = claim.legs.iter().enumerate().filter(|(_, leg)| leg.hold == Hold::Free);
    let (asked, others): (Vec<Action>, Vec<Action>) =
        free.map(|(number, _)| Action::Reserve(number)).partition(|action| claim.has_asked(*action));
    let most = match claim.refused_before {
        false => RESERVES_MAX,
        true if claim.legs.len() > RESERVES_AFTER_REFUSAL => RESERVES_AFTER_REFUSAL,
        true => 1,
    };
    let more = most.saturating_sub(asked.len());
    root.into_iter().chain(asked).chain(others.into_iter().take(more)).collect()
}

/// The agents whose turn to vote has come: all below them have accepted, and their vote was not requested yet.
fn vote_requests(claim: &Claim) -> Vec<Action> {
    let mut actions = Vec::new();
    for (number, leg) in claim.legs.iter().enumerate() {
        let waits = leg.held_agent().is_some_and(|agent| !agent.asked && agent.vote == Vote::Pending);
        if waits && claim.below(number).all(Leg::accepts) {
            actions.push(Action::RequestVote(number));
        }
    }
    actions
}

/// One decision at a time: which of two lands first must not depend on the network.
fn decision(claim: &Claim, action: Action) -> Vec<Action> {
    if claim.progress.asked.iter().any(|action| action.decides()) { Vec::new() } else { vec![action] }
}

/// The decision to end; before it, if something is said to be gone, the server's word for that.
fn end(claim: &Claim, reason: Reason, action: Action) -> Vec<Action> {
    let is_certain = !reason.is_hearsay() || claim.progress.confirmed_exit == Some(reason);
    decision(claim, if is_certain { action } else { Action::ConfirmExit(reason) })
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
        let agent = leg.held_agent()?;
        match agent.vote {
            Vote::Rejected => Some(Reason::Rejected),
            Vote::Pending | Vote::Accepted => agent.silent.then_some(Reason::ReserveTimedOut),
        }
    };
    let late = (now_ms >= claim.deadline_ms).then_some(Reason::ReserveTimedOut);
    let legs = || claim.legs.iter().find_map(|leg| refusal(&leg.hold));
    claim.exit.or(root).or_else(legs).or_else(|| claim.legs.iter().find_map(says_no)).or(late)
}

/// What a committed claim still has to do: notify the root and the agents, then start the batch Job. Agents and the batch Job come
/// only after the server said Committed, and said so after their ballot or version was read: it might be another claim's.
fn complete(claim: &Claim) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut is_unconfirmed = false;
    let mut confirmed = |evidence: Evidence, action: Action| match claim.progress.confirmed.contains(&evidence) {
        true => Some(action),
        false => {
            is_unconfirmed = true;
            None
        }
    };
    if !claim.root_notified {
        actions.push(Action::NotifyJob);
    }
    let mut agents_know = true;
    for (number, leg) in claim.legs.iter().enumerate() {
        if let Some(agent) = leg.held_agent().filter(|agent| !agent.committed && agent.vote == Vote::Accepted) {
            agents_know = false;
            let ballot = agent.ballot;
            actions.extend(confirmed(Evidence::Ballot(number, ballot), Action::NotifyAgent(number, ballot)));
        }
    }
    match claim.work {
        Work::Absent => actions.push(Action::MakeWork),
        Work::Foreign => actions.push(Action::ClearWork),
        Work::Suspended(version) if agents_know => {
            actions.extend(confirmed(Evidence::Work(version), Action::StartWork(version)));
        }
        Work::None | Work::Suspended(_) | Work::Started | Work::Finished(_) => {}
    }
    if is_unconfirmed {
        actions.push(Action::ReadDecision);
    }
    actions
}

/// The end. First the work stops; then the offers with an agent are freed, then the others, then the root: what is free may
/// be matched again, and nothing of this claim may be at work there. No write is made before the server has said that the claim
/// is over.
fn free_all(claim: &Claim) -> Vec<Action> {
    let actions = end_of_all(claim);
    let is_write = |action: &Action| *action != Action::ListWork;
    if !claim.progress.ended_at_server && actions.iter().any(is_write) { vec![Action::ReadDecision] } else { actions }
}

fn end_of_all(claim: &Claim) -> Vec<Action> {
    let mut actions = stops(claim);
    if claim.has_unfinished_work() {
        actions.push(Action::StopWork);
        return actions;
    }
    if !claim.holds_anything() {
        return actions;
    }
    if claim.work != Work::None && !claim.progress.no_work {
        actions.push(Action::ListWork);
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
        match leg.held_agent() {
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
/// start is the entry that is taken away. Neither can it if no agent was ever notified that the claim is committed.
fn may_start(claim: &Claim, leg: &Leg) -> bool {
    let idle = leg.held_agent().is_some_and(|agent| agent.activity == Activity::Idle && !agent.release);
    idle && has_more_agents(claim)
}

fn has_more_agents(claim: &Claim) -> bool {
    let agents = claim.legs.iter().filter(|leg| leg.agent.is_some()).count();
    claim.decision != Decision::Aborted && (agents > 1 || !claim.members_known)
}

fn frees(claim: &Claim) -> Vec<Action> {
    let legs = |agents: bool| claim.legs.iter().enumerate().filter(move |(_, leg)| leg.agent.is_some() == agents);
    // a reserve that is still under way may yet land: its answer comes first
    let reserving = |number: usize| claim.has_asked(Action::Reserve(number));
    let is_open = |agents: bool| legs(agents).any(|(number, leg)| leg.is_held() || reserving(number));
    let free = |agents: bool| {
        let all = legs(agents).filter(|(number, leg)| leg.is_held() && !reserving(*number));
        all.map(|(number, _)| Action::Free(number)).collect()
    };
    // an entry that was not read yet might be that of an agent at work
    let unread_agent = || claim.unread_legs().any(|leg| claim.legs.get(leg).is_some_and(|leg| leg.agent.is_some()));
    let unlisted = !claim.members_known && !claim.progress.entries_listed;
    let list = vec![Action::ListEntries];
    if is_open(true) {
        return match claim.legs.iter().any(|leg| leg.is_active() || may_start(claim, leg)) {
            true => Vec::new(),
            false if has_more_agents(claim) && (unlisted || unread_agent()) => list,
            false => free(true),
        };
    }
    if is_open(false) {
        return if unlisted || unread_agent() { list } else { free(false) };
    }
    match claim.root == Hold::Held && !claim.has_asked(Action::ReserveRoot) {
        true if unlisted || claim.unread_legs().next().is_some() => list,
        true => vec![Action::FreeRoot],
        false => Vec::new(),
    }
}
