//! What was ever seen of a Match into all writes that anybody may make: the production step function, asked in every state
//! of knowledge that somebody may be in.
//!
//! Nobody forgets, and a write may land at any time after it was first asked for, any number of times. That is more than
//! any number of coordinators, with caches of any age, crashes and late writes, can do.

use std::collections::{BTreeSet, HashSet};

use claiming::{Action, Agent, Claim, Event, Hold, Leg, Reason, Record, Work, step};

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
    for claim in claims(seen, setting, gang) {
        explore(claim, seen, setting.gangs[gang].legs.len(), &mut all);
    }
    without(seen, setting, gang, &mut all);
    all.into_iter().collect()
}

/// A claim, and for each leg which leg of the gang it is and which ballot was read there; and the uid of the batch Job.
struct Start {
    claim: Claim,
    legs: Vec<(usize, u8)>,
    uid: u8,
}

/// Every mixture of old and new that somebody may have before his eyes.
fn claims(seen: &Seen, setting: &Setting, gang: usize) -> Vec<Start> {
    let mut all = Vec::new();
    for record in records(seen) {
        for root in holds(seen.root, seen.root_gone) {
            for legs in legs(seen, setting, gang) {
                for (work, uid) in works(seen, setting) {
                    for leaving in [None, Some(Reason::Done)] {
                        all.push(start(record, root, &legs, work, uid, leaving));
                    }
                }
            }
        }
    }
    all
}

fn records(seen: &Seen) -> impl Iterator<Item = Record> {
    let all = [
        (Record::Pending, PENDING),
        (Record::Committed, COMMITTED),
        (Record::Aborted, ABORTED),
        (Record::Released, RELEASED),
        (Record::Gone, GONE),
        (Record::Missing, GONE),
    ];
    all.into_iter().filter(|(_, bit)| seen.registers & bit != 0).map(|(record, _)| record)
}

fn holds(held: bool, gone: bool) -> impl Iterator<Item = Hold> {
    [Some(Hold::Free), held.then_some(Hold::Held), gone.then_some(Hold::Gone)].into_iter().flatten()
}

type Legs = Vec<(Leg, u8)>;

fn legs(seen: &Seen, setting: &Setting, gang: usize) -> Vec<Legs> {
    let mut all: Vec<Legs> = vec![Vec::new()];
    for (number, member) in setting.gangs[gang].legs.iter().enumerate() {
        let mut seen_here: Legs = vec![(member.free(), 0)];
        if seen.gone[number] {
            seen_here.push((Leg { hold: Hold::Gone, ..member.free() }, 0));
        }
        for entry in decode(seen.entries[number]) {
            let held = Leg { hold: Hold::Held, ..member.free() };
            if !member.agent {
                seen_here.push((held, 0));
                continue;
            }
            let silences: &[bool] = if seen.silent[number] { &[false, true] } else { &[false] };
            for silent in silences {
                let agent = Some(Agent { silent: *silent, ..entry.agent });
                seen_here.push((Leg { agent, ..held }, entry.ballot));
            }
        }
        all = all
            .iter()
            .flat_map(|before| {
                seen_here.iter().map(|leg| before.iter().copied().chain([*leg]).collect::<Legs>()).collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

fn works(seen: &Seen, setting: &Setting) -> Vec<(Work, u8)> {
    if setting.workload == Workload::None {
        return vec![(Work::None, 0)];
    }
    let mut all = vec![(Work::Absent, 0)];
    all.extend(seen.foreign.then_some((Work::Foreign, 0)));
    all.extend((0..8).filter(|uid| seen.suspended & (1 << uid) != 0).map(|uid| (Work::Suspended, uid)));
    all.extend(seen.started.then_some((Work::Started, 0)));
    all.extend(seen.finished.then_some((Work::Finished(true), 0)));
    all
}

fn start(record: Record, root: Hold, legs: &Legs, work: Work, uid: u8, leaving: Option<Reason>) -> Start {
    // of a Match that is not there only entries are left
    let orphan = record == Record::Missing;
    let kept = |leg: &Leg| !orphan || leg.hold == Hold::Held;
    let numbered = legs.iter().enumerate().filter(|(_, (leg, _))| kept(leg));
    let known: Vec<(usize, u8)> = numbered.clone().map(|(number, (_, ballot))| (number, *ballot)).collect();
    let place = |number: usize| known.iter().position(|(other, _)| *other == number);
    let legs = numbered.map(|(_, (leg, _))| Leg { parent: leg.parent.and_then(place), ..*leg }).collect();
    let mut claim = Claim::seen(record, root, legs, u64::MAX);
    claim.work = work;
    claim.leaving = leaving;
    claim.told = true;
    claim.whole = !orphan;
    Start { claim, legs: known, uid }
}

/// Goes on from one claim, with every answer that its looks may get from what was seen; notes the writes it asks for.
fn explore(start: Start, seen: &Seen, count: usize, all: &mut BTreeSet<Write>) {
    let Start { claim, legs, uid } = start;
    let mut known: HashSet<Claim> = HashSet::new();
    let mut open = vec![(claim, Event::Woke, Vec::<Action>::new())];
    while let Some((before, event, mut pending)) = open.pop() {
        pending.retain(|action| !answers(*action, event));
        let (claim, actions) = step(before, event, 0);
        if !known.insert(claim.clone()) {
            continue;
        }
        all.extend(actions.iter().filter_map(|action| write(*action, &legs, uid)));
        pending.extend(actions);
        for action in &pending {
            if let Some(answer) = answer(*action, &claim, &legs, uid, seen, count) {
                open.push((claim.clone(), answer, pending.clone()));
            }
        }
    }
}

fn answers(action: Action, event: Event) -> bool {
    match (action, event) {
        (Action::Confirm, Event::Confirmed(_))
        | (Action::LookForWork, Event::NoWork)
        | (Action::LookForEntries, Event::Nowhere)
        | (Action::Check, Event::Agreed) => true,
        (Action::Free(leg), Event::Freed(other)) => leg == other,
        _ => false,
    }
}

/// The answer that takes a claim further, if what was seen allows it: each look was made after it was asked for.
fn answer(action: Action, claim: &Claim, legs: &[(usize, u8)], uid: u8, seen: &Seen, count: usize) -> Option<Event> {
    match action {
        Action::Check => Some(Event::Agreed),
        Action::Confirm if claim.record == Record::Missing => {
            (seen.registers & GONE != 0).then_some(Event::Confirmed(Record::Gone))
        }
        Action::Confirm => {
            // whatever this claim knows was read before it asked
            let votes = legs.iter().all(|(leg, ballot)| *ballot == 0 || seen.cleared[*leg] & (1 << ballot) != 0);
            let work = claim.work != Work::Suspended || seen.cleared_work & (1 << uid) != 0;
            (votes && work).then_some(Event::Confirmed(Record::Committed))
        }
        Action::LookForWork => seen.swept.then_some(Event::NoWork),
        Action::LookForEntries => {
            let held = |leg: usize| {
                legs.iter().zip(claim.holds()).any(|((other, _), hold)| *other == leg && hold == Hold::Held)
            };
            (0..count).all(|leg| held(leg) || seen.gone[leg] || seen.absent[leg]).then_some(Event::Nowhere)
        }
        Action::Free(place) => {
            let (leg, _) = legs.get(place)?;
            seen.absent[*leg].then_some(Event::Freed(place))
        }
        _ => None,
    }
}

fn write(action: Action, legs: &[(usize, u8)], uid: u8) -> Option<Write> {
    let leg = |place: usize| legs.get(place).map(|(leg, _)| *leg);
    Some(match action {
        Action::ReserveRoot => Write::ReserveRoot,
        Action::Reserve(place) => Write::Reserve(leg(place)?),
        Action::Ask(place) => Write::Ask(leg(place)?),
        Action::Commit => Write::Commit,
        Action::Abort(_) => Write::Abort,
        Action::Release(_) => Write::Release,
        Action::TellAgent(place) => Write::TellAgent(leg(place)?, legs.get(place)?.1),
        Action::MakeWork => Write::MakeWork,
        Action::ClearWork => Write::ClearWork,
        Action::StartWork => Write::StartWork(uid),
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
