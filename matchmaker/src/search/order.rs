//! Candidates in the order in which they are looked at, found one by one.

use crate::index::ranks::{RankId, Ranks};
use crate::table::{Bits, as_usize};

/// Rows, the best first, of equal ones in the order of their ads.
#[derive(Debug)]
pub(crate) enum Order {
    /// Written out.
    Listed(Vec<u32>),
    /// The order of rows is that of their ads, and nobody prefers any.
    Plain(Bits),
    /// Their places in the order of a rank.
    Ranked(Bits, RankId),
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
        }
    }

    /// The first row and the last one.
    pub(crate) fn ends(&self, ranks: &Ranks) -> (Option<u32>, Option<u32>) {
        match self {
            Order::Listed(rows) => (rows.first().copied(), rows.last().copied()),
            Order::Plain(rows) => (rows.next(0), rows.last()),
            Order::Ranked(places, rank) => {
                let (order, _) = ranks.order(*rank);
                let row = |place: Option<u32>| order.get(as_usize(place?)).copied();
                (row(places.next(0)), row(places.last()))
            }
        }
    }

    /// All rows.
    pub(crate) fn rows(&self, ranks: &Ranks) -> Vec<u32> {
        match self {
            Order::Listed(rows) => rows.clone(),
            Order::Plain(rows) => rows.rows(),
            Order::Ranked(places, rank) => {
                let (order, _) = ranks.order(*rank);
                places.iter().filter_map(|place| order.get(as_usize(place)).copied()).collect()
            }
        }
    }
}

/// Sorts rows by what else is thought of them where the first rank finds them equal; they are in its order already, and
/// equal ones in the order of their ads.
pub(crate) fn settle<T: PartialEq, S: Ord + Copy>(rows: &mut [u32], first: impl Fn(u32) -> T, then: impl Fn(u32) -> S) {
    for run in rows.chunk_by_mut(|one, other| first(*one) == first(*other)) {
        if !run.is_sorted_by_key(|row| std::cmp::Reverse(then(*row))) {
            run.sort_by_cached_key(|row| std::cmp::Reverse(then(*row)));
        }
    }
}
