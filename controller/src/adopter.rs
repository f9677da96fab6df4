//! The one who makes the Jobs that ask for labelled batch Jobs.

use crds::Job;
use futures::StreamExt;
use pool::Objects;

use crate::api::Answer;
use crate::claims::Driver;
use crate::workloads::adoptions;

/// The most writes under way at once.
const WRITES_MAX: usize = 16;
/// The most writes in one go: claims must not wait until thousands are written.
const GO_MAX: usize = 256;
/// How long nothing is written after something could not be.
const REST_MS: u64 = 1000;

/// Makes them, with pauses while the server takes none.
#[derive(Debug, Default)]
pub(crate) struct Adopter {
    rest_until_ms: u64,
}

impl Adopter {
    /// Those that are missing; and when somebody has to look again, if nothing changes.
    pub(crate) fn plan(&self, objects: &Objects, now_ms: u64) -> Result<Vec<Job>, u64> {
        if now_ms < self.rest_until_ms { Err(self.rest_until_ms) } else { Ok(adoptions(objects)) }
    }

    /// Makes them. When there is more to do, if nothing else happens.
    pub(crate) async fn adopt(&mut self, driver: &Driver, missing: Result<Vec<Job>, u64>) -> Option<u64> {
        let missing = match missing {
            Ok(missing) => missing,
            Err(rests_until_ms) => return Some(rests_until_ms),
        };
        let more = missing.len() > GO_MAX;
        let writes = missing.into_iter().take(GO_MAX).map(|job| async move {
            match driver.cluster.create(&job).await {
                Answer::Done(made) => {
                    driver.world.learn(|all| all.jobs.put(made));
                    None
                }
                Answer::Refused(refused) => Some(refused.message),
                Answer::Lost(why) => Some(why),
                Answer::Missing | Answer::Exists => None,
            }
        });
        let lost = futures::stream::iter(writes).buffer_unordered(WRITES_MAX).filter_map(std::future::ready);
        let lost: Vec<String> = lost.collect().await;
        let Some(first) = lost.first() else { return more.then(|| driver.now_ms()) };
        tracing::warn!(jobs = lost.len(), first, "Jobs for labelled batch Jobs not written; they are tried again");
        self.rest_until_ms = driver.now_ms().saturating_add(REST_MS);
        Some(self.rest_until_ms)
    }
}
