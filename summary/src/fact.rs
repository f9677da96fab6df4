//! One value into what a summary keeps of it.

use std::sync::Arc;

use classad::Value;

use crate::real::Real;
use crate::texts::folded;

/// What a summary keeps of one value: values that are one fact are told apart nowhere.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    Undefined,
    Error,
    Bool(bool),
    /// The reals at or below and at or above it; beyond 2^53 an integer lies between two.
    Number(Real, Real),
    /// In small letters.
    Text(Arc<str>),
    /// Any value: a list, an ad, a time, an infinity, or what is not known before a partner is.
    Any,
}

impl Fact {
    /// What is kept of a value.
    pub(crate) fn of(value: &Value) -> Fact {
        match value {
            Value::Undefined => Fact::Undefined,
            Value::Error => Fact::Error,
            Value::Boolean(truth) => Fact::Bool(*truth),
            Value::Integer(number) => {
                let (low, high) = Real::around(*number);
                Fact::Number(low, high)
            }
            Value::Real(number) if number.is_finite() => {
                Real::of(*number).map_or(Fact::Any, |number| Fact::Number(number, number))
            }
            Value::String(text) => Fact::Text(folded(text)),
            Value::Real(_) | Value::AbsTime { .. } | Value::RelTime(_) | Value::List(_) | Value::Ad(_) => Fact::Any,
        }
    }
}
