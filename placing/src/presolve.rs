//! How many roots of a window can have a gang at most, and which part of it may gain, before any gang is known but those in turn.
//!
//! Roots that need something of the same resource are in one part of the window. A part whose roots are all placed in turn cannot gain. In the
//! others, prices of what every gang of a root takes ([`Root::needs`](crate::Root::needs)) give a bound, and make the parts smaller: only
//! resources with a price count. Each part has a bound of its own, in whole roots, and if as many are placed in turn, it cannot gain.

use std::collections::{BTreeMap, BTreeSet};

use crate::best::Steps;
use crate::fixed::ONE;
use crate::model::{Column, Lists, Root, Window};
use crate::prices::{Prices, Rounds};

/// Rounds of prices, first in all parts, then in those that may gain still; and the steps that they may take each time.
const ROUNDS: [u64; 2] = [6, 40];
const STEPS: u64 = 5_000;

/// What is known of a window before its gangs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presolved {
    /// No placement has more roots.
    pub bound: usize,
    /// By root: whether more roots of its part of the window could be placed than in turn, as far as is known.
    pub may_gain: Vec<bool>,
}

/// The roots of one part of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// What their prices say that can be placed, in parts of [`ONE`].
    worth: u128,
    /// How many are placed in turn.
    in_turn: usize,
}

impl Part {
    /// How many can be placed.
    fn bound(&self) -> usize {
        usize::try_from(self.worth / u128::from(ONE)).unwrap_or(usize::MAX).max(self.in_turn)
    }
}

/// Presolves a window whose roots all count the same and may have gangs that are not listed. If one of them has no gang in turn and
/// nothing is known of what it needs, every root may gain.
#[must_use]
pub fn presolve(window: &Window) -> Presolved {
    let lists = window.lists();
    let mut joined = DisjointSets::of(window, &lists, |_| true);
    let parts: Vec<Option<usize>> = lists.needs.iter().map(|needs| joined.part(needs)).collect();
    let waits = |(root, _): &(&Root, &Option<usize>)| root.in_turn.is_none();
    let waiting: BTreeSet<Option<usize>> =
        window.roots.iter().zip(&parts).filter(waits).map(|(_, part)| *part).collect();
    // the roots of parts that may gain, and how many of those can be placed
    let numbered = parts.iter().enumerate();
    let is_open = |part: &Option<usize>| part.is_some() && waiting.contains(part);
    let mut open: Vec<usize> = numbered.filter(|(_, part)| is_open(part)).map(|(number, _)| number).collect();
    let (others, mut most, mut settled) = (window.roots.len() - open.len(), open.len(), 0);
    for rounds in ROUNDS {
        let roots = open.iter().filter_map(|number| window.roots.get(*number).cloned()).collect();
        let part = Window { roots, free: window.free.clone(), ..Window::default() };
        let (bound, gains) = by_prices(&part, rounds);
        let is_settled = |(root, gains): &(&Root, &bool)| !**gains && root.in_turn.is_some();
        settled += part.roots.iter().zip(&gains).filter(is_settled).count();
        open = open.into_iter().zip(gains).filter(|(_, gains)| *gains).map(|(number, _)| number).collect();
        most = bound;
    }
    // a root of which it is not known what it needs may gain by what any other one has
    let mut may_gain = vec![waiting.contains(&None); window.roots.len()];
    open.into_iter().for_each(|number| may_gain.get_mut(number).into_iter().for_each(|gains| *gains = true));
    Presolved { bound: others + settled + most, may_gain }
}

/// How many roots can be placed by prices in those parts of a window that may gain, and which roots these are. All roots need something.
fn by_prices(window: &Window, rounds: u64) -> (usize, Vec<bool>) {
    let lists = window.lists();
    let mut prices = Prices::zero(window);
    prices.improve(&mut Rounds::of(window), rounds, &mut Steps::new(STEPS));
    let mut joined = DisjointSets::of(window, &lists, |resource| prices.of(resource) > 0);
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    let mut of_root = Vec::with_capacity(window.roots.len());
    for ((root, needs), profit) in window.roots.iter().zip(&lists.needs).zip(prices.profits(window, &lists)) {
        let number = joined.part(needs).unwrap_or_default();
        let part = parts.entry(number).or_default();
        part.worth += u128::from(profit);
        part.in_turn += usize::from(root.in_turn.is_some());
        of_root.push(number);
    }
    for (resource, free) in window.free.iter().enumerate() {
        let part = parts.get_mut(&joined.first(resource));
        part.into_iter().for_each(|part| part.worth += u128::from(*free) * u128::from(prices.of(resource)));
    }
    parts.retain(|_, part| part.bound() > part.in_turn);
    let may_gain = of_root.iter().map(|part| parts.contains_key(part)).collect();
    (parts.values().map(Part::bound).sum(), may_gain)
}

/// Numbers in sets, each of which is known by its smallest number (union-find; R. Tarjan, *Efficiency of a good but not linear set union
/// algorithm*, 1975).
struct DisjointSets {
    resources: usize,
    /// By number: itself, or a smaller one of its set.
    above: Vec<usize>,
}

impl DisjointSets {
    /// The resources of a window, and after them its lists: a list is joined with what it takes of resources that count, and the lists of one
    /// root with each other.
    fn of(window: &Window, lists: &Lists, counts: impl Fn(usize) -> bool) -> DisjointSets {
        let resources = window.free.len();
        let mut joined = DisjointSets { resources, above: (0..resources + lists.all.len()).collect() };
        for (list, columns) in lists.all.iter().enumerate() {
            let taken = columns.iter().flat_map(Column::units).map(|(resource, _)| resource);
            taken.filter(|taken| counts(*taken)).for_each(|taken| joined.join(taken, resources + list));
        }
        for (one, other) in lists.needs.iter().flat_map(|needs| needs.iter().zip(needs.iter().skip(1))) {
            joined.join(resources + one, resources + other);
        }
        joined
    }

    /// The set of a root with these lists, if it has any.
    fn part(&mut self, needs: &[usize]) -> Option<usize> {
        needs.first().map(|list| self.first(self.resources + list))
    }

    /// The smallest number of the set of one.
    fn first(&mut self, number: usize) -> usize {
        let mut at = number;
        while let Some(above) = self.above.get(at).copied().filter(|above| *above != at) {
            let next = self.above.get(above).copied().unwrap_or(above);
            self.above.get_mut(at).into_iter().for_each(|own| *own = next);
            at = next;
        }
        at
    }

    /// Makes one set of two.
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.above.get_mut(one.max(other)).into_iter().for_each(|own| *own = one.min(other));
    }
}
