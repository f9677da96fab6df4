//! How many gangs may be preempted now, and for whom.

use std::collections::BTreeMap;

use crate::preemption::{Mode, Permitted};

/// How many gangs may be preempted now in the whole pool, and for which accounts some were preempted of late.
#[derive(Clone, Debug, Default)]
pub struct Evictions {
    /// How many may be preempted.
    pub left: usize,
    /// How many may be preempted in an hour.
    pub per_hour: usize,
    /// By account: how many gangs were preempted for its jobs in the last hour.
    pub of_late: BTreeMap<String, usize>,
}

impl Evictions {
    /// So many, and none of late.
    #[must_use]
    pub fn up_to(most: usize) -> Evictions {
        Evictions { left: most, per_hour: most, of_late: BTreeMap::new() }
    }

    /// Whether so many gangs may be preempted for a job of an account.
    ///
    /// An account has no more gangs of an hour than it leaves for all others. If none was preempted for it in the last hour, as many are permitted
    /// as one job may need. `is_internal`: all of them are of the account itself. Unless gangs are preempted for priority only, such preemptions
    /// leave as many as one job of another account may need, or half of what an hour permits if that is less.
    #[must_use]
    pub fn permits(&self, account: &str, victims: usize, is_internal: bool, permitted: &Permitted) -> bool {
        let Some(left) = self.left.checked_sub(victims) else { return false };
        let only_priority = permitted.reasons.iter().all(|mode| *mode == Mode::Priority);
        if is_internal && !only_priority && left < permitted.max_victims.min(self.per_hour / 2) {
            return false;
        }
        let of_late = self.of_late.get(account).copied().unwrap_or(0);
        (of_late == 0 && victims <= permitted.max_victims) || of_late.saturating_add(victims) <= left
    }

    /// So many are preempted for a job of an account.
    pub fn spend(&mut self, account: &str, victims: usize) {
        self.left = self.left.saturating_sub(victims);
        *self.of_late.entry(account.to_owned()).or_default() += victims;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted(reasons: &[Mode]) -> Permitted {
        Permitted {
            reasons: reasons.iter().copied().collect(),
            min_runtime_seconds: 300,
            max_victims: 4,
            leaves_above: true,
        }
    }

    #[test]
    fn an_account_has_no_more_of_an_hour_than_it_leaves_to_others() {
        let (all, mut evictions) = (permitted(&[Mode::Share, Mode::Priority]), Evictions::up_to(60));
        let mut taken = 0;
        while evictions.permits("bob", 1, false, &all) {
            evictions.spend("bob", 1);
            taken += 1;
        }
        assert_eq!((taken, evictions.left), (30, 30));
        // However fast the rest fills, bob takes none of it: 31 are left, then 32.
        evictions.left += 1;
        assert!(!evictions.permits("bob", 1, false, &all) && evictions.permits("chips", 4, false, &all));
        evictions.left += 1;
        assert!(evictions.permits("bob", 1, false, &all));
    }

    #[test]
    fn a_job_that_needs_several_gets_them_though_few_are_left() {
        let (all, mut evictions) = (permitted(&[Mode::Share, Mode::Priority]), Evictions::up_to(60));
        evictions.left = 2;
        evictions.of_late.insert("bob".to_owned(), 1);
        assert!(!evictions.permits("bob", 1, false, &all), "it had one of late, and would leave one");
        assert!(evictions.permits("chips", 2, false, &all) && !evictions.permits("chips", 3, false, &all));
        let one = Evictions { per_hour: 1, ..Evictions::up_to(1) };
        assert!(one.permits("bob", 1, true, &all), "a small budget is not kept from anybody");
    }

    #[test]
    fn what_accounts_preempt_among_themselves_leaves_enough_for_a_job_of_another() {
        let (all, evictions) =
            (permitted(&[Mode::Reclaim, Mode::Priority]), Evictions { left: 4, ..Evictions::up_to(60) });
        for account in ["bob", "mallory", "eve"] {
            assert!(!evictions.permits(account, 1, true, &all) && evictions.permits(account, 1, false, &all));
        }
        assert!(Evictions { left: 5, ..evictions.clone() }.permits("bob", 1, true, &all));
        assert!(evictions.permits("bob", 1, true, &permitted(&[Mode::Priority])), "no other account could use it");
    }
}
