//! Interned names and shapes, which many trees share.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::ad::{Ad, Shape};
use crate::expr::Expr;
use crate::name::Name;
use crate::text::parser::Interner;

/// Names and shapes of earlier ads.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    names: HashMap<Box<str>, Name, RandomState>,
    /// By the hash of the names; of two shapes with the same hash the later one stays.
    shapes: HashMap<u64, (Vec<Name>, Shape), RandomState>,
    /// About how much memory is taken.
    pub(crate) bytes: usize,
}

/// About how many bytes a name takes in a shape.
const NAME_BYTES: usize = 32;

impl Sharing {
    /// The shape of an ad with these names; none if two are equal.
    pub(crate) fn shape(&mut self, names: Vec<Name>) -> Option<Shape> {
        let key = names.iter().fold(0, |key: u64, name| key.rotate_left(7) ^ name.folded());
        let is_same = |own: &[Name]| own.iter().map(Name::as_str).eq(names.iter().map(Name::as_str));
        if let Some((_, shape)) = self.shapes.get(&key).filter(|(own, _)| is_same(own)) {
            return Some(shape.clone());
        }
        self.bytes += NAME_BYTES * names.len();
        let shape = Shape::new(names.clone())?;
        self.shapes.insert(key, (names, shape.clone()));
        Some(shape)
    }
}

impl Interner for Sharing {
    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name = Name::new(text);
        self.bytes += 2 * text.len() + NAME_BYTES;
        self.names.insert(text.into(), name.clone());
        name
    }

    fn ad(&mut self, attributes: Vec<(Name, Expr)>) -> Ad {
        match self.shape(attributes.iter().map(|(name, _)| name.clone()).collect()) {
            Some(shape) => Ad::of_shape(shape, attributes.into_iter().map(|(_, expr)| expr)),
            None => attributes.into_iter().collect(),
        }
    }
}
