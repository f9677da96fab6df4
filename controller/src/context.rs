//! What all writers of this process share: the API server, the cache, the clock, metrics and Events.

use std::sync::Arc;

use crate::cache::Cache;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::write::events::Events;
use crate::write::requests::Cluster;

/// What a writer needs to read, to write and to report.
pub(crate) struct Context {
    /// The API server.
    pub(crate) cluster: Cluster,
    /// The cache of its objects.
    pub(crate) cache: Arc<Cache>,
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) events: Events,
}

impl Context {
    /// This process's monotonic clock, in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        self.cache.now_ms()
    }
}
