//! Breadth first through all states of a setting; the shortest way to whatever is wrong.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;

use crate::check::{broken, is_clean};
use crate::knowledge::{look, writes};
use crate::server::Write;
use crate::setting::Setting;
use crate::system::{Move, lands, may_be_found, moves};
use crate::world::{OFFERS, Register, Seen, State};

/// What a search came to.
pub(crate) enum Found {
    /// Nothing wrong in this many states.
    Nothing(usize),
    /// This, after these moves; this many states were seen by then.
    Wrong { what: &'static str, trace: Vec<Move>, states: usize },
}

pub(crate) struct Search<'s> {
    setting: &'s Setting,
    asked: Fast<(usize, Seen), Rc<[Write]>>,
}

type Fast<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// A quick hash over everything that is fed to it, eight bytes at a time.
#[derive(Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        let mut hash = self.0;
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^ (hash >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x2127_599b_f432_5c37);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

fn digest(state: &State) -> u64 {
    let mut mix = Mix(0x1234_5678_9abc_def1);
    state.hash(&mut mix);
    mix.finish()
}

impl Search<'_> {
    pub(crate) fn new(setting: &Setting) -> Search<'_> {
        Search { setting, asked: Fast::default() }
    }

    /// Searches all states, or as many as are allowed.
    pub(crate) fn run(&mut self, most: usize) -> Found {
        let mut start = State::default();
        for gang in self.setting.gangs {
            start.roots[gang.root].life = 1;
        }
        start.offers.iter_mut().for_each(|offer| offer.life = 1);
        look(&mut start, self.setting);
        let mut origins: Vec<(u32, Move)> = vec![(0, Move::MakeJob(0))];
        let mut known: HashSet<u64, BuildHasherDefault<Mix>> = HashSet::from_iter([digest(&start)]);
        let mut drained: HashSet<u64, BuildHasherDefault<Mix>> = HashSet::default();
        let mut queue = VecDeque::from([(start, 0u32)]);
        while let Some((state, number)) = queue.pop_front() {
            let wrong = broken(&state, self.setting).or_else(|| self.leaks(state, &mut drained));
            if let Some(what) = wrong {
                return Found::Wrong { what, trace: trace(&origins, number), states: known.len() };
            }
            if origins.len() >= most {
                continue;
            }
            self.successors(&state, true, &mut |step, next| {
                if known.insert(digest(&next)) {
                    let place = origins.len() as u32;
                    origins.push((number, step));
                    queue.push_back((next, place));
                }
            });
        }
        Found::Nothing(known.len())
    }

    /// All states after one move, everybody having looked.
    fn successors(&mut self, state: &State, people: bool, visit: &mut impl FnMut(Move, State)) {
        let setting = self.setting;
        let mut seen = |step: Move, mut next: State| {
            for (gang, offer) in (0..setting.gangs.len()).flat_map(|gang| (0..OFFERS).map(move |offer| (gang, offer))) {
                let told = next.offers[offer].entries[gang].is_some_and(|entry| entry.committed);
                next.offers[offer].knows[gang] |= told;
            }
            look(&mut next, setting);
            if next != *state {
                visit(step, next);
            }
        };
        for gang in 0..setting.gangs.len() {
            if state.registers[gang] == Register::Unborn {
                if people && may_be_found(state, setting, gang) {
                    lands(state, setting, gang, Write::Post)
                        .into_iter()
                        .for_each(|next| seen(Move::Writes(gang, Write::Post), next));
                }
                continue;
            }
            for write in self.asked(gang, &state.seen[gang]).iter() {
                if people || gives_back(*write) {
                    lands(state, setting, gang, *write)
                        .into_iter()
                        .for_each(|next| seen(Move::Writes(gang, *write), next));
                }
            }
        }
        moves(state, setting, people, &mut seen);
    }

    fn asked(&mut self, gang: usize, seen: &Seen) -> Rc<[Write]> {
        let setting = self.setting;
        self.asked.entry((gang, *seen)).or_insert_with(|| writes(seen, setting, gang).into()).clone()
    }

    /// Whether there is no way to give everything back from here, if people leave it alone.
    fn leaks(&mut self, state: State, drained: &mut HashSet<u64, BuildHasherDefault<Mix>>) -> Option<&'static str> {
        let (mut at, mut way) = (state, Vec::new());
        loop {
            let place = digest(&at);
            if drained.contains(&place) || is_clean(&at) {
                drained.extend(way.into_iter().chain([place]));
                return None;
            }
            if way.contains(&place) || way.len() > 100 {
                return Some("I9: something is held for ever");
            }
            way.push(place);
            let mut first: Option<(u8, State)> = None;
            self.successors(&at, false, &mut |step, next| {
                let order = order(step);
                if first.as_ref().is_none_or(|(best, _)| order < *best) {
                    first = Some((order, next));
                }
            });
            match first {
                Some((_, next)) => at = next,
                None => return Some("I9: something is held for ever"),
            }
        }
    }
}

fn gives_back(write: Write) -> bool {
    order(Move::Writes(0, write)) < u8::MAX
}

/// What is tried first on the way to nothing.
fn order(step: Move) -> u8 {
    match step {
        Move::Writes(_, Write::Abort | Write::Release) => 0,
        Move::CollectMatch(_) | Move::PodLands(_) | Move::PodCollected(_) => 1,
        Move::Writes(_, Write::StopWork) => 2,
        Move::Writes(_, Write::StopAgent(_) | Write::MarkLost(_)) => 3,
        Move::Obeys(..) | Move::NoticesGone(..) => 4,
        Move::Writes(_, Write::Free(_)) => 5,
        Move::Writes(_, Write::FreeRoot) => 6,
        _ => u8::MAX,
    }
}

fn trace(origins: &[(u32, Move)], mut number: u32) -> Vec<Move> {
    let mut moves = Vec::new();
    while number != 0 {
        let (before, step) = origins[number as usize];
        moves.push(step);
        number = before;
    }
    moves.reverse();
    moves
}
