//! Values inside an evaluation: lists and ads are not evaluated until their elements are read.

use std::ops::Deref;
use std::sync::Arc;

use crate::eval::scope::ScopeId;
use crate::expr::Expr;
use crate::value::Value;

/// A value in weak head normal form: only its outermost layer is evaluated.
#[derive(Clone, Debug)]
pub(crate) enum Lazy<'e> {
    Undefined,
    Error,
    Boolean(bool),
    Integer(i64),
    Real(f64),
    String(Chars<'e>),
    AbsTime { seconds: i64, offset: i32 },
    RelTime(f64),
    List(Items<'e>),
    Ad(ScopeId),
}

/// The text of a string.
#[derive(Clone, Debug)]
pub(crate) enum Chars<'e> {
    /// The text of a literal: borrowed, because counting references takes longer than most comparisons.
    Written(&'e Arc<str>),
    /// Made by a function.
    Computed(Arc<str>),
}

/// The elements of a list.
#[derive(Clone, Debug)]
pub(crate) enum Items<'e> {
    /// Expressions, and the scope that contains them.
    Written(&'e Arc<[Expr]>, ScopeId),
    /// Made by a function or by a selection on a list.
    Computed(Arc<Computed<'e>>),
}

/// A list that was computed.
#[derive(Debug)]
pub(crate) struct Computed<'e> {
    /// The elements.
    pub(crate) items: Vec<Lazy<'e>>,
    /// How deep computed lists nest in it, itself included: dropping it recurses to this depth.
    pub(crate) nesting: usize,
}

/// The evaluated elements of a list.
pub(crate) enum Elements<'e> {
    Evaluated(Vec<Lazy<'e>>),
    Shared(Arc<Computed<'e>>),
}

impl<'e> Deref for Elements<'e> {
    type Target = [Lazy<'e>];

    fn deref(&self) -> &[Lazy<'e>] {
        match self {
            Self::Evaluated(items) => items,
            Self::Shared(computed) => &computed.items,
        }
    }
}

impl Chars<'_> {
    /// The text, shared by reference counting.
    pub(crate) fn shared(&self) -> Arc<str> {
        match self {
            Self::Written(text) => Arc::clone(text),
            Self::Computed(text) => Arc::clone(text),
        }
    }
}

impl Deref for Chars<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Written(text) => text,
            Self::Computed(text) => text,
        }
    }
}

impl<T: Into<Arc<str>>> From<T> for Chars<'_> {
    fn from(text: T) -> Self {
        Self::Computed(text.into())
    }
}

impl Items<'_> {
    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Written(items, _) => items.len(),
            Self::Computed(computed) => computed.items.len(),
        }
    }

    /// How deep computed lists nest in it.
    pub(crate) fn nesting(&self) -> usize {
        match self {
            Self::Written(..) => 0,
            Self::Computed(computed) => computed.nesting,
        }
    }
}

impl<'e> Lazy<'e> {
    /// A length as an integer of the language.
    pub(crate) fn length(length: usize) -> Self {
        Self::Integer(i64::try_from(length).unwrap_or(i64::MAX))
    }

    /// The value of a literal. Literals are scalars, see [`Kind::Literal`](crate::Kind::Literal).
    // Inlined, the value would be written byte by byte and then moved as a whole, for which the processor waits.
    #[inline(never)]
    pub(crate) fn scalar(value: &'e Value) -> Self {
        match value {
            Value::Undefined => Self::Undefined,
            Value::Error | Value::List(_) | Value::Ad(_) => Self::Error,
            Value::Boolean(truth) => Self::Boolean(*truth),
            Value::Integer(number) => Self::Integer(*number),
            Value::Real(number) => Self::Real(*number),
            Value::String(text) => Self::String(Chars::Written(text)),
            Value::AbsTime { seconds, offset } => Self::AbsTime { seconds: *seconds, offset: *offset },
            Value::RelTime(seconds) => Self::RelTime(*seconds),
        }
    }

    /// The whole value; `None` for a list or an ad.
    pub(crate) fn to_scalar(&self) -> Option<Value> {
        Some(match self {
            Self::Undefined => Value::Undefined,
            Self::Error => Value::Error,
            Self::Boolean(truth) => Value::Boolean(*truth),
            Self::Integer(number) => Value::Integer(*number),
            Self::Real(number) => Value::Real(*number),
            Self::String(text) => Value::String(text.shared()),
            Self::AbsTime { seconds, offset } => Value::AbsTime { seconds: *seconds, offset: *offset },
            Self::RelTime(seconds) => Value::RelTime(*seconds),
            Self::List(_) | Self::Ad(_) => return None,
        })
    }

    /// The truth of a boolean or a number; `None` for other values.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self {
            Self::Boolean(truth) => Some(*truth),
            Self::Integer(number) => Some(*number != 0),
            Self::Real(number) => Some(*number != 0.0),
            _ => None,
        }
    }

    /// An integer or a real as a real; booleans count 0 and 1.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Boolean(truth) => Some(f64::from(u8::from(*truth))),
            Self::Integer(number) => Some(crate::value::to_real(*number)),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }
}

impl From<bool> for Lazy<'_> {
    fn from(truth: bool) -> Self {
        Self::Boolean(truth)
    }
}
