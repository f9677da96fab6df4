//! Cache of what the cluster has shown, and a notification when it changes.

pub(crate) mod agent_leases;
pub(crate) mod verification;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pool::{AgentLiveness, Limits, ObjectKey, Objects, OwnerTrust, WorkloadScope};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cache::agent_leases::AgentLeases;

/// The cache. Watch events and the answers to our own writes go into it; older states never replace newer ones.
pub(crate) struct Cache {
    objects: Mutex<Objects>,
    agent_leases: Mutex<AgentLeases>,
    changed: Notify,
    /// Something other than an object has changed for which a cycle is due.
    cycle_due: AtomicBool,
    started: Instant,
}

impl Cache {
    /// Nothing is known yet.
    pub(crate) fn new(owners: OwnerTrust, scope: WorkloadScope) -> Cache {
        Cache {
            objects: Mutex::new(Objects::new(owners).with_workloads_in(scope).within(Limits::PRODUCT)),
            agent_leases: Mutex::default(),
            changed: Notify::new(),
            cycle_due: AtomicBool::new(true),
            started: Instant::now(),
        }
    }

    /// This process's monotonic clock, in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The objects, for a short look; never held across an await.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock()
    }

    /// Changes it, and notifies the main loop.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Objects)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    /// Changes it, and notifies the main loop if that was new.
    pub(crate) fn update_if_new(&self, change: impl FnOnce(&mut Objects) -> bool) {
        let is_new = change(&mut self.lock());
        if is_new {
            self.changed.notify_one();
        }
    }

    /// Takes in the Lease of an agent, by the digest of what it says; `None`: there is none, or it has no holder. Notifies the main loop only if
    /// that brings an agent back.
    pub(crate) fn saw_lease(&self, key: ObjectKey, held: Option<u64>) {
        if self.agent_leases().saw(key, held, self.now_ms()) {
            self.notify();
        }
    }

    /// All Leases have been listed: one that is not among them is not there.
    pub(crate) fn listed_leases(&self, seen: &BTreeSet<ObjectKey>) {
        self.agent_leases().listed(seen, self.now_ms());
        self.notify();
    }

    /// Takes what the Leases say into the cache, if it may have changed. Whether it has, and when the next agent falls silent.
    pub(crate) fn look_after_agents(&self, objects: &mut Objects, offers_changed: bool) -> (bool, Option<u64>) {
        let now_ms = self.now_ms();
        let mut leases = self.agent_leases();
        match leases.lives(objects, offers_changed, now_ms) {
            (Some(lives), next) => (objects.apply_agents(lives), next),
            (None, next) => (false, next),
        }
    }

    /// What a Lease says at this moment of an agent that may be silent for so many seconds.
    pub(crate) fn life(&self, lease: &ObjectKey, silence_seconds: u64) -> AgentLiveness {
        self.agent_leases().life(lease, silence_seconds.saturating_mul(1000), self.now_ms()).0
    }

    fn agent_leases(&self) -> MutexGuard<'_, AgentLeases> {
        self.agent_leases.lock()
    }

    /// Whether something other than an object has changed since this was called last for which a cycle is due.
    pub(crate) fn take_cycle_due(&self) -> bool {
        self.cycle_due.swap(false, Ordering::AcqRel)
    }

    /// Notifies the main loop: something other than an object has changed.
    pub(crate) fn notify(&self) {
        self.cycle_due.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Waits for a notification.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}
