//! What is known of the attributes that an evaluation has referred to.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::eval::lazy::Lazy;
use crate::eval::scope::ScopeId;

/// An expression by its address, and the scope it stands in.
pub(crate) type Place = (usize, ScopeId);

/// What is known of an attribute that has been referred to.
pub(crate) enum Slot<'e> {
    /// Being evaluated, as the n-th open reference.
    Open(usize),
    Known(Lazy<'e>),
    /// Its value held for one path only.
    Forgotten,
}

/// How many slots are searched one by one. Most evaluations need none or one or two: a table would cost more.
const FEW: usize = 12;

/// Slots by place.
#[derive(Default)]
pub(crate) struct Memo<'e> {
    slots: Vec<(Place, Slot<'e>)>,
    /// Where the slots are; empty as long as they are few.
    index: HashMap<Place, usize, BuildHasherDefault<PlaceHasher>>,
}

impl<'e> Memo<'e> {
    /// The number of the slot for a place, if there is one.
    pub(crate) fn find(&self, place: Place) -> Option<usize> {
        if self.slots.len() <= FEW {
            self.slots.iter().position(|(own, _)| *own == place)
        } else {
            self.index.get(&place).copied()
        }
    }

    /// Makes a slot for a place that has none.
    pub(crate) fn add(&mut self, place: Place) -> usize {
        let number = self.slots.len();
        self.slots.push((place, Slot::Forgotten));
        if number == FEW {
            self.index.extend(self.slots.iter().enumerate().map(|(number, (place, _))| (*place, number)));
        } else if number > FEW {
            self.index.insert(place, number);
        }
        number
    }

    pub(crate) fn get(&self, number: usize) -> &Slot<'e> {
        self.slots.get(number).map_or(&Slot::Forgotten, |(_, slot)| slot)
    }

    pub(crate) fn set(&mut self, number: usize, slot: Slot<'e>) {
        if let Some((_, own)) = self.slots.get_mut(number) {
            *own = slot;
        }
    }
}

/// A hash for [`Place`]s. Nobody can choose addresses, so it may be simple; and no order depends on it.
#[derive(Default)]
pub(crate) struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, word: usize) {
        let word = u64::try_from(word).unwrap_or(u64::MAX);
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        // The table takes its index from the low bits, where a product mixes least.
        self.0 ^ (self.0 >> 32)
    }
}
