//! One negotiation cycle: begun on what is known, run beside the loop, and its results taken in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crds::conditions::reasons;
use jiff::Timestamp;
use matchmaker::{AdKey, Config as EngineConfig, Cycle, PoolAd, SideSearches, Snapshot, Stop, WhyNot};
use pool::{
    CycleInputs, JobState, Objects, Obstacles, Provenance, Unavailable, job_state, nominated_gangs, pool_charge,
    returning,
};
use tokio::time::Instant;

use super::running::{Done, Running};
use super::{Backlog, CENSUS_EVERY_MS, Negotiator, generation, placing};
use crate::metrics::shares::share_census;
use crate::metrics::{count, level};
use crate::status::{Finding, finding};

/// How many times as long as a cycle takes, the next one is put off; and for how long at most.
const CYCLES_APART: u64 = 1;
const CYCLE_REST_MAX_MS: u64 = 500;
/// How long after a cycle that had not steps enough for all reasons the next one begins, if nothing else asks for it.
const REASONS_EVERY_MS: u64 = 500;

impl Negotiator {
    /// Starts a cycle on what is known now; none if no job waits.
    pub(super) fn start_cycle(&mut self, objects: &Objects) -> Option<Running> {
        let now_ms = self.claims.context.now_ms();
        let barred = self.search.costly_offers.pausing(now_ms);
        let inputs = CycleInputs { barred, now_ms, ..self.inputs(objects) };
        let claims = self.claims.clone();
        let mut pool = self.search.snapshots.build(objects, &inputs);
        (pool.frugal, pool.barred) = (self.search.costly_jobs.pausing(now_ms), inputs.barred.clone());
        let now = self.claims.context.clock.now();
        let begun = Instant::now();
        pool.accounts = self.writers.accounts.of_pool(objects, &pool, &inputs.assumed, now.as_second()).map(Arc::new);
        if pool.roots.is_empty() {
            self.keep_findings(&BTreeMap::new(), objects, now_ms);
            self.count_waiting(0);
            return None;
        }
        let nominations = self.nominations.begin(objects, (&pool, &inputs.assumed), &claims);
        let accounts_took = begun.elapsed();
        let unavailable = self.search.snapshots.unavailable(objects);
        let mut preemption_engine = std::mem::take(&mut self.search.preemption_engine);
        // What is left of the last cycle is found again.
        self.last.backlog = None;
        self.search.cycles += 1;
        let seed = i64::try_from(self.search.cycles).unwrap_or(0);
        let provenance =
            Provenance { cycle: self.search.cycles.to_string(), time: now, seed, epoch: self.search.epoch };
        let stop = Stop::default();
        let settings = EngineConfig { seed: self.search.cycles, stop: stop.clone(), ..self.claims.engine.clone() };
        let mut engine = std::mem::take(&mut self.search.engine);
        let sees_all = self.claims.verification.lock().sees_all(self.claims.context.now_ms());
        let collective = self.config.placing.collective(&pool, &settings, now);
        let max_wait = self.config.placing.max_wait();
        self.health.cycle_begins();
        let cycle = tokio::task::spawn_blocking(move || {
            let begun = Instant::now();
            let second = now.as_second();
            let mut nominations_found = nominations.look(&mut pool, &settings, second);
            let looked = begun.elapsed();
            let (mut cycle, placed) = placing::negotiate(&mut engine, &pool, &settings, now, collective.as_ref());
            let mut find =
                |view: &Snapshot, settings: &EngineConfig, now: i64| preemption_engine.negotiate(view, settings, now);
            let searched = Instant::now();
            let (mut search, at) = (SideSearches::after(&cycle, &mut find), (&settings, second));
            nominations.reserve(&mut nominations_found, (&pool, &mut cycle), &mut search, at);
            nominations.preempt(&mut nominations_found, (&pool, &cycle), &mut search, at);
            cycle.costs.barred = search.into_barred();
            let policy_took = accounts_took + looked + searched.elapsed();
            let mut findings = findings(&pool, &cycle, &unavailable, &settings, now);
            if let Some(placed) = &placed {
                placing::tell_passed_over(&mut findings, &pool, placed, max_wait);
            }
            let (returning, took) = (inputs.returning, begun.elapsed());
            Done {
                pool,
                cycle,
                placed,
                findings,
                provenance,
                engine,
                sees_all,
                returning,
                nominations: nominations_found,
                preemption_engine,
                took,
                policy_took,
            }
        });
        Some(Running::begin(cycle, stop, self.config.cycle_limit()))
    }

    /// Takes in what a cycle came to. Says whether another one is due.
    pub(super) fn end_cycle(&mut self, done: Option<Done>) -> bool {
        self.health.cycle_ends();
        let Some(done) = done else {
            tracing::error!("the negotiation cycle failed; the next cycle starts from scratch");
            self.search.engine = self.config.search.into();
            self.search.preemption_engine = self.config.search.into();
            return false;
        };
        let Done { pool, mut cycle, placed, mut findings, provenance, engine, sees_all, returning, .. } = done;
        let (mut nominations, took) = (done.nominations, done.took);
        (self.search.engine, self.search.preemption_engine) = (engine, done.preemption_engine);
        for root in cycle.disagreements.iter().filter_map(|root| pool.ad(*root)) {
            tracing::error!(job = %root.key, "verification refused a gang that the index found; the plain search was used instead");
        }
        let (gangs, unmatched) = (cycle.gangs.len(), cycle.unmatched.len());
        let reasons = (unmatched, cycle.unexplained.len());
        tracing::debug!(cycle = provenance.cycle, gangs, unmatched, "negotiated");
        for root in cycle.cut_short.iter().filter_map(|root| pool.ad(*root)) {
            tracing::warn!(job = %root.key, "the search ran out of steps; the gang may not be the best one");
        }
        self.count_cycle(&pool, &cycle, took);
        if pool.accounts.is_some() {
            self.claims.context.metrics.accounts.policy_time.observe(done.policy_took.as_secs_f64());
        }
        self.count_shares(&pool);
        placed.iter().for_each(|placed| self.claims.context.metrics.cycles.placing.placed(placed));
        let found_ms = self.claims.context.now_ms();
        self.search.rest_until_ms = found_ms.saturating_add(resting_ms(took));
        let claims = self.claims.clone();
        let objects = claims.context.cache.lock();
        let again = self.leave_returning(&mut cycle, &mut findings, &pool, &returning, found_ms);
        self.pause_costly(&pool, &cycle, &mut findings, &objects, found_ms);
        self.pay_for_nominations(nominations.fruitless(), found_ms);
        self.last.saw_all = sees_all;
        if sees_all {
            self.nominations.end(&nominations, (&pool, &provenance), &mut findings, &objects, &claims);
            self.keep_findings(&findings, &objects, found_ms);
        }
        self.count_waiting(pool.roots.len());
        if sees_all {
            // Who is not told why is searched for again.
            self.search.snapshots.learn(&pool, &cycle, |uid| findings.contains_key(uid));
        }
        let mut gangs = nominations.take_gangs();
        gangs.append(&mut cycle.gangs);
        let bounds = std::mem::take(&mut nominations.reservations.bounds);
        let charges = cycle.charges.into_iter().chain(std::mem::take(&mut nominations.charges)).collect();
        self.last.backlog = Some(Backlog { pool, gangs: gangs.into(), charges, bounds, provenance, found_ms });
        self.hand_on(&objects);
        self.continue_reasons(reasons, found_ms);
        again || !cycle.skipped.is_empty()
    }

    /// Plans another cycle for the reasons for which this one had not steps enough, until it was the turn of every job once since
    /// something has changed.
    fn continue_reasons(&mut self, (found, missing): (usize, usize), now_ms: u64) {
        let due = self.search.reasons_due.map_or(missing, |due| due.saturating_sub(found).min(missing));
        self.search.reasons_due = Some(due);
        self.search.reasons_at_ms = (due > 0).then(|| now_ms.saturating_add(REASONS_EVERY_MS));
    }

    /// Keeps the findings of a cycle about jobs without a gang, and those of earlier cycles about jobs that it left out. The statuses of
    /// jobs with a new finding are to be written.
    fn keep_findings(&mut self, findings: &BTreeMap<String, Arc<Finding>>, objects: &Objects, now_ms: u64) {
        let left_out = self.search.snapshots.unmatchable();
        let told = &mut self.last.findings;
        told.retain(|uid, _| left_out.contains(uid) || findings.contains_key(uid));
        // Thousands of jobs share a finding.
        let mut known = BTreeMap::new();
        for (uid, finding) in findings {
            let same = |told: &Arc<Finding>| {
                let pair = (Arc::as_ptr(told), Arc::as_ptr(finding));
                pair.0 == pair.1 || *known.entry(pair).or_insert_with(|| told.says(finding))
            };
            if told.get(uid).is_some_and(same) {
                continue;
            }
            self.writers.statuses.pending.found(uid, finding, objects, (self.claims.context.clock.now(), now_ms));
            told.insert(uid.clone(), Arc::clone(finding));
        }
    }

    /// Counts the jobs that wait: the roots of a cycle, and those that it left out.
    fn count_waiting(&self, roots: usize) {
        let metrics = &self.claims.context.metrics.cycles;
        metrics.jobs_waiting.set(level(roots + self.search.snapshots.unmatchable().len()));
        let mut unmatched = BTreeMap::new();
        for finding in self.last.findings.values() {
            *unmatched.entry(finding.reason).or_default() += 1;
        }
        metrics.set_unmatched(&unmatched);
        let blocked = unmatched.get(reasons::QUOTA_EXCEEDED).copied().unwrap_or(0);
        self.claims.context.metrics.accounts.quota_blocked.set(level(blocked));
    }

    fn count_cycle(&self, pool: &Snapshot, cycle: &Cycle, took: Duration) {
        let metrics = &self.claims.context.metrics.cycles;
        metrics.duration.observe(took.as_secs_f64());
        metrics.searches_cut_short.inc_by(count(cycle.cut_short.len()));
        if !cycle.skipped.is_empty() || cycle.ended_at.is_some() {
            metrics.ended.inc();
            let busy = cycle.ended_at.and_then(|root| pool.ad(root)).map(|ad| ad.key.to_string());
            tracing::warn!(
                busy,
                skipped = cycle.skipped.len(),
                "the cycle took too long and was ended with what it had found"
            );
        }
        metrics.over_budget("Jobs", cycle.costs.over_budget.len());
        metrics.over_budget("Offers", cycle.costs.barred.len());
        metrics.jobs_over_budget.set(level(cycle.gave_up.len()));
        metrics.disagreements.inc_by(count(cycle.disagreements.len()));
    }

    /// Counts what accounts hold and deserve, now and then.
    fn count_shares(&mut self, pool: &Snapshot) {
        let context = &self.claims.context;
        if context.now_ms() >= self.upkeep.shares_at_ms {
            self.upkeep.shares_at_ms = context.now_ms().saturating_add(CENSUS_EVERY_MS);
            let now = context.clock.now().as_second();
            let total = pool.accounts.as_ref().map_or(0, |accounts| pool_charge(pool, accounts, now));
            let shares = share_census(&context.cache.lock(), pool, total);
            context.metrics.accounts.set_shares(&shares);
        }
    }

    fn inputs(&self, objects: &Objects) -> CycleInputs {
        let offer = |key: &AdKey| objects.offer_at(key)?.metadata.generation;
        let mut refusals = self.claims.offer_backoff.lock();
        let exclusions = refusals.exclusions(self.claims.context.now_ms(), |uid| generation(uid, objects), offer);
        let mut held_back = self.claims.in_flight.jobs();
        let mut job_backoff = self.claims.job_backoff.lock();
        held_back.extend(job_backoff.held(self.claims.context.now_ms(), |uid| generation(uid, objects)).into_keys());
        held_back.extend(self.claims.stalls().paused(self.claims.context.now_ms()));
        held_back.extend(self.gathering.held().map(|(uid, _)| uid.clone()));
        let unverified = self.claims.verification.lock().unverified();
        let mut returning = returning(objects);
        // What a claim has freed may be known here before the claim itself has ended.
        let landing = self.claims.in_flight.written_jobs().into_iter();
        returning.extend(landing.filter(|uid| {
            let job = objects.jobs.by_uid(uid);
            job.is_some_and(|(_, held)| job_state(held, objects) == JobState::Waits)
        }));
        let mut assumed = self.claims.in_flight.gangs();
        assumed.extend(nominated_gangs(objects, &self.claims.in_flight.jobs()));
        CycleInputs { assumed, held_back, returning, exclusions, unverified, ..CycleInputs::default() }
    }
}

/// How long no cycle begins after one that took so long.
fn resting_ms(took: Duration) -> u64 {
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    took_ms.saturating_mul(CYCLES_APART).min(CYCLE_REST_MAX_MS)
}

/// Jobs that the engine cannot tell apart share what was found.
fn findings(
    pool: &Snapshot,
    cycle: &Cycle,
    unavailable: &[Unavailable],
    settings: &EngineConfig,
    now: Timestamp,
) -> BTreeMap<String, Arc<Finding>> {
    let mut closed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut obstacles = Obstacles::of(pool, unavailable);
    let mut shared: BTreeMap<(*const WhyNot, &str), Arc<Finding>> = BTreeMap::new();
    let told = cycle.unmatched.iter().filter_map(|unmatched| {
        let root = pool.ad(unmatched.root)?;
        let namespace = root.key.namespace.as_str();
        let found = shared.entry((Arc::as_ptr(&unmatched.why), namespace)).or_insert_with(|| {
            let in_the_way = obstacles.find(unmatched, settings, now.as_second());
            let closed = *closed.entry(namespace).or_insert_with(|| closed_to(pool, namespace));
            Arc::new(finding(unmatched, in_the_way.as_deref(), closed, now))
        });
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
    use pool::{CycleInputs, SnapshotBuilder, snapshot};

    use crate::testing::churn::Churn;

    const BEGIN: i64 = 1_795_269_600;

    #[test]
    fn b14_who_is_left_out_would_have_found_nothing() {
        let (mut found, mut left_out) = (0, 0);
        for seed in 0..60 {
            let (mut churn, mut builder) = (Churn::new(seed), SnapshotBuilder::default());
            for step in 0..80 {
                churn.turn();
                // Not so often that what changes is heeded later.
                let inputs = CycleInputs { now_ms: step * 2_000, ..CycleInputs::default() };
                let [some, all] = [builder.build(&churn.objects, &inputs), snapshot(&churn.objects, &inputs)];
                let [of_some, of_all] =
                    [&some, &all].map(|pool| gangindex::negotiate(pool, &matchmaker::Config::product(), BEGIN));
                assert_eq!(format!("{:?}", of_some.gangs), format!("{:?}", of_all.gangs), "seed {seed}, step {step}");
                assert_eq!(some.roots.len() + builder.unmatchable().len(), all.roots.len(), "seed {seed}, step {step}");
                found += of_all.gangs.len();
                left_out += builder.unmatchable().len();
                builder.learn(&some, &of_some, |_| true);
            }
        }
        assert!(found > 150 && left_out > 500, "much has happened: {found} {left_out}");
    }
}
