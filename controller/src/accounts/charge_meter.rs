//! A charge summed up over time, in charge-seconds. Pure: it is told the time.

use policy::Amount;

/// How many micros times milliseconds a charge-second has.
const CHARGE_SECOND: Amount = 1_000_000_000;

/// The sum of a charge over time: what all claims hold in a term, or what a reservation keeps idle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChargeMeter {
    /// Until `at_ms`, in micros times milliseconds.
    pub(crate) sum: Amount,
    /// From then on, in micros; 0 at first.
    charge: Amount,
    at_ms: u64,
}

impl ChargeMeter {
    /// From now on, the charge is this, in micros.
    pub(crate) fn goes_on_at(&mut self, charge: Amount, now_ms: u64) {
        self.sum += self.charge * Amount::from(now_ms.saturating_sub(self.at_ms));
        (self.charge, self.at_ms) = (charge, now_ms);
    }

    /// Takes out the whole charge-seconds. What is less than one is kept for later.
    pub(crate) fn take_seconds(&mut self) -> u64 {
        let whole = self.sum / CHARGE_SECOND;
        self.sum -= whole * CHARGE_SECOND;
        u64::try_from(whole).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_from_when_it_is_held_and_nothing_is_lost() {
        let mut meter = ChargeMeter::default();
        let mut pass = |charge, now_ms| {
            meter.goes_on_at(charge, now_ms);
            meter.take_seconds()
        };
        // It is not known what was held before the term.
        assert_eq!(pass(2_500_000, 70_000), 0);
        assert_eq!(pass(2_500_000, 71_000), 2);
        assert_eq!(pass(0, 72_000), 3);
        assert_eq!(pass(1, 99_000), 0);
        let often: u64 = (1..=2_000_000).map(|step| pass(1, 99_000 + step * 1_000)).sum();
        assert_eq!(often, 2, "a millionth of a charge for two million seconds");
    }
    #[test]
    fn what_is_kept_idle_is_summed_up_as_it_changes() {
        let mut kept = ChargeMeter::default();
        for (charge, now_ms) in [(0, 100), (4, 200), (8, 300), (0, 350), (0, 900)] {
            kept.goes_on_at(charge, now_ms);
        }
        assert_eq!(kept.sum, 4 * 100 + 8 * 50);
    }
}
