//! What each submitter gets in turn, and what a placement gives it beyond that.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Root, Window};

/// The rules of a window: which roots count together, and which must be placed.
#[derive(Debug)]
pub(crate) struct Rules {
    /// By root: the number of its band and submitter, and the place of its priority among theirs, the highest is 0.
    rows: Vec<(usize, usize)>,
    /// By root: it is pinned and has a gang in turn.
    must: Vec<bool>,
    /// By band and submitter, and by priority: the weight of the roots of at least that priority in turn, negated.
    owed: Vec<Vec<i128>>,
}

/// By how much a placement exceeds what is due.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    /// By band and submitter, and by priority: the weight of the placed roots of at least that priority, less that in turn.
    surplus: Vec<Vec<i128>>,
    /// How many of these are below 0.
    below: usize,
    /// How many of the roots that must be placed are not.
    missing: usize,
}

impl Rules {
    /// The rules of a window; without fairness nothing is due.
    pub(crate) fn of(window: &Window) -> Rules {
        let mut priorities: BTreeMap<(i64, usize), BTreeSet<i64>> = BTreeMap::new();
        for root in &window.roots {
            priorities.entry((root.band, root.submitter)).or_default().insert(root.priority);
        }
        let numbers: BTreeMap<(i64, usize), usize> = priorities.keys().copied().zip(0..).collect();
        let row = |root: &Root| {
            let key = (root.band, root.submitter);
            let above = priorities.get(&key).map_or(0, |all| all.range(root.priority..).count());
            (numbers.get(&key).copied().unwrap_or(0), above.saturating_sub(1))
        };
        let rows: Vec<(usize, usize)> = window.roots.iter().map(row).collect();
        let must = window.roots.iter().map(|root| window.fair && root.pinned && root.in_turn.is_some()).collect();
        let mut owed: Vec<Vec<i128>> = priorities.values().map(|all| vec![0; all.len()]).collect();
        for (root, (group, level)) in window.roots.iter().zip(&rows).filter(|(root, _)| root.in_turn.is_some()) {
            let of_group = owed.get_mut(*group).into_iter().flatten();
            of_group.skip(*level).for_each(|sum| *sum -= if window.fair { i128::from(root.counts()) } else { 0 });
        }
        Rules { rows, must, owed }
    }

    /// The balance of the empty placement.
    pub(crate) fn balance(&self) -> Balance {
        let below = self.owed.iter().flatten().filter(|surplus| **surplus < 0).count();
        let missing = self.must.iter().filter(|must| **must).count();
        Balance { surplus: self.owed.clone(), below, missing }
    }

    /// Whether a root must be placed.
    pub(crate) fn must(&self, root: usize) -> bool {
        self.must.get(root).copied().unwrap_or(false)
    }

    fn row(&self, root: usize) -> (usize, usize) {
        self.rows.get(root).copied().unwrap_or_default()
    }
}

impl Balance {
    /// Counts a root with its weight as placed; a negative weight takes it away.
    pub(crate) fn count(&mut self, rules: &Rules, root: usize, weight: i128) {
        let (group, level) = rules.row(root);
        for surplus in self.surplus.get_mut(group).into_iter().flatten().skip(level) {
            let was_below = *surplus < 0;
            *surplus += weight;
            match (was_below, *surplus < 0) {
                (true, false) => self.below -= 1,
                (false, true) => self.below += 1,
                _ => {}
            }
        }
        if rules.must(root) {
            self.missing = if weight < 0 { self.missing + 1 } else { self.missing.saturating_sub(1) };
        }
    }

    /// How much is missing, by band and submitter, and by priority.
    pub(crate) fn deficits(&self) -> impl Iterator<Item = i128> {
        self.surplus.iter().flatten().map(|surplus| (*surplus).min(0))
    }

    /// Whether everything that is due is given.
    pub(crate) fn is_even(&self) -> bool {
        self.below == 0 && self.missing == 0
    }

    /// Whether a root would give something that is due and missing.
    pub(crate) fn wants(&self, rules: &Rules, root: usize) -> bool {
        let (group, level) = rules.row(root);
        rules.must(root) || self.surplus.get(group).into_iter().flatten().skip(level).any(|surplus| *surplus < 0)
    }

    /// Whether one root may be placed instead of another: what is due does not become less than it is, or than is due.
    pub(crate) fn allows(&self, rules: &Rules, placed: (usize, i128), displaced: (usize, i128)) -> bool {
        let ((group, level), (own_group, own_level)) = (rules.row(displaced.0), rules.row(placed.0));
        if own_group == group && own_level <= level && placed.1 >= displaced.1 {
            return true;
        }
        let mut rows = self.surplus.get(group).into_iter().flatten().enumerate().skip(level);
        rows.all(|(row, surplus)| {
            let gained = if own_group == group && row >= own_level { placed.1 } else { 0 };
            surplus - displaced.1 + gained >= (*surplus).min(0)
        })
    }

    /// Whether everything that is due can be given if all of these roots are placed, too.
    pub(crate) fn can_be_even(&self, rules: &Rules, weights: impl Iterator<Item = (usize, i128)>) -> bool {
        if self.below == 0 {
            return true;
        }
        let mut hoped = self.clone();
        weights.for_each(|(root, weight)| hoped.count(rules, root, weight));
        hoped.below == 0
    }
}
