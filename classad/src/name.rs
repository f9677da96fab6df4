//! Spelled attribute names into names that compare without regard to case.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An attribute name: keeps its first spelling, compares, orders and hashes without regard to ASCII case.
///
/// Cloning is O(1).
#[derive(Clone)]
pub struct Name(Arc<str>);

impl Name {
    /// The name spelled `text`; any text is a name, those that are no identifiers print in single quotes.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The first spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name can be written without quotes in every place.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        is_identifier(&self.0) && !is_reserved(&self.0)
    }
}

/// The words that are no names unless quoted.
const RESERVED: [&str; 6] = ["true", "false", "undefined", "error", "is", "isnt"];

/// Whether `text` is a reserved word, in any case.
pub(crate) fn is_reserved(text: &str) -> bool {
    RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether `text` has the shape of an identifier.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The order of names: by their bytes with ASCII letters in lower case.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    left.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(right.bytes().map(|byte| byte.to_ascii_lowercase()))
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.0.bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
        state.write_u8(0xff);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
