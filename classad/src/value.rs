//! What evaluation gives: owned values, whole to their last element.

use std::fmt;
use std::sync::Arc;

use crate::expr::Expr;
use crate::name::Name;

/// The value of an expression. UNDEFINED and ERROR are values like the others.
///
/// Cloning is O(1).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An attribute was missing: `nosuch`.
    Undefined,
    /// The operation makes no sense: `1 + "a"`.
    Error,
    /// `true`.
    Boolean(bool),
    /// `7`.
    Integer(i64),
    /// `1.5`.
    Real(f64),
    /// `"text"`.
    String(Arc<str>),
    /// `absTime("2004-01-01T00:00:00Z")`: an instant and the zone it was written in.
    AbsTime {
        /// Seconds since 1970-01-01T00:00:00Z.
        seconds: i64,
        /// Seconds by which the zone is ahead of UTC.
        offset: i32,
    },
    /// `relTime("00:15:00")`: a length of time in seconds.
    RelTime(f64),
    /// `{1, 2}`.
    List(Arc<[Value]>),
    /// `[a = 1]`, attributes in source order.
    Ad(Arc<[(Name, Value)]>),
}

impl Value {
    /// A string value.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// A list value.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Self::List(items.into_iter().collect())
    }

    /// An ad value.
    pub fn ad(attributes: impl IntoIterator<Item = (Name, Value)>) -> Self {
        Self::Ad(attributes.into_iter().collect())
    }

    /// Whether a constraint with this value holds: true, or a number or a length of time other than zero.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Self::Boolean(truth) => *truth,
            Self::Integer(number) => *number != 0,
            Self::Real(number) | Self::RelTime(number) => *number != 0.0,
            _ => false,
        }
    }

    /// The number, if this is an integer or a real; a boolean is none.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(to_real(*number)),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }

    /// The text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements, if this is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The attributes, if this is an ad.
    #[must_use]
    pub fn as_ad(&self) -> Option<&[(Name, Value)]> {
        match self {
            Self::Ad(attributes) => Some(attributes),
            _ => None,
        }
    }

    /// The attribute `name` of an ad.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_ad()?.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// What kind of value this is, in the words of messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Error => "error",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "integer",
            Self::Real(_) => "real",
            Self::String(_) => "string",
            Self::AbsTime { .. } => "absolute time",
            Self::RelTime(_) => "relative time",
            Self::List(_) => "list",
            Self::Ad(_) => "ad",
        }
    }

    /// The text as HTCondor prints it, byte for byte: `1.5` is `1.500000000000000E+00`.
    #[must_use]
    pub fn canonical(&self) -> String {
        Expr::literal(self.clone()).canonical()
    }
}

/// An integer as a real, rounded to the nearest.
#[expect(clippy::cast_precision_loss, reason = "the language itself reads integers as reals where a real is wanted")]
pub(crate) fn to_real(value: i64) -> f64 {
    value as f64
}

/// Readable text that parses back to the same value: `1.5`, `{ 1,2 }`, `[ a = 1 ]`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Expr::literal(self.clone()), f)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Boolean(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::string(text)
    }
}
