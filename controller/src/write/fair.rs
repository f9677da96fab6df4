//! A queue that is served round robin over namespaces: however much one of them has put in, each other one waits for one item of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Items by namespace. Within a namespace those that are urgent come first, then each as it came.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    lines: BTreeMap<String, Lines<T>>,
    /// The namespaces that have items, in the order in which they are served.
    turns: VecDeque<String>,
}

#[derive(Debug)]
struct Lines<T> {
    urgent: VecDeque<T>,
    others: VecDeque<T>,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        FairQueue { lines: BTreeMap::new(), turns: VecDeque::new() }
    }
}

impl<T> FairQueue<T> {
    /// Puts an item in.
    pub(crate) fn push(&mut self, namespace: &str, item: T) {
        self.lines(namespace).others.push_back(item);
    }

    /// Puts an item in that comes before those of its namespace that are not urgent.
    pub(crate) fn push_urgent(&mut self, namespace: &str, item: T) {
        self.lines(namespace).urgent.push_back(item);
    }

    fn lines(&mut self, namespace: &str) -> &mut Lines<T> {
        if !self.lines.contains_key(namespace) {
            self.turns.push_back(namespace.to_owned());
        }
        let none = || Lines { urgent: VecDeque::new(), others: VecDeque::new() };
        self.lines.entry(namespace.to_owned()).or_insert_with(none)
    }

    /// Takes the next item out of those namespaces that may be served. The others keep their turn.
    pub(crate) fn pop(&mut self, mut may: impl FnMut(&str) -> bool) -> Option<T> {
        let place = self.turns.iter().position(|namespace| may(namespace))?;
        let namespace = self.turns.remove(place)?;
        let item = self.pop_of(&namespace);
        if self.lines.contains_key(&namespace) {
            self.turns.push_back(namespace);
        }
        item
    }

    /// Takes the oldest item of a namespace out of turn.
    pub(crate) fn drop_oldest(&mut self, namespace: &str) -> Option<T> {
        let item = self.pop_of(namespace);
        if !self.lines.contains_key(namespace) {
            self.turns.retain(|other| other != namespace);
        }
        item
    }

    fn pop_of(&mut self, namespace: &str) -> Option<T> {
        let lines = self.lines.get_mut(namespace)?;
        let item = lines.urgent.pop_front().or_else(|| lines.others.pop_front());
        if lines.urgent.is_empty() && lines.others.is_empty() {
            self.lines.remove(namespace);
        }
        item
    }

    /// How many items a namespace has.
    pub(crate) fn len_of(&self, namespace: &str) -> usize {
        self.lines.get(namespace).map_or(0, |lines| lines.urgent.len() + lines.others.len())
    }

    /// How many items there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.turns.iter().map(|namespace| self.len_of(namespace)).sum()
    }
}

/// A [`FairQueue`] in which each item is once at most.
#[derive(Debug)]
pub(crate) struct FairSet<T> {
    queue: FairQueue<T>,
    items: BTreeSet<T>,
}

impl<T> Default for FairSet<T> {
    fn default() -> Self {
        FairSet { queue: FairQueue::default(), items: BTreeSet::new() }
    }
}

impl<T: Ord + Clone> FairSet<T> {
    /// Puts an item in, unless it is in the queue already.
    pub(crate) fn push(&mut self, namespace: &str, item: T) {
        if self.items.insert(item.clone()) {
            self.queue.push(namespace, item);
        }
    }

    /// The same for an item that comes before those of its namespace that are not urgent.
    pub(crate) fn push_urgent(&mut self, namespace: &str, item: T) {
        if self.items.insert(item.clone()) {
            self.queue.push_urgent(namespace, item);
        }
    }

    /// Takes the next item out of those namespaces that may be served.
    pub(crate) fn pop(&mut self, may: impl FnMut(&str) -> bool) -> Option<T> {
        let item = self.queue.pop(may)?;
        self.items.remove(&item);
        Some(item)
    }

    /// Whether this item is in the queue.
    pub(crate) fn contains(&self, item: &T) -> bool {
        self.items.contains(item)
    }

    /// Whether the queue is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::chance::Chance;

    #[test]
    fn b14_no_namespace_waits_longer_than_one_turn_of_each_other() {
        for seed in 1..200_u64 {
            let (mut chance, mut queue) = (Chance::new(seed), FairQueue::default());
            // how many items of each other namespace were served since this one had its turn
            let mut served: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
            for number in 0..400_u64 {
                let namespace = format!("n{}", chance.one_of(5).min(chance.one_of(5)));
                if chance.one_of(3) > 0 {
                    if queue.len_of(&namespace) == 0 {
                        served.insert(namespace.clone(), BTreeMap::new());
                    }
                    queue.push(&namespace, (namespace.clone(), number));
                } else if let Some((turn, _)) = queue.pop(|_| true) {
                    served.insert(turn.clone(), BTreeMap::new());
                    for (waits, others) in served.iter_mut().filter(|(name, _)| **name != turn) {
                        let count = others.entry(turn.clone()).or_default();
                        *count += 1;
                        assert!(*count <= 1 || queue.len_of(waits) == 0, "{waits} waited for {count} of {turn}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_lost_and_each_namespace_keeps_its_order() {
        for seed in 1..100_u64 {
            let (mut chance, mut queue) = (Chance::new(seed), FairQueue::default());
            let mut out: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for number in 0..200 {
                let namespace = chance.one_of(4);
                queue.push(&format!("n{namespace}"), (namespace, number));
                if chance.one_of(2) == 0
                    && let Some((namespace, number)) = queue.pop(|name| name != "n0")
                {
                    out.entry(namespace).or_default().push(number);
                }
            }
            assert!(!out.contains_key(&0), "it may not be served");
            while let Some((namespace, number)) = queue.pop(|_| true) {
                out.entry(namespace).or_default().push(number);
            }
            assert!(queue.turns.is_empty() && queue.lines.is_empty());
            assert_eq!(out.values().map(Vec::len).sum::<usize>(), 200);
            assert!(out.values().all(|numbers| numbers.is_sorted()), "{out:?}");
        }
    }

    #[test]
    fn what_is_urgent_comes_first_in_its_namespace_and_in_no_other() {
        let mut queue = FairQueue::default();
        queue.push("a", "a1");
        queue.push("b", "b1");
        queue.push_urgent("b", "b2");
        let all: Vec<&str> = std::iter::from_fn(|| queue.pop(|_| true)).collect();
        assert_eq!(all, ["a1", "b2", "b1"]);
    }

    #[test]
    fn a_uid_stands_in_a_set_once_and_again_when_it_was_taken_out() {
        let mut set = FairSet::default();
        (0..1_000).for_each(|number| set.push("a", format!("{number:04}")));
        ["x", "x"].iter().for_each(|uid| set.push("b", (*uid).to_owned()));
        let first: Vec<String> = std::iter::from_fn(|| set.pop(|_| true)).take(3).collect();
        assert_eq!(first, ["0000", "x", "0001"]);
        set.push("b", "x".to_owned());
        assert_eq!(set.pop(|name| name == "b").as_deref(), Some("x"));
        assert_eq!(std::iter::from_fn(|| set.pop(|_| true)).count(), 998);
        assert!(set.is_empty());
    }

    #[test]
    fn who_may_not_be_served_keeps_its_turn() {
        let mut queue = FairQueue::default();
        ["a", "b", "c"].iter().for_each(|name| queue.push(name, *name));
        assert_eq!(queue.pop(|name| name != "a"), Some("b"));
        assert_eq!(queue.pop(|_| true), Some("a"));
        assert_eq!((queue.drop_oldest("c"), queue.len(), queue.pop(|_| true)), (Some("c"), 0, None));
    }
}
