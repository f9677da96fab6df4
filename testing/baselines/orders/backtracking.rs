//! An order of ports into the first gang, going back one step wherever a port has no candidate.

use super::ground::Ground;
use super::{Order, Unknown};
use crate::table::Bits;

/// The search for one root.
pub(super) struct Search<'a> {
    pub(super) ground: &'a mut Ground,
    /// The candidates of each port.
    pub(super) ports: &'a [usize],
    pub(super) order: Order,
    /// The row at each port.
    pub(super) bound: Vec<Option<u32>>,
    /// Probes and backtracks.
    pub(super) counts: [u64; 2],
}

impl Search<'_> {
    /// Fills the ports that are still free; gives the row at each port, or goes back with them free again.
    pub(super) fn fill(&mut self) -> Result<Option<Vec<u32>>, Unknown> {
        let free: Vec<usize> = (0..self.ports.len()).filter(|port| self.is_free(*port)).collect();
        let chosen = match self.order {
            Order::LeftToRight => free.first().copied(),
            Order::RightToLeft => free.last().copied(),
            Order::Dynamic => return self.fill_smallest(&free),
        };
        let Some(port) = chosen else { return Ok(Some(self.bound.iter().flatten().copied().collect())) };
        let candidates = self.probe(port)?;
        self.try_each(port, &candidates)
    }

    /// Estimates all free ports, and fills the one with the fewest candidates.
    fn fill_smallest(&mut self, free: &[usize]) -> Result<Option<Vec<u32>>, Unknown> {
        let mut smallest: Option<(usize, usize, Bits)> = None;
        for port in free {
            let candidates = self.probe(*port)?;
            let count = candidates.count();
            if smallest.as_ref().is_none_or(|(least, _, _)| count < *least) {
                smallest = Some((count, *port, candidates));
            }
        }
        match smallest {
            Some((_, port, candidates)) => self.try_each(port, &candidates),
            None => Ok(Some(self.bound.iter().flatten().copied().collect())),
        }
    }

    fn try_each(&mut self, port: usize, candidates: &Bits) -> Result<Option<Vec<u32>>, Unknown> {
        for row in candidates.iter() {
            self.bind(port, Some(row));
            if let Some(rows) = self.fill()? {
                return Ok(Some(rows));
            }
            let [_, backtracks] = &mut self.counts;
            *backtracks += 1;
        }
        self.bind(port, None);
        Ok(None)
    }

    fn probe(&mut self, port: usize) -> Result<Bits, Unknown> {
        let [probes, _] = &mut self.counts;
        *probes += 1;
        self.ground.probe(self.ports, &self.bound, port)
    }

    fn is_free(&self, port: usize) -> bool {
        self.bound.get(port).is_some_and(Option::is_none)
    }

    fn bind(&mut self, port: usize, row: Option<u32>) {
        if let Some(own) = self.bound.get_mut(port) {
            *own = row;
        }
    }
}
