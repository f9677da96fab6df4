//! Candidates in the order in which they are looked at, found one by one.

use std::sync::Arc;

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
    let mut pass = Pass { worth: Vec::new(), levels: Vec::new(), sorted: Vec::new() };
    for run in rows.chunk_by_mut(|one, other| first(*one) == first(*other)) {
        pass.worth.clear();
        pass.worth.extend(run.iter().map(|row| then(*row)));
        if !pass.worth.is_sorted_by(|one, other| one >= other) {
            pass.sort(run);
        }
    }
}

/// Room for sorting one run after the other.
struct Pass<S> {
    /// What the rows of the run are worth.
    worth: Vec<S>,
    levels: Vec<S>,
    sorted: Vec<u32>,
}

/// How many different worths are sorted by looking for each in turn: owners mostly know friends and others.
const LEVELS_MAX: usize = 4;

impl<S: Ord + Copy> Pass<S> {
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
            let mut places: Vec<usize> = (0..run.len()).collect();
            places.sort_by_key(|place| std::cmp::Reverse(self.worth.get(*place)));
            self.sorted.extend(places.into_iter().filter_map(|place| run.get(place)));
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
