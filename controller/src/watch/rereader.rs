//! Reads stripped objects again when there is memory for their large ads.

use std::sync::Arc;

use crds::{Job, License, Machine};
use pool::Objects;
use tokio::task::JoinSet;

use crate::context::{CachedKind, Context};
use crate::cycle::backoff::Pause;
use crate::write::answer::Answer;

/// The most that are read at once, of each kind.
const READS_MAX: usize = 4;
/// The pause after a read that failed.
const REST_MS: u64 = 5_000;

/// Reads them, beside the main loop.
#[derive(Debug, Default)]
pub(crate) struct Rereader {
    running: JoinSet<bool>,
    pause: Pause,
    failed: bool,
}

impl Rereader {
    /// Begins to read the objects for which there is memory, unless some are being read.
    pub(crate) fn begin(&mut self, context: &Arc<Context>, objects: &mut Objects) {
        let now_ms = context.now_ms();
        if std::mem::take(&mut self.failed) {
            self.pause.begin(REST_MS, now_ms);
        }
        if !self.running.is_empty() || self.pause.lasts(now_ms) {
            return;
        }
        self.begin_kind::<Job>(context, objects);
        self.begin_kind::<Machine>(context, objects);
        self.begin_kind::<License>(context, objects);
    }

    fn begin_kind<K: CachedKind>(&mut self, context: &Arc<Context>, objects: &mut Objects) {
        for key in K::store_mut(objects).fitting(READS_MAX) {
            let context = context.clone();
            // Whether there was an answer. The deletion of an object is seen by its watch.
            self.running
                .spawn(async move { matches!(context.read::<K>(&key).await, Answer::Done(()) | Answer::Missing) });
        }
    }

    /// Waits until all reads have ended; for ever, if there are none.
    pub(crate) async fn read(&mut self) {
        if self.running.is_empty() {
            return std::future::pending().await;
        }
        while let Some(read) = self.running.join_next().await {
            self.failed |= !read.unwrap_or(false);
        }
    }

    /// When there may be something to do if nothing changes.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        self.pause.ends_ms(now_ms)
    }
}
