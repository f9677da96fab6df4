//! Usage: the decayed average of what an account has held.

use crate::amounts::Amount;
use crate::charge::{Claim, charge};
use crate::fixed_point::FixedPoint;

/// What an account has used, as its status stores it: the usage at a time, and the charge that is held since then. That gives the usage
/// at any later time, so nothing has to be written while nothing changes.
///
/// While `held` is held, the usage approaches it, and half of the distance is left after each half-life. This is HTCondor's real user priority
/// (HTCondor Manual, *User Priorities and Negotiation*) in closed form.
///
/// ```
/// use policy::Usage;
/// let mut usage = Usage::default().with_half_life(86_400);
/// usage.hold(0, 8_000_000);
/// assert_eq!(usage.at(86_400), 4_000_000);
/// assert_eq!(usage.at(2 * 86_400), 6_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    value: FixedPoint,
    since: i64,
    held: Amount,
    half_life: i64,
}

impl Default for Usage {
    /// No usage, at time 0, with the half-life of a day.
    fn default() -> Usage {
        Usage::stored(0, 0, 0)
    }
}

impl Usage {
    /// The usage of a status, in micros: `value` at `since`, and `held` held from then on. Values are cut to 0..10^19.
    #[must_use]
    pub fn stored(value: Amount, since: i64, held: Amount) -> Usage {
        Usage { value: FixedPoint::of_micros(value), since, held, half_life: 86_400 }
    }

    /// The same usage with another half-life, in seconds, at least 1, which counts from the stored time on: one that changes at some time is to be
    /// set after [`Usage::hold`] at that time.
    #[must_use]
    pub fn with_half_life(self, seconds: i64) -> Usage {
        Usage { half_life: seconds.max(1), ..self }
    }

    /// The usage at a time, in micros, rounded half to even. Time never runs backwards: an earlier time than the stored one counts as that.
    #[must_use]
    pub fn at(&self, time: i64) -> Amount {
        self.folded(time).value.to_micros()
    }

    /// The stored time.
    #[must_use]
    pub fn since(&self) -> i64 {
        self.since
    }

    /// The charge that is held, in micros.
    #[must_use]
    pub fn held(&self) -> Amount {
        self.held
    }

    /// From a time on, this charge is held instead.
    pub fn hold(&mut self, time: i64, charge: Amount) {
        *self = Usage { held: charge, ..self.folded(time) };
    }

    /// The same usage, stored at another time.
    fn folded(self, time: i64) -> Usage {
        let since = time.max(self.since);
        let elapsed = i128::from(since) - i128::from(self.since);
        let held = FixedPoint::of_micros(self.held);
        Usage { value: self.value.decayed(held, elapsed, i128::from(self.half_life)), since, ..self }
    }

    /// The usage at `now`, for a leader that takes over with what is stored and the claims that are known.
    ///
    /// What was stored as held beyond the cost of the claims known for that time belongs to claims that are gone since: it is
    /// charged up to `now` and not after it. It costs one evaluation of the claims for each that began or ended since the stored time.
    #[must_use]
    pub fn taken_over(mut self, claims: &[Claim], now: i64) -> Usage {
        let (start, now) = (self.since, now.max(self.since));
        let cost = |time: i64| charge(claims.iter().filter(|claim| claim.is_held(time)));
        let gone = (self.held - cost(start)).max(0);
        let mut changes: Vec<i64> = claims.iter().flat_map(|claim| [Some(claim.from), claim.to]).flatten().collect();
        changes.retain(|time| start < *time && *time < now);
        changes.sort_unstable();
        changes.dedup();
        self.held = cost(start) + gone;
        for time in changes {
            self.hold(time, cost(time) + gone);
        }
        self.hold(now, cost(now));
        self
    }
}
