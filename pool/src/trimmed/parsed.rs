//! An object of a list or a watch that is read by itself: if it cannot be read, the others are not kept back.

use crds::{ValueLimits, bounded_value};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::meta::trimmed_metadata;

/// Objects that are nested more deeply are not read. An API server stores objects that are a hundred times as deep.
pub(super) const LIMITS: ValueLimits = ValueLimits { elements: usize::MAX, depth: 100 };

/// An object, or what is known of an object that cannot be read.
#[derive(Clone, Debug)]
pub struct Parsed<T>(pub Result<T, Box<Unreadable>>);

/// An object that cannot be read.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// What can be read of its metadata: its name at least.
    pub metadata: ObjectMeta,
    /// Why it cannot be read.
    pub error: String,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (value, is_cut) = bounded_value(from, LIMITS)?;
        let read = match is_cut {
            true => Err(format!("it is nested more deeply than {} levels", LIMITS.depth)),
            false => T::deserialize(&value).map_err(|error| error.to_string()),
        };
        Ok(Parsed(read.map_err(|error| {
            let metadata =
                value.get("metadata").and_then(|metadata| trimmed_metadata(metadata).ok()).unwrap_or_default();
            Box::new(Unreadable { metadata, error })
        })))
    }
}

wrapped_resource!([T: Resource<DynamicType = ()>] Parsed<T>, T, |this| match &this.0 {
    Ok(object) => object.meta(),
    Err(unreadable) => &unreadable.metadata,
}, match &mut this.0 {
    Ok(object) => object.meta_mut(),
    Err(unreadable) => &mut unreadable.metadata,
});
