//! Turns an expression field, written as text or as a bare integer, into the text to be parsed.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

impl<'de> Deserialize<'de> for ExprText {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(Reader)
    }
}

/// Takes the one or the other as it comes; to try one after the other would read each text twice.
struct Reader;

impl Visitor<'_> for Reader {
    type Value = ExprText;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an expression as text, or an integer")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ExprText, E> {
        Ok(ExprText::Integer(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ExprText, E> {
        let too_large = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
        i64::try_from(number).map(ExprText::Integer).map_err(too_large)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ExprText, E> {
        Ok(ExprText::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<ExprText, E> {
        Ok(ExprText::Text(text))
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
        let refused = read("0.5").unwrap_err().to_string();
        let wanted =
            "invalid type: floating point `0.5`, expected an expression as text, or an integer at line 1 column 3";
        assert_eq!(refused, wanted);
        assert!(read("9223372036854775808").is_err());
        assert_eq!(serde_json::to_string(&ExprText::from(7)).unwrap(), "7");
    }
}
