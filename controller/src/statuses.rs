//! Statuses that are due into writes, a few at a time, and into pauses while the server takes none.

use std::sync::Arc;

use crds::{Job, License, Machine};
use futures::StreamExt;
use pool::Objects;
use tokio::task::JoinHandle;

use crate::api::{Answer, Change};
use crate::claims::Driver;
use crate::status::{Findings, Update, updates};

/// The most status writes under way at once; and beside claims, which come first.
const WRITES_MAX: usize = 16;
const BESIDE_CLAIMS: usize = 4;
/// The most that are begun before the objects are looked at again: later they are not what they were.
const BATCH_MAX: usize = 64;
/// The first pause after statuses could not be written, in milliseconds; it doubles up to 32 times that.
const REST_MS: u64 = 1000;

/// What is being written, and how it went lately.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    /// Writes under way; they answer with why some were not taken.
    running: Option<JoinHandle<Vec<String>>>,
    /// How often in a row some were not taken.
    failures: u32,
    /// Until when they are left alone, in [`Driver::now_ms`].
    rest_until_ms: u64,
}

impl Statuses {
    /// Begins to write the statuses that are due, unless some are being written: claims do not wait for them.
    pub(crate) fn begin(&mut self, driver: &Arc<Driver>, objects: &Objects, findings: &Findings<'_>) {
        if self.running.is_some() || driver.now_ms() < self.rest_until_ms {
            return;
        }
        let mut due = updates(objects, findings, &driver.flights.jobs(), driver.clock.now());
        if due.is_empty() {
            self.failures = 0;
            return;
        }
        // Those that the server does not take must not keep the others waiting.
        let tried = usize::try_from(self.failures).unwrap_or(0).saturating_mul(BATCH_MAX);
        let first = tried.checked_rem(due.len()).unwrap_or(0);
        due.rotate_left(first);
        due.truncate(BATCH_MAX);
        let side_by_side = if driver.flights.len() == 0 { WRITES_MAX } else { BESIDE_CLAIMS };
        let driver = driver.clone();
        self.running = Some(tokio::spawn(async move {
            let writes = due.into_iter().map(|update| write(&driver, update));
            let all = futures::stream::iter(writes).buffer_unordered(side_by_side);
            all.filter_map(std::future::ready).collect().await
        }));
    }

    /// Waits until what was begun is written; for ever, if nothing was. While the server takes none, it is asked with growing
    /// pauses, and the log says it once a round instead of once an object.
    pub(crate) async fn written(&mut self, driver: &Driver) {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let lost = running.await.unwrap_or_default();
        self.running = None;
        let Some(first) = lost.first() else {
            self.failures = 0;
            return;
        };
        tracing::warn!(statuses = lost.len(), first, "statuses not written; they are tried again");
        let pause = REST_MS.saturating_mul(1 << self.failures.min(5));
        self.failures = self.failures.saturating_add(1);
        self.rest_until_ms = driver.now_ms().saturating_add(pause);
    }

    /// When the pause ends, if one is running.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        Some(self.rest_until_ms).filter(|until| *until > now_ms)
    }
}

/// Writes one status; why not, if nobody took it. If the object has changed in the meantime, the change comes by watch and
/// the status is made anew.
async fn write(driver: &Driver, update: Update) -> Option<String> {
    // Its claim was taken up meanwhile: that tells it more.
    if update.kind == "Job" && driver.flights.jobs().contains(&update.uid) {
        return None;
    }
    let (key, patch) = (update.key, Change::Json(update.patch));
    let answer = match update.kind {
        "Job" => driver.cluster.patch_status::<Job>(&key, &patch).await.map(|found| {
            driver.world.learn(|all| all.jobs.put(found));
        }),
        "Machine" => driver.cluster.patch_status::<Machine>(&key, &patch).await.map(|found| {
            driver.world.learn(|all| all.machines.put(found));
        }),
        _ => driver.cluster.patch_status::<License>(&key, &patch).await.map(|found| {
            driver.world.learn(|all| all.licenses.put(found));
        }),
    };
    lost(answer).map(|why| format!("{} {key}: {why}", update.kind))
}

/// Why a status was not written, unless it is because the object has moved on.
fn lost(answer: Answer<()>) -> Option<String> {
    match answer {
        Answer::Refused(refused) if !refused.rules.is_empty() => Some(refused.message),
        Answer::Lost(why) => Some(why),
        Answer::Done(_) | Answer::Refused(_) | Answer::Missing | Answer::Exists => None,
    }
}
