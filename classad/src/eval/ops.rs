//! Arithmetic, comparison and bits on values; nothing here panics or overflows.

use std::cmp::Ordering;

use crate::dialect::Dialect;
use crate::eval::lazy::Lazy;
use crate::eval::logic::{self, Truth};
use crate::expr::{BinaryOp, UnaryOp};
use crate::value::Value;
use crate::value::to_real;

/// An operator that needs the values of both sides: ERROR beats UNDEFINED, both beat the rest.
pub(crate) fn binary(op: BinaryOp, left: &Lazy<'_>, right: &Lazy<'_>) -> Lazy<'static> {
    match (left, right) {
        (Lazy::Error, _) | (_, Lazy::Error) => return Lazy::Error,
        (Lazy::Undefined, _) | (_, Lazy::Undefined) => return Lazy::Undefined,
        _ => {}
    }
    match op {
        _ if op.compares() => compare(op, left, right).into(),
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => {
            arithmetic(op, left, right)
        }
        _ => match (left, right) {
            (Lazy::Integer(left), Lazy::Integer(right)) => bits(op, *left, *right),
            _ => Lazy::Error,
        },
    }
}

/// The same as the dialect has it: only in HTCondor's are there shifts by less than 0 or more than 63 places.
pub(crate) fn binary_in(dialect: Dialect, op: BinaryOp, left: &Lazy<'_>, right: &Lazy<'_>) -> Lazy<'static> {
    match (left, right) {
        (Lazy::Integer(_), Lazy::Integer(places))
            if dialect == Dialect::Gangmatch && op.shifts() && !(0..64).contains(places) =>
        {
            Lazy::Error
        }
        _ => binary(op, left, right),
    }
}

/// An operator with one operand.
pub(crate) fn unary(op: UnaryOp, operand: &Lazy<'_>) -> Lazy<'static> {
    match (op, operand) {
        (UnaryOp::Not, operand) => logic::not(operand),
        (_, Lazy::Undefined) => Lazy::Undefined,
        (UnaryOp::Minus, Lazy::Integer(number)) => Lazy::Integer(number.wrapping_neg()),
        (UnaryOp::Minus, Lazy::Real(number)) => Lazy::Real(-number),
        (UnaryOp::Minus, Lazy::RelTime(seconds)) => Lazy::RelTime(-seconds),
        (UnaryOp::Plus, Lazy::Integer(number)) => Lazy::Integer(*number),
        (UnaryOp::Plus, Lazy::Real(number)) => Lazy::Real(*number),
        (UnaryOp::Plus, Lazy::RelTime(seconds)) => Lazy::RelTime(*seconds),
        (UnaryOp::BitNot, Lazy::Integer(number)) => Lazy::Integer(!number),
        _ => Lazy::Error,
    }
}

/// A comparison, without the detour over a value.
pub(crate) fn comparison(op: BinaryOp, left: &Lazy<'_>, right: &Lazy<'_>) -> Truth {
    match (left, right) {
        (Lazy::Error, _) | (_, Lazy::Error) => Truth::Error,
        (Lazy::Undefined, _) | (_, Lazy::Undefined) => Truth::Undefined,
        _ => compare(op, left, right),
    }
}

/// A comparison with a literal: those that matter most without making a value of it.
pub(crate) fn comparison_with(op: BinaryOp, left: &Lazy<'_>, right: &Value) -> Truth {
    match (left, right) {
        (Lazy::Integer(left), Value::Integer(right)) => Truth::from(holds(op, Some(left.cmp(right)))),
        (Lazy::String(left), Value::String(right)) if op == BinaryOp::Equal => {
            Truth::from(left.eq_ignore_ascii_case(right))
        }
        _ => comparison(op, left, &Lazy::scalar(right)),
    }
}

fn compare(op: BinaryOp, left: &Lazy<'_>, right: &Lazy<'_>) -> Truth {
    let ordering = match (left, right) {
        (Lazy::String(left), Lazy::String(right)) => match op {
            // Most comparisons of strings ask for equality only, which different lengths decide.
            BinaryOp::Equal => return Truth::from(left.eq_ignore_ascii_case(right)),
            BinaryOp::NotEqual => return Truth::from(!left.eq_ignore_ascii_case(right)),
            _ => Some(crate::name::compare(left, right)),
        },
        (Lazy::AbsTime { seconds: left, .. }, Lazy::AbsTime { seconds: right, .. }) => Some(left.cmp(right)),
        (Lazy::RelTime(left), Lazy::RelTime(right)) => left.partial_cmp(right),
        (Lazy::Integer(left), Lazy::Integer(right)) => Some(left.cmp(right)),
        _ => match (left.number(), right.number()) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => return Truth::Error,
        },
    };
    Truth::from(holds(op, ordering))
}

/// Whether a comparison holds; without an order (NaN) only `!=` does.
pub(crate) fn holds(op: BinaryOp, ordering: Option<Ordering>) -> bool {
    match op {
        BinaryOp::Equal => ordering == Some(Ordering::Equal),
        BinaryOp::NotEqual => ordering != Some(Ordering::Equal),
        BinaryOp::Less => ordering == Some(Ordering::Less),
        BinaryOp::LessEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        BinaryOp::Greater => ordering == Some(Ordering::Greater),
        BinaryOp::GreaterEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        _ => false,
    }
}

fn arithmetic(op: BinaryOp, left: &Lazy<'_>, right: &Lazy<'_>) -> Lazy<'static> {
    let integer = |value: &Lazy<'_>| match value {
        Lazy::Integer(number) => Some(*number),
        Lazy::Boolean(truth) => Some(i64::from(*truth)),
        _ => None,
    };
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return integers(op, left, right);
    }
    match (left.number(), right.number()) {
        (Some(left), Some(right)) => reals(op, left, right),
        _ => times(op, left, right),
    }
}

fn integers(op: BinaryOp, left: i64, right: i64) -> Lazy<'static> {
    Lazy::Integer(match op {
        BinaryOp::Add => left.wrapping_add(right),
        BinaryOp::Subtract => left.wrapping_sub(right),
        BinaryOp::Multiply => left.wrapping_mul(right),
        BinaryOp::Divide if right != 0 => left.saturating_div(right),
        BinaryOp::Remainder if right != 0 => left.wrapping_rem(right),
        _ => return Lazy::Error,
    })
}

/// Too large a result is ERROR; the reference lets negative infinity and NaN pass.
fn reals(op: BinaryOp, left: f64, right: f64) -> Lazy<'static> {
    let result = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        _ => return Lazy::Error,
    };
    if result == f64::INFINITY { Lazy::Error } else { Lazy::Real(result) }
}

fn times(op: BinaryOp, left: &Lazy<'_>, right: &Lazy<'_>) -> Lazy<'static> {
    use BinaryOp::{Add, Divide, Multiply, Subtract};
    match (op, left, right) {
        (Add, Lazy::AbsTime { seconds, offset }, Lazy::RelTime(length))
        | (Add, Lazy::RelTime(length), Lazy::AbsTime { seconds, offset }) => shifted(*seconds, *length, *offset),
        (Subtract, Lazy::AbsTime { seconds, offset }, Lazy::RelTime(length)) => shifted(*seconds, -length, *offset),
        (Subtract, Lazy::AbsTime { seconds: left, .. }, Lazy::AbsTime { seconds: right, .. }) => {
            Lazy::RelTime(to_real(left.saturating_sub(*right)))
        }
        (Add, Lazy::RelTime(left), Lazy::RelTime(right)) => Lazy::RelTime(left + right),
        (Subtract, Lazy::RelTime(left), Lazy::RelTime(right)) => Lazy::RelTime(left - right),
        (Multiply, Lazy::RelTime(length), Lazy::Integer(_) | Lazy::Real(_)) => scaled(*length, right, Multiply),
        (Multiply, Lazy::Integer(_) | Lazy::Real(_), Lazy::RelTime(length)) => scaled(*length, left, Multiply),
        (Divide, Lazy::RelTime(length), Lazy::Integer(_) | Lazy::Real(_)) => scaled(*length, right, Divide),
        _ => Lazy::Error,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "casts from reals saturate; instants are whole seconds")]
fn shifted(seconds: i64, length: f64, offset: i32) -> Lazy<'static> {
    Lazy::AbsTime { seconds: seconds.saturating_add(length as i64), offset }
}

fn scaled(length: f64, factor: &Lazy<'_>, op: BinaryOp) -> Lazy<'static> {
    let factor = factor.number().unwrap_or(f64::NAN);
    Lazy::RelTime(if op == BinaryOp::Multiply { length * factor } else { length / factor })
}

/// Of the number of places to shift by, the lowest six bits count, as on the machines that the reference runs on; 128 places
/// and more, the places to the other side, and `>>>` by none are its own.
fn bits(op: BinaryOp, left: i64, right: i64) -> Lazy<'static> {
    let places = u32::try_from(right & 63).unwrap_or(0);
    Lazy::Integer(match op {
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitOr => left | right,
        BinaryOp::BitXor => left ^ right,
        BinaryOp::ShiftLeft => left << places,
        BinaryOp::ShiftRight => left >> places,
        BinaryOp::ShiftRightUnsigned => (left.cast_unsigned() >> places).cast_signed(),
        _ => return Lazy::Error,
    })
}
