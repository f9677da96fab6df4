//! The four-valued tables: and, or, not, identity.

use crate::eval::lazy::Lazy;
use crate::expr::BinaryOp;

/// What a value counts as where a truth is wanted. Unlike values it travels in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    False,
    True,
    Undefined,
    /// ERROR, and whatever is neither a boolean nor a number.
    Error,
}

/// `left && right` or `left || right`, once it is known that the left side does not decide alone.
///
/// `absorbing` is the truth that decides: false for `&&`, true for `||`. An ERROR on the left has won already.
pub(crate) fn join(left: Truth, right: Truth, absorbing: Truth) -> Truth {
    match (left, right) {
        (_, Truth::Undefined | Truth::Error) => right,
        (Truth::Undefined, right) if right != absorbing => Truth::Undefined,
        (_, right) => right,
    }
}

/// Whether the left side of `&&` (absorbing false) or `||` (absorbing true) decides alone.
pub(crate) fn decides(left: Truth, absorbing: Truth) -> bool {
    left == absorbing || left == Truth::Error
}

impl From<bool> for Truth {
    fn from(truth: bool) -> Self {
        if truth { Self::True } else { Self::False }
    }
}

impl From<&Lazy<'_>> for Truth {
    fn from(value: &Lazy<'_>) -> Self {
        match value {
            Lazy::Undefined => Self::Undefined,
            other => other.truth().map_or(Self::Error, Self::from),
        }
    }
}

impl From<Truth> for Lazy<'_> {
    fn from(truth: Truth) -> Self {
        match truth {
            Truth::False => Self::Boolean(false),
            Truth::True => Self::Boolean(true),
            Truth::Undefined => Self::Undefined,
            Truth::Error => Self::Error,
        }
    }
}

/// `!operand`
pub(crate) fn not(operand: &Lazy<'_>) -> Lazy<'static> {
    match operand {
        Lazy::Undefined => Lazy::Undefined,
        other => other.truth().map_or(Lazy::Error, |truth| Lazy::Boolean(!truth)),
    }
}

/// `left is right` or `left isnt right`.
pub(crate) fn identity(op: BinaryOp, left: &Lazy<'_>, right: &Lazy<'_>) -> Truth {
    identical(left, right).map_or(Truth::Error, |same| Truth::from(same == (op == BinaryOp::Is)))
}

/// `left is right`: never undefined, and an error only for two lists or two ads.
pub(crate) fn identical(left: &Lazy<'_>, right: &Lazy<'_>) -> Option<bool> {
    match (left, right) {
        (Lazy::List(_), Lazy::List(_)) | (Lazy::Ad(_), Lazy::Ad(_)) => None,
        (Lazy::Undefined, Lazy::Undefined) | (Lazy::Error, Lazy::Error) => Some(true),
        (Lazy::Boolean(left), Lazy::Boolean(right)) => Some(left == right),
        (Lazy::Integer(left), Lazy::Integer(right)) => Some(left == right),
        (Lazy::Real(left), Lazy::Real(right)) | (Lazy::RelTime(left), Lazy::RelTime(right)) => Some(left == right),
        (Lazy::String(left), Lazy::String(right)) => Some(**left == **right),
        (Lazy::AbsTime { seconds: a, offset: x }, Lazy::AbsTime { seconds: b, offset: y }) => Some(a == b && x == y),
        _ => Some(false),
    }
}
