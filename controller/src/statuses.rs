//! Statuses that are due into writes, a few at a time, and into pauses while the server takes none.

use std::collections::BTreeMap;

use crds::{Job, License, Machine};
use futures::StreamExt;
use jiff::Timestamp;
use pool::Objects;

use crate::api::{Answer, Change};
use crate::claims::Driver;
use crate::status::{Finding, Update, updates};

/// The most status writes under way at once.
const WRITES_MAX: usize = 16;
/// The first pause after statuses could not be written, in milliseconds; it doubles up to 32 times that.
const REST_MS: u64 = 1000;

/// How the writes went lately.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    /// How often in a row some were not taken.
    failures: u32,
    /// Until when they are left alone, in [`Driver::now_ms`].
    rest_until_ms: u64,
}

impl Statuses {
    /// Writes the statuses that are due. While the server takes none, it is asked with growing pauses, and the log says it
    /// once a round instead of once an object.
    pub(crate) async fn write(&mut self, driver: &Driver, objects: &Objects, findings: &BTreeMap<String, Finding>) {
        if driver.now_ms() < self.rest_until_ms {
            return;
        }
        let due = updates(objects, findings, &driver.flights.jobs(), Timestamp::now());
        let writes = due.into_iter().map(|update| write(driver, update));
        let lost: Vec<String> =
            futures::stream::iter(writes).buffer_unordered(WRITES_MAX).filter_map(std::future::ready).collect().await;
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
