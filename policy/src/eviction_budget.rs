//! How many gangs may be preempted in an hour, in the whole pool: a token bucket.

/// An hour, in milliseconds.
const HOUR_MS: u64 = 3_600_000;

/// The bucket; a term begins with a tenth of it. One victim is `HOUR_MS` of its units.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvictionBudget(Option<(u64, u64)>);

impl EvictionBudget {
    /// How many gangs may be preempted now, if so many may be in an hour.
    pub fn left(&mut self, per_hour: u32, now_ms: u64) -> usize {
        let per_hour = u64::from(per_hour);
        let full = per_hour.saturating_mul(HOUR_MS);
        let (units, since_ms) = self.0.unwrap_or((full / 10, now_ms));
        // At the beginning there is room for one at least.
        let units = if self.0.is_none() { units.max(HOUR_MS.min(full)) } else { units };
        let filled = units.saturating_add(now_ms.saturating_sub(since_ms).saturating_mul(per_hour)).min(full);
        self.0 = Some((filled, now_ms));
        usize::try_from(filled / HOUR_MS).unwrap_or(usize::MAX)
    }

    /// So many are preempted.
    pub fn spend(&mut self, victims: usize) {
        if let Some((units, _)) = &mut self.0 {
            *units = units.saturating_sub(u64::try_from(victims).unwrap_or(u64::MAX).saturating_mul(HOUR_MS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_with_a_tenth_and_fills_in_an_hour() {
        let mut budget = EvictionBudget::default();
        assert_eq!(budget.left(60, 1000), 6);
        budget.spend(6);
        assert_eq!([budget.left(60, 1000), budget.left(60, 61_000)], [0, 1]);
        assert_eq!(budget.left(60, 10 * HOUR_MS), 60, "no more than for one hour");
        assert_eq!(EvictionBudget::default().left(1, 0), 1, "a small one is not empty at the beginning");
    }
}
