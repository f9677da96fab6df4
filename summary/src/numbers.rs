//! Which numbers may stand somewhere, and what comparing and calculating with them may give.

use std::collections::BTreeSet;

use classad::BinaryOp;
use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::real::{EXACT_MAX, Real};

/// A set of numbers: a range, and, while they are few and exact, the numbers themselves. 3 and 3.0 are one number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// At or below the smallest.
    pub min: Real,
    /// At or above the largest.
    pub max: Real,
    /// All of them; absent if they are too many, or if one of them is beyond 2^53.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<BTreeSet<Real>>,
}

/// How one value may compare with another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) less: bool,
    pub(crate) equal: bool,
    pub(crate) greater: bool,
}

/// Beyond this, integers may wrap around: a result may be any value.
const RESULT_MAX: f64 = 4_611_686_018_427_387_904.0;

impl Numbers {
    /// One number, known by the reals around it.
    pub(crate) fn one((min, max): (Real, Real)) -> Numbers {
        let exact = min == max && min.is_exact();
        Numbers { min, max, values: exact.then(|| BTreeSet::from([min])) }
    }

    /// Any number between two.
    pub(crate) fn range(min: Real, max: Real) -> Numbers {
        Numbers { min, max, values: None }
    }

    /// Any number at all.
    pub(crate) fn all() -> Numbers {
        Numbers::range(Real::MIN, Real::MAX)
    }

    /// The numbers in either.
    pub(crate) fn join(&self, other: &Numbers, limits: &Limits) -> Numbers {
        let values = self.values.as_ref().zip(other.values.as_ref()).map(|(one, two)| one | two);
        Numbers {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            values: values.filter(|values| values.len() <= limits.values),
        }
    }

    /// Whether this number may be among them.
    pub(crate) fn contains(&self, number: Real) -> bool {
        match &self.values {
            Some(values) => values.contains(&number),
            None => self.min <= number && number <= self.max,
        }
    }

    /// Whether a number other than zero may be among them.
    pub(crate) fn has_nonzero(&self) -> bool {
        let zero = Real::of(0.0);
        Some(self.min) != zero || Some(self.max) != zero
    }

    /// How one of these may compare with one of the others.
    pub(crate) fn orders(&self, other: &Numbers) -> Orders {
        let equal = match (&self.values, &other.values) {
            (Some(values), _) => values.iter().any(|number| other.contains(*number)),
            (None, Some(values)) => values.iter().any(|number| self.contains(*number)),
            (None, None) => self.min <= other.max && other.min <= self.max,
        };
        Orders { less: self.min < other.max, equal, greater: self.max > other.min }
    }

    /// The sums, differences, products or quotients; none if they may be anything. For integers, reals and a mix of both: rounding is
    /// monotone, so that the ends of the operands give the ends of the results.
    pub(crate) fn calculate(&self, op: BinaryOp, other: &Numbers) -> Option<Numbers> {
        let pairs = [self.min, self.max].map(|left| [other.min, other.max].map(|right| (left, right)));
        let pairs = pairs.as_flattened();
        let by = |real: fn(f64, f64) -> f64| {
            let results = pairs.iter().map(move |(left, right)| real(left.get(), right.get()));
            ends(results.map(|result| (result, result)))
        };
        match op {
            BinaryOp::Add => by(|left, right| left + right),
            BinaryOp::Subtract => by(|left, right| left - right),
            BinaryOp::Multiply => by(|left, right| left * right),
            BinaryOp::Divide if !(other.min <= Real::of(0.0)? && Real::of(0.0)? <= other.max) => {
                ends(pairs.iter().map(|(left, right)| quotient(*left, *right)))
            }
            _ => None,
        }
    }

    /// The same numbers with the other sign; none if they may be anything.
    pub(crate) fn negated(&self) -> Option<Numbers> {
        let minus = |number: &Real| Real::of(-number.get());
        let (min, max) = (minus(&self.max)?, minus(&self.min)?);
        let values = self.values.as_ref().map(|values| values.iter().filter_map(minus).collect());
        (min.get() >= -RESULT_MAX && max.get() <= RESULT_MAX).then_some(Numbers { min, max, values })
    }
}

/// The smallest and the largest result of a calculation; none if one is too large for integers.
fn ends(results: impl Iterator<Item = (f64, f64)>) -> Option<Numbers> {
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for (low, high) in results {
        if !(low.abs() <= RESULT_MAX && high.abs() <= RESULT_MAX) {
            return None;
        }
        // Integers beyond 2^53 were rounded to the nearest real on the way.
        min = min.min(if low.abs() < EXACT_MAX { low } else { low.next_down() });
        max = max.max(if high.abs() < EXACT_MAX { high } else { high.next_up() });
    }
    Some(Numbers::range(Real::of(min)?, Real::of(max)?))
}

/// A quotient of reals, and of integers, which is cut towards zero.
fn quotient(left: Real, right: Real) -> (f64, f64) {
    let quotient = left.get() / right.get();
    let cut = match (left.whole(), right.whole()) {
        (Some(left), Some(right)) => left.checked_div(right).map_or(quotient, |cut| Real::around(cut).0.get()),
        // No integers stand at these ends; of those between them, the quotients lie inside, and are cut.
        _ if quotient >= 0.0 => quotient.next_down().floor().max(0.0),
        _ => quotient.next_up().ceil().min(0.0),
    };
    (quotient.min(cut), quotient.max(cut))
}
