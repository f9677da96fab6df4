//! A map with several values for one key, for indexes.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// A map from keys to sets of values, none of which is empty. Example: the Matches of each job.
#[derive(Clone, Debug)]
pub struct MultiMap<K, V>(BTreeMap<K, BTreeSet<V>>);

impl<K, V> Default for MultiMap<K, V> {
    fn default() -> Self {
        MultiMap(BTreeMap::new())
    }
}

impl<K: Ord, V: Ord> MultiMap<K, V> {
    /// Adds a value to those of a key.
    pub fn insert(&mut self, key: K, value: V) {
        self.0.entry(key).or_default().insert(value);
    }

    /// Takes a value away from those of a key.
    pub fn remove<Q: Ord + ?Sized, W: Ord + ?Sized>(&mut self, key: &Q, value: &W)
    where
        K: Borrow<Q>,
        V: Borrow<W>,
    {
        if let Some(values) = self.0.get_mut(key) {
            values.remove(value);
            if values.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Takes all values of a key away.
    pub fn remove_all<Q: Ord + ?Sized>(&mut self, key: &Q) -> BTreeSet<V>
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).unwrap_or_default()
    }

    /// The values of a key, in order.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> impl Iterator<Item = &V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key).into_iter().flatten()
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }

    /// All keys with each of their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)))
    }
}
