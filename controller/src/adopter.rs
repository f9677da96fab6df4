//! The one who makes the Jobs that ask for labelled workloads.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::Job;
use futures::StreamExt;
use pool::{Objects, WorkObject, noun};

use crate::api::Answer;
use crate::claims::Driver;
use crate::events::Tone;
use crate::workloads::{Asks, asks, reference};

/// The most writes under way at once.
const WRITES_MAX: usize = 16;
/// The most writes in one go: claims must not wait until thousands are written.
const GO_MAX: usize = 256;
/// How long nothing is written after something could not be.
const REST_MS: u64 = 1000;
/// How often it is said of a workload that its ad is not there: the API server forgets Events after an hour.
const AGAIN_MS: u64 = 50 * 60 * 1000;

/// Makes them, with pauses while the server takes none.
#[derive(Debug, Default)]
pub(crate) struct Adopter {
    rest_until_ms: u64,
    /// When it was said of which workload, by its uid, that this ad is not there.
    warned: BTreeMap<String, (String, u64)>,
}

impl Adopter {
    /// What is to be made and said; or when somebody has to look again, if nothing changes.
    pub(crate) fn plan(&self, objects: &Objects, now_ms: u64) -> Result<Asks, u64> {
        if now_ms < self.rest_until_ms { Err(self.rest_until_ms) } else { Ok(asks(objects)) }
    }

    /// Makes those that are missing. When there is more to do, if nothing else happens.
    pub(crate) async fn adopt(&mut self, driver: &Driver, plan: Result<Asks, u64>) -> Option<u64> {
        let now_ms = driver.now_ms();
        let Asks { jobs, without_ad } = match plan {
            Ok(asks) => asks,
            Err(rests_until_ms) => return Some(rests_until_ms),
        };
        self.warn(driver, &without_ad).await;
        let more = jobs.len() > GO_MAX;
        let writes = jobs.into_iter().take(GO_MAX).map(|(work, job)| make(driver, work, job));
        let lost = futures::stream::iter(writes).buffer_unordered(WRITES_MAX).filter_map(std::future::ready);
        let lost: Vec<String> = lost.collect().await;
        let Some(first) = lost.first() else { return more.then_some(now_ms) };
        tracing::warn!(jobs = lost.len(), first, "Jobs for labelled workloads not written; they are tried again");
        self.rest_until_ms = driver.now_ms().saturating_add(REST_MS);
        Some(self.rest_until_ms)
    }

    /// Says of those whose ad is not there that it is not.
    async fn warn(&mut self, driver: &Driver, without_ad: &[Arc<WorkObject>]) {
        let due = self.due(without_ad, driver.now_ms());
        let tell = |work: Arc<WorkObject>| async move {
            let note = no_ad(&work);
            driver.events.tell_about(&driver.cluster, reference(&work), Tone::Warning, "AdMissing", &note).await;
        };
        futures::stream::iter(due.into_iter().map(tell)).buffer_unordered(WRITES_MAX).collect::<()>().await;
    }

    /// Those of whom it is to be said now.
    fn due(&mut self, without_ad: &[Arc<WorkObject>], now_ms: u64) -> Vec<Arc<WorkObject>> {
        let ad = |work: &WorkObject| work.ad.clone().unwrap_or_default();
        let still: BTreeMap<&str, String> = without_ad.iter().map(|work| (work.uid.as_str(), ad(work))).collect();
        self.warned
            .retain(|uid, (named, at)| still.get(uid.as_str()) == Some(named) && now_ms.saturating_sub(*at) < AGAIN_MS);
        let mut due = Vec::new();
        for work in without_ad.iter().take(GO_MAX) {
            if !self.warned.contains_key(&work.uid) {
                self.warned.insert(work.uid.clone(), (ad(work), now_ms));
                due.push(work.clone());
            }
        }
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

/// What its author has to know.
fn no_ad(work: &WorkObject) -> String {
    let (ad, namespace) = (work.ad.as_deref().unwrap_or(""), &work.key.namespace);
    format!(
        "this {} is held, and no job.gangmatch.dev `{ad}` is in the namespace {namespace}: create it, or name another one in the \
         label gangmatch.dev/ad",
        noun(work.kind)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_missing_ad_is_said_once_and_of_another_one_again() {
        let work =
            |ad: &str| Arc::new(WorkObject { uid: "u".to_owned(), ad: Some(ad.to_owned()), ..WorkObject::default() });
        let mut adopter = Adopter::default();
        assert_eq!(adopter.due(&[work("a")], 0).len(), 1);
        assert_eq!(adopter.due(&[work("a")], AGAIN_MS - 1).len(), 0);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS - 1).len(), 1);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS * 2).len(), 1, "before it is forgotten");
        assert_eq!(adopter.due(&[], AGAIN_MS * 2).len(), 0);
        assert_eq!(adopter.due(&[work("b")], AGAIN_MS * 2).len(), 1, "it was there meanwhile");
    }
}
