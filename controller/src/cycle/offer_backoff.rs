//! Backoff of offers: after a refusal the job is matched elsewhere at once, and with this offer again after growing pauses.

use std::collections::{BTreeMap, BTreeSet};

use matchmaker::AdKey;

use crate::cycle::backoff::{Backoff, Pause};

/// What is remembered, by the job's uid. Kept in memory only: losing it costs a few attempts.
#[derive(Debug, Default)]
pub(crate) struct OfferBackoff(BTreeMap<String, BTreeMap<AdKey, Remembered>>);

/// How many times an offer that was edited after it had refused a job is asked again at once. Without a limit, its owner could edit it after
/// each refusal, and the job would never be matched with another offer.
const AT_ONCE_MAX: u32 = 2;

#[derive(Debug)]
struct Remembered {
    pause: Pause,
    /// Not before one of the two has changed.
    for_good: bool,
    /// The generations of job and offer that the refusal was about.
    about: (i64, i64),
}

/// A refusal that is to be remembered.
#[derive(Clone, Debug)]
pub(crate) struct NewRefusal {
    /// The offer.
    pub(crate) offer: AdKey,
    /// The generations of job and offer that it was about.
    pub(crate) about: (i64, i64),
    /// It is not to be asked again as long as both are what they were.
    pub(crate) for_good: bool,
}

impl OfferBackoff {
    /// Remembers a refusal at `now_ms`. The pause doubles with each one, as the job's `retry` says.
    pub(crate) fn remember(&mut self, job_uid: &str, refusal: &NewRefusal, backoff: &Backoff, now_ms: u64, jitter: u8) {
        let offers = self.0.entry(job_uid.to_owned()).or_default();
        let known = offers.get(&refusal.offer).filter(|known| known.about.0 == refusal.about.0);
        let mut pause = known.map(|known| known.pause.clone()).unwrap_or_default();
        pause.begin(backoff.pause_ms(pause.times(), jitter), now_ms);
        let remembered = Remembered { pause, for_good: refusal.for_good, about: refusal.about };
        offers.insert(refusal.offer.clone(), remembered);
    }

    /// The offers that each job is not to be matched with at `now_ms`. A refusal counts as long as both ads are what they were, and its pause lasts
    /// whatever is edited if the offer has refused the job often; `generation` tells what an ad is now. What no longer counts is forgotten.
    pub(crate) fn exclusions(
        &mut self,
        now_ms: u64,
        job: impl Fn(&str) -> Option<i64>,
        offer: impl Fn(&AdKey) -> Option<i64>,
    ) -> BTreeMap<String, BTreeSet<AdKey>> {
        self.0.retain(|uid, offers| {
            let job = job(uid);
            offers.retain(|key, known| job == Some(known.about.0) && offer(key).is_some());
            !offers.is_empty()
        });
        let mut all = BTreeMap::new();
        for (uid, offers) in &self.0 {
            let still = offers.iter().filter(|(key, known)| {
                let is_same = offer(key) == Some(known.about.1);
                let counts = is_same || known.pause.times() > AT_ONCE_MAX;
                is_same && known.for_good || counts && known.pause.lasts(now_ms)
            });
            let still: BTreeSet<AdKey> = still.map(|(key, _)| key.clone()).collect();
            if !still.is_empty() {
                all.insert(uid.clone(), still);
            }
        }
        all
    }

    /// When the next pause ends, if one is running.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let pauses = self.0.values().flat_map(BTreeMap::values).filter(|known| !known.for_good);
        pauses.filter_map(|known| known.pause.ends_ms(now_ms)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> AdKey {
        AdKey { kind: "License".into(), namespace: "eda".into(), name: name.into() }
    }

    fn retry() -> Backoff {
        Backoff::new(5_000, 12_000)
    }

    fn excluded(refusals: &mut OfferBackoff, now_ms: u64, generation: i64) -> bool {
        let all = refusals.exclusions(now_ms, |_| Some(1), |_| Some(generation));
        all.get("job").is_some_and(|offers| offers.contains(&key("sim")))
    }

    #[test]
    fn pauses_double_up_to_the_limit() {
        let mut refusals = OfferBackoff::default();
        let refusal = NewRefusal { offer: key("sim"), about: (1, 1), for_good: false };
        let mut now = 0;
        for pause in [5_000, 10_000, 12_000, 12_000] {
            refusals.remember("job", &refusal, &retry(), now, 0);
            assert!(excluded(&mut refusals, now + pause - 1, 1), "{pause}");
            assert!(!excluded(&mut refusals, now + pause, 1), "{pause}");
            now += pause;
        }
    }

    #[test]
    fn a_no_for_good_counts_until_an_ad_changes() {
        let mut refusals = OfferBackoff::default();
        let refusal = NewRefusal { offer: key("sim"), about: (1, 1), for_good: true };
        refusals.remember("job", &refusal, &retry(), 0, 0);
        assert!(excluded(&mut refusals, u64::MAX - 1, 1));
        assert_eq!(refusals.next_ms(1), None, "nothing to wake up for");
        assert!(!excluded(&mut refusals, 1, 2));
    }

    #[test]
    fn a_refusal_keeps_nobody_else_waiting() {
        let mut refusals = OfferBackoff::default();
        refusals.remember("job", &NewRefusal { offer: key("sim"), about: (1, 1), for_good: false }, &retry(), 0, 0);
        let all = refusals.exclusions(1, |_| Some(1), |_| Some(1));
        let only = BTreeMap::from([("job".to_owned(), BTreeSet::from([key("sim")]))]);
        assert_eq!(all, only, "one job, and one offer of all it may take");
    }

    #[test]
    fn a_changed_ad_is_asked_at_once() {
        let mut refusals = OfferBackoff::default();
        refusals.remember("job", &NewRefusal { offer: key("sim"), about: (1, 1), for_good: false }, &retry(), 0, 0);
        assert!(excluded(&mut refusals, 1, 1));
        assert!(!excluded(&mut refusals, 1, 2));
        let changed = refusals.exclusions(1, |_| Some(2), |_| Some(1));
        assert!(changed.is_empty());
        assert_eq!(refusals.next_ms(1), None, "and the old no is forgotten");
    }

    #[test]
    fn r3_an_offer_that_refuses_a_job_and_is_edited_each_time_is_not_asked_for_ever() {
        let (mut refusals, mut now_ms, mut generation, mut refused) = (OfferBackoff::default(), 0, 1, Vec::new());
        while now_ms < 60_000 {
            if !excluded(&mut refusals, now_ms, generation) {
                let refusal = NewRefusal { offer: key("sim"), about: (1, generation), for_good: generation % 2 == 0 };
                refusals.remember("job", &refusal, &retry(), now_ms, 0);
                refused.push(now_ms);
            }
            (now_ms, generation) = (now_ms + 100, generation + 1);
        }
        assert_eq!(refused, [0, 100, 200, 12_200, 24_200, 36_200, 48_200]);
        assert!(refusals.exclusions(now_ms, |_| Some(1), |_| None).is_empty() && refusals.next_ms(0).is_none());
    }
}
