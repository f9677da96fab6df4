//! Fields that are read from any JSON value. A value of a wrong type counts as absent, so that no object is unreadable because of it.
//!
//! Go writes values that Rust does not read: times outside of the years 0 to 9999, for example, which any user can put into
//! `metadata.managedFields` or into a pod template.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A type that can be read from any JSON value; by default, as if the field were absent.
pub(crate) trait Lenient: Default {
    fn text(_: &str) -> Self {
        Self::other()
    }

    fn number(_: i64) -> Self {
        Self::other()
    }

    fn flag(_: bool) -> Self {
        Self::other()
    }

    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::other())
    }

    fn map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::other())
    }

    /// What a value of a wrong type is read as.
    fn other() -> Self {
        Self::default()
    }
}

/// A value read leniently.
#[derive(Default)]
pub(super) struct As<T>(pub(super) T);

impl<'de, T: Lenient> Deserialize<'de> for As<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Anything(PhantomData)).map(As)
    }
}

/// Reads a field leniently, for `deserialize_with`.
pub(crate) fn lenient<'de, T: Lenient, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    As::deserialize(from).map(|As(value)| value)
}

struct Anything<T>(PhantomData<T>);

impl<'de, T: Lenient> Visitor<'de> for Anything<T> {
    type Value = T;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(i64::try_from(number).map_or_else(|_| T::other(), T::number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::other())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::flag(flag))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_none<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<T, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::map(map)
    }
}

impl Lenient for String {
    fn text(text: &str) -> Self {
        text.to_owned()
    }
}

impl Lenient for i32 {
    fn number(number: i64) -> Self {
        i32::try_from(number).unwrap_or(0)
    }
}

impl Lenient for Option<String> {
    fn text(text: &str) -> Self {
        Some(text.to_owned())
    }
}

impl Lenient for Option<bool> {
    fn flag(flag: bool) -> Self {
        Some(flag)
    }
}

impl Lenient for Option<i64> {
    fn number(number: i64) -> Self {
        Some(number)
    }
}

impl Lenient for Option<i32> {
    fn number(number: i64) -> Self {
        i32::try_from(number).ok()
    }
}

/// A time that is present, whether it can be read or not: an object with an unreadable time of deletion is being deleted all the same.
pub(super) enum Moment<T> {
    At(T),
    Unreadable,
}

impl<T> Moment<T> {
    /// The time; another one if it cannot be read.
    pub(super) fn or(self, instead: T) -> T {
        match self {
            Moment::At(time) => time,
            Moment::Unreadable => instead,
        }
    }

    /// The time, if it can be read.
    pub(super) fn read(self) -> Option<T> {
        match self {
            Moment::At(time) => Some(time),
            Moment::Unreadable => None,
        }
    }
}

impl<T: DeserializeOwned> Lenient for Option<Moment<T>> {
    fn text(text: &str) -> Self {
        let read = serde_json::from_value(Value::String(text.to_owned()));
        Some(read.map_or(Moment::Unreadable, Moment::At))
    }

    fn other() -> Self {
        Some(Moment::Unreadable)
    }
}

impl<T: Lenient> Lenient for Vec<T> {
    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut all = Vec::new();
        while let Some(As(one)) = list.next_element()? {
            all.push(one);
        }
        Ok(all)
    }
}

impl<T: Lenient> Lenient for Option<Vec<T>> {
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::list(list).map(Some)
    }
}

impl Lenient for Option<BTreeMap<String, String>> {
    fn map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        texts(map, |_| true).map(Some)
    }
}

/// The texts of a map under the wanted names.
pub(super) fn texts<'de, A: MapAccess<'de>>(
    mut map: A,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, A::Error> {
    let mut all = BTreeMap::new();
    while let Some(name) = map.next_key::<String>()? {
        if is_wanted(&name) {
            let As(text) = map.next_value::<As<Option<String>>>()?;
            all.extend(text.map(|text| (name, text)));
        } else {
            map.next_value::<IgnoredAny>()?;
        }
    }
    Ok(all)
}

/// Implements [`Lenient`] for structs whose fields are all read leniently.
macro_rules! lenient_fields {
    ($($fields:ty),*) => {
        $(impl $crate::trimmed::lenient::Lenient for $fields {
            fn map<'de, A: serde::de::MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
                serde::Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map))
            }
        })*
    };
}
pub(super) use lenient_fields;
