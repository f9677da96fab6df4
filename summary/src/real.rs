//! Numbers of the language into reals that can be ordered, rounded so that nothing is lost.

use std::cmp::Ordering;

use classad::NumberRange;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Up to here every integer is a real; from here on, integers are known by the reals around them.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A real number, ordered as numbers are. Never NaN, and never the negative zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Real(f64);

impl Real {
    /// No number is smaller, and none is larger.
    pub(crate) const MIN: Real = Real(f64::NEG_INFINITY);
    pub(crate) const MAX: Real = Real(f64::INFINITY);

    /// The number; none for NaN.
    #[must_use]
    pub fn of(number: f64) -> Option<Real> {
        // Adding zero makes the negative zero a positive one.
        (!number.is_nan()).then_some(Real(number + 0.0))
    }

    /// The reals next to an integer, at or below it and at or above it.
    #[must_use]
    pub fn around(number: i64) -> (Real, Real) {
        let NumberRange { min, max } = NumberRange::around(number);
        (Real(min), Real(max))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether an integer or a real with this value is that value and no neighbour of it.
    pub(crate) fn is_exact(self) -> bool {
        self.0.abs() <= EXACT_MAX
    }

    /// The smallest integer that is not below the number, if that is at most 2^53 away from zero.
    pub(crate) fn ceil(self) -> Option<i64> {
        Real(self.0.ceil()).whole()
    }

    /// The integer, if it is a whole number up to 2^53.
    #[expect(clippy::cast_possible_truncation, reason = "checked: whole and small")]
    pub(crate) fn whole(self) -> Option<i64> {
        (self.is_exact() && self.0.fract() == 0.0).then_some(self.0 as i64)
    }
}

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Real) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Real) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Whole numbers up to 2^53 are written without a point.
impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.whole() {
            Some(number) => serializer.serialize_i64(number),
            None => serializer.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Real, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Real::of(number).filter(|_| number.is_finite()).ok_or_else(|| de::Error::custom("a number must be finite"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_are_read() {
        let text = |number: f64| serde_json::to_string(&Real::of(number).unwrap()).unwrap();
        assert_eq!([text(-0.0), text(3.0), text(2.5), text(1e300)], ["0", "3", "2.5", "1e+300"].map(str::to_owned));
        assert_eq!(serde_json::from_str::<Real>("-3").unwrap(), Real::of(-3.0).unwrap());
    }
}
