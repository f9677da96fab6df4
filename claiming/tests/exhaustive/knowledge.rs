//! What was ever seen of a Match into all writes that anybody may make: the production step function, asked in every state
//! of knowledge that somebody may be in.
//!
//! Nobody forgets, and a write may land at any time after it was first asked for, any number of times. That is more than
//! any number of coordinators, with caches of any age, crashes and late writes, can do.

use std::collections::{BTreeSet, HashSet};

use claiming::{Action, Agent, Claim, Decision, Digest, Event, Hold, Leg, Reason, Vote, Work, step};

use crate::server::Write;
use crate::setting::{Setting, Without, Workload};
use crate::world::{Batch, Register, Seen, State, ballots, code, decode};

const PENDING: u8 = 1;
const COMMITTED: u8 = 2;
const ABORTED: u8 = 4;
const RELEASED: u8 = 8;
const GONE: u8 = 16;
/// What was read once stays so.
pub(crate) const ENDED: u8 = ABORTED | RELEASED | GONE;

/// Everybody looks at everything, all the time.
pub(crate) fn look(state: &mut State, setting: &Setting) {
    for gang in 0..setting.gangs.len() {
        let mut seen = state.seen[gang];
        see_register(&mut seen, state, setting, gang);
        see_root(&mut seen, state, setting, gang);
        see_offers(&mut seen, state, setting, gang);
        see_work(&mut seen, state, setting, gang);
        see_end(&mut seen, state, setting, gang);
        state.seen[gang] = seen;
    }
}

fn see_register(seen: &mut Seen, state: &State, setting: &Setting, gang: usize) {
    seen.registers |= match state.registers[gang] {
        Register::Unborn => 0,
        Register::Pending => PENDING,
        Register::Committed => COMMITTED,
        Register::Aborted => ABORTED,
        Register::Released => RELEASED,
        Register::Gone => GONE,
    };
    let begun = state.registers[gang] != Register::Unborn;
    if setting.lacks(Without::QuorumRead) && begun {
        // a cache that has not heard of the Match yet is believed
        seen.registers |= GONE;
    }
}

fn see_root(seen: &mut Seen, state: &State, setting: &Setting, gang: usize) {
    let root = state.roots[setting.gangs[gang].root];
    seen.root |= root.claim == Some(gang as u8);
    let begun = state.registers[gang] != Register::Unborn;
    seen.root_gone |= begun && root.life != setting.gangs[gang].root_life;
}

fn see_offers(seen: &mut Seen, state: &State, setting: &Setting, gang: usize) {
    let stands = state.registers[gang] == Register::Committed;
    let stood = stands || (setting.lacks(Without::R3) && seen.registers & COMMITTED != 0);
    for (leg, member) in setting.gangs[gang].legs.iter().enumerate() {
        let offer = &state.offers[member.offer];
        seen.gone[leg] |= offer.life > member.life || (offer.life == 0 && state.registers[gang] != Register::Unborn);
        seen.silent[leg] |= offer.silent;
        if let Some(entry) = offer.entries[gang] {
            seen.entries[leg] |= code(entry);
        }
        if stood {
            seen.cleared[leg] |= ballots(seen.entries[leg]);
        }
    }
}

fn see_work(seen: &mut Seen, state: &State, setting: &Setting, gang: usize) {
    if setting.workload == Workload::None {
        return;
    }
    let place = state.work[setting.place(gang)];
    let adopted = setting.lacks(Without::R1Foreign) && seen.registers & COMMITTED != 0;
    let own = usize::from(place.of) == gang || adopted;
    match place.batch {
        Batch::None => {}
        _ if !own => seen.foreign = true,
        Batch::Suspended => seen.suspended |= 1 << place.uid,
        Batch::Started => seen.started = true,
        Batch::Finished => seen.finished = true,
    }
    let early = setting.lacks(Without::R1Confirm) || setting.lacks(Without::R2);
    if state.registers[gang] == Register::Committed || (early && seen.registers & COMMITTED != 0) {
        seen.cleared_work |= seen.suspended;
    }
}

fn see_end(seen: &mut Seen, state: &State, setting: &Setting, gang: usize) {
    let listed = (0..state.work.len()).all(|place| {
        let place = state.work[place];
        let own = usize::from(place.of) == gang;
        let unfinished = match place.batch {
            Batch::None => false,
            Batch::Finished => setting.lacks(Without::R5Finished),
            Batch::Suspended | Batch::Started => true,
        };
        !(own && unfinished) && place.pod != Some(gang as u8)
    });
    let over = seen.registers & ENDED != 0;
    seen.swept |= over && (listed || setting.lacks(Without::R5Look));
    let second = state.offers.iter().any(|offer| offer.life == 2);
    seen.exorcised |= second && (setting.lacks(Without::R9Offer) || (over && listed));
    for (leg, member) in setting.gangs[gang].legs.iter().enumerate() {
        let held = state.offers[member.offer].entries[gang].is_some();
        seen.absent[leg] |= seen.swept && !held;
    }
}

/// All writes that somebody who has seen this, or less, may make.
pub(crate) fn writes(seen: &Seen, setting: &Setting, gang: usize) -> Vec<Write> {
    let mut all = BTreeSet::new();
    for start in claims(seen, setting, gang) {
        explore(start, seen, setting, setting.gangs[gang].legs.len(), &mut all);
    }
    without(seen, setting, gang, &mut all);
    all.into_iter().collect()
}

/// A claim, and for each of its legs which leg of the gang it is.
struct Start {
    claim: Claim,
    legs: Vec<usize>,
}

/// Every mixture of old and new that a coordinator may see.
fn claims(seen: &Seen, setting: &Setting, gang: usize) -> Vec<Start> {
    let mut all = Vec::new();
    for decision in decisions(seen) {
        for root in holds(seen.root, seen.root_gone) {
            for legs in legs(seen, setting, gang) {
                for work in works(seen, setting) {
                    for exit in [None, Some(Reason::Done)] {
                        all.push(start(decision, root, &legs, work, exit));
                    }
                }
            }
        }
    }
    all
}

fn decisions(seen: &Seen) -> impl Iterator<Item = Decision> {
    // a cache that shows an end which is none
    let lie = if seen.registers & ENDED == 0 { PENDING | COMMITTED } else { 0 };
    let all = [
        (Decision::Pending, PENDING),
        (Decision::Committed, COMMITTED),
        (Decision::Aborted, ABORTED),
        (Decision::Released, RELEASED | lie),
        (Decision::Gone, GONE),
        (Decision::Missing, GONE),
    ];
    all.into_iter().filter(|(_, bits)| seen.registers & bits != 0).map(|(decision, _)| decision)
}

fn holds(held: bool, gone: bool) -> impl Iterator<Item = Hold> {
    [Some(Hold::Free), held.then_some(Hold::Held), gone.then_some(Hold::Gone)].into_iter().flatten()
}

fn legs(seen: &Seen, setting: &Setting, gang: usize) -> Vec<Vec<Leg>> {
    let mut all: Vec<Vec<Leg>> = vec![Vec::new()];
    for (number, member) in setting.gangs[gang].legs.iter().enumerate() {
        let mut seen_here = vec![member.free()];
        if seen.gone[number] {
            seen_here.push(Leg { hold: Hold::Gone, ..member.free() });
        }
        for entry in decode(seen.entries[number]) {
            let held = Leg { hold: Hold::Held, ..member.free() };
            if !member.agent {
                seen_here.push(held);
                continue;
            }
            let silences: &[bool] = if seen.silent[number] { &[false, true] } else { &[false] };
            seen_here
                .extend(silences.iter().map(|silent| Leg { agent: Some(Agent { silent: *silent, ..entry }), ..held }));
        }
        all = all
            .iter()
            .flat_map(|before| {
                seen_here.iter().map(|leg| before.iter().copied().chain([*leg]).collect()).collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

fn works(seen: &Seen, setting: &Setting) -> Vec<Work> {
    if setting.workload == Workload::None {
        return vec![Work::None];
    }
    let mut all = vec![Work::Absent];
    all.extend(seen.foreign.then_some(Work::Foreign));
    all.extend(suspended(seen));
    all.extend(seen.started.then_some(Work::Started));
    all.extend(seen.finished.then_some(Work::Finished(true)));
    all
}

fn suspended(seen: &Seen) -> impl Iterator<Item = Work> {
    (0..8).filter(|uid| seen.suspended & (1 << uid) != 0).map(|uid| Work::Suspended(Digest(uid)))
}

fn start(decision: Decision, root: Hold, legs: &[Leg], work: Work, exit: Option<Reason>) -> Start {
    // of a Match that is not there only entries are left
    let orphan = decision == Decision::Missing;
    let known: Vec<usize> = (0..legs.len()).filter(|leg| !orphan || legs[*leg].hold == Hold::Held).collect();
    let place = |number: usize| known.iter().position(|other| *other == number);
    let legs = known.iter().map(|leg| Leg { parent: legs[*leg].parent.and_then(place), ..legs[*leg] }).collect();
    let mut claim = Claim::seen(decision, root, legs, u64::MAX);
    claim.work = work;
    claim.exit = exit;
    claim.root_notified = true;
    claim.members_known = !orphan;
    Start { claim, legs: known }
}

/// An action, and what was known when it was asked for: the ballots by leg, and the batch Job.
#[derive(Clone)]
struct Asked {
    action: Action,
    ballots: Vec<(usize, Digest)>,
    work: Work,
}

/// Goes on from one claim, with every answer that its reads may get from what was seen, and with other votes and batch Jobs
/// read on the way; notes the writes it asks for.
fn explore(start: Start, seen: &Seen, setting: &Setting, count: usize, all: &mut BTreeSet<Write>) {
    let Start { claim, legs } = start;
    let mut known: HashSet<Claim> = HashSet::new();
    let mut open = vec![(claim, Event::Tick, Vec::<Asked>::new())];
    while let Some((before, event, mut pending)) = open.pop() {
        pending.retain(|asked| !answers(asked.action, event));
        let (claim, actions) = step(before, event, 0);
        if !known.insert(claim.clone()) {
            continue;
        }
        all.extend(actions.iter().filter_map(|action| write(*action, &legs)));
        let (ballots, work) = (ballots_of(&claim, &legs), claim.work);
        pending.extend(actions.into_iter().map(|action| Asked { action, ballots: ballots.clone(), work }));
        let answers = pending.iter().filter_map(|asked| answer(asked, &claim, &legs, seen, setting, count));
        for event in answers.chain(news(&claim, &legs, seen)) {
            open.push((claim.clone(), event, pending.clone()));
        }
    }
}

fn ballots_of(claim: &Claim, legs: &[usize]) -> Vec<(usize, Digest)> {
    let voted = |leg: &Leg| leg.agent.filter(|agent| leg.hold == Hold::Held && agent.vote == Vote::Accepted);
    claim.legs.iter().zip(legs).filter_map(|(leg, number)| Some((*number, voted(leg)?.ballot))).collect()
}

/// What a claim that stands may read on the way, other than what it knows: another vote of an agent, another batch Job.
fn news(claim: &Claim, legs: &[usize], seen: &Seen) -> Vec<Event> {
    if claim.decision != Decision::Committed {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (place, (leg, number)) in claim.legs.iter().zip(legs).enumerate() {
        let Some(agent) = leg.agent else { continue };
        let others = decode(seen.entries[*number]).filter(|other| other.vote == Vote::Accepted);
        all.extend(others.filter(|other| other.ballot != agent.ballot).map(|other| Event::Entry(place, other)));
    }
    if matches!(claim.work, Work::Suspended(_)) {
        all.extend(suspended(seen).filter(|work| *work != claim.work).map(Event::Work));
    }
    all
}

fn answers(action: Action, event: Event) -> bool {
    match (action, event) {
        (Action::ReadDecision, Event::DecisionRead(_))
        | (Action::ListWork, Event::NoWork)
        | (Action::ListEntries, Event::NoEntries)
        | (Action::Verify, Event::Verified)
        | (Action::ConfirmExit(_), Event::ExitConfirmed(_)) => true,
        (Action::Free(leg), Event::Freed(other)) => leg == other,
        _ => false,
    }
}

/// The answer that takes a claim further, if what was seen allows it: each read was made after it was asked for.
fn answer(asked: &Asked, claim: &Claim, legs: &[usize], seen: &Seen, setting: &Setting, count: usize) -> Option<Event> {
    match asked.action {
        Action::Verify => Some(Event::Verified),
        Action::ConfirmExit(reason) => Some(Event::ExitConfirmed(reason)),
        Action::ReadDecision if claim.decision == Decision::Missing => {
            (seen.registers & GONE != 0).then_some(Event::DecisionRead(Decision::Gone))
        }
        Action::ReadDecision if claim.decision.has_ended() => {
            let is_over = seen.registers & ENDED != 0 || setting.lacks(Without::EndRead);
            Some(Event::DecisionRead(if is_over { claim.decision } else { Decision::Committed }))
        }
        Action::ReadDecision => {
            // whatever this claim knew when it asked was read before
            let stood = |(leg, ballot): &(usize, Digest)| seen.cleared[*leg] & (1 << ballot.0) != 0;
            let work = if let Work::Suspended(uid) = asked.work { seen.cleared_work & (1 << uid.0) != 0 } else { true };
            (asked.ballots.iter().all(stood) && work).then_some(Event::DecisionRead(Decision::Committed))
        }
        Action::ListWork => seen.swept.then_some(Event::NoWork),
        Action::ListEntries => {
            let held =
                |leg: usize| legs.iter().zip(claim.holds()).any(|(other, hold)| *other == leg && hold == Hold::Held);
            (0..count).all(|leg| held(leg) || seen.gone[leg] || seen.absent[leg]).then_some(Event::NoEntries)
        }
        Action::Free(place) => seen.absent[*legs.get(place)?].then_some(Event::Freed(place)),
        _ => None,
    }
}

fn write(action: Action, legs: &[usize]) -> Option<Write> {
    let leg = |place: usize| legs.get(place).copied();
    Some(match action {
        Action::ReserveRoot => Write::ReserveRoot,
        Action::Reserve(place) => Write::Reserve(leg(place)?),
        Action::RequestVote(place) => Write::RequestVote(leg(place)?),
        Action::Commit => Write::Commit,
        Action::Abort(_) => Write::Abort,
        Action::Release(_) => Write::Release,
        Action::NotifyAgent(place, ballot) => Write::NotifyAgent(leg(place)?, ballot),
        Action::MakeWork => Write::MakeWork,
        Action::ClearWork => Write::ClearWork,
        Action::StartWork(version) => Write::StartWork(version),
        Action::StopAgent(place) => Write::StopAgent(leg(place)?),
        Action::MarkLost(place) => Write::MarkLost(leg(place)?),
        Action::StopWork => Write::StopWork,
        Action::Free(place) => Write::Free(leg(place)?),
        Action::FreeRoot => Write::FreeRoot,
        _ => return None,
    })
}

/// What a coordinator does that leaves a rule of the step function out.
fn without(seen: &Seen, setting: &Setting, gang: usize, all: &mut BTreeSet<Write>) {
    let legs = 0..setting.gangs[gang].legs.len();
    if setting.lacks(Without::R5AgentsFirst) && seen.swept {
        all.extend(legs.clone().map(Write::Free));
    }
    if setting.lacks(Without::R6) && seen.swept {
        all.insert(Write::FreeRoot);
    }
    if setting.lacks(Without::R8) && seen.registers & PENDING != 0 && seen.root && seen.entries[0] != 0 {
        // the members as remembered, not as stored: the first one only
        all.insert(Write::Commit);
    }
}
