//! The four-valued tables: and, or, not, identity.

use crate::eval::lazy::Lazy;

/// `left && right` or `left || right`, once it is known that the left side does not decide alone.
///
/// `absorbing` is the truth that decides: false for `&&`, true for `||`. An ERROR on the left has won already.
pub(crate) fn join(left: &Lazy<'_>, right: &Lazy<'_>, absorbing: bool) -> Lazy<'static> {
    match (left, right) {
        (_, Lazy::Undefined) => Lazy::Undefined,
        (_, right) => match right.truth() {
            None => Lazy::Error,
            Some(truth) if truth == absorbing => Lazy::Boolean(absorbing),
            Some(_) if matches!(left, Lazy::Undefined) => Lazy::Undefined,
            Some(truth) => Lazy::Boolean(truth),
        },
    }
}

/// What the left side of `&&` (absorbing false) or `||` (absorbing true) decides alone.
pub(crate) fn decided(left: &Lazy<'_>, absorbing: bool) -> Option<Lazy<'static>> {
    match left {
        Lazy::Undefined => None,
        other => match other.truth() {
            None => Some(Lazy::Error),
            Some(truth) => (truth == absorbing).then_some(Lazy::Boolean(absorbing)),
        },
    }
}

/// `!operand`
pub(crate) fn not(operand: &Lazy<'_>) -> Lazy<'static> {
    match operand {
        Lazy::Undefined => Lazy::Undefined,
        other => other.truth().map_or(Lazy::Error, |truth| Lazy::Boolean(!truth)),
    }
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
