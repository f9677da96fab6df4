//! Free JSON into a value of bounded size and depth: what is beyond a limit is read over, so that no text is refused as a whole because
//! of one value in it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::ad::AD_ELEMENTS_MAX;

/// How much of a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueLimits {
    /// The most values and names in it, itself included.
    pub elements: usize,
    /// How deep lists and maps may be nested.
    pub depth: usize,
}

/// Reads any JSON value as far as the limits go; and whether lists or maps were too deep, which are empty then.
///
/// # Errors
/// It is not JSON.
pub fn bounded_value<'de, D: Deserializer<'de>>(from: D, limits: ValueLimits) -> Result<(Value, bool), D::Error> {
    let (left, is_cut) = (Cell::new(limits.elements), Cell::new(false));
    let value = Bounded { left: &left, is_cut: &is_cut, depth: limits.depth }.deserialize(from)?;
    Ok((value, is_cut.get()))
}

/// Reads a map that may be absent: of too large a map so much that its size shows that there was more.
pub(crate) fn map<'de, D: Deserializer<'de>>(text: D) -> Result<Option<BTreeMap<String, Value>>, D::Error> {
    // The map itself is an element, and one more is kept than may be.
    let limits = ValueLimits { elements: AD_ELEMENTS_MAX.saturating_add(2), depth: usize::MAX };
    match bounded_value(text, limits)?.0 {
        Value::Null => Ok(None),
        Value::Object(fields) => Ok(Some(fields.into_iter().collect())),
        other => Err(D::Error::custom(format!("found {other}, expected a map"))),
    }
}

/// The same for a map with a default.
pub(crate) fn map_or_none<'de, D: Deserializer<'de>>(text: D) -> Result<BTreeMap<String, Value>, D::Error> {
    map(text).map(Option::unwrap_or_default)
}

/// Reads a value inside the limits.
#[derive(Clone, Copy)]
struct Bounded<'l> {
    /// How many elements may still be kept.
    left: &'l Cell<usize>,
    is_cut: &'l Cell<bool>,
    depth: usize,
}

impl Bounded<'_> {
    fn count(self) {
        self.left.set(self.left.get().saturating_sub(1));
    }

    fn is_full(self) -> bool {
        self.left.get() == 0
    }

    fn scalar<E>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.count();
        Ok(value.into())
    }

    /// For the values inside a list or a map; `None` if they are too deep.
    fn below(self) -> Option<Self> {
        let depth = self.depth.checked_sub(1);
        self.is_cut.set(self.is_cut.get() || depth.is_none());
        depth.map(|depth| Bounded { depth, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Value, D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("any JSON value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        self.scalar(flag)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        self.scalar(number)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        self.scalar(number)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        self.scalar(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        self.scalar(text)
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        self.scalar(text)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        self.scalar(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        self.scalar(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, text: D) -> Result<Value, D::Error> {
        text.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.count();
        let (below, mut all) = (self.below(), Vec::new());
        while let Some(below) = below.filter(|_| !self.is_full()) {
            match items.next_element_seed(below)? {
                Some(item) => all.push(item),
                None => return Ok(Value::Array(all)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.count();
        let (below, mut all) = (self.below(), Map::new());
        while let Some(below) = below.filter(|_| !self.is_full()) {
            let Some(name) = entries.next_key::<String>()? else { return Ok(Value::Object(all)) };
            self.count();
            all.insert(name, entries.next_value_seed(below)?);
        }
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Holder {
        #[serde(default, deserialize_with = "map")]
        free: Option<BTreeMap<String, Value>>,
    }

    #[test]
    fn what_is_small_is_read_as_it_is() {
        let text = r#"{"a": [1, -2, 0.5, "x", null, true, {"b": {"c": []}}], "d": {}}"#;
        let plain: BTreeMap<String, Value> = serde_json::from_str(text).unwrap();
        let read: Holder = serde_json::from_str(&format!(r#"{{"free": {text}}}"#)).unwrap();
        assert_eq!(read.free, Some(plain));
        for absent in ["{}", r#"{"free": null}"#] {
            assert_eq!(serde_json::from_str::<Holder>(absent).unwrap().free, None);
        }
        assert!(serde_json::from_str::<Holder>(r#"{"free": 5}"#).is_err());
    }
}
