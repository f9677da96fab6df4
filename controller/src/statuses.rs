//! Statuses that are due into writes, a few at a time, and into pauses while the server takes none.

use std::sync::Arc;

use crds::{Job, License, Machine};
use futures::StreamExt;
use jiff::Timestamp;
use pool::{Changes, Objects};
use tokio::task::JoinHandle;

use crate::api::{Answer, Change};
use crate::claims::Driver;
use crate::metrics;
use crate::status::{Finding, Findings, Pending, Update, Whose, count_gave_up};

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
    /// Whose are to be looked at.
    pending: Pending,
    /// Writes under way; they answer with those that were not taken, and why.
    running: Option<JoinHandle<Vec<(Whose, String)>>>,
    /// How often in a row some were not taken.
    failures: u32,
    /// Until when they are left alone, in [`Driver::now_ms`].
    rest_until_ms: u64,
}

impl Statuses {
    /// Takes in what has changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects) {
        self.pending.note(changes, objects);
    }

    /// The job with this uid is to be looked at.
    pub(crate) fn touch_job(&mut self, uid: &str, objects: &Objects) {
        self.pending.touch_job(uid, objects);
    }

    /// What is said of the job with this uid is not what was said of it before.
    pub(crate) fn found(&mut self, uid: &str, finding: &Finding, objects: &Objects, now: (Timestamp, u64)) {
        self.pending.found(uid, finding, objects, now);
    }

    /// Begins to write the statuses that are due, unless some are being written: claims do not wait for them.
    pub(crate) fn begin(&mut self, driver: &Arc<Driver>, objects: &Objects, findings: &Findings<'_>) {
        let now_ms = driver.now_ms();
        if self.running.is_some() || now_ms < self.rest_until_ms {
            return;
        }
        let due = self.pending.due(objects, findings, &driver.flights.jobs(), (driver.clock.now(), now_ms), BATCH_MAX);
        if due.is_empty() {
            return;
        }
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
        let Some((_, first)) = lost.first() else {
            self.failures = 0;
            return;
        };
        driver.cluster.metrics.add(&metrics::STATUSES_LOST, &[], i64::try_from(lost.len()).unwrap_or(i64::MAX));
        tracing::warn!(statuses = lost.len(), first, "statuses not written; they are tried again");
        let pause = REST_MS.saturating_mul(1 << self.failures.min(5));
        self.failures = self.failures.saturating_add(1);
        self.rest_until_ms = driver.now_ms().saturating_add(pause);
        // After all others: those that the server does not take must not keep them waiting.
        self.pending.again(lost.into_iter().map(|(whose, _)| whose).collect());
    }

    /// When there is something to do if nothing changes: the pause ends, or a status is to be looked at.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let rested = Some(self.rest_until_ms).filter(|until| *until > now_ms && !self.pending.is_empty());
        rested.into_iter().chain(self.pending.next_ms()).min()
    }
}

/// Writes one status; why not, if nobody took it. If the object has changed in the meantime, the change comes by watch and
/// the status is made anew.
async fn write(driver: &Driver, update: Update) -> Option<(Whose, String)> {
    // Not while it is claimed: that tells it more. And no claim begins before it has heard this.
    let telling = if update.kind == "Job" { Some(driver.flights.tell(&update.uid)?) } else { None };
    let (key, patch) = (update.key, Change::Json(update.patch));
    let answer = match update.kind {
        "Job" => driver.cluster.patch_status::<Job>(&key, &patch).await.map(|found| {
            count_gave_up(&driver.cluster.metrics, &found);
            driver.world.learn(|all| all.jobs.put(found));
        }),
        "Machine" => driver.cluster.patch_status::<Machine>(&key, &patch).await.map(|found| {
            driver.world.learn(|all| all.machines.put(found));
        }),
        _ => driver.cluster.patch_status::<License>(&key, &patch).await.map(|found| {
            driver.world.learn(|all| all.licenses.put(found));
        }),
    };
    drop(telling);
    let why = lost(answer)?;
    let said = format!("{} {key}: {why}", update.kind);
    Some(((update.kind, key), said))
}

/// Why a status was not written, unless it is because the object has moved on.
fn lost(answer: Answer<()>) -> Option<String> {
    match answer {
        Answer::Refused(refused) if !refused.rules.is_empty() => Some(refused.message),
        Answer::Lost(why) => Some(why),
        Answer::Done(_) | Answer::Refused(_) | Answer::Missing | Answer::Exists => None,
    }
}
