//! Amounts of what quotas count.

use std::collections::BTreeMap;
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
pub(crate) fn normalized(micros: Amount, weight: Amount) -> i128 {
    micros.saturating_mul(1 << 41).div_euclid(weight.max(1))
}
