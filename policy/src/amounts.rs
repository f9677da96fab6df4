//! Amounts of what quotas count.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Arc, LazyLock};

/// An amount of a counter: micros (millionths of a charge) of `charge`, whole units of every other one. Sums and products of 2^20 accounts with
/// amounts below 2^64 are exact.
pub type Amount = i128;

/// The name of something that quotas count.
pub type Counter = Arc<str>;

/// Amounts by counter; what is absent is 0.
pub type Amounts = BTreeMap<Counter, Amount>;

/// The counter of charge.
pub const CHARGE: &str = "charge";

/// The counter of gangs.
pub const GANGS: &str = "gangs";

/// What a gang costs at least, in micros.
pub const LEAST_CHARGE: Amount = 1000;

/// What a gang takes by the numbers that [`Quotas`](crate::Quotas) gives to the counters it knows, in any order: for cycles, which ask for each
/// gang. A gang takes of few counters, so they are looked through.
#[derive(Clone, Debug, Default)]
pub struct NumberedAmounts {
    /// What the gang costs, in micros: the order of accounts depends on it, whether or not it is counted.
    pub(crate) charge: Amount,
    counted: Vec<(usize, Amount)>,
}

impl NumberedAmounts {
    /// Adds so much of a counter.
    #[inline]
    pub fn add(&mut self, number: usize, amount: Amount) {
        match self.counted.iter_mut().find(|(known, _)| *known == number) {
            Some((_, sum)) => *sum += amount,
            None => self.counted.push((number, amount)),
        }
    }

    /// Adds a counter of which nothing was added yet.
    #[inline]
    pub(crate) fn push(&mut self, number: usize, amount: Amount) {
        self.counted.push((number, amount));
    }

    /// What the gang costs, in micros; 0 if it was not added.
    #[inline]
    #[must_use]
    pub fn charge(&self) -> Amount {
        self.charge
    }

    /// Forgets all amounts.
    #[inline]
    pub fn clear(&mut self) {
        self.charge = 0;
        self.counted.clear();
    }

    /// The amounts.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (usize, Amount)> + Clone {
        self.counted.iter().copied()
    }
}

/// What a gang takes of every counter: amounts as given, one gang, and its charge, 1000 micros at least.
#[must_use]
pub fn taken_by_gang(charge: Amount, mut others: Amounts) -> Amounts {
    others.insert(Counter::clone(&CHARGE_COUNTER), charge.max(LEAST_CHARGE));
    others.insert(Counter::clone(&GANGS_COUNTER), 1);
    others
}

/// The two counters that every gang takes of.
static CHARGE_COUNTER: LazyLock<Counter> = LazyLock::new(|| CHARGE.into());
static GANGS_COUNTER: LazyLock<Counter> = LazyLock::new(|| GANGS.into());

/// The key by which accounts are ordered: what was used and is held, in micros, divided by the weight, as one integer. Weights are at most
/// 10^6, so two different quotients differ by at least 10^-12, which is more than 2^-41 twice: the key is exact.
#[inline]
pub(crate) fn normalized(micros: Amount, weight: NonZeroU32) -> i128 {
    let Ok(micros) = u64::try_from(micros) else { return normalized_large(micros, weight) };
    // The usual case: what is left of the first division is below 2^20, so that two divisions of machine words are exact.
    let weight = NonZeroU64::from(weight);
    let (whole, rest) = (micros / weight, micros % weight);
    (i128::from(whole) << 41) | i128::from((rest << 41) / weight)
}

#[cold]
fn normalized_large(micros: Amount, weight: NonZeroU32) -> i128 {
    micros.saturating_mul(1 << 41).div_euclid(weight.get().into())
}
