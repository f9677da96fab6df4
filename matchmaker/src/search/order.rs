//! Candidates in the order in which they are looked at, found one by one.

use crate::index::orders::{OrderId, Orders};
use crate::index::ranks::Ranks;
use crate::table::{Bits, as_usize};

/// Rows, the best first, of equal ones in the order of their ads.
#[derive(Debug)]
pub(crate) enum Order {
    /// The order of rows is that of their ads, and nobody prefers any.
    Plain(Bits),
    /// Their places in an order.
    Ranked(Bits, OrderId),
}

impl Order {
    /// The first row at a place or after it that is not in a set, and its place.
    pub(crate) fn next(&self, place: usize, without: &Bits, orders: &Orders, ranks: &Ranks) -> Option<(usize, u32)> {
        match self {
            Order::Plain(rows) => rows.next_without(place, without).map(|row| (as_usize(row), row)),
            Order::Ranked(places, id) => {
                let (order, _) = orders.get(*id, ranks);
                let mut next = place;
                loop {
                    let place = as_usize(places.next(next)?);
                    let row = *order.get(place)?;
                    if !without.get(as_usize(row)) {
                        return Some((place, row));
                    }
                    next = place + 1;
                }
            }
        }
    }

    /// The first row and the last one.
    pub(crate) fn ends(&self, orders: &Orders, ranks: &Ranks) -> (Option<u32>, Option<u32>) {
        match self {
            Order::Plain(rows) => (rows.next(0), rows.last()),
            Order::Ranked(places, id) => {
                let (order, _) = orders.get(*id, ranks);
                let row = |place: Option<u32>| order.get(as_usize(place?)).copied();
                (row(places.next(0)), row(places.last()))
            }
        }
    }

    /// All rows.
    pub(crate) fn rows(&self, orders: &Orders, ranks: &Ranks) -> Vec<u32> {
        match self {
            Order::Plain(rows) => rows.rows(),
            Order::Ranked(places, id) => {
                let (order, _) = orders.get(*id, ranks);
                places.iter().filter_map(|place| order.get(as_usize(place)).copied()).collect()
            }
        }
    }
}
