//! Values by number: equal numbers are equal values.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

use super::{as_u32, as_usize};

/// Values, numbered in the order in which they were added.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    list: Vec<T>,
    ids: HashMap<T, u32, RandomState>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { list: Vec::new(), ids: HashMap::default() }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// The number of a value, which is added if it is new.
    pub(crate) fn id(&mut self, value: &T) -> u32 {
        if let Some(id) = self.ids.get(value) {
            return *id;
        }
        let id = as_u32(self.list.len());
        self.list.push(value.clone());
        self.ids.insert(value.clone(), id);
        id
    }

    /// The value with a number.
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.list.get(as_usize(id))
    }

    /// All values, in the order of their numbers.
    pub(crate) fn list(&self) -> &[T] {
        &self.list
    }
}
