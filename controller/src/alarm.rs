//! Who is to be looked at when, though nothing has changed.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// The moments, one for each, in milliseconds of [`crate::world::World::now_ms`].
#[derive(Debug)]
pub(crate) struct Alarm<T> {
    times: BTreeSet<(u64, T)>,
    of: BTreeMap<T, u64>,
}

impl<T> Default for Alarm<T> {
    fn default() -> Self {
        Alarm { times: BTreeSet::new(), of: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Alarm<T> {
    /// It rings for this one then, and not before.
    pub(crate) fn set(&mut self, whom: T, at_ms: u64) {
        self.forget(&whom);
        self.times.insert((at_ms, whom.clone()));
        self.of.insert(whom, at_ms);
    }

    /// It rings for this one then, or earlier if that was said before.
    pub(crate) fn set_by(&mut self, whom: T, at_ms: u64) {
        if self.of.get(&whom).is_none_or(|known| *known > at_ms) {
            self.set(whom, at_ms);
        }
    }

    /// It does not ring for this one.
    pub(crate) fn forget<Q>(&mut self, whom: &Q)
    where
        T: Borrow<Q>,
        Q: Ord + ToOwned<Owned = T> + ?Sized,
    {
        if let Some(at_ms) = self.of.remove(whom) {
            self.times.remove(&(at_ms, whom.to_owned()));
        }
    }

    /// Those for whom it has rung by now. It does not ring for them again.
    pub(crate) fn rung(&mut self, now_ms: u64) -> Vec<T> {
        let mut all = Vec::new();
        while self.times.first().is_some_and(|(at_ms, _)| *at_ms <= now_ms) {
            let Some((_, whom)) = self.times.pop_first() else { break };
            self.of.remove(&whom);
            all.push(whom);
        }
        all
    }

    /// When it rings next.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.times.first().map(|(at_ms, _)| *at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rings_once_for_each_and_in_time() {
        let mut alarm = Alarm::<String>::default();
        for (whom, at_ms) in [("late", 9), ("soon", 3), ("moved", 1), ("gone", 2)] {
            alarm.set(whom.to_owned(), at_ms);
        }
        alarm.set("moved".to_owned(), 4);
        alarm.forget("gone");
        alarm.set_by("soon".to_owned(), 8);
        alarm.set_by("late".to_owned(), 5);
        assert_eq!((alarm.next_ms(), alarm.rung(2)), (Some(3), vec![]));
        assert_eq!(alarm.rung(4), ["soon", "moved"]);
        assert_eq!((alarm.rung(4), alarm.next_ms()), (vec![], Some(5)));
        assert_eq!((alarm.rung(5), alarm.next_ms()), (vec!["late".to_owned()], None));
    }
}
