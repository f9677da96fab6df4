//! What is to happen when.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events in the order of their times; those of one time in the order in which they were added. The heap of the standard library serves:
/// libraries for discrete events bring processes, resources and clocks of their own, of which nothing here would use any.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    entries: BinaryHeap<Reverse<Entry<E>>>,
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
        Agenda { entries: BinaryHeap::new(), added: 0 }
    }

    /// Adds an event at a time.
    pub(super) fn add(&mut self, at: f64, event: E) {
        self.added += 1;
        self.entries.push(Reverse(Entry { at, turn: self.added, event }));
    }

    /// Takes the next event, with its time.
    pub(super) fn next(&mut self) -> Option<(f64, E)> {
        self.entries.pop().map(|Reverse(entry)| (entry.at, entry.event))
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
        let order: String = std::iter::from_fn(|| agenda.next()).map(|(_, event)| event).collect();
        assert_eq!(order, "abcd");
    }
}
