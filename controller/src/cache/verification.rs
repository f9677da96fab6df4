//! Verification of offers: a new offer is allocated only after the server was asked whether claims on a former object of its name are still
//! at work. The cache cannot tell: the Match of such a claim may not have come in yet.

use std::collections::BTreeSet;

use pool::{Changes, Objects, OfferRef};

/// The pause after a verification, as a multiple of how long it took.
const PAUSE_TIMES: u64 = 10;

/// How long a cycle waits for a verification. Offers that are created again and again do not keep jobs waiting.
const CYCLE_WAITS_MS: u64 = 1_000;
/// After this time jobs get the findings of cycles that have left out unverified offers.
const REPORT_AFTER_MS: u64 = 5_000;

/// Which offers were verified.
#[derive(Debug, Default)]
pub(crate) struct OfferVerification {
    verified: BTreeSet<String>,
    /// The uids of offers that are not to be allocated yet.
    unverified: BTreeSet<String>,
    /// A verification is under way.
    running: bool,
    /// When it began.
    began_ms: u64,
    rest_until_ms: u64,
    /// A verification has ended with an answer.
    has_ended: bool,
    /// Since when there is an unverified offer.
    since_ms: Option<u64>,
}

impl OfferVerification {
    /// Takes in which offers have changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects, now_ms: u64) {
        let changed = changes.offers().filter_map(|(kind, key)| objects.offer(kind, key)).map(OfferRef::uid);
        self.unverified.extend(changed.filter(|uid| !self.verified.contains(*uid)).map(str::to_owned));
        if !self.unverified.is_empty() {
            self.since_ms.get_or_insert(now_ms);
        }
    }

    /// The uids of offers that are not to be allocated yet.
    pub(crate) fn unverified(&self) -> BTreeSet<String> {
        self.unverified.clone()
    }

    /// Whether a verification is under way for which a cycle should wait.
    pub(crate) fn is_awaited(&self, now_ms: u64) -> bool {
        self.running && now_ms < self.began_ms.saturating_add(CYCLE_WAITS_MS)
    }

    /// Whether the findings of a cycle count: all offers are verified, or there have been unverified ones for long. Before the first
    /// verification nothing counts.
    pub(crate) fn sees_all(&self, now_ms: u64) -> bool {
        let is_old = |since: u64| now_ms >= since.saturating_add(REPORT_AFTER_MS);
        self.unverified.is_empty() || (self.has_ended && self.since_ms.is_some_and(is_old))
    }

    /// Begins a verification, if one is due; of the offers with these uids.
    pub(crate) fn begin(&mut self, now_ms: u64) -> Option<BTreeSet<String>> {
        if self.running || now_ms < self.rest_until_ms {
            return None;
        }
        self.running = !self.unverified.is_empty();
        self.began_ms = now_ms;
        self.running.then(|| self.unverified.clone())
    }

    /// Ends it. `verified`: the uids that were verified, if the server has answered. Uids of deleted offers are removed.
    pub(crate) fn end(&mut self, verified: Option<BTreeSet<String>>, objects: &Objects, began_ms: u64, now_ms: u64) {
        self.running = false;
        let took_ms = now_ms.saturating_sub(began_ms).max(1);
        self.rest_until_ms = now_ms.saturating_add(took_ms.saturating_mul(PAUSE_TIMES));
        self.has_ended |= verified.is_some();
        self.verified.extend(verified.into_iter().flatten());
        let known: BTreeSet<&str> = objects.offers().map(OfferRef::uid).collect();
        self.verified.retain(|uid| known.contains(uid.as_str()));
        self.unverified.retain(|uid| known.contains(uid.as_str()) && !self.verified.contains(uid));
        if self.unverified.is_empty() {
            self.since_ms = None;
        }
    }

    /// When the next verification may begin, if one is needed; or when a cycle does not wait any longer for the one under way.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let rests = !self.running && !self.unverified.is_empty();
        let awaited = self.running.then(|| self.began_ms.saturating_add(CYCLE_WAITS_MS));
        rests.then_some(self.rest_until_ms).or(awaited).filter(|at| *at > now_ms)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::fixtures::machine;

    #[test]
    fn an_offer_is_given_away_only_after_a_look_that_was_made_after_it_was_read() {
        let mut objects = Objects::default();
        objects.machines.put(machine(&json!({}), &json!({})));
        let mut proofs = OfferVerification::default();
        let note =
            |proofs: &mut OfferVerification, objects: &mut Objects| proofs.note(&objects.take_changes(), objects, 0);
        note(&mut proofs, &mut objects);
        let wanted = proofs.begin(0).unwrap();
        assert_eq!(wanted, BTreeSet::from(["u-machine".to_owned()]));
        assert!(proofs.begin(0).is_none(), "one look at a time");
        assert!(proofs.is_awaited(CYCLE_WAITS_MS - 1) && !proofs.is_awaited(CYCLE_WAITS_MS));
        assert!(!proofs.sees_all(REPORT_AFTER_MS), "nothing is known yet");
        // made again while the look is under way
        let mut again = machine(&json!({}), &json!({}));
        again.metadata.uid = Some("u-again".to_owned());
        again.metadata.resource_version = Some("2".to_owned());
        objects.machines.put(again);
        note(&mut proofs, &mut objects);
        proofs.end(Some(wanted), &objects, 0, 5);
        assert_eq!(proofs.unverified(), BTreeSet::from(["u-again".to_owned()]));
        assert_eq!((proofs.begin(5), proofs.next_ms(5)), (None, Some(55)));
        assert!(
            !proofs.sees_all(REPORT_AFTER_MS - 1) && proofs.sees_all(REPORT_AFTER_MS),
            "offers that keep coming keep nobody never_reported"
        );
        let wanted = proofs.begin(55);
        proofs.end(wanted, &objects, 55, 56);
        assert!(proofs.unverified().is_empty());
        proofs.end(None, &objects, 60, 61);
        assert!(proofs.unverified().is_empty(), "a look that failed takes nothing back");
    }
}
