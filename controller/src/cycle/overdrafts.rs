//! Namespaces that exceeded their budget in a cycle, into pauses during which they get little: longer each time, so that no
//! change of a costly ad gives it a new start.

use std::collections::{BTreeMap, BTreeSet};

use crate::cycle::backoff::{Backoff, Pause};

/// What is remembered, by namespace. Kept in memory only: losing it costs a cycle.
#[derive(Debug, Default)]
pub(crate) struct Overdrafts(BTreeMap<String, Pause>);

/// The first pause, and the longest.
pub(crate) const PAUSES: Backoff = Backoff::new(5_000, 300_000);
/// How long after its pause a namespace counts as one that has done it before.
const REMEMBERED_MS: u64 = 600_000;

impl Overdrafts {
    /// Remembers that a namespace exceeded its budget, unless it is in a pause; says whether a pause begins.
    pub(crate) fn remember(&mut self, namespace: &str, now_ms: u64) -> bool {
        self.forget(now_ms);
        let pause = self.0.entry(namespace.to_owned()).or_default();
        let begins = !pause.lasts(now_ms);
        if begins {
            pause.lengthen(PAUSES, namespace, now_ms);
        }
        begins
    }

    fn forget(&mut self, now_ms: u64) {
        self.0.retain(|_, pause| now_ms < pause.until_ms().saturating_add(REMEMBERED_MS));
    }

    /// The namespaces that are in a pause.
    pub(crate) fn pausing(&mut self, now_ms: u64) -> BTreeSet<String> {
        self.forget(now_ms);
        self.0.iter().filter(|(_, pause)| pause.lasts(now_ms)).map(|(namespace, _)| namespace.clone()).collect()
    }

    /// When the next pause ends, if one is running.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        self.0.values().map(Pause::until_ms).filter(|until| *until > now_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_whichever_of_its_ads_was_costly_and_are_forgotten_in_the_end() {
        let (mut all, mut now, mut pauses) = (Overdrafts::default(), 0, Vec::new());
        for _ in 0..4 {
            assert!(all.remember("bob", now));
            assert!(!all.remember("bob", now + 1), "it is in its pause");
            let end = all.next_ms(now).unwrap();
            assert_eq!(all.pausing(end - 1), BTreeSet::from(["bob".to_owned()]));
            assert!(all.pausing(end).is_empty());
            pauses.push(end - now);
            now = end;
        }
        assert!(pauses.windows(2).all(|two| two[0] < two[1]), "{pauses:?}");
        now += REMEMBERED_MS;
        assert!(all.pausing(now).is_empty() && all.remember("bob", now));
        assert!(all.next_ms(now).unwrap() - now <= 5_000, "it begins again");
    }
}
