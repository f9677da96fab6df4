//! The one who makes the Jobs that ask for labelled workloads.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::Job;
use futures::StreamExt;
use pool::{Objects, WorkObject};

use crate::api::Answer;
use crate::claims::Driver;
use crate::events::Tone;
use crate::workloads::{Asks, Trouble, asks, reference};

/// The most writes under way at once.
const WRITES_MAX: usize = 16;
/// The most writes in one go: claims must not wait until thousands are written.
const GO_MAX: usize = 256;
/// How long nothing is written after something could not be.
const REST_MS: u64 = 1000;
/// How often it is said of a workload what keeps it from its gang: the API server forgets Events after an hour.
const AGAIN_MS: u64 = 50 * 60 * 1000;

/// Makes them, with pauses while the server takes none.
#[derive(Debug, Default)]
pub(crate) struct Adopter {
    rest_until_ms: u64,
    /// What was said of which workload, by its uid, and when.
    warned: BTreeMap<String, (Trouble, u64)>,
}

impl Adopter {
    /// What is to be made and said; or when somebody has to look again, if nothing changes.
    pub(crate) fn plan(&self, objects: &Objects, now_ms: u64) -> Result<Asks, u64> {
        if now_ms < self.rest_until_ms { Err(self.rest_until_ms) } else { Ok(asks(objects)) }
    }

    /// Makes those that are missing. When there is more to do, if nothing else happens.
    pub(crate) async fn adopt(&mut self, driver: &Driver, plan: Result<Asks, u64>) -> Option<u64> {
        let now_ms = driver.now_ms();
        let Asks { jobs, troubles } = match plan {
            Ok(asks) => asks,
            Err(rests_until_ms) => return Some(rests_until_ms),
        };
        self.warn(driver, &troubles).await;
        let more = jobs.len() > GO_MAX;
        let writes = jobs.into_iter().take(GO_MAX).map(|(work, job)| make(driver, work, job));
        let lost = futures::stream::iter(writes).buffer_unordered(WRITES_MAX).filter_map(std::future::ready);
        let lost: Vec<String> = lost.collect().await;
        let Some(first) = lost.first() else { return more.then_some(now_ms) };
        tracing::warn!(jobs = lost.len(), first, "Jobs for labelled workloads not written; they are tried again");
        self.rest_until_ms = driver.now_ms().saturating_add(REST_MS);
        Some(self.rest_until_ms)
    }

    /// Says of those that do not get a gang why not.
    async fn warn(&mut self, driver: &Driver, troubles: &[(Arc<WorkObject>, Trouble)]) {
        let due = self.due(troubles, driver.now_ms());
        let tell = |(work, trouble): (Arc<WorkObject>, Trouble)| async move {
            let (about, note) = (reference(&work), trouble.note(&work));
            driver.events.tell_about(&driver.cluster, about, Tone::Warning, trouble.reason(), &note).await;
        };
        futures::stream::iter(due.into_iter().map(tell)).buffer_unordered(WRITES_MAX).collect::<()>().await;
    }

    /// Those of whom it is to be said now.
    fn due(&mut self, troubles: &[(Arc<WorkObject>, Trouble)], now_ms: u64) -> Vec<(Arc<WorkObject>, Trouble)> {
        let still: BTreeMap<&str, &Trouble> =
            troubles.iter().map(|(work, trouble)| (work.uid.as_str(), trouble)).collect();
        self.warned.retain(|uid, (said, at)| {
            still.get(uid.as_str()) == Some(&&*said) && now_ms.saturating_sub(*at) < AGAIN_MS
        });
        let is_new = |(work, _): &&(Arc<WorkObject>, Trouble)| !self.warned.contains_key(&work.uid);
        let due: Vec<_> = troubles.iter().filter(is_new).take(GO_MAX).cloned().collect();
        self.warned.extend(due.iter().map(|(work, trouble)| (work.uid.clone(), (trouble.clone(), now_ms))));
        due
    }
}

/// Makes a Job; why not, if nobody took it.
async fn make(driver: &Driver, work: Arc<WorkObject>, job: Job) -> Option<String> {
    match driver.cluster.create(&job).await {
        Answer::Done(made) => {
            driver.world.learn(|all| all.jobs.put(made));
            None
        }
        Answer::Refused(refused) => {
            let note = format!("the Job that asks for a gang was refused: {}", refused.message);
            if driver.events.is_new(&work.uid, "NotAskedFor") {
                let (events, about) = (&driver.events, reference(&work));
                events.tell_about(&driver.cluster, about, Tone::Warning, "NotAskedFor", &note).await;
            }
            Some(refused.message)
        }
        Answer::Lost(why) => Some(why),
        Answer::Missing | Answer::Exists => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_told_once_and_another_one_again() {
        let work = |ad: &str| {
            let work = WorkObject { uid: "u".to_owned(), ..WorkObject::default() };
            (Arc::new(work), Trouble::AdMissing { ad: ad.to_owned() })
        };
        let mut adopter = Adopter::default();
        assert_eq!(adopter.due(&[work("a")], 0).len(), 1);
        assert_eq!(adopter.due(&[work("a")], AGAIN_MS - 1).len(), 0);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS - 1).len(), 1);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS * 2).len(), 1, "before it is forgotten");
        assert_eq!(adopter.due(&[], AGAIN_MS * 2).len(), 0);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS * 2).len(), 1, "it was there meanwhile");
    }
}
