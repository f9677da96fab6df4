//! Star-shaped gangs: every port stands alone or hangs on port 0, and no ad can be bound to two of them.
//!
//! The rows of port 0 are looked at best first, each with the best that its joined ports can add. In a cycle availability only
//! shrinks, so a bound that was true once stays true, and what was passed over is never looked at again (the threshold
//! algorithm of Fagin, Lotem and Naor, with bounds that may be stale).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use matchmaker::Score;

use super::candidates::{Candidates, Known};
use super::join_partitions::JoinedPort;

/// How far the search of one class of roots has come in this cycle.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// How many of port 0's rows have been looked at.
    cursor: usize,
    /// Those of them that may still be the best.
    refined: BinaryHeap<Refined>,
    /// The rows of the gang looked at last, by port.
    pub(crate) rows: Vec<u32>,
    /// Rows of port 0 that were looked at, for benchmarks.
    pub(crate) steps: u64,
}

/// A row of port 0 with the best gang that it was in when it was last looked at.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Refined {
    total: Score,
    position: Reverse<u32>,
    own: Score,
    row: u32,
}

/// What came of looking at a row of port 0.
enum Look {
    /// What the row adds, and what it comes to with its joined ports.
    Total(Score, Score),
    /// It can be in no gang any more.
    Nothing,
    /// No row can.
    Never,
}

/// The candidate sets and joined ports of a star.
pub(crate) struct StarJoin<'a> {
    /// By port.
    pub(crate) candidate_sets: &'a mut [Candidates],
    /// By port; `None` for ports that join no other.
    pub(crate) joined_ports: &'a mut [Option<JoinedPort>],
    /// The candidates of each port of the class.
    pub(crate) ports: &'a [usize],
}

impl StarJoin<'_> {
    /// The score of the best gang of the class as things are now; its rows are left in `progress`.
    pub(crate) fn best(&mut self, progress: &mut Progress, known: &mut Known<'_>) -> Option<Score> {
        let first = *self.ports.first()?;
        self.candidate_sets.get_mut(first)?.order(known);
        let spread = self
            .ports
            .iter()
            .skip(1)
            .any(|port| self.candidate_sets.get(*port).is_some_and(|candidates| candidates.varies));
        let most = self.joined_ports_most();
        loop {
            while let Some((place, row)) = self.next(first, progress.cursor, known) {
                progress.cursor = place;
                let mut own = None;
                if let Some(top) = progress.refined.peek() {
                    let score = self.candidate_sets.get(first)?.score(row, known.table, known.ranks)?;
                    let bound = score.plus(&most);
                    if bound < top.total || (bound == top.total && score == top.own) {
                        break;
                    }
                    own = Some(score);
                }
                progress.steps += 1;
                let (own, total) = match self.look(row, own, known, &mut progress.rows) {
                    Look::Total(own, total) => (own, total),
                    Look::Nothing => {
                        progress.cursor += 1;
                        continue;
                    }
                    Look::Never => return None,
                };
                // Without a choice among joined ports the first row that has any is the best; it may be had again.
                if !spread && progress.refined.is_empty() {
                    return Some(total);
                }
                progress.cursor += 1;
                let position = Reverse(known.table.position(row));
                progress.refined.push(Refined { total, position, own, row });
            }
            let top = progress.refined.pop()?;
            let total = match self.look(top.row, Some(top.own), known, &mut progress.rows) {
                Look::Total(_, total) => total,
                Look::Nothing => continue,
                Look::Never => return None,
            };
            let stale = total < top.total;
            progress.refined.push(Refined { total, ..top });
            if !stale {
                return Some(total);
            }
        }
    }

    /// The next row of port 0 that may be in a gang.
    fn next(&mut self, first: usize, place: usize, known: &Known<'_>) -> Option<(usize, u32)> {
        let (rest, joined_ports) = (self.ports.get(1..).unwrap_or_default(), &*self.joined_ports);
        let unjoinable = |word: usize| {
            let joined_ports = rest.iter().filter_map(|port| joined_ports.get(*port)?.as_ref());
            joined_ports.fold(0, |out, joined_port| out | joined_port.unjoinable.word(word))
        };
        let out = |word: usize| known.full.word(word) | unjoinable(word);
        self.candidate_sets.get_mut(first)?.next(place, out, known)
    }

    /// What a row of port 0 comes to with the best of its joined ports, whose rows are left in `rows`. What it adds itself is worked
    /// out last, if it is not known.
    fn look(&mut self, row: u32, own: Option<Score>, known: &mut Known<'_>, rows: &mut Vec<u32>) -> Look {
        let Some((first, rest)) = self.ports.split_first() else { return Look::Never };
        let Some(candidates) = self.candidate_sets.get(*first) else { return Look::Never };
        if !known.has_room(row, candidates) {
            return Look::Nothing;
        }
        let mut total = Score::default();
        rows.clear();
        rows.push(row);
        for port in rest {
            let (Some(Some(joined_port)), Some(candidates)) =
                (self.joined_ports.get_mut(*port), self.candidate_sets.get(*port))
            else {
                return Look::Never;
            };
            match joined_port.best(row, candidates, known) {
                Some((score, row)) => {
                    total = total.plus(&score);
                    rows.push(row);
                }
                None if joined_port.is_empty(known) => return Look::Never,
                None => return Look::Nothing,
            }
        }
        // The most expensive check comes last: rows that no license allows need none.
        let Some(candidates) = self.candidate_sets.get(*first).filter(|candidates| candidates.passes(row, known))
        else {
            return Look::Nothing;
        };
        match own.or_else(|| candidates.score(row, known.table, known.ranks)) {
            Some(own) => Look::Total(own, own.plus(&total)),
            None => Look::Nothing,
        }
    }

    /// The most that all joined ports together can add.
    fn joined_ports_most(&self) -> Score {
        let rest = self.ports.iter().skip(1).filter_map(|port| self.candidate_sets.get(*port));
        rest.fold(Score::default(), |sum, candidates| sum.plus(&candidates.most))
    }
}
