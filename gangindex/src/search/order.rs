//! Candidates in the order in which they are looked at, found one by one.

use std::sync::Arc;

use matchmaker::FixedPoint;

use crate::index::ranks::{RankId, Ranks};
use crate::table::{Bits, as_usize};

/// Rows, the best first, of equal ones in the order of their ads.
#[derive(Debug)]
pub(crate) enum Order {
    /// Written out.
    Listed(Vec<u32>),
    /// The order of rows is that of their ads, and nobody prefers any.
    Plain(Arc<Bits>),
    /// Their places in the order of a rank.
    Ranked(Bits, RankId),
    /// In the order of two ranks, as far as they have been asked for.
    LazySort(LazySort),
}

/// Rows in the order of one rank, those that it finds equal in the order of another: most are never asked for.
#[derive(Debug)]
pub(crate) struct LazySort {
    /// Their places in the order of the first rank.
    places: Bits,
    rank: RankId,
    /// From this place on nothing has been listed.
    next: usize,
    listed: Vec<u32>,
}

/// How many rows are listed at once, at least.
const BATCH: usize = 64;

impl LazySort {
    pub(crate) fn new(places: Bits, rank: RankId) -> LazySort {
        LazySort { places, rank, next: 0, listed: Vec::new() }
    }

    /// Lists more rows, none of those that are full; false if there are none left. `then` is what the other rank says.
    pub(crate) fn more<S: RankKey>(&mut self, ranks: &Ranks, full: &Bits, then: impl Fn(u32) -> S) -> bool {
        let (order, _) = ranks.order(self.rank);
        let before = self.listed.len();
        let mut pass = RankPass::default();
        while self.listed.len() < before + BATCH {
            let Some(first) = self.places.next(self.next) else { break };
            let (start, end) = (self.listed.len(), ranks.run_end(self.rank, as_usize(first)));
            self.places.each_among(as_usize(first)..end, |place| {
                self.listed.extend(order.get(place).filter(|row| !full.get(as_usize(**row))));
            });
            self.next = end;
            pass.stable_sort(self.listed.get_mut(start..).unwrap_or_default(), &then);
        }
        self.listed.len() > before
    }
}

impl Order {
    /// The first row at a place or after it that is not left out, and its place. `out` gives what is left out, 64 rows at
    /// a time.
    pub(crate) fn next(&self, place: usize, out: impl Fn(usize) -> u64, ranks: &Ranks) -> Option<(usize, u32)> {
        let is_in = |row: u32| out(as_usize(row) / Bits::WORD) >> (as_usize(row) % Bits::WORD) & 1 == 0;
        match self {
            Order::Listed(rows) => {
                let rest = rows.get(place..)?;
                let found = rest.iter().position(|row| is_in(*row))?;
                rest.get(found).map(|row| (place + found, *row))
            }
            Order::Plain(rows) => rows.next_without(place, out).map(|row| (as_usize(row), row)),
            Order::Ranked(places, rank) => {
                let (order, _) = ranks.order(*rank);
                let mut next = place;
                loop {
                    let place = as_usize(places.next(next)?);
                    let row = *order.get(place)?;
                    if is_in(row) {
                        return Some((place, row));
                    }
                    next = place + 1;
                }
            }
            Order::LazySort(runs) => {
                let rest = runs.listed.get(place..)?;
                let found = rest.iter().position(|row| is_in(*row))?;
                rest.get(found).map(|row| (place + found, *row))
            }
        }
    }

    /// How many rows are listed, if not all may be.
    pub(crate) fn listed(&self) -> Option<usize> {
        match self {
            Order::LazySort(runs) => Some(runs.listed.len()),
            Order::Listed(_) | Order::Plain(_) | Order::Ranked(..) => None,
        }
    }

    /// The first row and the last one; of those that a first rank finds equal any, if not all are listed.
    pub(crate) fn ends(&self, ranks: &Ranks) -> (Option<u32>, Option<u32>) {
        match self {
            Order::Listed(rows) => (rows.first().copied(), rows.last().copied()),
            Order::Plain(rows) => (rows.next(0), rows.last()),
            Order::Ranked(places, rank) => {
                let (order, _) = ranks.order(*rank);
                let row = |place: Option<u32>| order.get(as_usize(place?)).copied();
                (row(places.next(0)), row(places.last()))
            }
            Order::LazySort(runs) => {
                let (order, _) = ranks.order(runs.rank);
                let last = || order.get(as_usize(runs.places.last()?)).copied();
                let all = runs.places.next(runs.next).is_none();
                (runs.listed.first().copied(), if all { runs.listed.last().copied() } else { last() })
            }
        }
    }

    /// All rows, as far as they are listed.
    pub(crate) fn rows(&self, ranks: &Ranks) -> Vec<u32> {
        match self {
            Order::Listed(rows) => rows.clone(),
            Order::Plain(rows) => rows.rows(),
            Order::Ranked(places, rank) => {
                let (order, _) = ranks.order(*rank);
                places.iter().filter_map(|place| order.get(as_usize(place)).copied()).collect()
            }
            Order::LazySort(runs) => runs.listed.clone(),
        }
    }
}

/// Sorts rows by what is thought of them; equal ones stay in their order.
pub(crate) fn stable_sort<S: RankKey>(rows: &mut [u32], worth: impl Fn(u32) -> S) {
    RankPass::default().stable_sort(rows, &worth);
}

/// What rows are sorted by, as a number: larger ones come first.
pub(crate) trait RankKey: Ord + Copy {
    /// In the same order as the worths themselves, and not near the ends of the numbers.
    fn number(self) -> i128;
}

impl RankKey for FixedPoint {
    fn number(self) -> i128 {
        self.bits()
    }
}

impl RankKey for Option<u8> {
    fn number(self) -> i128 {
        self.map_or(-1, i128::from)
    }
}

/// The places of worths, the largest first, of equal ones in order. Numbers are made as small as they can be: most ranks are
/// integers, or differ in few bits.
fn descending<S: RankKey>(worths: &[S]) -> Vec<u32> {
    let most = worths.iter().map(|worth| worth.number()).max().unwrap_or_default();
    let less = |worth: &S| (most - worth.number()).unsigned_abs();
    let bits = worths.iter().fold(0, |bits, worth| bits | less(worth));
    let (low, high) = (bits.trailing_zeros().min(127), 128 - bits.leading_zeros());
    let for_place = usize::BITS - worths.len().leading_zeros();
    let keys = worths.iter().map(|worth| less(worth) >> low);
    if high.saturating_sub(low) + for_place <= u64::BITS {
        let mask = (1u64 << for_place) - 1;
        let key = |(place, key): (u64, u128)| u64::try_from(key).unwrap_or(u64::MAX) << for_place | place;
        let mut all: Vec<u64> = (0..).zip(keys).map(key).collect();
        all.sort_unstable();
        return all.into_iter().map(|key| u32::try_from(key & mask).unwrap_or(u32::MAX)).collect();
    }
    let mut all: Vec<(u128, u32)> = keys.zip(0..).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, place)| place).collect()
}

/// Room for sorting one list after the other.
struct RankPass<S> {
    /// What the rows are worth.
    worth: Vec<S>,
    levels: Vec<S>,
    sorted: Vec<u32>,
}

impl<S> Default for RankPass<S> {
    fn default() -> RankPass<S> {
        RankPass { worth: Vec::new(), levels: Vec::new(), sorted: Vec::new() }
    }
}

/// How many different worths are sorted by looking for each in turn: owners mostly know friends and others.
const LEVELS_MAX: usize = 4;

impl<S: RankKey> RankPass<S> {
    fn stable_sort(&mut self, rows: &mut [u32], worth: &impl Fn(u32) -> S) {
        if rows.len() < 2 {
            return;
        }
        self.worth.clear();
        self.worth.extend(rows.iter().map(|row| worth(*row)));
        if !self.worth.is_sorted_by(|one, other| one >= other) {
            self.sort(rows);
        }
    }

    fn sort(&mut self, run: &mut [u32]) {
        self.levels.clear();
        for worth in &self.worth {
            if !self.levels.contains(worth) {
                self.levels.push(*worth);
                if self.levels.len() > LEVELS_MAX {
                    break;
                }
            }
        }
        self.sorted.clear();
        if self.levels.len() > LEVELS_MAX {
            self.sorted.extend(descending(&self.worth).into_iter().filter_map(|place| run.get(as_usize(place))));
        } else {
            self.levels.sort_unstable_by(|one, other| other.cmp(one));
            for level in &self.levels {
                let rows = run.iter().zip(&self.worth).filter(|(_, worth)| *worth == level);
                self.sorted.extend(rows.map(|(row, _)| *row));
            }
        }
        run.copy_from_slice(&self.sorted);
    }
}

#[cfg(test)]
mod tests {
    use classad::Value;

    use super::*;

    #[test]
    fn rows_are_sorted_whatever_their_worths_are() {
        // Integers, few bits, all bits, both ends, many equal ones.
        let worths: [&dyn Fn(u32) -> f64; 5] = [
            &|row| f64::from(row * 7919 % 1009),
            &|row| f64::from(row % 17) / 8.0 - 1.0,
            &|row| f64::from(row * 31 % 101).sin() * 1e3,
            &|row| [1e30, -1e30, 0.0, 1e-9, f64::NAN][as_usize(row % 5)],
            &|row| -f64::from(row / 64).sqrt(),
        ];
        for worth in worths {
            let of = |row: u32| FixedPoint::of(&Value::Real(worth(row)));
            let mut rows: Vec<u32> = (0..1000).collect();
            let mut expected = rows.clone();
            expected.sort_by_key(|row| std::cmp::Reverse(of(*row)));
            stable_sort(&mut rows, of);
            assert_eq!(rows, expected);
        }
    }
}
