//! Namespaces that exceeded their budget, in one cycle or by small amounts in each, into pauses during which they get little: longer
//! each time, so that no change of a costly ad gives it a new start.

use std::collections::{BTreeMap, BTreeSet};

use crate::cycle::backoff::{Backoff, Pause};

/// What is remembered, by namespace. Kept in memory only: losing it costs a cycle.
#[derive(Debug, Default)]
pub(crate) struct Overdrafts(BTreeMap<String, Account>);

/// What one namespace has spent lately, and its pause if that was too much.
#[derive(Debug, Default)]
struct Account {
    pause: Pause,
    /// Steps that found nothing, less those that the time since then makes up for.
    steps: u64,
    /// When that was, in milliseconds.
    at_ms: u64,
}

impl Account {
    fn steps_at(&self, now_ms: u64, most: u64) -> u64 {
        let made_up = now_ms.saturating_sub(self.at_ms).saturating_mul(most) / RECOVERY_MS;
        self.steps.saturating_sub(made_up)
    }
}

/// The first pause, and the longest.
const PAUSES: Backoff = Backoff::new(60_000, 600_000);
/// How long it takes until all that a namespace may spend for nothing may be spent anew.
const RECOVERY_MS: u64 = 16_000;
/// How long after its pause a namespace counts as one that has done it before.
const REMEMBERED_MS: u64 = 1_200_000;

impl Overdrafts {
    /// Remembers that a namespace exceeded its budget, unless it is in a pause; says whether a pause begins.
    pub(crate) fn remember(&mut self, namespace: &str, now_ms: u64) -> bool {
        self.forget(now_ms);
        let account = self.0.entry(namespace.to_owned()).or_default();
        let begins = !account.pause.lasts(now_ms);
        if begins {
            account.pause.lengthen(PAUSES, namespace, now_ms);
            account.steps = 0;
        }
        begins
    }

    /// Counts steps of a namespace that found nothing, and remembers it once they are more than `most`. Says whether a pause begins.
    pub(crate) fn spend(&mut self, namespace: &str, steps: u64, most: u64, now_ms: u64) -> bool {
        let account = self.0.entry(namespace.to_owned()).or_default();
        (account.steps, account.at_ms) = (account.steps_at(now_ms, most).saturating_add(steps), now_ms);
        account.steps > most && self.remember(namespace, now_ms)
    }

    fn forget(&mut self, now_ms: u64) {
        self.0.retain(|_, account| now_ms < account.at_ms.max(account.pause.until_ms()).saturating_add(REMEMBERED_MS));
    }

    /// The namespaces that are in a pause.
    pub(crate) fn pausing(&mut self, now_ms: u64) -> BTreeSet<String> {
        self.forget(now_ms);
        let pausing = self.0.iter().filter(|(_, account)| account.pause.lasts(now_ms));
        pausing.map(|(namespace, _)| namespace.clone()).collect()
    }

    /// When the next pause ends, if one is running.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        self.0.values().filter_map(|account| account.pause.ends_ms(now_ms)).min()
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
        assert!(all.next_ms(now).unwrap() - now <= 60_000, "it begins again");
    }

    #[test]
    fn a_little_in_each_cycle_is_too_much_in_the_end_and_seldom_is_not() {
        let mut all = Overdrafts::default();
        let begins =
            |all: &mut Overdrafts, every_ms: u64| (0..100).find(|cycle| all.spend("bob", 400, 1000, cycle * every_ms));
        assert_eq!(begins(&mut all, 200), Some(2));
        assert_eq!(all.pausing(400), BTreeSet::from(["bob".to_owned()]));
        assert!(!all.spend("bob", 4000, 1000, 600), "it is in its pause");
        assert_eq!(begins(&mut Overdrafts::default(), 10_000), None);
        assert!(Overdrafts::default().spend("bob", 1001, 1000, 0), "at once");
    }
}
