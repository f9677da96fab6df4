//! Objects as the API server sends them into objects without what nobody here looks at. Whoever may write some objects may write odd
//! ones: what is odd in one of them keeps no other one back.

mod guarded;
mod heartbeat;
mod kinds;
mod lenient;
mod meta;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::ObjectList;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use guarded::{Guarded, Unreadable};
pub use heartbeat::Heartbeat;
use lenient::{As, Lenient};
use meta::Meta;
pub use meta::lean_metadata;

/// A kind of which only what counts is read: never who has managed which field, and annotations of others only where they are
/// written back.
pub trait Lean: Resource<DynamicType = ()> + Clone + Debug + Send + 'static {
    /// Reads an object.
    ///
    /// # Errors
    /// If it is no object of this kind.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

/// An object that was sent.
#[derive(Clone, Debug)]
pub struct Sent<K>(pub K);

impl<'de, K: Lean> Deserialize<'de> for Sent<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        K::read(from).map(Sent)
    }
}

impl<K: Serialize> Serialize for Sent<K> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<K: Lean> Resource for Sent<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// An object taken apart; its metadata with such annotations.
#[derive(Deserialize)]
#[serde(bound = "A: Lenient, S: Deserialize<'de>, T: Deserialize<'de>")]
struct Parts<A, S, T> {
    #[serde(default)]
    metadata: As<Meta<A>>,
    spec: S,
    status: Option<T>,
}

/// A page of a list.
#[derive(Debug)]
pub struct Page<K> {
    /// What could be read of it.
    pub items: Vec<K>,
    /// What could not.
    pub unreadable: Vec<Unreadable>,
    /// What to ask for the next page with, if there is one.
    pub next: Option<String>,
}

impl<K: Lean> Page<K> {
    /// Reads a list as it was sent. To read each object by itself costs three times as much: that is done if one cannot be read.
    ///
    /// # Errors
    /// If it is no list.
    pub fn read(text: &str) -> Result<Page<K>, serde_json::Error> {
        let list = |items, unreadable, next: Option<String>| {
            let next = next.filter(|token| !token.is_empty());
            Page { items, unreadable, next }
        };
        if let Ok(ObjectList { items, metadata, .. }) = serde_json::from_str::<ObjectList<Sent<K>>>(text) {
            let items = items.into_iter().map(|sent| sent.0).collect();
            return Ok(list(items, Vec::new(), metadata.continue_));
        }
        let all: ObjectList<Guarded<Sent<K>>> = serde_json::from_str(text)?;
        let (mut items, mut unreadable) = (Vec::new(), Vec::new());
        for Guarded(one) in all.items {
            match one {
                Ok(sent) => items.push(sent.0),
                Err(found) => unreadable.push(*found),
            }
        }
        Ok(list(items, unreadable, all.metadata.continue_))
    }
}
