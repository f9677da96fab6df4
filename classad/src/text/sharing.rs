//! Spellings and lists of names into names and shapes that many trees share.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::ad::{Ad, Shape};
use crate::expr::Expr;
use crate::name::Name;

/// Names and shapes seen before.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    names: HashMap<Box<str>, Name, RandomState>,
    /// By the hash of the names; one that is forgotten for another of the same hash is only not shared.
    shapes: HashMap<u64, Shape, RandomState>,
    /// About how much memory is taken.
    pub(crate) bytes: usize,
}

/// About what a name takes in a shape.
const NAME_BYTES: usize = 32;

impl Sharing {
    /// The name spelled exactly so.
    pub(crate) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name = Name::new(text);
        self.bytes += 2 * text.len() + NAME_BYTES;
        self.names.insert(text.into(), name.clone());
        name
    }

    /// The shape of an ad with these names; none if two are equal.
    pub(crate) fn shape(&mut self, names: Vec<Name>) -> Option<Shape> {
        let key = names.iter().fold(0, |key: u64, name| key.rotate_left(7) ^ name.folded());
        if let Some(shape) = self.shapes.get(&key).filter(|shape| shape.is(&names)) {
            return Some(shape.clone());
        }
        self.bytes += NAME_BYTES * names.len();
        let shape = Shape::new(names)?;
        self.shapes.insert(key, shape.clone());
        Some(shape)
    }

    /// An ad with these attributes; of those with equal names the last counts.
    pub(crate) fn ad(&mut self, attributes: Vec<(Name, Expr)>) -> Ad {
        match self.shape(attributes.iter().map(|(name, _)| name.clone()).collect()) {
            Some(shape) => Ad::of_shape(shape, attributes.into_iter().map(|(_, expr)| expr)),
            None => attributes.into_iter().collect(),
        }
    }
}
