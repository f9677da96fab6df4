//! Values of the attributes that an evaluation has referred to.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::eval::lazy::Lazy;
use crate::eval::scope::ScopeId;

/// An expression by its address, and the scope that contains it.
pub(crate) type MemoKey = (usize, ScopeId);

/// State of an attribute that has been referred to.
pub(crate) enum Slot<'e> {
    /// It is being evaluated, as the n-th open reference.
    Open(usize),
    /// It has this value.
    Known(Lazy<'e>),
    /// Its value held for one path only.
    Forgotten,
}

/// How many slots are searched one by one. Most evaluations need none or one or two: a table would cost more.
const FEW: usize = 12;

/// Slots by key, and the references that are open.
pub(crate) struct Memo<'e> {
    slots: Vec<(MemoKey, Slot<'e>)>,
    /// The numbers of the slots; empty as long as there are few.
    index: HashMap<MemoKey, usize, BuildHasherDefault<MemoHasher>>,
    /// How many references are open.
    pub(super) open: usize,
    /// The lowest open reference that a circular one has reached since this was last reset.
    pub(super) cut: usize,
}

impl Default for Memo<'_> {
    fn default() -> Self {
        Self { slots: Vec::new(), index: HashMap::default(), open: 0, cut: usize::MAX }
    }
}

impl<'e> Memo<'e> {
    /// The number of the slot for a key, if there is one.
    pub(crate) fn find(&self, key: MemoKey) -> Option<usize> {
        if self.slots.len() <= FEW {
            self.slots.iter().position(|(own, _)| *own == key)
        } else {
            self.index.get(&key).copied()
        }
    }

    /// Adds a slot for a key that has none; returns its number.
    pub(crate) fn add(&mut self, key: MemoKey) -> usize {
        let number = self.slots.len();
        self.slots.push((key, Slot::Forgotten));
        if number == FEW {
            self.index.extend(self.slots.iter().enumerate().map(|(number, (key, _))| (*key, number)));
        } else if number > FEW {
            self.index.insert(key, number);
        }
        number
    }

    /// The slot with this number.
    pub(crate) fn get(&self, number: usize) -> &Slot<'e> {
        self.slots.get(number).map_or(&Slot::Forgotten, |(_, slot)| slot)
    }

    /// Replaces the slot with this number.
    pub(crate) fn set(&mut self, number: usize, slot: Slot<'e>) {
        if let Some((_, own)) = self.slots.get_mut(number) {
            *own = slot;
        }
    }
}

/// Hasher of [`MemoKey`]s. Addresses cannot be chosen by an attacker, so it may be simple, and no order depends on it.
#[derive(Default)]
pub(crate) struct MemoHasher(u64);

impl Hasher for MemoHasher {
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
