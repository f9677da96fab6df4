//! The fuel that the index takes on a submitter's account.

use classad::Bill;
use matchmaker::{FUEL_OF_A_STEP, Stop};

/// The fuel that the index uses for one submitter: beyond the limit, what an expression comes to is left open.
#[derive(Debug)]
pub(crate) struct Meter {
    used: u64,
    limit: u64,
    dry: bool,
    /// Ends evaluations from outside.
    pub(crate) stop: Stop,
    /// Where evaluations put what they use.
    pub(crate) bill: Bill,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter { used: 0, limit: u64::MAX, dry: false, stop: Stop::default(), bill: Bill::default() }
    }
}

impl Meter {
    /// Counts from nothing, up to so many steps.
    pub(crate) fn begin(&mut self, steps: u64) {
        (self.used, self.limit, self.dry) = (0, steps.saturating_mul(FUEL_OF_A_STEP), false);
    }

    /// The steps since it began, and whether the limit was met. From here on there is none.
    pub(crate) fn end(&mut self) -> (u64, bool) {
        let outcome = (self.used / FUEL_OF_A_STEP, self.dry);
        self.begin(u64::MAX);
        outcome
    }

    /// Whether more may be used: without a limit always, else until it is met or the cycle is to end.
    pub(crate) fn has_fuel(&mut self) -> bool {
        self.dry |= self.limit != u64::MAX && (self.used >= self.limit || self.stop.is_set());
        !self.dry
    }

    /// Counts what is on the bill.
    pub(crate) fn settle(&mut self) {
        let sum = self.bill.drain().fold(0u64, |sum, (_, fuel)| sum.saturating_add(fuel));
        self.spend(sum);
    }

    /// Counts the fuel of an evaluation.
    pub(crate) fn spend(&mut self, fuel: u64) {
        self.used = self.used.saturating_add(fuel);
    }

    /// Something was left open that would be known with more fuel: it is not to be remembered.
    pub(crate) fn is_dry(&self) -> bool {
        self.dry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_says_when_it_is_dry_and_does_so_at_once_when_it_is_stopped() {
        let mut meter = Meter::default();
        meter.begin(1);
        meter.spend(FUEL_OF_A_STEP - 1);
        assert!(meter.has_fuel());
        meter.spend(FUEL_OF_A_STEP + 1);
        assert!(!meter.has_fuel());
        assert_eq!(meter.end(), (2, true));
        assert!(meter.has_fuel());
        meter.stop.set();
        assert!(meter.has_fuel(), "what is remembered is finished");
        meter.begin(5);
        assert!(!meter.has_fuel());
    }
}
