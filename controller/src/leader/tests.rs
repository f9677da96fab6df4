//! Candidates against a server that keeps one Lease: in every order of a small world, and in long histories by seed with clocks
//! that run apart, lost and late messages, pauses, crashes and stops. Never do two lead at once; always somebody does again.

use std::collections::{BTreeSet, HashSet};

use super::candidate::{Answer, Candidate, Next};
use super::record::{Record, Stored, Timing};

/// What the API server does with a Lease: versions grow, a write names the version that it replaces, and one that changes
/// nothing is no write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Server {
    version: u64,
    record: Option<Record>,
}

impl Server {
    fn stored(&self) -> Option<Stored> {
        self.record.clone().map(|record| Stored { version: self.version.to_string(), record })
    }

    fn answer(&mut self, asked: &Next) -> Answer {
        match (asked, self.stored()) {
            (Next::Look, stored) => return Answer::Found(stored),
            (Next::Create(record), None) => self.record = Some(record.clone()),
            (Next::Replace(version, record), Some(stored)) if *version == stored.version => {
                if stored.record == *record {
                    return Answer::Written(stored);
                }
                self.record = Some(record.clone());
            }
            _ => return Answer::Conflict,
        }
        self.version += 1;
        self.stored().map_or(Answer::Conflict, Answer::Written)
    }
}

/// One candidate in the small world, with the request it waits for, and one that was given up and may land at any time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    candidate: Candidate,
    asked: Option<(Next, u64)>,
    answer: Option<Answer>,
    late: Option<Next>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Small {
    now: u64,
    server: Server,
    nodes: Vec<Node>,
}

const SMALL: Timing = Timing { lease_ms: 3 };

impl Small {
    fn new(nodes: usize) -> Small {
        let node = |number: usize| Node {
            candidate: Candidate::new(["a", "b", "c"][number], SMALL),
            asked: None,
            answer: None,
            late: None,
        };
        Small { now: 0, server: Server::default(), nodes: (0..nodes).map(node).collect() }
    }

    /// The first one leads, and everybody has seen it.
    fn led(nodes: usize) -> Small {
        let mut first = Small::new(nodes);
        let next = Next::Create(Record { holder: "a".into(), duration_ms: SMALL.lease_ms, ..Record::default() });
        let written = first.server.answer(&next);
        let found = Answer::Found(first.server.stored());
        for (number, node) in first.nodes.iter_mut().enumerate() {
            node.candidate.answered(if number == 0 { written.clone() } else { found.clone() }, 0, 0);
        }
        first
    }

    /// Forgets late requests that can do nothing any more.
    fn tidy(&mut self) {
        let version = self.server.version.to_string();
        for node in &mut self.nodes {
            node.late.take_if(|late| !matches!(late, Next::Replace(other, _) if *other == version));
        }
    }

    fn leaders(&self) -> Vec<i64> {
        self.nodes.iter().filter_map(|node| node.candidate.term(self.now)).map(|term| term.epoch).collect()
    }

    /// Everything that can happen next. A candidate to which nothing happens is one that is paused.
    fn turns(&self) -> Vec<Small> {
        let mut all = Vec::new();
        let mut turn = |change: &dyn Fn(&mut Small)| {
            let mut next = self.clone();
            change(&mut next);
            next.tidy();
            all.push(next);
        };
        turn(&|all| all.now += 1);
        for (number, node) in self.nodes.iter().enumerate() {
            let now = self.now;
            match (&node.asked, &node.answer) {
                (None, _) => turn(&|all| {
                    let node = &mut all.nodes[number];
                    match node.candidate.next(now, 0) {
                        Next::Rest(until) if until > now => {}
                        Next::Rest(_) => node.candidate.woke(),
                        next => node.asked = Some((next, now)),
                    }
                }),
                (Some((next, _)), None) => {
                    turn(&|all| all.nodes[number].answer = Some(all.server.answer(next)));
                    if node.late.is_none() && *next != Next::Look {
                        turn(&|all| {
                            let node = &mut all.nodes[number];
                            node.late = node.asked.take().map(|(next, _)| next);
                            node.candidate.answered(Answer::Lost, now, now);
                        });
                    }
                }
                (Some((_, sent)), Some(answer)) => {
                    for told in [answer.clone(), Answer::Lost] {
                        if told == Answer::Lost && matches!(answer, Answer::Found(_)) {
                            continue;
                        }
                        turn(&|all| {
                            let node = &mut all.nodes[number];
                            node.candidate.answered(told.clone(), *sent, now);
                            (node.asked, node.answer) = (None, None);
                        });
                    }
                }
            }
            if let Some(late) = &node.late {
                turn(&|all| {
                    all.server.answer(late);
                    all.nodes[number].late = None;
                });
            }
            if node.candidate.term(now).is_some() && node.asked.is_none() {
                turn(&|all| {
                    let node = &mut all.nodes[number];
                    node.asked = node.candidate.release(0).map(|next| (next, now));
                });
            }
        }
        all
    }
}

/// All states that can be reached with at most so many writes in so much time; how many there are.
fn explore(first: Small, writes: u64, ticks: u64, check: &dyn Fn(&Small)) -> usize {
    let (mut known, mut open) = (HashSet::from([first.clone()]), vec![first]);
    while let Some(state) = open.pop() {
        check(&state);
        for next in state.turns() {
            if next.now <= ticks && next.server.version <= writes && !known.contains(&next) {
                known.insert(next.clone());
                open.push(next);
            }
        }
    }
    known.len()
}

#[test]
fn in_no_order_do_two_lead_at_once() {
    let worlds = [(Small::new(2), 2, 2), (Small::led(2), 2, 4)];
    for (first, writes, ticks) in worlds {
        let taken_over = std::cell::Cell::new(false);
        let states = explore(first.clone(), writes, ticks, &|state| {
            assert!(state.leaders().len() <= 1, "two lead: {state:?}");
            taken_over.set(taken_over.get() || state.leaders().iter().any(|epoch| *epoch > 1));
        });
        println!("{} candidates, {writes} writes, {ticks} ticks of a lease of 3: {states} states", first.nodes.len());
        assert!(taken_over.get() || ticks < 3, "nobody ever took over: the search shows nothing");
    }
}

/// A check that cannot fail proves nothing: when the others believe that the lease counts for one tick, and its holder that
/// it may write for two, two lead.
#[test]
fn a_lease_that_others_believe_to_be_over_too_soon_is_found_out() {
    let mut first = Small::led(2);
    let mut stored = first.server.stored().unwrap();
    stored.record.duration_ms = 1;
    first.server.record = Some(stored.record.clone());
    first.nodes[1].candidate.answered(Answer::Found(Some(stored)), 0, 0);
    let two = std::cell::Cell::new(false);
    explore(first, 2, 2, &|state| two.set(two.get() || state.leaders().len() == 2));
    assert!(two.get());
}

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
    candidate: Candidate,
    offset: u64,
    rate: u64,
    paused_until: u64,
    wake_at: u64,
    asked: Option<(Next, u64)>,
    /// It was told to stop: so many tries to give the Lease back are left, then it ends.
    stopping: Option<u32>,
}

enum Message {
    ToServer(Next, u64),
    ToProcess(Answer, u64),
    GivenUp(u64),
}

struct History {
    dice: Dice,
    now: u64,
    server: Server,
    processes: Vec<Process>,
    /// When each arrives, in order, the process concerned, and the number of the request.
    messages: BTreeSet<(u64, u64, usize)>,
    contents: std::collections::BTreeMap<u64, Message>,
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
            contents: std::collections::BTreeMap::new(),
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
            candidate: Candidate::new(&name, REAL),
            offset: self.dice.roll(1_000_000),
            rate: 870 + self.dice.roll(260),
            paused_until: 0,
            wake_at: self.now,
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
        let next = match process.stopping {
            Some(0) => return self.end(number),
            Some(tries) => {
                process.stopping = Some(tries - 1);
                process.candidate.release(wall).unwrap_or(Next::Look)
            }
            None => process.candidate.next(local, wall),
        };
        match next {
            Next::Rest(until) => {
                let rest = until.saturating_sub(local).max(1) * 1000 / process.rate;
                process.wake_at = self.now + rest.max(1);
                process.candidate.woke();
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
            Message::GivenUp(sent) => self.answered(number, Answer::Lost, sent),
        }
    }

    /// The answer to an earlier request is no answer any more. One that comes to a paused process waits for it.
    fn answered(&mut self, number: usize, answer: Answer, sent: u64) {
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
