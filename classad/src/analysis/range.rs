//! Ranges of numbers, and what operators make of them: an upper bound, never too few.

use std::cmp::Ordering;

use crate::expr::BinaryOp;

/// The numbers from one to another, both included. An integer beyond 2^53 is known by the reals around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRange {
    /// At or below all of them.
    pub min: f64,
    /// At or above all of them.
    pub max: f64,
}

/// Up to here every integer is a real.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Beyond this, integers may wrap around: a result may be any value.
const RESULT_MAX: f64 = 4_611_686_018_427_387_904.0;

impl NumberRange {
    /// One real number.
    #[must_use]
    pub fn of(number: f64) -> NumberRange {
        NumberRange { min: number, max: number }
    }

    /// One integer: itself, or the reals at or below it and at or above it.
    #[must_use]
    pub fn around(integer: i64) -> NumberRange {
        let nearest = real(integer);
        match exact_cmp(nearest, integer) {
            Ordering::Equal => NumberRange::of(nearest),
            Ordering::Greater => NumberRange { min: nearest.next_down(), max: nearest },
            Ordering::Less => NumberRange { min: nearest, max: nearest.next_up() },
        }
    }

    /// The smallest range with both in it. What is not a number makes no difference.
    #[must_use]
    pub fn join(self, other: NumberRange) -> NumberRange {
        NumberRange { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Whether a comparison may be true of a number of this range and one of the other; of other operators, always.
    #[must_use]
    pub fn may_compare(self, op: BinaryOp, other: NumberRange) -> bool {
        match op {
            BinaryOp::Less => self.min < other.max,
            BinaryOp::LessEqual => self.min <= other.max,
            BinaryOp::Greater => self.max > other.min,
            BinaryOp::GreaterEqual => self.max >= other.min,
            BinaryOp::Equal => self.min <= other.max && other.min <= self.max,
            _ => true,
        }
    }

    /// The sums, differences, products or quotients; none if they may be anything. For integers, reals and a mix of both: rounding is
    /// monotone, so that the ends of the operands give the ends of the results.
    #[must_use]
    pub fn calculate(self, op: BinaryOp, other: NumberRange) -> Option<NumberRange> {
        let pairs = [self.min, self.max].map(|left| [other.min, other.max].map(|right| (left, right)));
        let pairs = pairs.as_flattened().iter();
        let by =
            |real: fn(f64, f64) -> f64| pairs.clone().map(move |(left, right)| NumberRange::of(real(*left, *right)));
        match op {
            BinaryOp::Add => ends(by(|left, right| left + right)),
            BinaryOp::Subtract => ends(by(|left, right| left - right)),
            BinaryOp::Multiply => ends(by(|left, right| left * right)),
            BinaryOp::Divide if !(other.min <= 0.0 && 0.0 <= other.max) => {
                ends(pairs.map(|(left, right)| quotient(*left, *right)))
            }
            _ => None,
        }
    }

    /// The same numbers with the other sign; none if they may be anything.
    #[must_use]
    pub fn negated(self) -> Option<NumberRange> {
        (self.min >= -RESULT_MAX && self.max <= RESULT_MAX).then_some(NumberRange { min: -self.max, max: -self.min })
    }
}

/// The smallest and the largest result of a calculation; none if one is too large for integers.
fn ends(results: impl Iterator<Item = NumberRange>) -> Option<NumberRange> {
    let mut all = NumberRange { min: f64::INFINITY, max: f64::NEG_INFINITY };
    for NumberRange { min, max } in results {
        if !(min.abs() <= RESULT_MAX && max.abs() <= RESULT_MAX) {
            return None;
        }
        // Integers beyond 2^53 were rounded to the nearest real on the way.
        let min = if min.abs() < EXACT_MAX { min } else { min.next_down() };
        let max = if max.abs() < EXACT_MAX { max } else { max.next_up() };
        all = all.join(NumberRange { min, max });
    }
    Some(all)
}

/// A quotient of reals, and of integers, which is cut towards zero.
fn quotient(left: f64, right: f64) -> NumberRange {
    let quotient = left / right;
    let cut = match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.checked_div(right).map_or(quotient, |cut| NumberRange::around(cut).min),
        // No integers stand at these ends; of those between them, the quotients lie inside, and are cut.
        _ if quotient >= 0.0 => quotient.next_down().floor().max(0.0),
        _ => quotient.next_up().ceil().min(0.0),
    };
    NumberRange { min: quotient.min(cut), max: quotient.max(cut) }
}

/// The integer, if it is a whole number up to 2^53.
#[expect(clippy::cast_possible_truncation, reason = "checked: whole and small")]
fn whole(number: f64) -> Option<i64> {
    (number.abs() <= EXACT_MAX && number.fract() == 0.0).then_some(number as i64)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Expr, Value, constant};

    #[test]
    fn large_integers_lie_between_their_reals() {
        let around = |number| {
            let NumberRange { min, max } = NumberRange::around(number);
            (min, max)
        };
        assert_eq!(around(9_007_199_254_740_992), (EXACT_MAX, EXACT_MAX));
        assert_eq!(around(9_007_199_254_740_993), (EXACT_MAX, EXACT_MAX + 2.0));
        assert_eq!(around(-9_007_199_254_740_993), (-EXACT_MAX - 2.0, -EXACT_MAX));
        assert_eq!(around(i64::MAX), (9_223_372_036_854_774_784.0, 9_223_372_036_854_775_808.0));
        assert_eq!(around(i64::MIN), (-9_223_372_036_854_775_808.0, -9_223_372_036_854_775_808.0));
    }

    #[test]
    fn what_may_be_anything_has_no_range() {
        let range = |min, max| NumberRange { min, max };
        assert_eq!(range(1.0, 2.0).calculate(BinaryOp::Divide, range(-1.0, 1.0)), None);
        assert_eq!(range(1.0, 2.0).calculate(BinaryOp::Remainder, range(3.0, 3.0)), None);
        assert_eq!(range(1.0, 5e18).calculate(BinaryOp::Add, range(1.0, 1.0)), None);
        assert_eq!(range(1.0, f64::INFINITY).calculate(BinaryOp::Multiply, range(0.0, 1.0)), None);
        assert_eq!(range(-5e18, 0.0).negated(), None);
        assert_eq!(range(5.0, 7.0).calculate(BinaryOp::Divide, range(2.0, 2.0)), Some(range(2.0, 3.5)));
    }

    fn number() -> impl Strategy<Value = Value> {
        let integers = prop_oneof![-5..6_i64, any::<i64>(), (0..8_i64).prop_map(|more| (1 << 53) - 4 + more)];
        let reals = prop_oneof![(-20..21_i32).prop_map(|half| f64::from(half) / 4.0), any::<f64>()];
        let finite = reals.prop_filter("finite", |real| real.is_finite());
        prop_oneof![
            integers.prop_map(Value::Integer),
            finite.prop_map(Value::Real),
            any::<bool>().prop_map(Value::Boolean)
        ]
    }

    fn range_of(value: &Value) -> NumberRange {
        match value {
            Value::Integer(number) => NumberRange::around(*number),
            Value::Real(number) => NumberRange::of(*number),
            other => NumberRange::around(i64::from(other.is_true())),
        }
    }

    proptest! {
        /// Whatever two numbers of two ranges make together lies in the range that these make.
        #[test]
        fn results_lie_within(numbers in prop::array::uniform4(number())) {
            use BinaryOp::{Add, Divide, Equal, Greater, GreaterEqual, Less, LessEqual, Multiply, Subtract};
            let [one, two, three, four] = numbers;
            let (left, right) = (range_of(&one).join(range_of(&two)), range_of(&three).join(range_of(&four)));
            for (own, other) in [(&one, &three), (&one, &four), (&two, &three), (&two, &four)] {
                let by = |op| constant(&Expr::binary(op, Expr::literal(own.clone()), Expr::literal(other.clone()))).unwrap();
                for op in [Add, Subtract, Multiply, Divide] {
                    if let Some(range) = left.calculate(op, right) {
                        let result = range_of(&by(op));
                        prop_assert!(range.min <= result.min && result.max <= range.max, "{own:?} {op:?} {other:?}: {range:?}");
                    }
                }
                for op in [Less, LessEqual, Greater, GreaterEqual, Equal] {
                    prop_assert!(left.may_compare(op, right) || by(op) == Value::Boolean(false), "{own:?} {op:?} {other:?}");
                }
            }
        }
    }
}
