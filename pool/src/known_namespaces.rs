//! The cache of the labels of namespaces, on which every offer may depend.

use std::collections::BTreeMap;
use std::ops::Deref;

/// The labels of all namespaces. Reads as a map by name.
#[derive(Clone, Debug, Default)]
pub struct KnownNamespaces {
    labels: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether any have changed since [`KnownNamespaces::take_changed`].
    changed: bool,
}

impl Deref for KnownNamespaces {
    type Target = BTreeMap<String, BTreeMap<String, String>>;

    fn deref(&self) -> &Self::Target {
        &self.labels
    }
}

impl KnownNamespaces {
    /// Whether any have changed since this was called last.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Caches the labels of a namespace. Returns whether that changed anything.
    pub fn apply(&mut self, name: &str, labels: BTreeMap<String, String>) -> bool {
        let is_new = self.labels.get(name) != Some(&labels);
        if is_new {
            self.labels.insert(name.to_owned(), labels);
        }
        self.changed |= is_new;
        is_new
    }

    /// Removes a namespace.
    pub fn remove(&mut self, name: &str) {
        self.changed |= self.labels.remove(name).is_some();
    }

    /// Removes all namespaces but those whose names `keep` accepts.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let before = self.labels.len();
        self.labels.retain(|name, _| keep(name));
        self.changed |= self.labels.len() < before;
    }
}
