//! Reads large ads once more for which there is room again: all that is kept of them meanwhile are their bare bones.

use std::sync::Arc;

use crds::{Job, License, Machine};
use kube::core::NamespaceResourceScope;
use pool::{Advertises, Lean, ObjectKey, Objects};
use tokio::task::JoinSet;

use crate::context::Context;
use crate::cycle::backoff::Pause;
use crate::write::answer::Answer;

/// The most that are read at once, of each kind.
const READS_MAX: usize = 4;
/// How long none is read after one could not be.
const REST_MS: u64 = 5_000;

/// Reads them, beside the main loop.
#[derive(Debug, Default)]
pub(crate) struct Rereader {
    running: JoinSet<bool>,
    pause: Pause,
    failed: bool,
}

impl Rereader {
    /// Begins to read those for which there is room, unless some are being read.
    pub(crate) fn begin(&mut self, context: &Arc<Context>, objects: &mut Objects) {
        let now_ms = context.now_ms();
        if std::mem::take(&mut self.failed) {
            self.pause.begin(REST_MS, now_ms);
        }
        if !self.running.is_empty() || self.pause.lasts(now_ms) {
            return;
        }
        for key in objects.jobs.fitting(READS_MAX) {
            self.running.spawn(read::<Job>(context.clone(), key, |all, found| all.jobs.put(found)));
        }
        for key in objects.machines.fitting(READS_MAX) {
            self.running.spawn(read::<Machine>(context.clone(), key, |all, found| all.machines.put(found)));
        }
        for key in objects.licenses.fitting(READS_MAX) {
            self.running.spawn(read::<License>(context.clone(), key, |all, found| all.licenses.put(found)));
        }
    }

    /// Waits until those that were begun are read; for ever, if none were.
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
        Some(self.pause.until_ms()).filter(|until| *until > now_ms)
    }
}

/// Reads one; whether there was an answer. One that has gone is told of by its watch.
async fn read<K>(context: Arc<Context>, key: ObjectKey, put: fn(&mut Objects, K)) -> bool
where
    K: Lean<Scope = NamespaceResourceScope> + Advertises,
{
    match context.cluster.get::<K>(&key).await {
        Answer::Done(found) => {
            context.cache.update(|all| put(all, found));
            true
        }
        Answer::Missing => true,
        Answer::Denied(_) | Answer::Exists | Answer::Unknown(_) => false,
    }
}
