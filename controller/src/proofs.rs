//! Which offers may be given away: those of which it was seen, after they were read, who may still be at work on a former
//! object of their name. A cache cannot tell: the Match of a claim on the predecessor may not have come in yet.

use std::collections::BTreeSet;

use pool::{Changes, Objects, OfferRef};

/// A look that took so long is made again after this many times as long at the earliest.
const PAUSE_TIMES: u64 = 10;

/// What has been looked up.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    proven: BTreeSet<String>,
    /// The uids of offers that are not to be given away yet.
    unproven: BTreeSet<String>,
    looking: bool,
    rest_until_ms: u64,
}

impl Proofs {
    /// Takes in which offers have changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects) {
        let changed = changes.offers().filter_map(|(kind, key)| objects.offer(kind, key)).map(OfferRef::uid);
        self.unproven.extend(changed.filter(|uid| !self.proven.contains(*uid)).map(str::to_owned));
    }

    /// The uids of offers that are not to be given away yet.
    pub(crate) fn unproven(&self) -> BTreeSet<String> {
        self.unproven.clone()
    }

    /// Whether a look is under way.
    pub(crate) fn looking(&self) -> bool {
        self.looking
    }

    /// Begins a look, if one is due; for which uids.
    pub(crate) fn begin(&mut self, now_ms: u64) -> Option<BTreeSet<String>> {
        if self.looking || now_ms < self.rest_until_ms {
            return None;
        }
        self.looking = !self.unproven.is_empty();
        self.looking.then(|| self.unproven.clone())
    }

    /// Ends it. What was found is known to everybody by now; what has gone is forgotten.
    pub(crate) fn end(&mut self, proven: Option<BTreeSet<String>>, objects: &Objects, began_ms: u64, now_ms: u64) {
        self.looking = false;
        let took_ms = now_ms.saturating_sub(began_ms).max(1);
        self.rest_until_ms = now_ms.saturating_add(took_ms.saturating_mul(PAUSE_TIMES));
        self.proven.extend(proven.into_iter().flatten());
        let known: BTreeSet<&str> = objects.offers().map(OfferRef::uid).collect();
        self.proven.retain(|uid| known.contains(uid.as_str()));
        self.unproven.retain(|uid| known.contains(uid.as_str()) && !self.proven.contains(uid));
    }

    /// When the next look may begin, if one is wanted.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let waits = !self.looking && self.rest_until_ms > now_ms && !self.unproven.is_empty();
        waits.then_some(self.rest_until_ms)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::machine;

    #[test]
    fn an_offer_is_given_away_only_after_a_look_that_was_made_after_it_was_read() {
        let mut objects = Objects::default();
        objects.machines.put(machine(&json!({}), &json!({})));
        let mut proofs = Proofs::default();
        let note = |proofs: &mut Proofs, objects: &mut Objects| proofs.note(&objects.take_changes(), objects);
        note(&mut proofs, &mut objects);
        let wanted = proofs.begin(0).unwrap();
        assert_eq!(wanted, BTreeSet::from(["u-machine".to_owned()]));
        assert!(proofs.begin(0).is_none(), "one look at a time");
        // made again while the look is under way
        let mut again = machine(&json!({}), &json!({}));
        again.metadata.uid = Some("u-again".to_owned());
        again.metadata.resource_version = Some("2".to_owned());
        objects.machines.put(again);
        note(&mut proofs, &mut objects);
        proofs.end(Some(wanted), &objects, 0, 5);
        assert_eq!(proofs.unproven(), BTreeSet::from(["u-again".to_owned()]));
        assert_eq!((proofs.begin(5), proofs.next_ms(5)), (None, Some(55)));
        let wanted = proofs.begin(55);
        proofs.end(wanted, &objects, 55, 56);
        assert!(proofs.unproven().is_empty());
        proofs.end(None, &objects, 60, 61);
        assert!(proofs.unproven().is_empty(), "a look that failed takes nothing back");
    }
}
