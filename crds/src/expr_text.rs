//! Turns an expression field, written as text or as a bare integer, into the text to be parsed.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Largest length of an expression, in characters.
pub const EXPRESSION_LENGTH_MAX: u32 = 16384;

/// A ClassAd expression in a manifest: `"Memory >= 64"`, or a bare integer such as `0`.
///
/// Booleans and fractions are quoted (`"true"`, `"0.5"`): the API server would keep neither as written.
///
/// ```
/// use crds::ExprText;
/// assert_eq!(ExprText::from(0).text(), "0");
/// assert_eq!(ExprText::from("Memory >= 64").text(), "Memory >= 64");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ExprText {
    /// A bare integer.
    Integer(i64),
    /// The text of an expression.
    Text(String),
}

impl ExprText {
    /// The text to be parsed.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Integer(number) => Cow::Owned(number.to_string()),
            Self::Text(text) => Cow::Borrowed(text),
        }
    }
}

impl From<&str> for ExprText {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for ExprText {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for ExprText {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl JsonSchema for ExprText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ExprText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-int-or-string": true, "maxLength": EXPRESSION_LENGTH_MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::ExprText;

    #[test]
    fn text_and_integers_are_read_and_nothing_else() {
        let read = |json: &str| serde_json::from_str::<ExprText>(json);
        assert_eq!(read("\"a + 1\"").unwrap(), ExprText::from("a + 1"));
        assert_eq!(read("-3").unwrap().text(), "-3");
        assert!(read("true").is_err());
        assert!(read("0.5").is_err());
        assert_eq!(serde_json::to_string(&ExprText::from(7)).unwrap(), "7");
    }
}
