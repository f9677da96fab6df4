//! Which numbers may stand somewhere, and what comparing and calculating with them may give.

use std::collections::BTreeSet;

use classad::{BinaryOp, NumberRange};
use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::real::Real;

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

    /// The sums, differences, products or quotients; none if they may be anything.
    pub(crate) fn calculate(&self, op: BinaryOp, other: &Numbers) -> Option<Numbers> {
        Numbers::within(self.ends().calculate(op, other.ends())?)
    }

    /// The same numbers with the other sign; none if they may be anything.
    pub(crate) fn negated(&self) -> Option<Numbers> {
        let minus = |number: &Real| Real::of(-number.get());
        let values = self.values.as_ref().map(|values| values.iter().filter_map(minus).collect());
        Some(Numbers { values, ..Numbers::within(self.ends().negated()?)? })
    }

    fn ends(&self) -> NumberRange {
        NumberRange { min: self.min.get(), max: self.max.get() }
    }

    fn within(ends: NumberRange) -> Option<Numbers> {
        Some(Numbers::range(Real::of(ends.min)?, Real::of(ends.max)?))
    }
}
