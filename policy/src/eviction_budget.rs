//! How many gangs may be preempted in an hour: in the whole pool, by a bucket that fills all the time, and for each account.

use std::collections::{BTreeMap, VecDeque};

use crate::evictions::Evictions;

/// An hour, in milliseconds.
const HOUR_MS: u64 = 3_600_000;

/// The bucket; a term begins with a tenth of it. One victim is `HOUR_MS` of its units.
#[derive(Clone, Debug, Default)]
pub struct EvictionBudget {
    /// What is in it, and since when.
    filled: Option<(u64, u64)>,
    /// What was preempted in the last hour: when, for which account, and how many gangs.
    of_late: VecDeque<(u64, String, usize)>,
}

impl EvictionBudget {
    /// How many gangs may be preempted now, if so many may be in an hour, and for whom.
    pub fn left(&mut self, per_hour: u32, now_ms: u64) -> Evictions {
        self.of_late.retain(|(at_ms, ..)| now_ms < at_ms.saturating_add(HOUR_MS));
        let mut of_late: BTreeMap<String, usize> = BTreeMap::new();
        for (_, account, victims) in &self.of_late {
            *of_late.entry(account.clone()).or_default() += victims;
        }
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let per_hour = u64::from(per_hour);
        let full = per_hour.saturating_mul(HOUR_MS);
        let (units, since_ms) = self.filled.unwrap_or((full / 10, now_ms));
        // At the beginning there is room for one at least.
        let units = if self.filled.is_none() { units.max(HOUR_MS.min(full)) } else { units };
        let filled = units.saturating_add(now_ms.saturating_sub(since_ms).saturating_mul(per_hour)).min(full);
        self.filled = Some((filled, now_ms));
        Evictions { left: whole(filled / HOUR_MS), per_hour: whole(per_hour), of_late }
    }

    /// So many are preempted for a job of an account.
    pub fn spend(&mut self, account: &str, victims: usize, now_ms: u64) {
        if let Some((units, _)) = &mut self.filled {
            *units = units.saturating_sub(as_units(victims));
        }
        self.of_late.push_back((now_ms, account.to_owned(), victims));
    }

    /// So many that were to be preempted for a job of an account are not.
    pub fn give_back(&mut self, account: &str, victims: usize) {
        let is_it = |(_, own, number): &(u64, String, usize)| own == account && *number == victims;
        if let Some(place) = self.of_late.iter().rposition(is_it) {
            self.of_late.remove(place);
            if let Some((units, _)) = &mut self.filled {
                *units = units.saturating_add(as_units(victims));
            }
        }
    }
}

fn as_units(victims: usize) -> u64 {
    u64::try_from(victims).unwrap_or(u64::MAX).saturating_mul(HOUR_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_tenth_and_fills_in_an_hour() {
        let mut budget = EvictionBudget::default();
        assert_eq!(budget.left(60, 1000).left, 6);
        budget.spend("a", 6, 1000);
        assert_eq!([budget.left(60, 1000).left, budget.left(60, 61_000).left], [0, 1]);
        assert_eq!(budget.left(60, 10 * HOUR_MS).left, 60, "no more than for one hour");
        assert_eq!(EvictionBudget::default().left(1, 0).left, 1, "a small one is not empty at the beginning");
    }

    #[test]
    fn what_an_account_has_had_is_known_for_an_hour_and_what_failed_is_given_back() {
        let mut budget = EvictionBudget::default();
        assert_eq!(budget.left(60, 0).left, 6);
        budget.spend("a", 1, 0);
        budget.spend("a", 2, 1000);
        budget.spend("b", 1, 1000);
        let of_late = |budget: &mut EvictionBudget, now_ms| Vec::from_iter(budget.left(60, now_ms).of_late);
        assert_eq!(of_late(&mut budget, 1000), [("a".to_owned(), 3), ("b".to_owned(), 1)]);
        budget.give_back("a", 2);
        budget.give_back("c", 1);
        assert_eq!(budget.left(60, 1000).left, 4, "nothing of `c` was taken");
        assert_eq!(of_late(&mut budget, 1000), [("a".to_owned(), 1), ("b".to_owned(), 1)]);
        assert_eq!(of_late(&mut budget, HOUR_MS), [("b".to_owned(), 1)]);
    }
}
