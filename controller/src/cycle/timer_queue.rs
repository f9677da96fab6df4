//! A timer queue: what is due by time alone, one moment for each name.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// The moments, one for each name, in milliseconds of [`crate::cache::Cache::now_ms`]. Example: a claim's uid is due when its deadline is over.
#[derive(Debug)]
pub(crate) struct TimerQueue<T> {
    times: BTreeSet<(u64, T)>,
    of: BTreeMap<T, u64>,
}

impl<T> Default for TimerQueue<T> {
    fn default() -> Self {
        TimerQueue { times: BTreeSet::new(), of: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> TimerQueue<T> {
    /// This one is due then, and not before.
    pub(crate) fn set(&mut self, name: T, at_ms: u64) {
        self.remove(&name);
        self.times.insert((at_ms, name.clone()));
        self.of.insert(name, at_ms);
    }

    /// This one is due then, and not before; `None`: it is not due by time any more.
    pub(crate) fn set_to(&mut self, name: T, at_ms: Option<u64>) {
        match at_ms {
            Some(at_ms) => self.set(name, at_ms),
            None => self.remove(&name),
        }
    }

    /// This one is due then, or earlier if that was said before.
    pub(crate) fn set_by(&mut self, name: T, at_ms: u64) {
        if self.of.get(&name).is_none_or(|known| *known > at_ms) {
            self.set(name, at_ms);
        }
    }

    /// This one is not due by time any more.
    pub(crate) fn remove<Q>(&mut self, name: &Q)
    where
        T: Borrow<Q>,
        Q: Ord + ToOwned<Owned = T> + ?Sized,
    {
        if let Some(at_ms) = self.of.remove(name) {
            self.times.remove(&(at_ms, name.to_owned()));
        }
    }

    /// Takes out those that are due by now.
    pub(crate) fn expired(&mut self, now_ms: u64) -> Vec<T> {
        let mut all = Vec::new();
        while self.times.first().is_some_and(|(at_ms, _)| *at_ms <= now_ms) {
            let Some((_, name)) = self.times.pop_first() else { break };
            self.of.remove(&name);
            all.push(name);
        }
        all
    }

    /// When the next one is due.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.times.first().map(|(at_ms, _)| *at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_due_once_and_in_time() {
        let mut queue = TimerQueue::<String>::default();
        for (name, at_ms) in [("late", 9), ("soon", 3), ("moved", 1), ("gone", 2)] {
            queue.set(name.to_owned(), at_ms);
        }
        queue.set("moved".to_owned(), 4);
        queue.remove("gone");
        queue.set_by("soon".to_owned(), 8);
        queue.set_by("late".to_owned(), 5);
        assert_eq!((queue.next_ms(), queue.expired(2)), (Some(3), vec![]));
        assert_eq!(queue.expired(4), ["soon", "moved"]);
        assert_eq!((queue.expired(4), queue.next_ms()), (vec![], Some(5)));
        assert_eq!((queue.expired(5), queue.next_ms()), (vec!["late".to_owned()], None));
    }
}
