//! The main loop: what is known now into claims driven on, a cycle of new gangs, and statuses written. Then it waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crds::{Job, Match};
use jiff::Timestamp;
use kube::ResourceExt;
use matchmaker::{AdKey, Config as Settings, Cycle, Engine, Gang, PoolAd, Snapshot};
use pool::{ObjectKey, Objects, Occasion, Outlook, Standing, may_ask, record, snapshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::adopter::Adopter;
use crate::claims::{Driver, Moment, due, newest_epoch, wiped};
use crate::config::Config;
use crate::flights::flight;
use crate::nodes::Keeper;
use crate::probes::Health;
use crate::status::{Finding, Findings, finding, next_timeout};
use crate::statuses::Statuses;

/// How many times as long as a look takes, the next one is put off; and for how long at most.
const ROUNDS_APART: u32 = 9;
const GATHER_MAX: Duration = Duration::from_millis(500);
/// How long gangs are handed on before others are looked for: who comes with a higher priority waits no longer.
const FRESH_MS: u64 = 1000;
/// How often wiped ledgers are looked for.
const REPAIR_EVERY_MS: u64 = 1000;

/// The loop and what it remembers from one time round to the next.
pub(crate) struct Negotiator {
    pub(crate) driver: Arc<Driver>,
    pub(crate) config: Config,
    pub(crate) health: Arc<Health>,
    /// Marks the Matches of this term.
    epoch: i64,
    cycles: u64,
    /// What is known of the pool from earlier cycles; away while a cycle runs.
    engine: Engine,
    /// What the last cycle said of each job that it could not match, by uid.
    findings: BTreeMap<String, Finding>,
    statuses: Statuses,
    nodes: Keeper,
    /// Gangs that the last cycle found and that are not handed on yet: as many are as may be under way at once.
    backlog: Option<Backlog>,
    adopter: Adopter,
    /// When wiped ledgers are looked for next.
    repair_at_ms: u64,
}

/// Gangs to be handed on. They are of one snapshot, and do not stand in each other's way.
struct Backlog {
    pool: Snapshot,
    gangs: VecDeque<Gang>,
    occasion: Occasion,
    /// When they were found: then they are as good as the snapshot that they were found in, for a while.
    found_ms: u64,
}

impl Negotiator {
    pub(crate) fn new(driver: Arc<Driver>, config: Config, health: Arc<Health>, epoch: i64) -> Negotiator {
        Negotiator {
            driver,
            config,
            health,
            epoch,
            cycles: 0,
            engine: Engine::new(),
            findings: BTreeMap::new(),
            statuses: Statuses::default(),
            backlog: None,
            nodes: Keeper::default(),
            adopter: Adopter::default(),
            repair_at_ms: 0,
        }
    }

    /// Goes round for ever. A cycle may take long: it runs beside the loop, on a snapshot of its own, and claims go on.
    pub(crate) async fn run(mut self) {
        let (mut running, mut due): (Option<JoinHandle<Done>>, bool) = (None, true);
        loop {
            self.health.beat();
            let round = Instant::now();
            let (agents_changed, silence_ms) = self.driver.world.look_after_agents();
            due |= agents_changed;
            let objects = self.driver.world.look().clone();
            if self.driver.cluster.leadership.epoch().is_some_and(|epoch| newest_epoch(&objects) > epoch) {
                tracing::warn!("somebody has led since: this term is over");
                self.driver.cluster.leadership.resign();
            }
            self.driver.prove(&objects);
            let timeout_ms = self.drive_claims(&objects);
            self.repair(&objects);
            self.hand_on(&objects);
            if due && running.is_none() && !self.is_proving() && !self.has_fresh_gangs() {
                running = self.start_cycle(&objects);
                due = false;
            }
            self.findings.extend(self.held_off(&objects));
            let findings = Findings { all: &self.findings, searching: running.is_some() };
            self.statuses.begin(&self.driver, &objects, &findings);
            let gather = gathering(self.config.debounce(), round.elapsed());
            let nodes_ms = self.nodes.keep(&self.driver, &objects).await;
            let adopter_ms = self.adopter.adopt(&self.driver, &objects).await;
            let pause =
                self.pause(&objects, silence_ms.into_iter().chain(timeout_ms).chain(nodes_ms).chain(adopter_ms).min());
            tokio::select! {
                () = self.driver.world.changed() => {
                    tokio::time::sleep(gather).await;
                    due = true;
                }
                done = finished(&mut running) => self.end_cycle(done),
                () = self.statuses.written(&self.driver) => {}
                () = tokio::time::sleep(pause) => due = true,
            }
        }
    }

    /// Whether gangs wait that were found a moment ago: these first, before others are looked for.
    fn has_fresh_gangs(&self) -> bool {
        let now = self.driver.now_ms();
        self.backlog.as_ref().is_some_and(|backlog| now.saturating_sub(backlog.found_ms) < FRESH_MS)
    }

    /// Whether somebody looks who may be at work on former objects of new offers: a cycle would find those closed.
    fn is_proving(&self) -> bool {
        self.driver.proofs.lock().unwrap_or_else(PoisonError::into_inner).looking()
    }

    /// Starts driving every claim that has a next step, and takes away Matches that nobody wants to keep. When the first of
    /// the others runs out of time.
    fn drive_claims(&self, objects: &Objects) -> Option<u64> {
        let moment = Moment {
            now: self.driver.clock.now().as_second(),
            now_ms: self.driver.now_ms(),
            epoch: self.driver.cluster.leadership.epoch(),
            deadline_ms: &|view| self.driver.deadline(view),
        };
        let due = due(objects, &moment);
        self.driver.flights.forget_unless(&due.undecided);
        for view in due.claims {
            if let Some(under_way) = self.driver.flights.begin(&view, None) {
                tokio::spawn(self.driver.clone().drive(view, under_way));
            }
        }
        for (key, uid) in due.outlived {
            let driver = self.driver.clone();
            tokio::spawn(async move { driver.cluster.delete::<Match>(&key, &uid).await });
        }
        for batch in due.outlived_work {
            tokio::spawn(self.driver.clone().clean_up(batch));
        }
        due.next_ms
    }

    /// Starts writing back what was wiped. This is looked for now and then only; meanwhile nothing of those offers is given away.
    fn repair(&mut self, objects: &Objects) {
        let now = self.driver.now_ms();
        if now < self.repair_at_ms {
            return;
        }
        self.repair_at_ms = now.saturating_add(REPAIR_EVERY_MS);
        for (view, numbers) in wiped(objects) {
            if let Some(under_way) = self.driver.flights.begin(&view, None) {
                tokio::spawn(self.driver.clone().restore(view, numbers, under_way));
            }
        }
    }

    /// Starts a cycle on what is known now; none if nobody waits.
    fn start_cycle(&mut self, objects: &Objects) -> Option<JoinHandle<Done>> {
        let pool = snapshot(objects, &self.outlook(objects));
        if pool.roots.is_empty() {
            self.findings.clear();
            return None;
        }
        // What is left of the last cycle is found again.
        self.backlog = None;
        self.cycles += 1;
        let now = self.driver.clock.now();
        let seed = i64::try_from(self.cycles).unwrap_or(0);
        let occasion = Occasion { cycle: self.cycles.to_string(), time: now, seed, epoch: self.epoch };
        let settings = Settings { seed: self.cycles, ..self.driver.engine.clone() };
        let mut engine = std::mem::take(&mut self.engine);
        Some(tokio::task::spawn_blocking(move || {
            let cycle = engine.negotiate(&pool, &settings, now.as_second());
            Done { pool, cycle, occasion, engine }
        }))
    }

    fn end_cycle(&mut self, done: Option<Done>) {
        let Some(Done { pool, cycle, occasion, engine }) = done else {
            tracing::error!("the cycle came to an untimely end; the next one begins anew");
            return;
        };
        self.engine = engine;
        for root in cycle.disagreements.iter().filter_map(|root| pool.ad(*root)) {
            tracing::error!(job = %root.key, "the index found a gang that is none; the plain search was asked instead");
        }
        let (gangs, unmatched) = (cycle.gangs.len(), cycle.unmatched.len());
        tracing::debug!(cycle = occasion.cycle, gangs, unmatched, "negotiated");
        for root in cycle.cut_short.iter().filter_map(|root| pool.ad(*root)) {
            tracing::warn!(job = %root.key, "the search ran out of steps: the gang may not be the best one");
        }
        self.findings = findings(&pool, &cycle, occasion.time);
        let found_ms = self.driver.now_ms();
        self.backlog = Some(Backlog { pool, gangs: cycle.gangs.into(), occasion, found_ms });
        let objects = self.driver.world.look().clone();
        self.hand_on(&objects);
    }

    fn outlook(&self, objects: &Objects) -> Outlook {
        let jobs = generations(objects);
        let offer = |key: &AdKey| {
            let found = objects.offer(&key.kind, &ObjectKey::new(&key.namespace, &key.name))?;
            found.metadata().generation
        };
        let mut refusals = self.driver.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let exclusions = refusals.exclusions(self.driver.now_ms(), |uid| jobs.get(uid).copied(), offer);
        let mut held_back = self.driver.flights.jobs();
        let mut holdoffs = self.driver.holdoffs.lock().unwrap_or_else(PoisonError::into_inner);
        held_back.extend(holdoffs.held(self.driver.now_ms(), |uid| jobs.get(uid).copied()).into_keys());
        let unproven = self.driver.proofs.lock().unwrap_or_else(PoisonError::into_inner).unproven(objects);
        Outlook { flights: self.driver.flights.gangs(), held_back, exclusions, unproven }
    }

    /// Hands gangs on to be claimed, as many as may be under way at once; the others wait, or are found again.
    fn hand_on(&mut self, objects: &Objects) {
        let Some(backlog) = &mut self.backlog else { return };
        loop {
            if self.driver.flights.len() >= self.config.claims_max {
                tracing::debug!(limit = self.config.claims_max, "enough claims are under way; the other gangs wait");
                return;
            }
            let Some(gang) = backlog.gangs.pop_front() else {
                self.backlog = None;
                return;
            };
            let recorded = record(objects, &backlog.pool, &gang, &backlog.occasion);
            let Some(found) = recorded.filter(|found| still_waits(found, objects)) else { continue };
            let taken = flight(&found);
            let view = self.driver.view(found);
            if let Some(under_way) = self.driver.flights.begin(&view, Some(taken)) {
                tokio::spawn(self.driver.clone().drive(view, under_way));
            }
        }
    }

    /// The jobs whose Match the server would not take, and what is said of them.
    fn held_off(&self, objects: &Objects) -> BTreeMap<String, Finding> {
        let mut holdoffs = self.driver.holdoffs.lock().unwrap_or_else(PoisonError::into_inner);
        if holdoffs.is_empty() {
            return BTreeMap::new();
        }
        let jobs = generations(objects);
        holdoffs.held(self.driver.now_ms(), |uid| jobs.get(uid).copied())
    }

    /// How long to wait if nothing changes: until the next cycle is due, a pause after a refusal ends, a job has waited long
    /// enough, or a vote or a sign of life has been awaited long enough.
    fn pause(&self, objects: &Objects, awaited_ms: Option<u64>) -> Duration {
        let timeout = next_timeout(objects, self.driver.clock.now())
            .map(|seconds| Duration::from_secs(seconds.saturating_add(1)));
        let every = timeout.map_or(self.config.cycle_every(), |timeout| timeout.min(self.config.cycle_every()));
        let now = self.driver.now_ms();
        let refusals = self.driver.refusals.lock().unwrap_or_else(PoisonError::into_inner).next_ms(now);
        let holdoffs = self.driver.holdoffs.lock().unwrap_or_else(PoisonError::into_inner).next_ms(now);
        let rested = self.statuses.next_ms(now);
        let stale = self.backlog.as_ref().map(|backlog| backlog.found_ms.saturating_add(FRESH_MS));
        let proofs = self.driver.proofs.lock().unwrap_or_else(PoisonError::into_inner).next_ms(objects, now);
        match refusals
            .into_iter()
            .chain(holdoffs)
            .chain(rested)
            .chain(stale.filter(|stale| *stale > now))
            .chain(proofs)
            .chain(awaited_ms)
            .min()
        {
            Some(next) => every.min(Duration::from_millis(next.saturating_sub(now))),
            None => every,
        }
    }
}

/// How long changes are gathered before they are looked at. Where looking takes long, because there is much to look at, it is done
/// less often: most of the processor's time is the claims'.
fn gathering(least: Duration, round: Duration) -> Duration {
    least.max(round.saturating_mul(ROUNDS_APART).min(GATHER_MAX))
}

/// The generation of each job, by uid.
fn generations(objects: &Objects) -> BTreeMap<String, i64> {
    let of =
        |held: &pool::Held<Job>| (held.object.uid().unwrap_or_default(), held.object.metadata.generation.unwrap_or(0));
    objects.jobs.iter().map(|(_, held)| of(held)).collect()
}

/// What a cycle came to.
struct Done {
    pool: Snapshot,
    cycle: Cycle,
    occasion: Occasion,
    engine: Engine,
}

/// The end of the running cycle; never, if none is running.
async fn finished(running: &mut Option<JoinHandle<Done>>) -> Option<Done> {
    match running {
        Some(cycle) => {
            let done = cycle.await.ok();
            *running = None;
            done
        }
        None => std::future::pending().await,
    }
}

/// Whether the job of a new Match has not been held, paused or finished since the snapshot was made.
fn still_waits(found: &Match, objects: &Objects) -> bool {
    let Some(root) = found.spec.members.first() else { return false };
    let job = objects.jobs.get(&ObjectKey::new(&root.namespace, &root.name));
    job.is_some_and(|held| may_ask(held, objects) == Standing::Waits)
}

fn findings(pool: &Snapshot, cycle: &Cycle, now: Timestamp) -> BTreeMap<String, Finding> {
    let mut closed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut told = BTreeMap::new();
    for (unmatched, root) in cycle.unmatched.iter().filter_map(|found| Some((found, pool.ad(found.root)?))) {
        let namespace = root.key.namespace.as_str();
        let closed = *closed.entry(namespace).or_insert_with(|| closed_to(pool, namespace));
        told.insert(root.uid.clone(), finding(unmatched, closed, now));
    }
    told
}

/// How many offers would let in jobs of a namespace if they were open.
fn closed_to(pool: &Snapshot, namespace: &str) -> usize {
    let offers = pool.ads().filter_map(|(_, ad)| PoolAd::offer(ad));
    offers.filter(|offer| !offer.open && offer.consent.admits(namespace)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_much_to_look_at_looks_less_often() {
        let after = |round| gathering(Duration::from_millis(50), Duration::from_millis(round)).as_millis();
        assert_eq!((after(0), after(5), after(20), after(3000)), (50, 50, 180, 500));
    }
}
