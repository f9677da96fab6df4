//! Lets a script happen to a network, event by event: nodes that come and go, and the period of each node. What becomes of jobs is in
//! `jobs`.

mod agenda;
mod jobs;
mod report;

use std::collections::HashMap;

use foldhash::fast::FixedState;
use sampling::Random;

use self::agenda::Agenda;
use self::jobs::{Host, Job, JobPlace, Request};
pub use self::report::SimulationReport;
use crate::fault::Fault;
use crate::network::{Network, PERIOD, Refreshed};
use crate::real;
use crate::ring::Id;
use crate::script::{Happening, Script};
use crate::search::Step;
use crate::spec::Spec;

/// How long a message takes from one node to another.
const HOP: f64 = 1.0;
/// After the last event from outside: how long the clients wait while no job is placed, starts to run or ends, before they give up what
/// is left. Longer than the longest run of the workloads.
const PATIENCE: f64 = 500.0 * PERIOD;

/// What finds the run node of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matchmaker {
    /// The paper's baseline: of all nodes that can run the job, the one with the shortest queue at this moment; of equals a random one.
    /// It knows everything and costs nothing.
    Central,
    /// A search of the tree for so many candidates.
    Tree {
        /// How many.
        candidates: usize,
        /// How many steps at random, from a node to its parent or a child, come before the search. Not in this paper but in later work of
        /// its authors: jobs that are all owned by one node begin their searches elsewhere.
        walk: usize,
    },
}

impl Matchmaker {
    /// The paper's basic search, RNT-BS.
    pub const BASIC: Matchmaker = Matchmaker::Tree { candidates: 1, walk: 0 };
    /// The paper's extended search, RNT-ES.
    pub const EXTENDED: Matchmaker = Matchmaker::Tree { candidates: 2, walk: 0 };

    /// The same search after a walk of so many steps. The central matchmaker has no use for one.
    #[must_use]
    pub fn after_walk(self, walk: usize) -> Matchmaker {
        match self {
            Matchmaker::Central => self,
            Matchmaker::Tree { candidates, .. } => Matchmaker::Tree { candidates, walk },
        }
    }
}

/// Lets a script happen. The seed decides only what the matchmaker draws; the same script and seed give the same report.
#[must_use]
pub fn simulate(script: &Script, matchmaker: Matchmaker, seed: u64) -> SimulationReport {
    simulate_with_fault(script, matchmaker, seed, None)
}

/// The same with a mistake in it, for the tests that must find it.
#[doc(hidden)]
#[must_use]
pub fn simulate_with_fault(
    script: &Script,
    matchmaker: Matchmaker,
    seed: u64,
    fault: Option<Fault>,
) -> SimulationReport {
    Simulation {
        script,
        matchmaker,
        fault,
        now: 0.0,
        agenda: Agenda::new(),
        network: Network::with_fault(fault),
        hosts: HashMap::default(),
        jobs: Vec::new(),
        open: 0,
        last_progress: 0.0,
        random: Random::stream(seed, "matchmaking"),
        report: SimulationReport { nodes: script.nodes(), ..SimulationReport::default() },
    }
    .run()
}

/// Something that is due. Heartbeats and aggregates are not here: they go straight to where they are sent, and what comes in less than
/// a thousandth of a period is taken as there at once.
#[derive(Debug)]
enum Event {
    /// The script's event at this place.
    Happens(usize),
    /// A node's period is over.
    Period(Id),
    /// The lookup of a new job's owner is answered.
    Routed(JobPlace),
    /// A request arrives from a node, by this step.
    Forwarded(Id, Step, Box<Request>),
    /// A search is to be tried again.
    Retry(JobPlace),
    /// A node has done a job, if the node is still there.
    Finished(Id, JobPlace),
}

struct Simulation<'s> {
    script: &'s Script,
    matchmaker: Matchmaker,
    fault: Option<Fault>,
    now: f64,
    agenda: Agenda<Event>,
    network: Network,
    /// What each node that is present does for jobs.
    hosts: HashMap<Id, Host, FixedState>,
    jobs: Vec<Job<'s>>,
    /// How many jobs have not ended.
    open: usize,
    /// When a job was last placed, started or ended.
    last_progress: f64,
    random: Random,
    report: SimulationReport,
}

impl<'s> Simulation<'s> {
    fn run(mut self) -> SimulationReport {
        self.expect_happening(0);
        while let Some((at, event)) = self.agenda.next() {
            self.now = at;
            if self.is_over() {
                break;
            }
            match event {
                Event::Happens(place) => self.happens(place),
                Event::Period(node) => self.period(node),
                Event::Routed(job) => self.routed(job),
                Event::Forwarded(from, step, request) => self.forwarded(from, step, *request),
                Event::Retry(job) => self.search(job),
                Event::Finished(node, job) => self.finished(node, job),
            }
        }
        self.report.lost = self.open;
        self.report
    }

    fn is_over(&self) -> bool {
        self.now > self.script.ends() && (self.open == 0 || self.now - self.last_progress > PATIENCE)
    }

    fn expect_happening(&mut self, place: usize) {
        if let Some((at, _)) = self.script.happenings.get(place) {
            self.agenda.add(*at, Event::Happens(place));
        }
    }

    fn happens(&mut self, place: usize) {
        let script = self.script;
        let Some((_, what)) = script.happenings.get(place) else { return };
        match what {
            Happening::Join(node, spec) => self.join(*node, spec),
            Happening::Leave(node) => self.leave(*node),
            Happening::Fail(node) => self.fail(*node),
            Happening::Submit(profile) => self.submit(profile),
        }
        self.expect_happening(place + 1);
    }

    fn join(&mut self, node: Id, spec: &Spec) {
        self.network.join(node, spec.clone());
        self.hosts.insert(node, Host::default());
        self.agenda.add(self.now, Event::Period(node));
    }

    fn fail(&mut self, node: Id) {
        self.network.fail(node);
        self.hosts.remove(&node);
    }

    /// A node leaves as planned: beside its parent and children, it tells the owners of its jobs. The jobs that it owns go to the node that
    /// now answers for their keys, as keys do on Chord. Each child looks up its new parent; what the node tells is not counted.
    fn leave(&mut self, node: Id) {
        let looked_up = self.network.leave(node, self.now);
        if self.counts_upkeep() {
            self.report.tree_messages += real(looked_up) * self.network.ring().lookup_hops();
        }
        let Some(host) = self.hosts.remove(&node) else { return };
        for job in host.owned {
            self.adopt(job);
        }
        for job in host.queue {
            self.ensure_owner(job);
            self.restart(job);
        }
    }

    /// What each node does once in a period, the first time when it joins.
    fn period(&mut self, node: Id) {
        let Some(host) = self.hosts.get_mut(&node) else { return };
        let is_owner = !host.owned.is_empty();
        if !host.queue.is_empty() {
            let queue = std::mem::take(&mut host.queue);
            let times = if self.fault == Some(Fault::SendsHeartbeatsTwice) { 2 } else { 1 };
            for job in queue.iter().flat_map(|job| std::iter::repeat_n(*job, times)) {
                self.heartbeat(job);
            }
            if let Some(host) = self.hosts.get_mut(&node) {
                host.queue = queue;
            }
        }
        if is_owner {
            self.restart_silent(node);
        }
        self.upkeep(node);
        self.agenda.add_periodic(self.now + PERIOD, Event::Period(node));
    }

    fn counts_upkeep(&self) -> bool {
        self.script.begins <= self.now && self.now <= self.script.ends()
    }

    /// Keeps the ring and the tree. Messages are counted while the script goes on. For the ring: successor, predecessor and one finger
    /// looked up. For the tree: is it still you, and the answer's share of it, the aggregate, and the lookup of a new parent.
    fn upkeep(&mut self, node: Id) {
        let has_tree = self.matchmaker != Matchmaker::Central;
        let refreshed = if has_tree { self.network.refresh(node, self.now) } else { None };
        if !self.counts_upkeep() {
            return;
        }
        let lookup = self.network.ring().lookup_hops();
        self.report.basic_messages += 2.0 + lookup;
        self.report.tree_messages += match refreshed {
            None | Some(Refreshed::Root) => 0.0,
            Some(Refreshed::SameParent) => 2.0,
            Some(Refreshed::NewParent) => 2.0 + lookup,
        };
    }
}
