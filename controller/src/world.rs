//! What the cluster has shown into one shared picture, and a bell that rings when it changes.

use std::collections::BTreeSet;

use parking_lot::{Mutex, MutexGuard};
use pool::{Life, Limits, ObjectKey, Objects, OwnerTrust, Reach};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::pulses::Pulses;

/// The picture. Watch events and the answers to our own writes go into it; older states never replace newer ones.
pub(crate) struct World {
    objects: Mutex<Objects>,
    pulses: Mutex<Pulses>,
    changed: Notify,
    started: Instant,
}

impl World {
    /// Nothing is known yet.
    pub(crate) fn new(owners: OwnerTrust, reach: Reach) -> World {
        World {
            objects: Mutex::new(Objects::new(owners).reaching(reach).within(Limits::PRODUCT)),
            pulses: Mutex::default(),
            changed: Notify::new(),
            started: Instant::now(),
        }
    }

    /// This process's monotonic clock, in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The objects, for a short look; never held across an await.
    pub(crate) fn look(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock()
    }

    /// Changes the picture and rings the bell.
    pub(crate) fn learn(&self, change: impl FnOnce(&mut Objects)) {
        change(&mut self.look());
        self.changed.notify_one();
    }

    /// Changes the picture, and rings the bell if that was new.
    pub(crate) fn learn_if_new(&self, change: impl FnOnce(&mut Objects) -> bool) {
        let is_new = change(&mut self.look());
        if is_new {
            self.changed.notify_one();
        }
    }

    /// Takes in the Lease of an agent, by the digest of what it says; `None`: there is none, or nobody holds it. The bell rings only if that brings somebody back.
    pub(crate) fn saw_lease(&self, key: ObjectKey, held: Option<u64>) {
        if self.pulses().saw(key, held, self.now_ms()) {
            self.ring();
        }
    }

    /// All Leases have been listed: one that is not among them is not there.
    pub(crate) fn listed_leases(&self, seen: &BTreeSet<ObjectKey>) {
        self.pulses().listed(seen, self.now_ms());
        self.ring();
    }

    /// Takes what the Leases say into the picture, if it may have changed. Whether it has, and when the next agent falls silent.
    pub(crate) fn look_after_agents(&self, objects: &mut Objects, offers_changed: bool) -> (bool, Option<u64>) {
        let now_ms = self.now_ms();
        let mut pulses = self.pulses();
        match pulses.lives(objects, offers_changed, now_ms) {
            (Some(lives), next) => (objects.take_in_agents(lives), next),
            (None, next) => (false, next),
        }
    }

    /// What a Lease says at this moment of an agent that may be silent for so many seconds.
    pub(crate) fn life(&self, lease: &ObjectKey, silence_seconds: u64) -> Life {
        self.pulses().life(lease, silence_seconds.saturating_mul(1000), self.now_ms()).0
    }

    fn pulses(&self) -> MutexGuard<'_, Pulses> {
        self.pulses.lock()
    }

    /// Rings the bell: something other than an object has changed.
    pub(crate) fn ring(&self) {
        self.changed.notify_one();
    }

    /// Waits for the bell.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}
