//! Numbers of the language into reals that can be ordered, rounded so that nothing is lost.

use std::cmp::Ordering;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Up to here every integer is a real; from here on, integers are known by the reals around them.
pub(crate) const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

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
        let nearest = real(number);
        match exact_cmp(nearest, number) {
            Ordering::Equal => (Real(nearest), Real(nearest)),
            Ordering::Greater => (Real(nearest.next_down()), Real(nearest)),
            Ordering::Less => (Real(nearest), Real(nearest.next_up())),
        }
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

#[expect(clippy::cast_precision_loss, reason = "rounded to the nearest; the caller looks to which side")]
fn real(number: i64) -> f64 {
    number as f64
}

/// How a real that an integer was rounded to compares with the integer.
#[expect(clippy::cast_possible_truncation, reason = "a rounded 64-bit integer fits into 128 bits")]
fn exact_cmp(rounded: f64, number: i64) -> Ordering {
    (rounded as i128).cmp(&i128::from(number))
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
    fn large_integers_lie_between_their_reals() {
        let around = |number| {
            let (low, high) = Real::around(number);
            (low.get(), high.get())
        };
        assert_eq!(around(9_007_199_254_740_992), (EXACT_MAX, EXACT_MAX));
        assert_eq!(around(9_007_199_254_740_993), (EXACT_MAX, EXACT_MAX + 2.0));
        assert_eq!(around(-9_007_199_254_740_993), (-EXACT_MAX - 2.0, -EXACT_MAX));
        assert_eq!(around(i64::MAX), (9_223_372_036_854_774_784.0, 9_223_372_036_854_775_808.0));
        assert_eq!(around(i64::MIN), (-9_223_372_036_854_775_808.0, -9_223_372_036_854_775_808.0));
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        let text = |number: f64| serde_json::to_string(&Real::of(number).unwrap()).unwrap();
        assert_eq!([text(-0.0), text(3.0), text(2.5), text(1e300)], ["0", "3", "2.5", "1e+300"].map(str::to_owned));
        assert_eq!(serde_json::from_str::<Real>("-3").unwrap(), Real::of(-3.0).unwrap());
    }
}
