//! What is to happen, in the order of its time; of what happens at the same time, in the order in which it was added.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events that are still to come.
pub(super) struct Agenda<E> {
    added: u64,
    queue: BinaryHeap<Reverse<Later<E>>>,
}

struct Later<E> {
    at_ms: u64,
    order: u64,
    event: E,
}

impl<E> Default for Agenda<E> {
    fn default() -> Agenda<E> {
        Agenda { added: 0, queue: BinaryHeap::new() }
    }
}

impl<E> Agenda<E> {
    /// Adds an event.
    pub(super) fn add(&mut self, at_ms: u64, event: E) {
        self.added += 1;
        self.queue.push(Reverse(Later { at_ms, order: self.added, event }));
    }

    /// Takes the first event, with its time.
    pub(super) fn next(&mut self) -> Option<(u64, E)> {
        self.queue.pop().map(|Reverse(later)| (later.at_ms, later.event))
    }
}

impl<E> PartialEq for Later<E> {
    fn eq(&self, other: &Later<E>) -> bool {
        (self.at_ms, self.order) == (other.at_ms, other.order)
    }
}

impl<E> Eq for Later<E> {}

impl<E> PartialOrd for Later<E> {
    fn partial_cmp(&self, other: &Later<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Later<E> {
    fn cmp(&self, other: &Later<E>) -> Ordering {
        (self.at_ms, self.order).cmp(&(other.at_ms, other.order))
    }
}
