//! Objects as the API server sends them into objects without the fields that are not used. A user who may write some objects may write
//! unusual ones: an object that cannot be read does not keep others back.

/// Implements `Resource` for a type that wraps a resource: the kind is that of the inner type, the metadata are where these expressions say.
macro_rules! wrapped_resource {
    ([$($generics:tt)*] $wrapper:ty, $inner:ty, |$this:ident| $meta:expr, $meta_mut:expr) => {
        impl<$($generics)*> kube::Resource for $wrapper {
            type DynamicType = ();
            type Scope = <$inner as kube::Resource>::Scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                <$inner as kube::Resource>::kind(&())
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                <$inner as kube::Resource>::group(&())
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                <$inner as kube::Resource>::version(&())
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                <$inner as kube::Resource>::plural(&())
            }

            fn meta(&self) -> &ObjectMeta {
                let $this = self;
                $meta
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                let $this = self;
                $meta_mut
            }
        }
    };
}

mod agent_lease;
mod kinds;
mod lenient;
mod meta;
mod parsed;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::ObjectList;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use agent_lease::AgentLease;
pub(crate) use lenient::lenient;
use lenient::{As, Lenient};
use meta::Meta;
pub use meta::trimmed_metadata;
pub use parsed::{Parsed, Unreadable};

/// A kind of which only the used fields are read: never `managedFields`, and annotations of other programs only where the object is
/// written back.
pub trait ReadTrimmed: Resource<DynamicType = ()> + Clone + Debug + Send + 'static {
    /// Reads an object.
    ///
    /// # Errors
    /// It is not an object of this kind.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

/// An object as it is read from the API server: only the used fields, without `managedFields`. Example: `Api<Trimmed<Pod>>`.
#[derive(Clone, Debug)]
pub struct Trimmed<K>(pub K);

impl<'de, K: ReadTrimmed> Deserialize<'de> for Trimmed<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        K::read(from).map(Trimmed)
    }
}

impl<K: Serialize> Serialize for Trimmed<K> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

wrapped_resource!([K: ReadTrimmed] Trimmed<K>, K, |this| this.0.meta(), this.0.meta_mut());

/// The parts of an object; of its metadata, the annotations that `A` reads.
#[derive(Deserialize)]
#[serde(bound = "Meta<A>: Lenient, S: Deserialize<'de>, T: Deserialize<'de>")]
struct ObjectParts<A, S, T> {
    #[serde(default)]
    metadata: As<Meta<A>>,
    spec: S,
    status: Option<T>,
}

/// A page of a list.
#[derive(Debug)]
pub struct Page<K> {
    /// The objects that could be read.
    pub items: Vec<K>,
    /// The objects that could not.
    pub unreadable: Vec<Unreadable>,
    /// The continue token of the next page, if there is one.
    pub next: Option<String>,
}

impl<K: ReadTrimmed> Page<K> {
    /// Reads a list as it was sent. If an object in it cannot be read, each object is read by itself, which costs three times as much.
    ///
    /// # Errors
    /// It is not a list.
    pub fn read(text: &str) -> Result<Page<K>, serde_json::Error> {
        let list = |items, unreadable, next: Option<String>| {
            let next = next.filter(|token| !token.is_empty());
            Page { items, unreadable, next }
        };
        if let Ok(ObjectList { items, metadata, .. }) = serde_json::from_str::<ObjectList<Trimmed<K>>>(text) {
            let items = items.into_iter().map(|sent| sent.0).collect();
            return Ok(list(items, Vec::new(), metadata.continue_));
        }
        let all: ObjectList<Parsed<Trimmed<K>>> = serde_json::from_str(text)?;
        let (mut items, mut unreadable) = (Vec::new(), Vec::new());
        for Parsed(one) in all.items {
            match one {
                Ok(sent) => items.push(sent.0),
                Err(found) => unreadable.push(*found),
            }
        }
        Ok(list(items, unreadable, all.metadata.continue_))
    }
}
