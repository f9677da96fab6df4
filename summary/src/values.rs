//! Which values may stand somewhere: in an attribute of many ads, or as the result of an expression over such attributes.

use std::collections::BTreeSet;

use classad::Value;
use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::limits::Limits;
use crate::numbers::Numbers;
use crate::real::Real;
use crate::texts::Texts;

/// A set of values, always too many rather than too few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Values {
    /// UNDEFINED: some ad lacks the attribute, or has it as UNDEFINED.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undefined: bool,
    /// ERROR.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
    /// Booleans.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub bools: BTreeSet<bool>,
    /// Integers and reals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Numbers>,
    /// Texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texts: Option<Texts>,
    /// Anything, lists, ads, times and infinities included. Nothing else is set then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub any: bool,
}

impl Values {
    /// Any value.
    pub(crate) fn any() -> Values {
        Values { any: true, ..Values::default() }
    }

    /// UNDEFINED alone.
    pub(crate) fn undefined() -> Values {
        Values { undefined: true, ..Values::default() }
    }

    /// ERROR alone.
    pub(crate) fn error() -> Values {
        Values { error: true, ..Values::default() }
    }

    /// One value.
    pub(crate) fn of(value: &Value, limits: &Limits) -> Values {
        match Fact::of(value) {
            Fact::Undefined => Values::undefined(),
            Fact::Error => Values::error(),
            Fact::Bool(truth) => Values { bools: BTreeSet::from([truth]), ..Values::default() },
            Fact::Number(low, high) => Values { numbers: Some(Numbers::one((low, high))), ..Values::default() },
            Fact::Text(text) => Values { texts: Some(Texts::of([&text].into_iter(), limits)), ..Values::default() },
            Fact::Any => Values::any(),
        }
    }

    /// The values in either: commutative, associative, idempotent.
    pub(crate) fn join(&self, other: &Values, limits: &Limits) -> Values {
        if self.any || other.any {
            return Values::any();
        }
        Values {
            undefined: self.undefined || other.undefined,
            error: self.error || other.error,
            bools: &self.bools | &other.bools,
            numbers: joined(&self.numbers, &other.numbers, |one, two| one.join(two, limits)),
            texts: joined(&self.texts, &other.texts, |one, two| one.join(two, limits)),
            any: false,
        }
    }

    /// The numbers among them, booleans as 0 and 1, as comparisons and calculations read them.
    pub(crate) fn as_numbers(&self, limits: &Limits) -> Option<Numbers> {
        if self.any {
            return Some(Numbers::all());
        }
        let bools = self.bools.iter().map(|truth| Numbers::one(Real::around(i64::from(*truth))));
        bools.chain(self.numbers.clone()).reduce(|one, two| one.join(&two, limits))
    }

    /// The texts among them.
    pub(crate) fn as_texts(&self) -> Option<&Texts> {
        if self.any { Some(&Texts::Many) } else { self.texts.as_ref() }
    }

    /// Whether UNDEFINED is among them.
    pub(crate) fn may_be_undefined(&self) -> bool {
        self.undefined || self.any
    }

    /// Whether ERROR is among them.
    pub(crate) fn may_be_error(&self) -> bool {
        self.error || self.any
    }

    /// Whether a value that is neither UNDEFINED nor ERROR is among them.
    pub(crate) fn may_be_proper(&self) -> bool {
        self.any || !self.bools.is_empty() || self.numbers.is_some() || self.texts.is_some()
    }
}

/// What either has.
fn joined<T: Clone>(one: &Option<T>, two: &Option<T>, join: impl Fn(&T, &T) -> T) -> Option<T> {
    match (one, two) {
        (Some(one), Some(two)) => Some(join(one, two)),
        (one, two) => one.clone().or_else(|| two.clone()),
    }
}
