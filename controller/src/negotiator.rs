//! The main loop: what is known now into claims driven on, a cycle of new gangs, and statuses written. Then it waits.

mod costs;
mod running;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crds::Match;
use jiff::Timestamp;
use matchmaker::{AdKey, Config as Settings, Cycle, Engine, Gang, PoolAd, Snapshot, Stop, WhyNot};
use pool::{Changes, Freezer, ObjectKey, Objects, Occasion, Outlook, Standing, may_ask, record, returning};
use tokio::time::Instant;

use crate::adopter::Adopter;
use crate::claims::{Attention, Driver, Known, newest_epoch_of, wiped};
use crate::config::Config;
use crate::flights::flight;
use crate::metrics;
use crate::nodes::Keeper;
use crate::overdrafts::Overdrafts;
use crate::probes::Health;
use crate::rereader::Rereader;
use crate::status::{Finding, Findings, finding};
use crate::statuses::Statuses;

use running::{Done, Running, finished};

/// How many times as long as a look takes, the next one is put off; and for how long at most.
const ROUNDS_APART: u32 = 9;
const GATHER_MAX: Duration = Duration::from_millis(500);
/// The same of cycles.
const CYCLES_APART: u64 = 3;
const CYCLE_REST_MAX_MS: u64 = 500;
/// The most claims that are driven on at the same time though they were decided before: mostly ends.
const OLD_MAX: usize = 64;
/// How long gangs are handed on before others are looked for: who comes with a higher priority waits no longer.
const FRESH_MS: u64 = 1000;
/// How often wiped ledgers are looked for.
const REPAIR_EVERY_MS: u64 = 1000;
/// How often everything is looked at, whatever has changed: clocks jump, and what was asked for may have got lost.
const WHOLE_EVERY_MS: u64 = 60_000;

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
    freezer: Freezer,
    /// Before that no cycle begins: the last one took long.
    rest_until_ms: u64,
    /// What the last cycle said of each job that it could not match, by uid.
    findings: BTreeMap<String, Arc<Finding>>,
    /// It saw all offers that there are.
    saw_all: bool,
    /// Namespaces whose jobs, or whose offers, have cost too much lately.
    costly_jobs: Overdrafts,
    costly_offers: Overdrafts,
    attention: Attention,
    statuses: Statuses,
    nodes: Keeper,
    /// Gangs that the last cycle found and that are not handed on yet: as many are as may be under way at once.
    backlog: Option<Backlog>,
    adopter: Adopter,
    rereader: Rereader,
    /// When wiped ledgers are looked for next, and whether there may be any.
    repair_at_ms: u64,
    may_be_wiped: bool,
    /// When everything is looked at next.
    whole_at_ms: u64,
}

/// Gangs to be handed on. They are of one snapshot, and do not stand in each other's way.
struct Backlog {
    pool: Snapshot,
    gangs: VecDeque<Gang>,
    occasion: Occasion,
    /// When they were found: then they are as good as the snapshot that they were found in, for a while.
    found_ms: u64,
}

/// What one time round leaves to be done where others are waited for.
struct Round {
    /// When Machines of nodes are to be written again, if nothing changes.
    nodes_ms: Option<u64>,
    /// When an agent falls silent.
    silence_ms: Option<u64>,
}

impl Negotiator {
    pub(crate) fn new(driver: Arc<Driver>, config: Config, health: Arc<Health>, epoch: i64) -> Negotiator {
        driver.begin_term();
        Negotiator {
            driver,
            config,
            health,
            epoch,
            cycles: 0,
            engine: Engine::new(),
            freezer: Freezer::default(),
            rest_until_ms: 0,
            findings: BTreeMap::new(),
            saw_all: true,
            costly_jobs: Overdrafts::default(),
            costly_offers: Overdrafts::default(),
            attention: Attention::default(),
            statuses: Statuses::default(),
            backlog: None,
            nodes: Keeper::default(),
            adopter: Adopter::default(),
            rereader: Rereader::default(),
            repair_at_ms: 0,
            may_be_wiped: true,
            whole_at_ms: 0,
        }
    }

    /// Goes round for ever. A cycle may take long: it runs beside the loop, on a snapshot of its own, and claims go on.
    pub(crate) async fn run(mut self) {
        let (mut running, mut due): (Option<Running>, bool) = (None, true);
        self.health.cycle_ends();
        loop {
            self.health.beat();
            let begun = Instant::now();
            let Round { nodes_ms, silence_ms } = self.round(&mut running, &mut due);
            let took = begun.elapsed();
            self.driver.cluster.metrics.took(&metrics::ROUND_SECONDS, &[], took);
            let gather = gathering(self.config.debounce(), took);
            let pause = self.pause(due, silence_ms.into_iter().chain(nodes_ms).min());
            tokio::select! {
                () = self.driver.world.changed() => {
                    tokio::time::sleep(gather).await;
                    due = true;
                }
                done = finished(&mut running) => due |= self.end_cycle(done),
                () = self.statuses.written(&self.driver) => {}
                () = self.nodes.written(&self.driver) => {}
                () = self.adopter.made() => {}
                () = self.rereader.read() => {}
                () = tokio::time::sleep(pause) => due = true,
            }
        }
    }

    /// Looks at what has changed, once, and begins whatever follows from it. Nobody can change anything meanwhile.
    fn round(&mut self, running: &mut Option<Running>, due: &mut bool) -> Round {
        let driver = self.driver.clone();
        let mut objects = driver.world.look();
        let changes = self.changes(&mut objects);
        let offers_changed = changes.offers().next().is_some();
        let (agents_changed, silence_ms) = driver.world.look_after_agents(&mut objects, offers_changed);
        *due |= agents_changed;
        self.rereader.begin(&driver, &mut objects);
        let objects = &*objects;
        if driver.cluster.leadership.epoch().is_some_and(|epoch| newest_epoch_of(&changes, objects) > epoch) {
            tracing::warn!("somebody has led since: this term is over");
            driver.cluster.leadership.resign();
        }
        driver.prove(&changes, objects);
        self.attention.note(&changes, objects);
        self.statuses.note(&changes, objects);
        self.may_be_wiped |= !changes.matches.is_empty() || offers_changed;
        for landed in driver.flights.take_landed() {
            self.attention.landed(&landed.key, &landed.uid, objects);
            self.statuses.touch_job(&landed.job, objects);
        }
        self.drive_claims(objects);
        self.repair(objects);
        self.hand_on(objects);
        if *due && running.is_none() && self.may_search() {
            *running = self.start_cycle(objects);
            *due = false;
        }
        self.hold_off(objects);
        let searching = running.is_some() || *due || !self.saw_all;
        let findings = Findings { all: &self.findings, searching };
        self.statuses.begin(&driver, objects, &findings);
        driver.cluster.metrics.set(&metrics::CLAIMS_UNDER_WAY, &[], driver.flights.len());
        let backlog = self.backlog.as_ref().map_or(0, |backlog| backlog.gangs.len());
        driver.cluster.metrics.set(&metrics::BACKLOG, &[], backlog);
        let now_ms = driver.now_ms();
        self.adopter.begin(&driver, objects);
        Round { nodes_ms: self.nodes.begin(&driver, objects, now_ms), silence_ms }
    }

    /// What has changed since the last time round; now and then, everything.
    fn changes(&mut self, objects: &mut Objects) -> Changes {
        let changes = objects.take_changes();
        let now = self.driver.now_ms();
        if now < self.whole_at_ms {
            return changes;
        }
        self.whole_at_ms = now.saturating_add(WHOLE_EVERY_MS);
        objects.everything()
    }

    /// Whether a cycle may begin: not while gangs wait that were found a moment ago, nor while somebody looks who may be at work
    /// on former objects of new offers, which a cycle would find closed; and the processor's time is the claims' first.
    fn may_search(&self) -> bool {
        !self.is_proving() && !self.has_fresh_gangs() && self.driver.now_ms() >= self.rest_until_ms
    }

    /// Whether gangs wait that were found a moment ago: these first, before others are looked for.
    fn has_fresh_gangs(&self) -> bool {
        let now = self.driver.now_ms();
        self.backlog.as_ref().is_some_and(|backlog| now.saturating_sub(backlog.found_ms) < FRESH_MS)
    }

    /// Whether it has just begun to be looked up what may be at work on former objects of new offers: a cycle would find those closed.
    fn is_proving(&self) -> bool {
        self.driver.proofs.lock().unwrap_or_else(PoisonError::into_inner).is_awaited(self.driver.now_ms())
    }

    /// Starts driving every claim that has a next step, and takes away Matches that nobody wants to keep. Of those that are decided,
    /// so many at a time.
    fn drive_claims(&mut self, objects: &Objects) {
        let driver = &self.driver;
        let places = OLD_MAX.saturating_sub(driver.flights.old());
        let due = driver.with_moment(places, |moment| self.attention.due(objects, moment));
        if let Some(Known { undecided, claims }) = due.known {
            driver.flights.forget_unless(&undecided);
            driver.stalls().retain(|uid| claims.contains(uid), |uid| objects.jobs.by_uid(uid).is_some());
        }
        for view in due.claims {
            if let Some(under_way) = driver.flights.begin(&view, None) {
                tokio::spawn(driver.clone().drive(view, under_way));
            }
        }
        for (key, uid) in due.outlived {
            let driver = driver.clone();
            tokio::spawn(async move { driver.cluster.delete::<Match>(&key, &uid).await });
        }
        for batch in due.outlived_work {
            tokio::spawn(driver.clone().clean_up(batch));
        }
    }

    /// Starts writing back what was wiped. This is looked for now and then only; meanwhile nothing of those offers is given away.
    fn repair(&mut self, objects: &Objects) {
        let now = self.driver.now_ms();
        if now < self.repair_at_ms || !self.may_be_wiped {
            return;
        }
        self.repair_at_ms = now.saturating_add(REPAIR_EVERY_MS);
        let wiped = wiped(objects);
        self.may_be_wiped = !wiped.is_empty();
        for (view, numbers) in wiped {
            let seen = self.driver.seen(&view, objects);
            let rests = self.driver.stalls().rests_until(&view.uid, seen, now).is_some();
            if !rests && let Some(under_way) = self.driver.flights.begin(&view, None) {
                tokio::spawn(self.driver.clone().restore(view, numbers, seen, under_way));
            }
        }
    }

    /// Starts a cycle on what is known now; none if nobody waits.
    fn start_cycle(&mut self, objects: &Objects) -> Option<Running> {
        let outlook = self.outlook(objects);
        let mut pool = self.freezer.freeze(objects, &outlook);
        let now_ms = self.driver.now_ms();
        (pool.frugal, pool.barred) = (self.costly_jobs.pausing(now_ms), self.costly_offers.pausing(now_ms));
        if pool.roots.is_empty() {
            self.findings.clear();
            self.driver.cluster.metrics.set(&metrics::QUEUE, &[], 0);
            self.driver.cluster.metrics.set_all(&metrics::UNMATCHED, &BTreeMap::new());
            return None;
        }
        // What is left of the last cycle is found again.
        self.backlog = None;
        self.cycles += 1;
        let now = self.driver.clock.now();
        let seed = i64::try_from(self.cycles).unwrap_or(0);
        let occasion = Occasion { cycle: self.cycles.to_string(), time: now, seed, epoch: self.epoch };
        let stop = Stop::default();
        let settings = Settings { seed: self.cycles, stop: stop.clone(), ..self.driver.engine.clone() };
        let mut engine = std::mem::take(&mut self.engine);
        let sees_all = self.driver.proofs.lock().unwrap_or_else(PoisonError::into_inner).sees_all(self.driver.now_ms());
        self.health.cycle_begins();
        let cycle = tokio::task::spawn_blocking(move || {
            let begun = Instant::now();
            let cycle = engine.negotiate(&pool, &settings, now.as_second());
            let findings = findings(&pool, &cycle, now);
            let (returning, took) = (outlook.returning, begun.elapsed());
            Done { pool, cycle, findings, occasion, engine, sees_all, returning, took }
        });
        Some(Running::begin(cycle, stop, self.config.cycle_limit()))
    }

    /// Takes in what a cycle came to. Says whether another one is due.
    fn end_cycle(&mut self, done: Option<Done>) -> bool {
        self.health.cycle_ends();
        let Some(Done { pool, mut cycle, mut findings, occasion, engine, sees_all, returning, took }) = done else {
            tracing::error!("the negotiation cycle failed; the next cycle starts from scratch");
            return false;
        };
        self.engine = engine;
        for root in cycle.disagreements.iter().filter_map(|root| pool.ad(*root)) {
            tracing::error!(job = %root.key, "verification refused a gang that the index found; the plain search was used instead");
        }
        let (gangs, unmatched) = (cycle.gangs.len(), cycle.unmatched.len());
        tracing::debug!(cycle = occasion.cycle, gangs, unmatched, "negotiated");
        for root in cycle.cut_short.iter().filter_map(|root| pool.ad(*root)) {
            tracing::warn!(job = %root.key, "the search ran out of steps; the gang may not be the best one");
        }
        self.count_cycle(&pool, &cycle, &findings, took);
        let found_ms = self.driver.now_ms();
        self.rest_until_ms = found_ms.saturating_add(resting_ms(took));
        let driver = self.driver.clone();
        let objects = driver.world.look();
        let again = self.leave_returning(&mut cycle, &mut findings, &pool, &returning, found_ms);
        self.charge(&pool, &cycle, &mut findings, &objects, found_ms);
        self.saw_all = sees_all;
        if sees_all {
            self.tell(findings, &objects, found_ms);
        }
        self.backlog = Some(Backlog { pool, gangs: cycle.gangs.into(), occasion, found_ms });
        self.hand_on(&objects);
        again || !cycle.skipped.is_empty()
    }

    /// Takes over what a cycle has found about the jobs that stay without a gang: those are told of whom it says something else
    /// than the last one.
    fn tell(&mut self, findings: BTreeMap<String, Arc<Finding>>, objects: &Objects, now_ms: u64) {
        let before = std::mem::replace(&mut self.findings, findings);
        // Thousands of jobs share a finding.
        let mut known = BTreeMap::new();
        for (uid, finding) in &self.findings {
            let same = |told: &Arc<Finding>| {
                let pair = (Arc::as_ptr(told), Arc::as_ptr(finding));
                *known.entry(pair).or_insert_with(|| told.says(finding))
            };
            if !before.get(uid).is_some_and(same) {
                self.statuses.found(uid, finding, objects, (self.driver.clock.now(), now_ms));
            }
        }
    }

    fn count_cycle(&self, pool: &Snapshot, cycle: &Cycle, findings: &BTreeMap<String, Arc<Finding>>, took: Duration) {
        let metrics = &self.driver.cluster.metrics;
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        metrics.took(&metrics::CYCLE_SECONDS, &[], took);
        metrics.set(&metrics::QUEUE, &[], pool.roots.len());
        metrics.add(&metrics::CUT_SHORT, &[], count(cycle.cut_short.len()));
        if !cycle.skipped.is_empty() || cycle.ended_at.is_some() {
            metrics.count(&metrics::CYCLES_ENDED, &[]);
            let busy = cycle.ended_at.and_then(|root| pool.ad(root)).map(|ad| ad.key.to_string());
            tracing::warn!(
                busy,
                skipped = cycle.skipped.len(),
                "the cycle took too long and was ended with what it had found"
            );
        }
        metrics.add(&metrics::OVER_BUDGET, &["Jobs"], count(cycle.over_budget.len()));
        metrics.add(&metrics::OVER_BUDGET, &["Offers"], count(cycle.barred.len()));
        metrics.set(&metrics::SEARCHES_HELD, &[], cycle.gave_up.len());
        metrics.add(&metrics::DISAGREEMENTS, &[], count(cycle.disagreements.len()));
        let mut unmatched = BTreeMap::new();
        for finding in findings.values() {
            *unmatched.entry(finding.reason).or_default() += 1;
        }
        metrics.set_all(&metrics::UNMATCHED, &unmatched);
    }

    fn outlook(&self, objects: &Objects) -> Outlook {
        let offer = |key: &AdKey| {
            let found = objects.offer(&key.kind, &ObjectKey::new(&key.namespace, &key.name))?;
            found.metadata().generation
        };
        let mut refusals = self.driver.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let exclusions = refusals.exclusions(self.driver.now_ms(), |uid| generation(uid, objects), offer);
        let mut held_back = self.driver.flights.jobs();
        let mut holdoffs = self.driver.holdoffs.lock().unwrap_or_else(PoisonError::into_inner);
        held_back.extend(holdoffs.held(self.driver.now_ms(), |uid| generation(uid, objects)).into_keys());
        held_back.extend(self.driver.stalls().paused(self.driver.now_ms()));
        let unproven = self.driver.proofs.lock().unwrap_or_else(PoisonError::into_inner).unproven();
        let mut returning = returning(objects);
        // What was freed just now may be known here before its claim has landed.
        let landing = self.driver.flights.written_jobs().into_iter();
        returning.extend(landing.filter(|uid| {
            let job = objects.jobs.by_uid(uid);
            job.is_some_and(|(_, held)| may_ask(held, objects) == Standing::Waits)
        }));
        Outlook { flights: self.driver.flights.gangs(), held_back, returning, exclusions, unproven }
    }

    /// Hands gangs on to be claimed, as many as may be under way at once; the others wait, or are found again. So do those whose
    /// job is being told that it waits: what its claim says comes after that.
    fn hand_on(&mut self, objects: &Objects) {
        let Some(Backlog { pool, mut gangs, occasion, found_ms }) = self.backlog.take() else { return };
        let mut later = VecDeque::new();
        while self.driver.flights.undecided() < self.config.claims_max
            && let Some(gang) = gangs.pop_front()
        {
            let recorded = record(objects, &pool, &gang, &occasion);
            let Some(found) = recorded.filter(|found| still_waits(found, objects)) else { continue };
            let (taken, view) = (flight(&found), self.driver.view(found));
            if self.driver.flights.is_told(&view.root.uid) {
                later.push_back(gang);
            } else if let Some(under_way) = self.driver.flights.begin(&view, Some(taken)) {
                tokio::spawn(self.driver.clone().drive(view, under_way));
            }
        }
        later.append(&mut gangs);
        if !later.is_empty() {
            self.backlog = Some(Backlog { pool, gangs: later, occasion, found_ms });
        }
    }

    /// What is said of the jobs whose Match the server would not take.
    fn hold_off(&mut self, objects: &Objects) {
        let now_ms = self.driver.now_ms();
        let held = {
            let mut holdoffs = self.driver.holdoffs.lock().unwrap_or_else(PoisonError::into_inner);
            holdoffs.held(now_ms, |uid| generation(uid, objects))
        };
        for (uid, finding) in held {
            if !self.findings.get(&uid).is_some_and(|known| known.says(&finding)) {
                self.statuses.found(&uid, &finding, objects, (self.driver.clock.now(), now_ms));
                self.findings.insert(uid, Arc::new(finding));
            }
        }
    }

    /// How long to wait if nothing changes: until the next cycle is due, a pause after a refusal ends, a job has waited long
    /// enough, or a vote or a sign of life has been awaited long enough.
    fn pause(&self, due: bool, awaited_ms: Option<u64>) -> Duration {
        let now = self.driver.now_ms();
        let refusals = self.driver.refusals.lock().unwrap_or_else(PoisonError::into_inner).next_ms(now);
        let holdoffs = self.driver.holdoffs.lock().unwrap_or_else(PoisonError::into_inner).next_ms(now);
        let costly = self.costly_jobs.next_ms(now).into_iter().chain(self.costly_offers.next_ms(now));
        let proofs = self.driver.proofs.lock().unwrap_or_else(PoisonError::into_inner).next_ms(now);
        let stale = self.backlog.as_ref().map(|backlog| backlog.found_ms.saturating_add(FRESH_MS));
        let rested = Some(self.rest_until_ms).filter(|_| due);
        let repair = Some(self.repair_at_ms).filter(|_| self.may_be_wiped);
        let ahead = stale.into_iter().chain(rested).chain(repair).filter(|then| *then > now);
        let next = refusals
            .into_iter()
            .chain(holdoffs)
            .chain(proofs)
            .chain(self.driver.stalls().next_ms(now))
            .chain(costly)
            .chain(ahead)
            .chain(self.statuses.next_ms(now))
            .chain(self.adopter.next_ms(now))
            .chain(self.rereader.next_ms(now))
            .chain(self.attention.next_ms())
            .chain(awaited_ms)
            .min();
        let every = self.config.cycle_every();
        // What was due already has been looked at in this round: to look again at once would find the same.
        next.map_or(every, |next| every.min(Duration::from_millis(next.saturating_sub(now)).max(PAUSE_MIN)))
    }
}

/// The least time between two rounds if nothing changes.
const PAUSE_MIN: Duration = Duration::from_millis(10);

/// How long changes are gathered before they are looked at. Where looking takes long, because there is much to look at, it is done
/// less often: most of the processor's time is the claims'.
fn gathering(least: Duration, round: Duration) -> Duration {
    least.max(round.saturating_mul(ROUNDS_APART).min(GATHER_MAX))
}

/// How long no cycle begins after one that took so long.
fn resting_ms(took: Duration) -> u64 {
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    took_ms.saturating_mul(CYCLES_APART).min(CYCLE_REST_MAX_MS)
}

/// The generation of the job with this uid.
fn generation(uid: &str, objects: &Objects) -> Option<i64> {
    objects.jobs.by_uid(uid).map(|(_, held)| held.object.metadata.generation.unwrap_or(0))
}

/// Whether the job of a new Match has not been held, paused or finished since the snapshot was made.
fn still_waits(found: &Match, objects: &Objects) -> bool {
    let Some(root) = found.spec.members.first() else { return false };
    let job = objects.jobs.get(&ObjectKey::new(&root.namespace, &root.name));
    job.is_some_and(|held| may_ask(held, objects) == Standing::Waits)
}

/// Jobs that the engine cannot tell apart share what was found.
fn findings(pool: &Snapshot, cycle: &Cycle, now: Timestamp) -> BTreeMap<String, Arc<Finding>> {
    let mut closed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut shared: BTreeMap<(*const WhyNot, usize), Arc<Finding>> = BTreeMap::new();
    let told = cycle.unmatched.iter().filter_map(|unmatched| {
        let root = pool.ad(unmatched.root)?;
        let namespace = root.key.namespace.as_str();
        let closed = *closed.entry(namespace).or_insert_with(|| closed_to(pool, namespace));
        let found = shared.entry((Arc::as_ptr(&unmatched.why), closed));
        let found = found.or_insert_with(|| Arc::new(finding(unmatched, closed, now)));
        Some((root.uid.clone(), found.clone()))
    });
    told.collect()
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
