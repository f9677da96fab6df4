//! What the claims of this process share: the table of those in flight, the write batcher, and every backoff.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crds::{Job, Match};
use matchmaker::Config as EngineConfig;
use pool::{Objects, OwnerTrust};

use crate::cache::verification::OfferVerification;
use crate::claims::batcher::WriteBatcher;
use crate::claims::observation::{Moment, Observation, observe};
use crate::claims::stalls::Stalls;
use crate::claims::view::View;
use crate::context::Context;
use crate::cycle::in_flight::InFlight;
use crate::cycle::job_backoff::JobBackoff;
use crate::cycle::offer_backoff::OfferBackoff;

/// What every claim of this process needs.
pub(crate) struct Claims {
    pub(crate) context: Arc<Context>,
    pub(crate) in_flight: Arc<InFlight>,
    /// Writes to the ledgers of offers.
    pub(super) batcher: WriteBatcher,
    pub(crate) offer_backoff: Mutex<OfferBackoff>,
    pub(crate) job_backoff: Mutex<JobBackoff>,
    pub(crate) verification: Mutex<OfferVerification>,
    /// Claims that cannot go on now.
    stalls: Mutex<Stalls>,
    /// How long the work of a claim that has ended is given to end, in milliseconds.
    pub(super) stop_timeout_ms: u64,
    pub(crate) engine: EngineConfig,
    pub(super) owners: OwnerTrust,
}

impl Claims {
    /// None is driven yet.
    pub(crate) fn new(context: Arc<Context>, engine: EngineConfig, owners: OwnerTrust, stop_timeout_ms: u64) -> Claims {
        Claims {
            batcher: WriteBatcher::new(context.clone(), engine.clone()),
            context,
            in_flight: Arc::default(),
            offer_backoff: Mutex::default(),
            job_backoff: Mutex::default(),
            verification: Mutex::default(),
            stalls: Mutex::default(),
            stop_timeout_ms,
            engine,
            owners,
        }
    }

    /// A term begins: whatever claims have waited for, all are looked at.
    pub(crate) fn begin_term(&self) {
        *self.stalls() = Stalls::default();
    }

    /// The backoff of claims that cannot go on now, locked.
    pub(crate) fn stalls(&self) -> MutexGuard<'_, Stalls> {
        self.stalls.lock()
    }

    /// What counts beside the objects now.
    pub(crate) fn with_moment<T>(&self, places: usize, look: impl FnOnce(&Moment<'_>) -> T) -> T {
        let now_ms = self.context.now_ms();
        look(&Moment {
            now: self.context.clock.now(),
            now_ms,
            epoch: self.context.cluster.leadership.epoch(),
            deadline_ms: &|view| self.deadline(view),
            under_way: &|view| self.in_flight.has(view),
            stop_by_ms: &|view, work| self.stop_by_ms(&view.uid, work),
            starts_at: &|view| self.stalls().starts_at(&view.uid, now_ms),
            rests_until: &|view, seen| self.stalls().rests_until(&view.uid, seen, now_ms),
            places,
        })
    }

    /// What the objects show of a claim now.
    pub(crate) fn observe(&self, view: &View, objects: &Objects) -> Observation {
        self.with_moment(0, |moment| observe(view, objects, moment))
    }

    /// Until when work that is to stop for a claim is given time to end, counted from when this process asked first: the workload of
    /// this uid, the agent of the offer of this uid, or the claim's pods.
    pub(super) fn stop_by_ms(&self, claim: &str, work: &str) -> u64 {
        self.stalls().stopping_since(claim, work, self.context.now_ms()).saturating_add(self.stop_timeout_ms)
    }

    /// When an undecided claim is aborted, counted from when this process saw it first.
    fn deadline(&self, view: &View) -> u64 {
        let timeout = view.found.as_ref().map_or(30, |found| found.spec.reserve_timeout_seconds);
        let timeout = u64::try_from(timeout).unwrap_or(30).saturating_mul(1000);
        let age = if view.uid.is_empty() { 0 } else { self.in_flight.age_ms(&view.uid) };
        self.context.now_ms().saturating_add(timeout).saturating_sub(age)
    }

    /// The engine as it was when a gang was found.
    pub(super) fn engine_of(&self, found: &Match) -> EngineConfig {
        EngineConfig { seed: u64::try_from(found.spec.cycle.seed).unwrap_or(0), ..self.engine.clone() }
    }

    /// The job of a claim, or another one of its name.
    pub(super) fn job(&self, view: &View) -> Option<Arc<Job>> {
        self.context.cache.lock().jobs.get(&view.root.key).map(|held| held.object.clone())
    }
}
