//! What the cluster has shown into one shared picture, and a bell that rings when it changes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pool::{Objects, OwnerTrust};
use tokio::sync::Notify;

/// The picture. Watch events and the answers to our own writes go into it; older states never replace newer ones.
pub(crate) struct World {
    objects: Mutex<Objects>,
    changed: Notify,
}

impl World {
    /// Nothing is known yet.
    pub(crate) fn new(owners: OwnerTrust) -> World {
        World { objects: Mutex::new(Objects::new(owners)), changed: Notify::new() }
    }

    /// The objects, for a short look; never held across an await.
    pub(crate) fn look(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the picture and rings the bell.
    pub(crate) fn learn(&self, change: impl FnOnce(&mut Objects)) {
        change(&mut self.look());
        self.changed.notify_one();
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
