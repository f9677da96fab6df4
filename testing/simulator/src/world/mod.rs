//! A plan into its history: one queue of events in virtual time, one server, and everybody who talks to it.

mod agenda;
mod ending;
mod people;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use claiming::Reason;

use crate::agent::Minder;
use crate::chance::Chance;
use crate::coordinator::preempting::Preempting;
use crate::coordinator::view::Seen;
use crate::coordinator::{Coordinator, Request};
use crate::invariants::{AtWork, Chronicle};
use crate::nominated::{Preemptions, takes_what_is_nominated};
use crate::objects::{Body, Job, ObjectName, Stored};
use crate::plan::{CALM_MS, Happening, HistoryPlan};
use crate::scheme::Write;
use crate::server::{ModelRequest, ModelServer, Patch, ServerAnswer, StoredChange};
use crate::world::agenda::Agenda;
use crate::world::people::offer;

/// A call that was not answered by then is lost.
const DEADLINE_MS: u64 = 5_000;
/// The world has come to rest if nothing was written for this long, and must have by the end.
const REST_MS: u64 = 12_000;
const END_MS: u64 = CALM_MS + 180_000;
/// It does not come to rest either after so many writes: histories that do take a few hundred.
const WRITES_MAX: u64 = 1_500;

/// Who talks to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Coordinator(u8),
    Agent(u8),
}

#[derive(Debug)]
enum WorldEvent {
    Arrives { from: Who, life: u32, token: u64, verb: Rc<ModelRequest>, answered: bool },
    Answered { to: Who, life: u32, token: u64, answer: ServerAnswer },
    Watched { by: Who, life: u32, key: ObjectName, stored: Option<Rc<Stored>>, version: u64 },
    Relisted { by: u8, life: u32 },
    Round { of: Who, lead: bool },
    Happens(Happening),
    Batch(ObjectName),
}

/// What a history came to.
#[derive(Clone, Debug, Default)]
pub struct HistoryOutcome {
    /// What went wrong, first.
    pub wrong: Option<String>,
    /// Events that happened.
    pub events: u64,
    /// Writes that changed something, leases aside.
    pub writes: u64,
    /// Matches that were committed; that were aborted.
    pub committed: u64,
    /// See `committed`.
    pub aborted: u64,
    /// Gangs that were preempted.
    pub preempted: u64,
    /// The writes of nominations at which coordinators crashed.
    pub crashes: BTreeSet<Write>,
    /// When it came to rest.
    pub ended_ms: u64,
    /// What happened, if it was to be written down.
    pub log: Vec<String>,
}

/// The process of a coordinator.
struct CoordinatorProcess {
    coordinator: Coordinator,
    /// How often it has crashed: answers to a former life are lost.
    life: u32,
    paused_until_ms: u64,
    /// Its next round is due soon.
    is_woken: bool,
}

/// The process of an agent.
struct AgentProcess {
    agent: Minder,
    /// Its next round is due soon.
    is_woken: bool,
}

/// The world.
pub struct ModelCluster {
    plan: HistoryPlan,
    chance: Chance,
    now_ms: u64,
    agenda: Agenda<WorldEvent>,
    server: ModelServer,
    coordinators: Vec<CoordinatorProcess>,
    watched_ms: BTreeMap<(bool, u8, u8), u64>,
    /// By offer; none, if it has no agent.
    agents: Vec<Option<AgentProcess>>,
    chronicle: Chronicle,
    last_write_ms: u64,
    outcome: HistoryOutcome,
    logs: bool,
}

/// Runs a plan to its end.
pub fn run(plan: &HistoryPlan, logs: bool) -> HistoryOutcome {
    let mut world = ModelCluster::new(plan, logs);
    world.begin();
    while world.outcome.wrong.is_none() {
        let Some((at_ms, event)) = world.agenda.next() else { break };
        world.now_ms = at_ms;
        world.outcome.events += 1;
        let rested = world.now_ms.saturating_sub(world.last_write_ms.max(CALM_MS)) > REST_MS;
        if rested || world.now_ms > END_MS || world.outcome.writes > WRITES_MAX {
            world.end(rested);
            break;
        }
        world.happens(event);
    }
    world.outcome.ended_ms = world.now_ms;
    world.outcome.preempted = world.chronicle.preemptions.count();
    world.outcome
}

impl ModelCluster {
    fn new(plan: &HistoryPlan, logs: bool) -> ModelCluster {
        let agents = plan.offers.iter().enumerate().map(|(number, (has_agent, _))| {
            has_agent.then(|| AgentProcess { agent: Minder::new(number as u8), is_woken: false })
        });
        ModelCluster {
            plan: plan.clone(),
            chance: Chance::new(plan.seed ^ 0x5eed),
            now_ms: 0,
            agenda: Agenda::default(),
            server: ModelServer { planted: plan.planted, ..ModelServer::default() },
            coordinators: Vec::new(),
            watched_ms: BTreeMap::new(),
            agents: agents.collect(),
            chronicle: Chronicle { preemptions: Preemptions::new(plan), ..Chronicle::default() },
            last_write_ms: 0,
            outcome: HistoryOutcome::default(),
            logs,
        }
    }

    fn begin(&mut self) {
        let plan = self.plan.clone();
        self.makes(ObjectName::Leader, Body::Lease(u8::MAX, 0));
        for (number, (agent, capacity)) in plan.offers.iter().enumerate() {
            let name = number as u8;
            self.makes(ObjectName::Offer(name), offer(*agent, *capacity));
            if *agent {
                self.makes(ObjectName::Alive(name), Body::Lease(name, 0));
                self.later(0, WorldEvent::Round { of: Who::Agent(name), lead: true });
            }
        }
        for (number, workload) in plan.jobs.iter().enumerate() {
            self.makes(ObjectName::Job(number as u8), Body::Job(Job { workload: *workload, ..Job::default() }));
        }
        for number in 0..plan.coordinators {
            let seen = self.server.objects.clone();
            let coordinator = self.coordinator(number, seen);
            self.coordinators.push(CoordinatorProcess { coordinator, life: 0, paused_until_ms: 0, is_woken: false });
            self.later(u64::from(number) * 7, WorldEvent::Round { of: Who::Coordinator(number), lead: true });
        }
        for (at_ms, happening) in plan.happenings {
            self.agenda.add(at_ms, WorldEvent::Happens(happening));
        }
    }

    /// A coordinator that has seen this.
    fn coordinator(&self, number: u8, seen: Seen) -> Coordinator {
        let plan = &self.plan;
        let preempting = plan.scheme.as_ref().map(|scheme| Preempting::new(scheme.clone()));
        let skews_s = plan.scheme.as_ref().map_or(&[][..], |scheme| &scheme.skews_s);
        let skew_s = skews_s.get(usize::from(number)).copied().unwrap_or(0);
        let mut coordinator = Coordinator::new(number, seen, plan.lease_ignorer, plan.planted);
        (coordinator.skew_s, coordinator.preempting) = (skew_s, preempting);
        coordinator
    }

    fn later(&mut self, in_ms: u64, event: WorldEvent) {
        self.agenda.add(self.now_ms + in_ms, event);
    }

    fn happens(&mut self, event: WorldEvent) {
        match event {
            WorldEvent::Arrives { from, life, token, verb, answered } => {
                self.arrives(from, life, token, &verb, answered)
            }
            WorldEvent::Answered { to, life, token, answer } => self.answered(to, life, token, answer),
            WorldEvent::Watched { by, life, key, stored, version } if life == self.life(by) => {
                self.watched(by, key, stored, version);
            }
            WorldEvent::Relisted { by, life } if life == self.life(Who::Coordinator(by)) => self.relisted(by),
            WorldEvent::Watched { .. } | WorldEvent::Relisted { .. } => {}
            WorldEvent::Round { of, lead } => self.round(of, lead),
            WorldEvent::Happens(happening) => self.inject(happening),
            WorldEvent::Batch(key) => self.batch(key),
        }
    }

    fn is_calm(&self) -> bool {
        self.now_ms >= CALM_MS
    }

    /// Sends a request on its way, with whatever becomes of it.
    fn sends(&mut self, from: Who, requests: Vec<Request>) {
        for (token, verb) in requests {
            let life = self.life(from);
            self.outcome.wrong = self.outcome.wrong.take().or_else(|| self.gives_away(from, &verb));
            let verb = Rc::new(verb);
            let (lost, twice, late) =
                if self.is_calm() { (0, 0, 0) } else { (self.plan.lost, self.plan.twice, self.plan.late) };
            let mut travel = self.chance.between(1, 15);
            let mut answered = true;
            if self.chance.permille(late) {
                // slow, or so slow that nobody waits for the answer any more
                answered = self.chance.permille(600);
                let (low, high) = if answered { (100, DEADLINE_MS - 500) } else { (DEADLINE_MS, 4 * DEADLINE_MS) };
                travel = self.chance.between(low, high);
            }
            if self.chance.permille(lost) {
                answered = false;
                if self.chance.permille(500) {
                    travel = u64::MAX;
                }
            }
            if self.chance.permille(twice) {
                let again = self.chance.between(5, 3 * DEADLINE_MS);
                self.later(again, WorldEvent::Arrives { from, life, token, verb: verb.clone(), answered: false });
            }
            if !answered {
                self.later(DEADLINE_MS, WorldEvent::Answered { to: from, life, token, answer: ServerAnswer::Lost });
            }
            if travel < u64::MAX {
                self.later(travel, WorldEvent::Arrives { from, life, token, verb, answered });
            }
        }
    }

    /// Whether a coordinator begins a claim on something that it knows to be held for another job.
    fn gives_away(&self, from: Who, verb: &ModelRequest) -> Option<String> {
        let (Who::Coordinator(number), ModelRequest::Create(ObjectName::Match(..), Body::Match(found))) = (from, verb)
        else {
            return None;
        };
        let coordinator = &self.coordinators.get(usize::from(number))?.coordinator;
        coordinator.preempting.as_ref()?;
        takes_what_is_nominated(&coordinator.seen, found, |job| coordinator.is_driven(job))
    }

    fn life(&self, who: Who) -> u32 {
        match who {
            Who::Coordinator(number) => self.coordinators.get(usize::from(number)).map_or(0, |process| process.life),
            Who::Agent(_) => 0,
        }
    }

    fn arrives(&mut self, from: Who, life: u32, token: u64, verb: &ModelRequest, answered: bool) {
        let crash = self.crash_at(from, life, verb);
        if let Some((number, true)) = crash {
            return self.crash(number);
        }
        let (answer, change) = self.server.ask(verb);
        if self.logs
            && (std::env::var_os("GETS").is_some()
                || !matches!(verb, ModelRequest::Get(_) | ModelRequest::Patch(_, Patch::Renew { .. })))
        {
            let text = match &answer {
                ServerAnswer::Done(stored) => format!("done, version {}", stored.version),
                ServerAnswer::Listed(all) => format!("{} objects", all.len()),
                other => format!("{other:?}"),
            };
            self.log(format!("{from:?} {verb:?}: {text}"));
        }
        if answered {
            let travel = self.chance.between(1, 10);
            self.later(travel, WorldEvent::Answered { to: from, life, token, answer });
        }
        if let Some(change) = change {
            self.changed(change);
        }
        if let Some((number, false)) = crash {
            self.crash(number);
        }
    }

    /// The coordinator that crashes at this write, and whether it does so before it.
    fn crash_at(&mut self, from: Who, life: u32, verb: &ModelRequest) -> Option<(u8, bool)> {
        let (Who::Coordinator(number), true, false) = (from, life == self.life(from), self.is_calm()) else {
            return None;
        };
        let is_nominated = |key: &ObjectName| {
            self.server.objects.get(key).is_some_and(|one| one.job().is_some_and(|job| job.nomination.is_some()))
        };
        let write = match verb {
            ModelRequest::Patch(_, Patch::Nominate { .. }) => Write::N1,
            ModelRequest::Patch(_, Patch::Decide { reason: Some(Reason::Preempted), .. }) => Write::N2,
            ModelRequest::Patch(_, Patch::FreeRoot { preempted: true, .. }) => Write::N3,
            ModelRequest::Patch(key, Patch::ReserveRoot { .. }) if is_nominated(key) => Write::N4,
            ModelRequest::Patch(_, Patch::DropNomination { .. }) => Write::N5,
            _ => return None,
        };
        let is_before = *self.plan.scheme.as_ref()?.crashes.get(&write)?;
        self.outcome.crashes.insert(write).then_some((number, is_before))
    }

    fn log(&mut self, text: String) {
        if self.logs {
            self.outcome.log.push(format!("{:6} {text}", self.now_ms));
        }
    }

    /// A change: checked, and on its way to everybody who watches.
    fn changed(&mut self, change: StoredChange) {
        if !matches!(change.key, ObjectName::Leader | ObjectName::Alive(_)) {
            self.last_write_ms = self.now_ms;
            self.outcome.writes += 1;
            self.outcome.wrong = self
                .chronicle
                .note(&change, self.now_ms)
                .or_else(|| self.chronicle.broken(&self.server, &self.at_work()));
            self.count(&change);
        }
        if let ObjectName::Batch(..) = change.key {
            let wait = self.chance.between(20, 400);
            self.later(wait, WorldEvent::Batch(change.key));
        }
        for number in 0..self.plan.coordinators {
            self.tells(Who::Coordinator(number), &change);
        }
        if let ObjectName::Offer(name) = change.key
            && self.agents.get(usize::from(name)).is_some_and(Option::is_some)
        {
            self.tells(Who::Agent(name), &change);
        }
    }

    fn count(&mut self, change: &StoredChange) {
        let decision =
            |stored: &Option<Rc<Stored>>| stored.as_ref().and_then(|stored| stored.found()).map(|found| found.decision);
        let (before, after) = (decision(&change.before), decision(&change.after));
        if before != after && before.is_some() {
            self.outcome.committed += u64::from(after == Some(crate::objects::Decision::Committed));
            self.outcome.aborted += u64::from(after == Some(crate::objects::Decision::Aborted));
        }
    }

    /// Watches of one kind come in order; kinds do not wait for each other.
    fn tells(&mut self, by: Who, change: &StoredChange) {
        let kind = match change.key {
            ObjectName::Job(_) => 0,
            ObjectName::Offer(_) => 1,
            ObjectName::Match(..) => 2,
            ObjectName::Batch(..) => 3,
            ObjectName::Alive(_) | ObjectName::Leader => 4,
        };
        let lag = if self.is_calm() { 5 } else { 1 + self.chance.below(self.plan.lag_ms) };
        let place = match by {
            Who::Coordinator(number) => (true, number, kind),
            Who::Agent(number) => (false, number, kind),
        };
        let at_ms = self.watched_ms.get(&place).copied().unwrap_or(0).max(self.now_ms + lag);
        self.watched_ms.insert(place, at_ms);
        let life = self.life(by);
        let event =
            WorldEvent::Watched { by, life, key: change.key, stored: change.after.clone(), version: change.version };
        self.agenda.add(at_ms, event);
    }

    /// If a coordinator is paused, until when.
    fn paused(&self, who: Who) -> Option<u64> {
        let Who::Coordinator(number) = who else { return None };
        let until = self.coordinators.get(usize::from(number)).map_or(0, |process| process.paused_until_ms);
        (until > self.now_ms).then(|| until - self.now_ms)
    }

    fn watched(&mut self, by: Who, key: ObjectName, stored: Option<Rc<Stored>>, version: u64) {
        if let Some(wait) = self.paused(by) {
            let life = self.life(by);
            return self.later(wait, WorldEvent::Watched { by, life, key, stored, version });
        }
        let now_ms = self.now_ms;
        match by {
            Who::Coordinator(number) => {
                let Some(process) = self.coordinators.get_mut(usize::from(number)) else { return };
                match stored {
                    Some(stored) => process.coordinator.learn(&stored, now_ms),
                    None => process.coordinator.forget(key, version),
                }
                if !matches!(key, ObjectName::Alive(_) | ObjectName::Leader) {
                    self.wake(number, 50);
                }
            }
            Who::Agent(number) => {
                if let Some(Some(process)) = self.agents.get_mut(usize::from(number)) {
                    process.agent.watched(stored);
                    self.wake_agent(number, 20);
                }
            }
        }
    }

    fn wake(&mut self, number: u8, in_ms: u64) {
        if let Some(process) = self.coordinators.get_mut(usize::from(number)).filter(|process| !process.is_woken) {
            process.is_woken = true;
            self.later(in_ms, WorldEvent::Round { of: Who::Coordinator(number), lead: false });
        }
    }

    fn wake_agent(&mut self, number: u8, in_ms: u64) {
        if let Some(Some(process)) = self.agents.get_mut(usize::from(number))
            && !process.is_woken
        {
            process.is_woken = true;
            self.later(in_ms, WorldEvent::Round { of: Who::Agent(number), lead: false });
        }
    }

    fn round(&mut self, of: Who, lead: bool) {
        if let Some(wait) = self.paused(of) {
            return self.later(wait, WorldEvent::Round { of, lead });
        }
        let now_ms = self.now_ms;
        let requests = match of {
            Who::Coordinator(number) => {
                let Some(process) = self.coordinators.get_mut(usize::from(number)) else { return };
                process.is_woken &= lead;
                process.coordinator.round(now_ms, lead)
            }
            Who::Agent(number) => {
                let Some(Some(process)) = self.agents.get_mut(usize::from(number)) else { return };
                process.is_woken &= lead;
                process.agent.round(now_ms, &mut self.chance).into_iter().collect()
            }
        };
        self.sends(of, requests);
        if lead {
            self.later(1_000, WorldEvent::Round { of, lead });
        }
        if matches!(of, Who::Agent(_)) {
            self.outcome.wrong =
                self.outcome.wrong.take().or_else(|| self.chronicle.broken(&self.server, &self.at_work()));
        }
    }

    fn answered(&mut self, to: Who, life: u32, token: u64, answer: ServerAnswer) {
        if let Some(wait) = self.paused(to) {
            return self.later(wait, WorldEvent::Answered { to, life, token, answer });
        }
        if self.life(to) != life {
            return;
        }
        let now_ms = self.now_ms;
        match to {
            Who::Coordinator(number) => {
                let Some(process) = self.coordinators.get_mut(usize::from(number)) else { return };
                let requests = process.coordinator.answered(token, &answer, now_ms);
                self.wake(number, 100);
                self.sends(to, requests);
            }
            Who::Agent(number) => {
                if let Some(Some(process)) = self.agents.get_mut(usize::from(number)) {
                    process.agent.answered(token, &answer, now_ms, &mut self.chance);
                    self.wake_agent(number, 20);
                }
                self.outcome.wrong =
                    self.outcome.wrong.take().or_else(|| self.chronicle.broken(&self.server, &self.at_work()));
            }
        }
    }

    fn at_work(&self) -> AtWork {
        let works =
            |AgentProcess { agent, .. }: &AgentProcess| agent.works.map(|(claim, object)| (agent.offer, object, claim));
        self.agents.iter().flatten().filter_map(works).collect()
    }

    /// The Job controller looks at a batch Job: pods come, end, go.
    fn batch(&mut self, key: ObjectName) {
        let Some(batch) = self.server.objects.get(&key).and_then(|stored| stored.batch()).cloned() else { return };
        let mut next = batch.clone();
        if !batch.suspended && !batch.runs && !batch.finished {
            next.runs = true;
        } else if batch.suspended && batch.runs {
            next.runs = false;
        } else if batch.runs && self.chance.permille(200) {
            (next.runs, next.finished) = (false, true);
        } else if !batch.runs {
            return;
        }
        let changed = next != batch;
        if changed && let Some(change) = self.server.edit(key, |body| *body = Body::Batch(next)) {
            self.log(format!("batch controller {key:?}: runs {}", !batch.runs));
            self.changed(change);
        }
        if !changed {
            let wait = self.chance.between(200, 2_000);
            self.later(wait, WorldEvent::Batch(key));
        }
    }
}
