//! Free JSON into a map of bounded size: what is beyond the limit is read over, and enough is kept to tell that there was more.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::ad::AD_ELEMENTS_MAX;

/// Reads a map that may be absent.
pub(crate) fn map<'de, D: Deserializer<'de>>(text: D) -> Result<Option<BTreeMap<String, Value>>, D::Error> {
    Ok(Option::<Fields>::deserialize(text)?.map(|fields| fields.0))
}

/// Reads one that has a default.
pub(crate) fn map_or_none<'de, D: Deserializer<'de>>(text: D) -> Result<BTreeMap<String, Value>, D::Error> {
    map(text).map(Option::unwrap_or_default)
}

struct Fields(BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        text.deserialize_map(Entries).map(Fields)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = BTreeMap<String, Value>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        // one more than may be
        let (mut left, mut all) = (AD_ELEMENTS_MAX.saturating_add(1), BTreeMap::new());
        while let Some(name) = entries.next_key::<String>()? {
            match Bounded(&mut left).entry(&mut entries)? {
                Some(value) => drop(all.insert(name, value)),
                None => drop(name),
            }
        }
        Ok(all)
    }
}

/// A value of at most so many elements, counted down.
struct Bounded<'l>(&'l mut usize);

impl Bounded<'_> {
    fn count(&mut self) {
        *self.0 = self.0.saturating_sub(1);
    }

    /// The value of an entry, unless there is no room for it.
    fn entry<'de, A: MapAccess<'de>>(&mut self, entries: &mut A) -> Result<Option<Value>, A::Error> {
        if *self.0 == 0 {
            entries.next_value::<IgnoredAny>()?;
            return Ok(None);
        }
        self.count();
        entries.next_value_seed(Bounded(self.0)).map(Some)
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

    fn visit_bool<E>(mut self, flag: bool) -> Result<Value, E> {
        self.count();
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<Value, E> {
        self.count();
        Ok(number.into())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<Value, E> {
        self.count();
        Ok(number.into())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<Value, E> {
        self.count();
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(mut self, text: &str) -> Result<Value, E> {
        self.count();
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(mut self, text: String) -> Result<Value, E> {
        self.count();
        Ok(Value::String(text))
    }

    fn visit_none<E>(mut self) -> Result<Value, E> {
        self.count();
        Ok(Value::Null)
    }

    fn visit_unit<E>(mut self) -> Result<Value, E> {
        self.count();
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, text: D) -> Result<Value, D::Error> {
        text.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.count();
        let mut all = Vec::new();
        while *self.0 > 0
            && let Some(item) = items.next_element_seed(Bounded(self.0))?
        {
            all.push(item);
        }
        if *self.0 == 0 {
            while items.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.count();
        let mut all = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if let Some(value) = self.entry(&mut entries)? {
                all.insert(name, value);
            }
        }
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
