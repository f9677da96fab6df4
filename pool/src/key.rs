//! The namespace and name of an object, as one value, and the names of ads in the engine.

use std::fmt;

use crds::{AdKind, Member};
use kube::ResourceExt;
use matchmaker::{AdKey, Ask};

/// The longest name of an object.
pub(crate) const NAME_MAX: usize = 253;

/// Where an object is found among those of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectKey {
    /// A key of these parts.
    pub fn new(namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The key of an object.
    pub fn of<K: ResourceExt>(object: &K) -> ObjectKey {
        ObjectKey { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// The name of an ad in the engine.
pub(crate) fn ad_key(kind: impl Into<AdKind>, key: &ObjectKey) -> AdKey {
    AdKey { kind: kind.into().to_string(), namespace: key.namespace.clone(), name: key.name.clone() }
}

/// What a member of a Match takes of its offer.
pub(crate) fn ask_of(member: &Member) -> Ask {
    Ask { allocation: member.allocation.clone().unwrap_or_default().into(), share: member.share.clone() }
}

/// What the members of a gang take, without its root.
pub fn asks_of(members: &[Member]) -> impl Iterator<Item = (AdKey, Ask)> + '_ {
    members.iter().skip(1).map(|member| (key_of(member), ask_of(member)))
}

/// The name in the engine of what a member of a Match names.
pub(crate) fn key_of(member: &Member) -> AdKey {
    AdKey { kind: member.kind.clone(), namespace: member.namespace.clone(), name: member.name.clone() }
}
