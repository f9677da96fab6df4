//! Verification of offers: one that was made anew under its name is given away only after the server was asked which claims are
//! still at work on its predecessor. The cache cannot tell: the Match of such a claim may not have come in yet.

use std::collections::BTreeSet;

use pool::{Changes, Objects, OfferRef};

/// A look that took so long is made again after this many times as long at the earliest.
const PAUSE_TIMES: u64 = 10;

/// How long a cycle waits for a look, which it would otherwise precede: what is made anew again and again keeps nobody waiting.
const CYCLE_WAITS_MS: u64 = 1_000;
/// For how long, at most, jobs are not told what was found without the offers that are not proven yet.
const UNTOLD_MS: u64 = 5_000;

/// Which offers were verified.
#[derive(Debug, Default)]
pub(crate) struct OfferVerification {
    proven: BTreeSet<String>,
    /// The uids of offers that are not to be given away yet.
    unverified: BTreeSet<String>,
    looking: bool,
    /// When the look began that is under way.
    began_ms: u64,
    rest_until_ms: u64,
    /// A look has come to its end, with whatever was found.
    has_looked: bool,
    /// Since when some offer or other is not proven.
    since_ms: Option<u64>,
}

impl OfferVerification {
    /// Takes in which offers have changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects, now_ms: u64) {
        let changed = changes.offers().filter_map(|(kind, key)| objects.offer(kind, key)).map(OfferRef::uid);
        self.unverified.extend(changed.filter(|uid| !self.proven.contains(*uid)).map(str::to_owned));
        if !self.unverified.is_empty() {
            self.since_ms.get_or_insert(now_ms);
        }
    }

    /// The uids of offers that are not to be given away yet.
    pub(crate) fn unverified(&self) -> BTreeSet<String> {
        self.unverified.clone()
    }

    /// Whether a look is under way for which a cycle should wait.
    pub(crate) fn is_awaited(&self, now_ms: u64) -> bool {
        self.looking && now_ms < self.began_ms.saturating_add(CYCLE_WAITS_MS)
    }

    /// Whether a cycle sees what there is: all offers are proven, or those that are not keep coming. As long as none is, nothing is known.
    pub(crate) fn sees_all(&self, now_ms: u64) -> bool {
        let is_old = |since: u64| now_ms >= since.saturating_add(UNTOLD_MS);
        self.unverified.is_empty() || (self.has_looked && self.since_ms.is_some_and(is_old))
    }

    /// Begins a look, if one is due; for which uids.
    pub(crate) fn begin(&mut self, now_ms: u64) -> Option<BTreeSet<String>> {
        if self.looking || now_ms < self.rest_until_ms {
            return None;
        }
        self.looking = !self.unverified.is_empty();
        self.began_ms = now_ms;
        self.looking.then(|| self.unverified.clone())
    }

    /// Ends it. What was found is known to everybody by now; what has gone is forgotten.
    pub(crate) fn end(&mut self, proven: Option<BTreeSet<String>>, objects: &Objects, began_ms: u64, now_ms: u64) {
        self.looking = false;
        let took_ms = now_ms.saturating_sub(began_ms).max(1);
        self.rest_until_ms = now_ms.saturating_add(took_ms.saturating_mul(PAUSE_TIMES));
        self.has_looked |= proven.is_some();
        self.proven.extend(proven.into_iter().flatten());
        let known: BTreeSet<&str> = objects.offers().map(OfferRef::uid).collect();
        self.proven.retain(|uid| known.contains(uid.as_str()));
        self.unverified.retain(|uid| known.contains(uid.as_str()) && !self.proven.contains(uid));
        if self.unverified.is_empty() {
            self.since_ms = None;
        }
    }

    /// When the next look may begin, if one is wanted; or when a cycle does not wait for the one under way any more.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let rests = !self.looking && !self.unverified.is_empty();
        let awaited = self.looking.then(|| self.began_ms.saturating_add(CYCLE_WAITS_MS));
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
        assert!(!proofs.sees_all(UNTOLD_MS), "nothing is known yet");
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
            !proofs.sees_all(UNTOLD_MS - 1) && proofs.sees_all(UNTOLD_MS),
            "offers that keep coming keep nobody never_reported"
        );
        let wanted = proofs.begin(55);
        proofs.end(wanted, &objects, 55, 56);
        assert!(proofs.unverified().is_empty());
        proofs.end(None, &objects, 60, 61);
        assert!(proofs.unverified().is_empty(), "a look that failed takes nothing back");
    }
}
