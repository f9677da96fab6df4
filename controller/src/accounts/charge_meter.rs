//! What all claims hold, summed up over time: the charge-seconds of a term. Pure: it is told the time.

use policy::Amount;

/// How many micros times milliseconds a charge-second has.
const CHARGE_SECOND: Amount = 1_000_000_000;

/// Counts charge-seconds. What is less than one is kept for later.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChargeMeter {
    /// What is held, in micros, and since when, on the monotonic clock; nothing is known at first.
    last: Option<(Amount, u64)>,
    rest: Amount,
}

impl ChargeMeter {
    /// So many micros are held from now on. The whole charge-seconds that have passed since the last time.
    pub(super) fn pass(&mut self, held: Amount, now_ms: u64) -> u64 {
        if let Some((before, since_ms)) = self.last {
            self.rest += before * Amount::from(now_ms.saturating_sub(since_ms));
        }
        self.last = Some((held, now_ms));
        let whole = self.rest / CHARGE_SECOND;
        self.rest -= whole * CHARGE_SECOND;
        u64::try_from(whole).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_from_when_it_is_held_and_nothing_is_lost() {
        let mut meter = ChargeMeter::default();
        // It is not known what was held before the term.
        assert_eq!(meter.pass(2_500_000, 70_000), 0);
        assert_eq!(meter.pass(2_500_000, 71_000), 2);
        assert_eq!(meter.pass(0, 72_000), 3);
        assert_eq!(meter.pass(1, 99_000), 0);
        let often: u64 = (1..=2_000_000).map(|step| meter.pass(1, 99_000 + step * 1_000)).sum();
        assert_eq!(often, 2, "a millionth of a charge for two million seconds");
    }
}
