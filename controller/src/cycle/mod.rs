//! The main loop: what is known now into claims driven on, a cycle of new gangs, and statuses written. Then it waits.

pub(crate) mod backoff;
mod costs;
mod gathering;
pub(crate) mod in_flight;
pub(crate) mod job_backoff;
pub(crate) mod offer_backoff;
mod one_cycle;
pub(crate) mod overdrafts;
pub(crate) mod placing;
mod running;
pub(crate) mod timer_queue;
mod writers;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crds::Match;
use gangindex::Engine;
use matchmaker::{AdId, Gang, MemberCharges, Snapshot};
use pool::{Changes, JobState, ObjectKey, Objects, Provenance, SnapshotBuilder, job_state, record};
use tokio::sync::watch as signals;
use tokio::time::Instant;

use crate::claims::{Claims, DirtyClaims, Known, View, lost_entries, newest_epoch_of};
use crate::config::Config;
use crate::cycle::gathering::Gathering;
use crate::cycle::in_flight::assumed_gang;
use crate::cycle::overdrafts::Overdrafts;
use crate::cycle::timer_queue::TimerQueue;
use crate::metrics::census::census;
use crate::metrics::level;
use crate::nominations::Nominations;
use crate::probes::Health;
use crate::status::{Finding, Findings};
use running::{Running, finished};
use writers::Writers;

/// How many times as long as a look takes, the next one is put off; and for how long at most.
const ROUNDS_APART: u32 = 9;
const GATHER_MAX: Duration = Duration::from_millis(500);
/// The most claims that are driven on at the same time though they were decided before: mostly ends.
const OLD_MAX: usize = 64;
/// How long gangs are handed on before others are looked for: a new job with a higher priority waits no longer.
const FRESH_MS: u64 = 1000;
/// How often wiped ledgers are looked for.
const REPAIR_EVERY_MS: u64 = 1000;
/// How often everything is looked at, whatever has changed: clocks jump, and what was asked for may have got lost.
const WHOLE_EVERY_MS: u64 = 60_000;
/// How often what is there is counted for the metrics.
const CENSUS_EVERY_MS: u64 = 10_000;

/// The main loop, and what it remembers from one round to the next.
pub(crate) struct Negotiator {
    claims: Arc<Claims>,
    config: Config,
    health: Arc<Health>,
    search: Search,
    last: LastCycle,
    dirty: DirtyClaims,
    writers: Writers,
    nominations: Nominations,
    gathering: Gathering,
    upkeep: Upkeep,
    /// When the next round is, if nothing changes, and why.
    timers: TimerQueue<Due>,
}

/// What a cycle begins with.
struct Search {
    /// Marks the Matches of this term.
    epoch: i64,
    cycles: u64,
    /// What is known of the pool from earlier cycles; away while a cycle runs.
    engine: Engine,
    /// The same for searches in pools without the gangs that may be preempted; away as well.
    preemption_engine: Engine,
    snapshots: SnapshotBuilder,
    /// Before that no cycle begins: the last one took long.
    rest_until_ms: u64,
    /// When the next one begins though nothing has changed.
    regular_at_ms: u64,
    /// How many reasons cycles still have to find though nothing has changed; none if something has changed since the last one.
    reasons_due: Option<usize>,
    /// When the next cycle begins to find them.
    reasons_at_ms: Option<u64>,
    /// Namespaces whose jobs, or whose offers, have cost too much lately.
    costly_jobs: Overdrafts,
    costly_offers: Overdrafts,
}

/// What the last cycle has left.
struct LastCycle {
    /// What it said of each job that it could not match, by uid.
    findings: BTreeMap<String, Arc<Finding>>,
    /// It saw all offers that there are.
    saw_all: bool,
    /// Gangs that it found and that are not handed on yet: as many are as may be in flight at once.
    backlog: Option<Backlog>,
}

/// What is looked at by time alone.
struct Upkeep {
    /// When wiped ledgers are looked for next, and whether there may be any.
    repair_at_ms: u64,
    may_be_wiped: bool,
    /// When everything is looked at next.
    whole_at_ms: u64,
    /// When what is there is counted next.
    census_at_ms: u64,
    /// When it is counted next what accounts deserve, after a cycle.
    shares_at_ms: u64,
}

/// Gangs to be handed on. They are of one snapshot, and do not stand in each other's way.
struct Backlog {
    pool: Snapshot,
    gangs: VecDeque<Gang>,
    /// What their members cost, by root.
    charges: BTreeMap<AdId, MemberCharges>,
    /// After how many seconds claims end in any case, by root: of those that use what is held for others.
    bounds: BTreeMap<AdId, i64>,
    provenance: Provenance,
    /// When they were found: then they are as good as the snapshot that they were found in, for a while.
    found_ms: u64,
}

/// What the main loop looks at when its time has come, though nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// Claims: a deadline, or the end of a pause.
    Claims,
    /// Jobs whose Match could not be written: the end of a pause.
    Stalls,
    /// An offer that has refused a job may be matched with it again.
    OfferBackoff,
    /// A job may be matched again.
    JobBackoff,
    /// Jobs that cycles leave out are searched for again, as an offer has changed.
    LeftOut,
    /// Jobs have been gathered for long enough.
    Gathering,
    /// A namespace whose jobs, or whose offers, were too costly gets its whole share again.
    CostlyJobs,
    CostlyOffers,
    /// Offers may be verified again, or a cycle does not wait for that any more.
    Verification,
    /// An agent falls silent.
    Silence,
    /// Lost entries of ledgers are looked for again.
    Repair,
    /// The gangs of the backlog are too old to keep a cycle from beginning.
    Backlog,
    /// A cycle may begin again.
    Search,
    /// The last cycle was begun long ago.
    Regular,
    /// A cycle is to find the reasons for which earlier ones had not steps enough.
    Reasons,
    /// Statuses may be written.
    Statuses,
    /// Jobs for labelled workloads may be created.
    JobCreator,
    /// Pods of JobSets may be placed.
    PodPlacer,
    /// Stripped objects may be read again.
    Rereader,
    /// Machines of nodes may be written.
    Machines,
    /// Accounts may be written.
    Accounts,
    /// A nomination is over, or gangs may be preempted for a job again.
    Nominations,
    /// What is there is counted again.
    Census,
}

impl Due {
    /// Whether a cycle could come to something else now. All others are about objects: what changes of them is seen.
    fn is_for_cycle(self) -> bool {
        match self {
            Due::Stalls
            | Due::OfferBackoff
            | Due::JobBackoff
            | Due::LeftOut
            | Due::Gathering
            | Due::CostlyJobs
            | Due::CostlyOffers
            | Due::Verification
            | Due::Silence
            | Due::Backlog
            | Due::Search
            | Due::Nominations
            | Due::Regular
            | Due::Reasons => true,
            Due::Claims
            | Due::Repair
            | Due::Statuses
            | Due::JobCreator
            | Due::PodPlacer
            | Due::Rereader
            | Due::Machines
            | Due::Accounts
            | Due::Census => false,
        }
    }
}

impl Negotiator {
    pub(crate) fn new(claims: Arc<Claims>, config: Config, health: Arc<Health>, epoch: i64) -> Negotiator {
        claims.begin_term();
        let search = Search {
            epoch,
            cycles: 0,
            engine: config.search.into(),
            preemption_engine: config.search.into(),
            snapshots: SnapshotBuilder::default(),
            rest_until_ms: 0,
            regular_at_ms: 0,
            reasons_due: None,
            reasons_at_ms: None,
            costly_jobs: Overdrafts::default(),
            costly_offers: Overdrafts::default(),
        };
        let gathering = Gathering::new(config.placing.gather());
        Negotiator {
            claims,
            config,
            health,
            search,
            last: LastCycle { findings: BTreeMap::new(), saw_all: true, backlog: None },
            dirty: DirtyClaims::default(),
            writers: Writers::default(),
            nominations: Nominations::default(),
            gathering,
            upkeep: Upkeep { repair_at_ms: 0, may_be_wiped: true, whole_at_ms: 0, census_at_ms: 0, shares_at_ms: 0 },
            timers: TimerQueue::default(),
        }
    }

    /// Goes round until `stopping` is set; then waits for claims under way, for a while, and stores what accounts have used. A cycle may take
    /// long: it runs beside the loop, on a snapshot of its own, and claims go on.
    pub(crate) async fn run(mut self, mut stopping: signals::Receiver<bool>, grace: Duration) {
        let (mut running, mut due): (Option<Running>, bool) = (None, true);
        self.health.cycle_ends();
        loop {
            self.health.beat();
            let begun = Instant::now();
            self.round(&mut running, &mut due);
            let took = begun.elapsed();
            self.claims.context.metrics.cycles.round_duration.observe(took.as_secs_f64());
            let gather = debounce(self.config.debounce(), took);
            let pause = self.pause(due);
            // Changes come last: where there is always one, nothing else would have its turn but by chance.
            tokio::select! {
                biased;
                _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
                done = finished(&mut running) => due |= self.end_cycle(done),
                () = self.writers.answered(&self.claims.context) => {}
                () = self.claims.context.cache.changed() => {
                    if let Ok(done) = tokio::time::timeout(gather, finished(&mut running)).await {
                        due |= self.end_cycle(done);
                    }
                }
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.claims.in_flight.drained(grace).await;
        {
            let mut objects = self.claims.context.cache.lock();
            let changes = objects.take_changes();
            self.writers.accounts.note(&changes, &objects, &self.claims.context);
        }
        self.writers.accounts.store_all(&self.claims.context).await;
    }

    /// Looks at what has changed, once, and begins whatever follows from it. The cache is locked meanwhile: nothing changes.
    fn round(&mut self, running: &mut Option<Running>, due: &mut bool) {
        let claims = self.claims.clone();
        let mut objects = claims.context.cache.lock();
        // 1. Take in what has changed, agents that have fallen silent among it.
        self.take_in(&mut objects, due);
        let objects = &*objects;
        // 2. Drive on the claims that have a next step: what was begun comes before anything new.
        self.drive_claims(objects);
        // 3. Write back what ledgers have lost: until it is there nothing of these offers is given away.
        self.repair(objects);
        // 4. Hand on the gangs that were found, then look for others: a cycle counts those in flight.
        self.hand_on(objects);
        self.search(objects, running, due);
        // 5. Write statuses, now that it is known whether a cycle runs: a job that it looks at hears more in a moment.
        self.write_statuses(objects, running.is_some() || *due);
        // 6. Create the Jobs of labelled workloads and the Machines of nodes, place pods, store accounts: a later round sees it.
        self.writers.job_creator.begin(&claims.context, objects);
        self.writers.pod_placer.begin(&claims.context, objects);
        self.timers.set_to(Due::Machines, self.writers.nodes.begin(&claims.context, objects, claims.context.now_ms()));
        self.timers.set_to(Due::Accounts, self.writers.accounts.begin(&claims.context, objects));
        self.timers.set_to(
            Due::Nominations,
            self.nominations.next_ms(objects, second_of(claims.context.now_ms())).map(together),
        );
        // 7. Count what is there, now and then.
        self.count_pool(objects);
    }

    fn count_pool(&mut self, objects: &Objects) {
        let context = &self.claims.context;
        if context.now_ms() >= self.upkeep.census_at_ms {
            self.upkeep.census_at_ms = context.now_ms().saturating_add(CENSUS_EVERY_MS);
            context.metrics.pool.set(&census(objects, &self.config.serving.license_metrics, context.clock.now()));
        }
    }

    /// Takes in what has changed since the last round.
    fn take_in(&mut self, objects: &mut Objects, due: &mut bool) {
        let claims = self.claims.clone();
        objects.apply_costly_offers(self.search.costly_offers.pausing(claims.context.now_ms()));
        let changes = self.changes(objects);
        let offers_changed = changes.offers().next().is_some();
        let is_asked = claims.context.cache.take_cycle_due();
        let (agents_changed, silence_ms) = claims.context.cache.look_after_agents(objects, offers_changed);
        if agents_changed || changes.changes_cycle || is_asked {
            (*due, self.search.reasons_due) = (true, None);
        }
        *due |= self.timers.expired(claims.context.now_ms()).into_iter().any(Due::is_for_cycle);
        self.timers.set_to(Due::Silence, silence_ms);
        self.writers.rereader.begin(&claims.context, objects);
        if claims.context.cluster.leadership.epoch().is_some_and(|epoch| newest_epoch_of(&changes, objects) > epoch) {
            tracing::warn!("another replica has led since: this term is over");
            claims.context.cluster.leadership.resign();
        }
        claims.verify_offers(&changes, objects);
        self.gathering.note(&changes, objects, (claims.context.clock.now(), claims.context.now_ms()));
        self.writers.accounts.note(&changes, objects, &claims.context);
        self.dirty.note(&changes, objects);
        self.dirty.may_exit(self.nominations.note(&changes, objects, &claims));
        self.writers.statuses.pending.note(&changes, objects);
        self.upkeep.may_be_wiped |= !changes.matches.is_empty() || offers_changed;
        for finished in claims.in_flight.take_finished() {
            self.dirty.landed(&finished.key, &finished.uid, objects);
            self.writers.statuses.pending.touch_job(&finished.job, objects);
        }
    }

    /// Starts a cycle, if one is due and may begin.
    fn search(&mut self, objects: &Objects, running: &mut Option<Running>, due: &mut bool) {
        if *due && running.is_none() && self.may_search() {
            *running = self.start_cycle(objects);
            let every_ms = u64::try_from(self.config.cycle_every().as_millis()).unwrap_or(u64::MAX);
            self.search.regular_at_ms = self.claims.context.now_ms().saturating_add(every_ms);
            *due = false;
        }
    }

    /// Begins to write the statuses that are due.
    fn write_statuses(&mut self, objects: &Objects, searching: bool) {
        self.back_off(objects);
        let findings = Findings { all: &self.last.findings, searching: searching || !self.last.saw_all };
        self.writers.statuses.begin(&self.claims.context, &self.claims.in_flight, objects, &findings);
        let metrics = &self.claims.context.metrics;
        metrics.claims.in_flight.set(level(self.claims.in_flight.len()));
        let backlog = self.last.backlog.as_ref().map_or(0, |backlog| backlog.gangs.len());
        metrics.cycles.gangs_backlog.set(level(backlog));
    }

    /// What has changed since the last time round; now and then, everything.
    fn changes(&mut self, objects: &mut Objects) -> Changes {
        let changes = objects.take_changes();
        let now = self.claims.context.now_ms();
        if now < self.upkeep.whole_at_ms {
            return changes;
        }
        self.upkeep.whole_at_ms = now.saturating_add(WHOLE_EVERY_MS);
        objects.everything()
    }

    /// Whether a cycle may begin: not while gangs wait that were found a moment ago, nor while new offers are being verified; and after
    /// a long cycle the processor's time is the claims'.
    fn may_search(&self) -> bool {
        !self.is_verifying() && !self.has_fresh_gangs() && self.claims.context.now_ms() >= self.search.rest_until_ms
    }

    /// Whether gangs wait that were found a moment ago: these first, before others are looked for.
    fn has_fresh_gangs(&self) -> bool {
        let now = self.claims.context.now_ms();
        self.last.backlog.as_ref().is_some_and(|backlog| now.saturating_sub(backlog.found_ms) < FRESH_MS)
    }

    /// Whether the verification of new offers has just begun: a cycle would find those closed.
    fn is_verifying(&self) -> bool {
        self.claims.verification.lock().is_awaited(self.claims.context.now_ms())
    }

    /// Starts driving every claim that has a next step, and deletes Matches beyond the history limit. Of those that are decided,
    /// so many at a time.
    fn drive_claims(&mut self, objects: &Objects) {
        let claims = &self.claims;
        let places = OLD_MAX.saturating_sub(claims.in_flight.old());
        let due = claims.with_moment(places, |moment| self.dirty.due(objects, moment));
        if let Some(Known { undecided, claims: known }) = due.known {
            claims.in_flight.forget_unless(&undecided);
            claims.stalls().retain(|uid| known.contains(uid), |uid| objects.jobs.by_uid(uid).is_some());
        }
        for view in due.claims {
            if let Some(under_way) = claims.in_flight.begin(&view, None) {
                tokio::spawn(claims.clone().drive(view, under_way));
            }
        }
        for (key, uid) in self.writers.accounts.prunable(due.outlived, objects, &claims.context) {
            let claims = claims.clone();
            tokio::spawn(async move { claims.context.cluster.delete::<Match>(&key, &uid).await });
        }
        for batch in due.outlived_work {
            tokio::spawn(claims.clone().clean_up(batch));
        }
    }

    /// Starts writing back what was wiped. This is looked for now and then only; meanwhile nothing of those offers is given away.
    fn repair(&mut self, objects: &Objects) {
        let now = self.claims.context.now_ms();
        if now < self.upkeep.repair_at_ms || !self.upkeep.may_be_wiped {
            return;
        }
        self.upkeep.repair_at_ms = now.saturating_add(REPAIR_EVERY_MS);
        let lost = lost_entries(objects);
        self.upkeep.may_be_wiped = !lost.is_empty();
        for (view, numbers) in lost {
            let seen = self.claims.observe(&view, objects).seen;
            let rests = self.claims.stalls().rests_until(&view.uid, seen, now).is_some();
            if !rests && let Some(under_way) = self.claims.in_flight.begin(&view, None) {
                tokio::spawn(self.claims.clone().restore(view, numbers, seen, under_way));
            }
        }
    }

    /// Hands gangs on to be claimed, as many as may be under way at once; the others wait, or are found again. So do those whose
    /// job is being told that it waits: what its claim says comes after that.
    fn hand_on(&mut self, objects: &Objects) {
        let Some(mut backlog) = self.last.backlog.take() else { return };
        let mut later = VecDeque::new();
        while self.claims.in_flight.undecided() < self.config.cycle.claims_max
            && let Some(gang) = backlog.gangs.pop_front()
        {
            let Some(found) = self.recorded(&backlog, &gang, objects) else { continue };
            let (taken, view) = (assumed_gang(&found), View::of(found));
            if self.claims.in_flight.is_told(&view.root.uid) {
                later.push_back(gang);
            } else if let Some(under_way) = self.claims.in_flight.begin(&view, Some(taken)) {
                tokio::spawn(self.claims.clone().drive(view, under_way));
            }
        }
        later.append(&mut backlog.gangs);
        if !later.is_empty() {
            self.last.backlog = Some(Backlog { gangs: later, ..backlog });
        }
    }

    /// The Match of a gang, if its job still waits.
    fn recorded(&self, backlog: &Backlog, gang: &Gang, objects: &Objects) -> Option<Match> {
        let Backlog { pool, charges, bounds, provenance, .. } = backlog;
        let root = gang.root()?;
        let charges = charges.get(&root).map(|charges| &**charges);
        let mut found = record(objects, pool, gang, &self.claims.engine, provenance, charges)?;
        found.spec.active_deadline_seconds = bounds.get(&root).copied();
        still_waits(&found, objects).then_some(found)
    }

    /// What is said of the jobs whose Match the server would not take.
    fn back_off(&mut self, objects: &Objects) {
        let now_ms = self.claims.context.now_ms();
        let mut held = {
            let mut job_backoff = self.claims.job_backoff.lock();
            job_backoff.held(now_ms, |uid| generation(uid, objects))
        };
        held.extend(self.gathering.held().map(|(uid, told)| (uid.clone(), told.clone())));
        for (uid, finding) in held {
            if !self.last.findings.get(&uid).is_some_and(|known| known.says(&finding)) {
                self.writers.statuses.pending.found(&uid, &finding, objects, (self.claims.context.clock.now(), now_ms));
                self.last.findings.insert(uid, Arc::new(finding));
            }
        }
    }

    /// How long to wait if nothing changes. `due`: a cycle is to begin as soon as it may.
    fn pause(&mut self, due: bool) -> Duration {
        let now = self.claims.context.now_ms();
        self.set_timers(due, now);
        let every = self.config.cycle_every();
        // What was due already has been looked at in this round: to look again at once would find the same.
        let left = |next: u64| Duration::from_millis(next.saturating_sub(now)).max(PAUSE_MIN);
        self.timers.next_ms().map_or(every, |next| every.min(left(next)))
    }

    /// Sets the timers of all parts that know their times themselves.
    fn set_timers(&mut self, due: bool, now: u64) {
        let (claims, search, upkeep) = (&self.claims, &self.search, &self.upkeep);
        let ahead = |at_ms: Option<u64>| at_ms.filter(|at_ms| *at_ms > now);
        let begun = second_of(now);
        let stale_ms = self.last.backlog.as_ref().map(|backlog| backlog.found_ms.saturating_add(FRESH_MS));
        let times = [
            (Due::Claims, self.dirty.next_ms()),
            (Due::Stalls, claims.stalls().next_ms(begun).map(together)),
            (Due::OfferBackoff, claims.offer_backoff.lock().next_ms(begun).map(together)),
            (Due::JobBackoff, claims.job_backoff.lock().next_ms(begun).map(together)),
            (Due::LeftOut, ahead(search.snapshots.next_ms())),
            (Due::Gathering, ahead(self.gathering.next_ms())),
            (Due::CostlyJobs, search.costly_jobs.next_ms(now)),
            (Due::CostlyOffers, search.costly_offers.next_ms(now)),
            (Due::Verification, claims.verification.lock().next_ms(now)),
            (Due::Repair, ahead(Some(upkeep.repair_at_ms).filter(|_| upkeep.may_be_wiped))),
            (Due::Backlog, ahead(stale_ms)),
            (Due::Search, ahead(Some(search.rest_until_ms).filter(|_| due))),
            (Due::Regular, ahead(Some(search.regular_at_ms))),
            (Due::Reasons, ahead(search.reasons_at_ms)),
            (Due::Statuses, self.writers.statuses.next_ms(now)),
            (Due::JobCreator, self.writers.job_creator.next_ms(now)),
            (Due::PodPlacer, self.writers.pod_placer.next_ms(now)),
            (Due::Rereader, self.writers.rereader.next_ms(now)),
            (Due::Census, ahead(Some(upkeep.census_at_ms))),
        ];
        times.into_iter().for_each(|(part, at_ms)| self.timers.set_to(part, at_ms));
    }
}

/// When a cycle begins for a pause that ends at a time: with all that end in the same second. Thousands of jobs of one tenant may pause, and each
/// end would be a cycle.
fn together(at_ms: u64) -> u64 {
    at_ms.div_ceil(TOGETHER_MS).saturating_mul(TOGETHER_MS)
}

/// When the second began: what has ended since then waits for its end.
fn second_of(now_ms: u64) -> u64 {
    now_ms - now_ms % TOGETHER_MS
}

/// The time between two cycles that begin because pauses have ended.
const TOGETHER_MS: u64 = 1000;

/// The least time between two rounds if nothing changes.
const PAUSE_MIN: Duration = Duration::from_millis(10);

/// How long changes are gathered before they are looked at. Where looking takes long, because there is much to look at, it is done
/// less often: most of the processor's time is the claims'.
fn debounce(least: Duration, round: Duration) -> Duration {
    least.max(round.saturating_mul(ROUNDS_APART).min(GATHER_MAX))
}

/// The generation of the job with this uid.
fn generation(uid: &str, objects: &Objects) -> Option<i64> {
    objects.jobs.by_uid(uid).map(|(_, held)| held.object.metadata.generation.unwrap_or(0))
}

/// Whether the job of a new Match has not been held, paused or finished since the snapshot was made.
fn still_waits(found: &Match, objects: &Objects) -> bool {
    let Some(root) = found.spec.members.first() else { return false };
    let job = objects.jobs.get(&ObjectKey::new(&root.namespace, &root.name));
    job.is_some_and(|held| job_state(held, objects) == JobState::Waits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_pauses_of_thousands_of_jobs_begin_one_cycle_in_a_second() {
        let ends = (0..5000).map(|job| 60_000 + job * 2);
        let cycles: std::collections::BTreeSet<u64> = ends.clone().map(together).collect();
        assert_eq!(cycles.len(), 11, "in ten seconds");
        assert!(ends.into_iter().all(|at_ms| (at_ms..at_ms + TOGETHER_MS).contains(&together(at_ms))));
        // One that has ended in this second is waited for all the same, whatever else begins a round meanwhile.
        assert_eq!([60_001, 60_999, 61_000].map(second_of), [60_000, 60_000, 61_000]);
    }

    #[test]
    fn who_has_much_to_look_at_looks_less_often() {
        let after = |round| debounce(Duration::from_millis(50), Duration::from_millis(round)).as_millis();
        assert_eq!((after(0), after(5), after(20), after(3000)), (50, 50, 180, 500));
    }
}
