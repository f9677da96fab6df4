//! What is to happen when.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// Events in the order of their times; those of one time in the order in which they were added. The heap of the standard library serves;
/// `docs/decisions/0020-events-and-trees-by-hand.md` says why no library does.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    entries: BinaryHeap<Reverse<Entry<E>>>,
    /// Events that were added in the order of their times, which is nearly all of them: the periods of the nodes.
    periodic: VecDeque<Entry<E>>,
    added: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: f64,
    turn: u64,
    event: E,
}

impl<E> Agenda<E> {
    pub(super) fn new() -> Agenda<E> {
        Agenda { entries: BinaryHeap::new(), periodic: VecDeque::new(), added: 0 }
    }

    /// Adds an event at a time.
    pub(super) fn add(&mut self, at: f64, event: E) {
        let entry = self.entry(at, event);
        self.entries.push(Reverse(entry));
    }

    /// The same at less cost, for events that are all added equally long before their times.
    pub(super) fn add_periodic(&mut self, at: f64, event: E) {
        let entry = self.entry(at, event);
        match self.periodic.back().is_none_or(|last| *last < entry) {
            true => self.periodic.push_back(entry),
            false => self.entries.push(Reverse(entry)),
        }
    }

    fn entry(&mut self, at: f64, event: E) -> Entry<E> {
        self.added += 1;
        Entry { at, turn: self.added, event }
    }

    /// Takes the next event, with its time.
    pub(super) fn next(&mut self) -> Option<(f64, E)> {
        let is_periodic = match (self.periodic.front(), self.entries.peek()) {
            (Some(periodic), Some(Reverse(other))) => periodic < other,
            (periodic, _) => periodic.is_some(),
        };
        let entry = match is_periodic {
            true => self.periodic.pop_front(),
            false => self.entries.pop().map(|Reverse(entry)| entry),
        };
        entry.map(|entry| (entry.at, entry.event))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.turn.cmp(&other.turn))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::Agenda;

    #[test]
    fn events_come_by_time_and_then_by_turn() {
        let mut agenda = Agenda::new();
        for (at, event) in [(2.0, 'c'), (1.0, 'a'), (2.0, 'd'), (1.5, 'b')] {
            agenda.add(at, event);
        }
        for (at, event) in [(0.5, '1'), (2.0, 'e'), (1.7, '3'), (2.5, 'f')] {
            agenda.add_periodic(at, event);
        }
        let order: String = std::iter::from_fn(|| agenda.next()).map(|(_, event)| event).collect();
        assert_eq!(order, "1ab3cdef");
    }
}
