//! What all writers of this process share: the API server, the cache, the clock, metrics and Events.

use std::sync::Arc;

use kube::core::NamespaceResourceScope;
use pool::{ObjectKey, ReadTrimmed, Stored};

use crate::cache::Cache;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::write::answer::Answer;
use crate::write::events::Events;
use crate::write::requests::{Cluster, ObjectPatch};

/// What a writer needs to read, to write and to report.
pub(crate) struct Context {
    /// The API server.
    pub(crate) cluster: Cluster,
    /// The cache of its objects.
    pub(crate) cache: Arc<Cache>,
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<Metrics>,
    /// The Events that wait to be written.
    pub(crate) events: Events,
}

/// A kind that has ads, and whose objects are in namespaces: what is read or written of it goes into the cache.
pub(crate) trait CachedKind: Stored + ReadTrimmed<Scope = NamespaceResourceScope> {}

impl<K: Stored + ReadTrimmed<Scope = NamespaceResourceScope>> CachedKind for K {}

impl Context {
    /// Patches the status of an object, and caches the result.
    pub(crate) async fn patch_status<K: CachedKind>(&self, key: &ObjectKey, patch: &ObjectPatch) -> Answer<K> {
        let answer = self.cluster.patch_status::<K>(key, patch).await;
        answer.inspect(|found| self.cache.update(|all| all.put(found.clone())))
    }

    /// Reads an object at the server, and caches it.
    pub(crate) async fn read<K: CachedKind>(&self, key: &ObjectKey) -> Answer<()> {
        self.cluster.get::<K>(key).await.map(|found| self.cache.update(|all| all.put(found)))
    }

    /// This process's monotonic clock, in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        self.cache.now_ms()
    }
}
