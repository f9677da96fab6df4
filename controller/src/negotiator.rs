//! The main loop: what is known now into claims driven on, a cycle of new gangs, and statuses written. Then it waits.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crds::{Job, License, Machine, Match};
use futures::StreamExt;
use jiff::Timestamp;
use kube::ResourceExt;
use matchmaker::{AdKey, Config as Settings, Cycle, Engine, Snapshot};
use pool::{ObjectKey, Objects, Occasion, Outlook, Standing, may_ask, record, snapshot};
use tokio::task::JoinHandle;

use crate::api::{Answer, Change};
use crate::claims::{Driver, due, wiped};
use crate::config::Config;
use crate::flights::flight;
use crate::probes::Health;
use crate::status::{Finding, Update, finding, next_timeout, updates};

/// The most status writes under way at once.
const WRITES_MAX: usize = 16;
/// The first pause after statuses could not be written, in milliseconds; it doubles up to 32 times that.
const WRITES_REST_MS: u64 = 1000;

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
    /// How often in a row statuses could not be written, and until when they are left alone, in [`Driver::now_ms`].
    write_failures: u32,
    writes_rest_until_ms: u64,
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
            write_failures: 0,
            writes_rest_until_ms: 0,
        }
    }

    /// Goes round for ever. A cycle may take long: it runs beside the loop, on a snapshot of its own, and claims go on.
    pub(crate) async fn run(mut self) {
        let (mut running, mut due): (Option<JoinHandle<Done>>, bool) = (None, true);
        loop {
            self.health.beat();
            let objects = self.driver.world.look().clone();
            self.drive_claims(&objects);
            if due && running.is_none() {
                running = self.start_cycle(&objects);
                due = false;
            }
            self.write_statuses(&objects).await;
            let pause = self.pause(&objects);
            tokio::select! {
                () = self.driver.world.changed() => {
                    tokio::time::sleep(self.config.debounce()).await;
                    due = true;
                }
                done = finished(&mut running) => self.end_cycle(done),
                () = tokio::time::sleep(pause) => due = true,
            }
        }
    }

    /// Starts driving every claim that has a next step, and takes away Matches that nobody wants to keep.
    fn drive_claims(&self, objects: &Objects) {
        let due = due(objects, Timestamp::now().as_second());
        self.driver.flights.forget_unless(&due.undecided);
        for view in due.claims {
            if let Some(under_way) = self.driver.flights.begin(&view.key, &view.root.uid, None) {
                tokio::spawn(self.driver.clone().drive(view, under_way));
            }
        }
        for (view, numbers) in wiped(objects) {
            if let Some(under_way) = self.driver.flights.begin(&view.key, &view.root.uid, None) {
                tokio::spawn(self.driver.clone().restore(view, numbers, under_way));
            }
        }
        for (key, uid) in due.outlived {
            let driver = self.driver.clone();
            tokio::spawn(async move { driver.cluster.delete::<Match>(&key, &uid).await });
        }
    }

    /// Starts a cycle on what is known now; none if nobody waits.
    fn start_cycle(&mut self, objects: &Objects) -> Option<JoinHandle<Done>> {
        let pool = snapshot(objects, &self.outlook(objects));
        if pool.roots.is_empty() {
            self.findings.clear();
            return None;
        }
        self.cycles += 1;
        let now = Timestamp::now();
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
        let objects = self.driver.world.look().clone();
        self.hand_on(&objects, &pool, &cycle, &occasion);
        self.findings = findings(&pool, &cycle, occasion.time);
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
        Outlook { flights: self.driver.flights.gangs(), held_back, exclusions }
    }

    /// Hands new gangs on to be claimed, as many as may be under way at once; the others are found again.
    fn hand_on(&self, objects: &Objects, pool: &Snapshot, cycle: &Cycle, occasion: &Occasion) {
        for gang in &cycle.gangs {
            if self.driver.flights.len() >= self.config.claims_max {
                tracing::info!(limit = self.config.claims_max, "enough claims are under way; the other gangs wait");
                return;
            }
            let Some(found) = record(objects, pool, gang, occasion).filter(|found| still_waits(found, objects)) else {
                continue;
            };
            let taken = flight(&found);
            let view = self.driver.view(found);
            if let Some(under_way) = self.driver.flights.begin(&view.key, &view.root.uid, Some(taken)) {
                tokio::spawn(self.driver.clone().drive(view, under_way));
            }
        }
    }

    /// Writes the statuses that are due. While the server takes none, it is asked with growing pauses, and the log says it
    /// once a round instead of once an object.
    async fn write_statuses(&mut self, objects: &Objects) {
        if self.driver.now_ms() < self.writes_rest_until_ms {
            return;
        }
        self.findings.extend(self.held_off(objects));
        let due = updates(objects, &self.findings, &self.driver.flights.jobs(), Timestamp::now());
        let writes = due.into_iter().map(|update| self.write(update));
        let lost: Vec<String> =
            futures::stream::iter(writes).buffer_unordered(WRITES_MAX).filter_map(std::future::ready).collect().await;
        let Some(first) = lost.first() else {
            self.write_failures = 0;
            return;
        };
        tracing::warn!(statuses = lost.len(), first, "statuses not written; they are tried again");
        let pause = WRITES_REST_MS.saturating_mul(1 << self.write_failures.min(5));
        self.write_failures = self.write_failures.saturating_add(1);
        self.writes_rest_until_ms = self.driver.now_ms().saturating_add(pause);
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

    /// Writes one status; why not, if nobody took it. If the object has changed in the meantime, the change comes by watch and
    /// the status is made anew.
    async fn write(&self, update: Update) -> Option<String> {
        let (driver, key, patch) = (&self.driver, update.key, Change::Json(update.patch));
        let answer = match update.kind {
            "Job" => driver.cluster.patch_status::<Job>(&key, &patch).await.map(|found| {
                driver.world.learn(|all| all.jobs.put(found));
            }),
            "Machine" => driver.cluster.patch_status::<Machine>(&key, &patch).await.map(|found| {
                driver.world.learn(|all| all.machines.put(found));
            }),
            _ => driver.cluster.patch_status::<License>(&key, &patch).await.map(|found| {
                driver.world.learn(|all| all.licenses.put(found));
            }),
        };
        lost(answer).map(|why| format!("{} {key}: {why}", update.kind))
    }

    /// How long to wait if nothing changes: until the next cycle is due, a pause after a refusal ends,
    /// or a job has waited long enough.
    fn pause(&self, objects: &Objects) -> Duration {
        let timeout =
            next_timeout(objects, Timestamp::now()).map(|seconds| Duration::from_secs(seconds.saturating_add(1)));
        let every = timeout.map_or(self.config.cycle_every(), |timeout| timeout.min(self.config.cycle_every()));
        let now = self.driver.now_ms();
        let refusals = self.driver.refusals.lock().unwrap_or_else(PoisonError::into_inner).next_ms(now);
        let holdoffs = self.driver.holdoffs.lock().unwrap_or_else(PoisonError::into_inner).next_ms(now);
        let rested = Some(self.writes_rest_until_ms).filter(|until| *until > now);
        match refusals.into_iter().chain(holdoffs).chain(rested).min() {
            Some(next) => every.min(Duration::from_millis(next.saturating_sub(now))),
            None => every,
        }
    }
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
    let told = cycle.unmatched.iter().filter_map(|unmatched| {
        let uid = pool.ad(unmatched.root)?.uid.clone();
        Some((uid, finding(unmatched, now)))
    });
    told.collect()
}

/// Why a status was not written, unless it is because the object has moved on.
fn lost(answer: Answer<()>) -> Option<String> {
    match answer {
        Answer::Refused(refused) if !refused.rules.is_empty() => Some(refused.message),
        Answer::Lost(why) => Some(why),
        Answer::Done(_) | Answer::Refused(_) | Answer::Missing | Answer::Exists => None,
    }
}
