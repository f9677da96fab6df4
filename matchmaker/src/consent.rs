//! Which namespaces' jobs an offer's owner lets in.

use std::collections::BTreeSet;

/// The namespaces whose roots an offer may meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Consent {
    /// Every namespace.
    Everybody,
    /// These namespaces only.
    Namespaces(BTreeSet<String>),
}

impl Consent {
    /// The offer's own namespace only.
    pub fn same(namespace: &str) -> Consent {
        Consent::Namespaces(BTreeSet::from([namespace.to_owned()]))
    }

    /// Whether a root of this namespace may meet the offer.
    pub fn admits(&self, namespace: &str) -> bool {
        match self {
            Consent::Everybody => true,
            Consent::Namespaces(list) => list.contains(namespace),
        }
    }
}
