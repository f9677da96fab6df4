//! How many writes of one kind a namespace gets in time: so many at once, then so many a second, and fewer of large objects, for each of
//! which the API server needs long. Thousands of objects of one tenant, or large ones, must not keep it busy for all others.

use std::collections::BTreeMap;

/// So many at once; and after them one in so many milliseconds.
const BURST: u64 = 200;
const APART_MS: u64 = 50;
/// The same for the write of a large object.
const LARGE_APART_MS: u64 = 1_000;
/// How much of the burst there is again before a namespace that has used it up is looked at again.
const BATCH: u64 = 10;

/// What each namespace has used of its rate: until when its writes would last if each took `APART_MS` (the generic cell rate algorithm).
#[derive(Debug, Default)]
pub(crate) struct Rate {
    used_until_ms: BTreeMap<String, u64>,
}

impl Rate {
    /// How many writes of a namespace may be begun now.
    pub(crate) fn left(&self, namespace: &str, now_ms: u64) -> usize {
        let ahead = self.used_until_ms.get(namespace).map_or(0, |until| until.saturating_sub(now_ms));
        let used = ahead.div_ceil(APART_MS);
        usize::try_from(BURST.saturating_sub(used)).unwrap_or(usize::MAX)
    }

    /// One is begun, of a large object or of another.
    pub(crate) fn take(&mut self, namespace: &str, is_large: bool, now_ms: u64) {
        self.used_until_ms.retain(|_, until| *until > now_ms);
        let until = self.used_until_ms.entry(namespace.to_owned()).or_insert(now_ms);
        *until = until.saturating_add(if is_large { LARGE_APART_MS } else { APART_MS });
    }

    /// When a namespace that has used up its rate may go on.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let used_up = self.used_until_ms.iter().filter(|(namespace, _)| self.left(namespace, now_ms) == 0);
        let has_some = |until: &u64| until.saturating_sub((BURST - BATCH) * APART_MS);
        used_up.map(|(_, until)| has_some(until)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b14_a_namespace_of_thousands_has_a_burst_and_then_a_rate_and_no_other_is_kept_waiting() {
        let (mut rate, mut now, mut written) = (Rate::default(), 0, 0);
        while now < 60_000 {
            while rate.left("b", now) > 0 {
                rate.take("b", false, now);
                written += 1;
            }
            assert_eq!(rate.left("c", now), usize::try_from(BURST).unwrap());
            let next = rate.next_ms(now).unwrap();
            assert!(next > now, "{next}");
            now = next;
        }
        let expected = BURST + 60_000 / APART_MS;
        assert!((expected - BATCH..=expected + BATCH).contains(&written), "{written} of {expected}");
    }

    #[test]
    fn b13_writes_of_large_objects_count_for_many() {
        let (mut rate, mut now, mut written) = (Rate::default(), 0, 0);
        while now < 60_000 {
            if rate.left("b", now) > 0 {
                rate.take("b", true, now);
                written += 1;
            }
            now += 250;
        }
        // each counts for a second: the burst of 10 s, and then one a second
        assert!((65..=75).contains(&written), "{written}");
        assert_eq!(rate.left("c", now), usize::try_from(BURST).unwrap());
    }

    #[test]
    fn what_was_used_long_ago_is_forgotten() {
        let mut rate = Rate::default();
        (0..1000).for_each(|number| rate.take(&format!("n{number}"), false, 0));
        rate.take("b", false, 60_000);
        assert_eq!(rate.used_until_ms.len(), 1);
        assert_eq!(rate.next_ms(60_000), None);
    }
}
