//! An object of a list or a watch that is read by itself: one that cannot be read keeps no other one back.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

use super::meta::lean_metadata;

/// Objects that are nested more deeply are not read. An API server stores what is a hundred times as deep.
const DEPTH: usize = 100;

/// An object, or what is known of one that cannot be read.
#[derive(Clone, Debug)]
pub struct Guarded<T>(pub Result<T, Box<Unreadable>>);

/// An object that cannot be read.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// What can be read of its metadata: its name at least.
    pub metadata: ObjectMeta,
    /// Why it cannot be read.
    pub error: String,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Guarded<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Shallow { value, is_cut } = Shallow::deserialize(from)?;
        let read = match is_cut {
            true => Err(format!("it is nested more deeply than {DEPTH} levels")),
            false => T::deserialize(&value).map_err(|error| error.to_string()),
        };
        Ok(Guarded(read.map_err(|error| {
            let metadata = value.get("metadata").and_then(|metadata| lean_metadata(metadata).ok()).unwrap_or_default();
            Box::new(Unreadable { metadata, error })
        })))
    }
}

impl<T: Resource<DynamicType = ()>> Resource for Guarded<T> {
    type DynamicType = ();
    type Scope = T::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        T::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        T::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        T::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        T::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.meta(),
            Err(unreadable) => &unreadable.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => object.meta_mut(),
            Err(unreadable) => &mut unreadable.metadata,
        }
    }
}

/// Any JSON down to some depth: a text that is nested more deeply would otherwise be refused as a whole, with all that surrounds it.
pub(crate) struct Shallow {
    pub(crate) value: Value,
    /// Whether something was left out.
    pub(crate) is_cut: bool,
}

impl<'de> Deserialize<'de> for Shallow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let is_cut = Cell::new(false);
        let value = Level { depth: DEPTH, is_cut: &is_cut }.deserialize(from)?;
        Ok(Shallow { value, is_cut: is_cut.get() })
    }
}

#[derive(Clone, Copy)]
struct Level<'c> {
    depth: usize,
    is_cut: &'c Cell<bool>,
}

impl Level<'_> {
    /// The next one; `None` if there is no other.
    fn below(self) -> Option<Self> {
        let depth = self.depth.checked_sub(1);
        self.is_cut.set(self.is_cut.get() || depth.is_none());
        depth.map(|depth| Level { depth, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("any value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        match self.below() {
            Some(below) => {
                while let Some(one) = list.next_element_seed(below)? {
                    all.push(one);
                }
            }
            None => while list.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        match self.below() {
            Some(below) => {
                while let Some(name) = map.next_key::<String>()? {
                    all.insert(name, map.next_value_seed(below)?);
                }
            }
            None => while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        Ok(Value::Object(all))
    }
}
