//! Sets of rows as bitmaps.

use matchmaker::{as_u32, as_usize};

/// A set of row numbers below a fixed length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    /// Words at the end that are all zero may be missing: a set of few rows at the beginning is short, an empty one costs nothing.
    words: Vec<u64>,
    length: usize,
}

const WORD: usize = 64;

impl Bits {
    /// How many rows stand in a word.
    pub(crate) const WORD: usize = WORD;

    /// No row of `length`.
    pub(crate) fn none(length: usize) -> Bits {
        Bits { words: Vec::new(), length }
    }

    /// The rows below `length` for which `holds` is true.
    pub(crate) fn of(length: usize, mut holds: impl FnMut(usize) -> bool) -> Bits {
        let mut bits = Bits { words: vec![0; length.div_ceil(WORD)], length };
        for (place, word) in bits.words.iter_mut().enumerate() {
            let base = place * WORD;
            for bit in 0..WORD.min(length - base) {
                *word |= u64::from(holds(base + bit)) << bit;
            }
        }
        bits
    }

    /// The rows whose code in `codes` is true in `truth`.
    pub(crate) fn of_codes(codes: &[u32], truth: &[bool]) -> Bits {
        let bit = |code: u32| u64::from(truth.get(as_usize(code)).copied().unwrap_or(false));
        let word = |chunk: &[u32]| chunk.iter().rev().fold(0u64, |word, code| word << 1 | bit(*code));
        Bits { words: codes.chunks(WORD).map(word).collect(), length: codes.len() }
    }

    /// For each of so many codes the rows that have it.
    pub(crate) fn of_each(codes: &[u32], count: usize) -> Vec<Bits> {
        let mut sets = vec![Bits::none(codes.len()); count];
        for (row, code) in codes.iter().enumerate() {
            if let Some(set) = sets.get_mut(as_usize(*code)) {
                set.set(row, true);
            }
        }
        sets
    }

    /// How many rows the set is about, in it or not.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// What it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// Whether a row is in the set.
    pub(crate) fn get(&self, row: usize) -> bool {
        self.words.get(row / WORD).is_some_and(|word| word >> (row % WORD) & 1 == 1)
    }

    /// Adds a row, or removes it; rows from the set's length on are ignored.
    pub(crate) fn set(&mut self, row: usize, is: bool) {
        if is && row < self.length && self.words.len() <= row / WORD {
            self.words.resize(row / WORD + 1, 0);
        }
        if let Some(word) = self.words.get_mut(row / WORD) {
            let bit = 1u64 << (row % WORD);
            *word = if is { *word | bit } else { *word & !bit };
        }
    }

    /// Makes room for more rows; none of them is in the set.
    pub(crate) fn grow(&mut self, length: usize) {
        self.length = self.length.max(length);
    }

    /// Takes out the rows for which `holds` is false.
    pub(crate) fn keep(&mut self, holds: impl Fn(usize) -> bool) {
        for (place, word) in self.words.iter_mut().enumerate() {
            let rows = Ones(*word).map(as_usize).filter(|bit| holds(place * WORD + bit));
            *word = rows.fold(0, |word, bit| word | 1u64 << bit);
        }
    }

    /// Intersects this set with another.
    pub(crate) fn and(&mut self, other: &Bits) {
        self.words.truncate(other.words.len());
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own &= other;
        }
    }

    /// Adds the rows that are in all of some sets, of which the first is best a small one.
    pub(crate) fn or_meet(&mut self, sets: &[&Bits]) {
        let Some((first, rest)) = sets.split_first() else { return };
        let mut all = (*first).clone();
        rest.iter().for_each(|set| all.and(set));
        self.or(&all);
    }

    /// Unites this set with another.
    pub(crate) fn or(&mut self, other: &Bits) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own |= other;
        }
    }

    /// Removes the members of another set.
    pub(crate) fn and_not(&mut self, other: &Bits) {
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own &= !other;
        }
    }

    /// The rows that are not in the set.
    pub(crate) fn others(mut self) -> Bits {
        self.words.resize(self.length.div_ceil(WORD), 0);
        self.words.iter_mut().for_each(|word| *word = !*word);
        if let Some(last) = self.words.last_mut().filter(|_| !self.length.is_multiple_of(WORD)) {
            *last &= (1u64 << (self.length % WORD)) - 1;
        }
        self
    }

    /// Whether the set has a member.
    pub(crate) fn any(&self) -> bool {
        self.words.iter().any(|word| *word != 0)
    }

    /// Whether two sets have a member in common.
    pub(crate) fn meets(&self, other: &Bits) -> bool {
        self.words.iter().zip(&other.words).any(|(own, other)| own & other != 0)
    }

    /// Whether each member of the set is one of another, too.
    pub(crate) fn is_within(&self, other: &Bits) -> bool {
        (0..self.words.len()).all(|place| self.word(place) & !other.word(place) == 0)
    }

    /// How many members two sets have in common.
    pub(crate) fn count_in(&self, other: &Bits) -> usize {
        self.words.iter().zip(&other.words).map(|(own, other)| as_usize((own & other).count_ones())).sum()
    }

    /// Adds the set to those that were noted: what is in one of them at least, and what is in two or more.
    pub(crate) fn note(&self, once: &mut Bits, twice: &mut Bits) {
        for noted in [&mut *once, &mut *twice] {
            if noted.words.len() < self.words.len() {
                noted.words.resize(self.words.len(), 0);
            }
        }
        for ((own, once), twice) in self.words.iter().zip(&mut once.words).zip(&mut twice.words) {
            *twice |= *once & own;
            *once |= own;
        }
    }

    /// How many members the set has.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| as_usize(word.count_ones())).sum()
    }

    /// The smallest row of the set that is not below `from`.
    pub(crate) fn next(&self, from: usize) -> Option<u32> {
        self.next_without(from, |_| 0)
    }

    /// Calls `see` with the rows of the set in a range, smallest first.
    pub(crate) fn each_among(&self, range: std::ops::Range<usize>, mut see: impl FnMut(usize)) {
        let (first, end) = (range.start / WORD, range.end.min(self.length));
        let words = self.words.iter().enumerate().skip(first).take(end.div_ceil(WORD).saturating_sub(first));
        for (place, word) in words {
            let base = place * WORD;
            let above = if base < range.start { u64::MAX << (range.start - base) } else { u64::MAX };
            let below = if end - base < WORD { (1u64 << (end - base)) - 1 } else { u64::MAX };
            Ones(word & above & below).for_each(|bit| see(base + as_usize(bit)));
        }
    }

    /// The largest row of the set.
    pub(crate) fn last(&self) -> Option<u32> {
        let place = self.words.iter().rposition(|word| *word != 0)?;
        let word = self.words.get(place)?;
        Some(as_u32(place * WORD) + word.checked_ilog2()?)
    }

    /// The rows of the set from 64 times `place` on, one bit each.
    pub(crate) fn word(&self, place: usize) -> u64 {
        self.words.get(place).copied().unwrap_or(0)
    }

    /// The smallest row of the set that is neither below `from` nor left out, see [`Bits::word`].
    pub(crate) fn next_without(&self, from: usize, out: impl Fn(usize) -> u64) -> Option<u32> {
        let left = |place: usize| self.words.get(place).map(|word| word & !out(place));
        let mut place = from / WORD;
        let mut word = left(place)? & (u64::MAX << (from % WORD));
        while word == 0 {
            place += 1;
            word = left(place)?;
        }
        Some(as_u32(place * WORD) + word.trailing_zeros())
    }

    /// For each row of the set the number that stands in its place in `places`, as far as it is below `length`.
    pub(crate) fn permuted(&self, places: &[u32], length: usize) -> Bits {
        let mut bits = Bits { words: vec![0; length.div_ceil(WORD)], length };
        for (word, places) in self.words.iter().zip(places.chunks(WORD)) {
            for bit in Ones(*word) {
                let place = places.get(as_usize(bit)).map_or(usize::MAX, |place| as_usize(*place));
                if let Some(word) = bits.words.get_mut(place / WORD) {
                    *word |= 1u64 << (place % WORD);
                }
            }
        }
        bits
    }

    /// The rows of the set, smallest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().zip((0u32..).step_by(WORD)).flat_map(|(word, base)| Ones(*word).map(move |bit| base + bit))
    }

    /// The rows of the set as a list, smallest first.
    pub(crate) fn rows(&self) -> Vec<u32> {
        let mut rows = Vec::with_capacity(self.count());
        self.iter().for_each(|row| rows.push(row));
        rows
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Bits) -> bool {
        let length = self.words.len().max(other.words.len());
        self.length == other.length && (0..length).all(|place| self.word(place) == other.word(place))
    }
}

impl Eq for Bits {}

/// The places of the bits that are set, lowest first.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}
