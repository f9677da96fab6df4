//! Two or three candidates in long histories by seed: clocks that run apart, lost and late messages, pauses, crashes, stops.

use std::collections::{BTreeMap, BTreeSet};

use super::Server;
use crate::leader::lease_state::{LeaseAction, LeaseAnswer, LeaseState};
use crate::leader::record::Timing;

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides.max(1)
    }

    fn once_in(&mut self, many: u64) -> bool {
        self.roll(many) == 0
    }
}

/// One process in a long history. Its clock is off by `offset` and runs at `rate` thousandths.
struct Process {
    candidate: LeaseState,
    offset: u64,
    rate: u64,
    paused_until: u64,
    wake_at: u64,
    rests: bool,
    asked: Option<(LeaseAction, u64)>,
    /// It was told to stop: so many tries to give the Lease back are left, then it ends.
    stopping: Option<u32>,
}

enum Message {
    ToServer(LeaseAction, u64),
    ToProcess(LeaseAnswer, u64),
    GivenUp(u64),
}

struct History {
    dice: Dice,
    now: u64,
    server: Server,
    processes: Vec<Process>,
    /// When each arrives, in order, the process concerned, and the number of the request.
    messages: BTreeSet<(u64, u64, usize)>,
    contents: BTreeMap<u64, Message>,
    count: u64,
    born: u64,
    epochs: BTreeSet<i64>,
    faults: bool,
    latency: u64,
}

const REAL: Timing = Timing { lease_ms: 15_000 };

impl History {
    fn new(seed: u64) -> History {
        let mut history = History {
            dice: Dice(seed.wrapping_mul(2_654_435_769).wrapping_add(1)),
            now: 0,
            server: Server::default(),
            processes: Vec::new(),
            messages: BTreeSet::new(),
            contents: BTreeMap::new(),
            count: 0,
            born: 3,
            epochs: BTreeSet::new(),
            faults: true,
            latency: 60,
        };
        for number in 0..2 + history.dice.roll(2) {
            let process = history.process(number);
            history.processes.push(process);
        }
        history
    }

    /// No two have the same name: one that took over from its namesake would not wait.
    fn process(&mut self, number: u64) -> Process {
        let name = format!("p{number}");
        Process {
            candidate: LeaseState::new(&name, REAL),
            offset: self.dice.roll(1_000_000),
            rate: 870 + self.dice.roll(260),
            paused_until: 0,
            wake_at: self.now,
            rests: false,
            asked: None,
            stopping: None,
        }
    }

    fn local(&self, process: &Process) -> u64 {
        process.offset + self.now * process.rate / 1000
    }

    fn post(&mut self, after: u64, process: usize, message: Message) {
        self.count += 1;
        self.contents.insert(self.count, message);
        self.messages.insert((self.now + after.max(1), self.count, process));
    }

    fn leaders(&self) -> Vec<(usize, i64)> {
        let lead = |(number, process): (usize, &Process)| {
            process.candidate.term(self.local(process)).map(|term| (number, term.epoch))
        };
        self.processes.iter().enumerate().filter_map(lead).collect()
    }

    /// One thing happens: a message arrives, or a process wakes.
    fn turn(&mut self) {
        let woken = self.processes.iter().enumerate().filter(|(_, process)| process.asked.is_none());
        let woken = woken.map(|(number, process)| (process.wake_at.max(process.paused_until), number)).min();
        let arrives = self.messages.first().copied();
        match (woken, arrives) {
            (Some((at, number)), arrives) if arrives.is_none_or(|(other, ..)| at <= other) => {
                self.now = self.now.max(at);
                self.act(number);
            }
            (_, Some(first)) => {
                self.messages.remove(&first);
                self.now = self.now.max(first.0);
                if let Some(message) = self.contents.remove(&first.1) {
                    self.deliver(first.2, message);
                }
            }
            (Some(_), None) | (None, None) => {}
        }
        if self.faults {
            self.fault();
        }
        let leaders = self.leaders();
        assert!(leaders.len() <= 1, "two lead at {}: {leaders:?}", self.now);
        for (_, epoch) in leaders {
            assert!(self.epochs.last().is_none_or(|last| epoch >= *last), "an epoch goes back: {epoch}");
            self.epochs.insert(epoch);
        }
    }

    fn act(&mut self, number: usize) {
        let local = self.local(&self.processes[number]);
        let wall = i64::try_from(self.dice.roll(1_000_000)).unwrap();
        let process = &mut self.processes[number];
        if std::mem::take(&mut process.rests) {
            process.candidate.woke(local);
        }
        let next = match process.stopping {
            Some(0) => return self.end(number),
            Some(tries) => {
                process.stopping = Some(tries - 1);
                process.candidate.release(wall).unwrap_or(LeaseAction::Look)
            }
            None => process.candidate.next(local, wall),
        };
        match next {
            LeaseAction::Rest(until) => {
                let rest = until.saturating_sub(local).max(1) * 1000 / process.rate;
                (process.wake_at, process.rests) = (self.now + rest.max(1), true);
            }
            next => {
                process.asked = Some((next.clone(), local));
                let (there, request) = (self.dice.roll(self.latency), REAL.request_ms() * 1000 / process.rate);
                // lost on the way, or held somewhere for long
                let (lost, late) = (self.faults && self.dice.once_in(12), self.faults && self.dice.once_in(12));
                self.post(request, number, Message::GivenUp(local));
                if !lost {
                    let there = if late { self.dice.roll(60_000) } else { there };
                    self.post(there, number, Message::ToServer(next, local));
                }
            }
        }
    }

    fn deliver(&mut self, number: usize, message: Message) {
        match message {
            Message::ToServer(next, sent) => {
                let answer = self.server.answer(&next);
                let back = self.dice.roll(self.latency);
                if !(self.faults && self.dice.once_in(12)) {
                    self.post(back, number, Message::ToProcess(answer, sent));
                }
            }
            Message::ToProcess(answer, sent) => self.answered(number, answer, sent),
            Message::GivenUp(sent) => self.answered(number, LeaseAnswer::Unknown, sent),
        }
    }

    /// The answer to an earlier request is no answer any more. One that comes to a paused process waits for it.
    fn answered(&mut self, number: usize, answer: LeaseAnswer, sent: u64) {
        if self.processes[number].asked.as_ref().is_none_or(|(_, asked)| *asked != sent) {
            return;
        }
        let paused = self.processes[number].paused_until;
        if paused > self.now {
            self.post(paused - self.now, number, Message::ToProcess(answer, sent));
            return;
        }
        let local = self.local(&self.processes[number]);
        let process = &mut self.processes[number];
        process.candidate.answered(answer, sent, local);
        (process.asked, process.wake_at) = (None, self.now);
    }

    fn fault(&mut self) {
        let number = usize::try_from(self.dice.roll(self.processes.len() as u64)).unwrap();
        let until = self.now + self.dice.roll(40_000);
        match self.dice.roll(400) {
            0 => self.processes[number].paused_until = until,
            1 => self.replace(number),
            2 => self.stop(number),
            _ => {}
        }
    }

    /// A process dies, and another begins elsewhere.
    fn replace(&mut self, number: usize) {
        self.born += 1;
        self.processes[number] = self.process(self.born);
    }

    /// A process writes nothing any more, gives the Lease back and ends.
    fn stop(&mut self, number: usize) {
        let process = &mut self.processes[number];
        process.candidate.release(0);
        (process.stopping, process.wake_at) = (Some(2), self.now);
    }

    fn run_until(&mut self, end: u64) {
        while self.now < end {
            self.turn();
        }
    }

    /// A process is no more; another begins a minute later.
    fn end(&mut self, number: usize) {
        self.replace(number);
        self.processes[number].wake_at = self.now + 60_000;
    }
}

#[test]
fn in_long_histories_two_never_lead_and_somebody_always_does_again() {
    let mut terms = 0;
    for seed in 0..1500 {
        let mut history = History::new(seed);
        history.run_until(300_000);
        terms += history.epochs.len();
        history.faults = false;
        history.run_until(300_000 + 140_000);
        assert_eq!(history.leaders().len(), 1, "seed {seed}: nobody leads though all is well");
        let before = history.epochs.len();
        history.run_until(300_000 + 200_000);
        assert_eq!(history.epochs.len(), before, "seed {seed}: a leader that is well is not replaced");
    }
    println!("{terms} terms in 1500 histories");
    assert!(terms > 4 * 1500, "too few terms to show anything: {terms}");
}

#[test]
fn a_lease_that_was_given_back_is_taken_within_two_seconds_and_a_lost_one_within_seventeen() {
    for (seed, stops) in (0..400).map(|number| (number / 2, number % 2 == 0)) {
        let mut history = History::new(seed);
        history.faults = false;
        history.processes.iter_mut().for_each(|process| process.rate = 1000);
        history.run_until(20_000 + seed * 37);
        let [(leader, before)] = history.leaders()[..] else { panic!("seed {seed}: nobody leads") };
        if stops {
            history.stop(leader)
        } else {
            history.end(leader)
        }
        let (begun, limit) = (history.now, if stops { 2_000 } else { 17_000 });
        while history.leaders().is_empty() {
            history.turn();
        }
        let took = history.now - begun;
        assert!(took <= limit, "seed {seed}: {took} ms, stops: {stops}");
        assert!(history.leaders()[0].1 > before);
    }
}
