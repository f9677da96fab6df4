//! A walk from placement to placement: a root without a gang gets one, and if it must, another one loses its own. A root that was placed by a
//! swap keeps its gang for a while, so that the walk does not go back (tabu search; F. Glover, *Tabu search, part I*, 1989).
//!
//! A walk starts from the result in turn, or from an order by price: the roots in the order of what their cheapest columns cost, each with
//! its cheapest column that fits. Prices of a relaxation make good orders (M. Fisher, *The Lagrangian relaxation method for solving integer
//! programming problems*, 1981).

use std::cmp::Ordering;

use sampling::Random;

use crate::best::{Best, Steps};
use crate::model::Column;
use crate::objective::Score;
use crate::prices::Prices;
use crate::state::{Problem, State};

/// So many swaps without a gain end a walk.
const FRUITLESS_MAX: u64 = 5_000;
/// A root that was placed by a swap keeps its gang for at least so many swaps, and for up to twice as many.
const KEPT_FOR: u64 = 10;

/// The walks of one window.
pub(crate) struct Walk<'p> {
    problem: &'p Problem<'p>,
    random: Random,
    /// How often each root was displaced.
    displaced: Vec<u64>,
    /// Until which swap each root keeps its gang.
    kept: Vec<u64>,
    swaps: u64,
}

/// A column for a root, and the root that loses its own for it.
struct Swap {
    column: usize,
    displaced: Option<usize>,
}

impl<'p> Walk<'p> {
    pub(crate) fn new(problem: &'p Problem<'p>, seed: u64) -> Walk<'p> {
        let roots = problem.window.roots.len();
        let random = Random::stream(seed, "placing");
        Walk { problem, random, displaced: vec![0; roots], kept: vec![0; roots], swaps: 0 }
    }

    /// A placement by prices: roots in the order of the cost of their cheapest columns, higher bands first, each with the cheapest
    /// column that fits. `None` if there are no steps for it. Costs vary at random by up to `noise`.
    pub(crate) fn by_price(&mut self, prices: &Prices, noise: u64, steps: &mut Steps) -> Option<State<'p>> {
        let window = self.problem.window;
        if !steps.spend(window.columns()) {
            return None;
        }
        let lists = window.lists();
        let cheapest = |columns: &[Column]| columns.iter().map(|column| prices.cost(column)).min();
        let cheapest: Vec<Option<u64>> = lists.all.iter().map(|columns| cheapest(columns)).collect();
        let mut order = Vec::new();
        for (root, (of, list)) in window.roots.iter().zip(&lists.of).enumerate() {
            let Some(cheapest) = cheapest.get(*list).copied().flatten() else { continue };
            let (band, _) = self.problem.objective.count(root);
            let weighed = u128::from(cheapest.saturating_add(self.random.below(noise))) << 20;
            order.push((band, weighed / u128::from(of.counts()), root));
        }
        order.sort_unstable();
        let mut state = State::empty(self.problem);
        for (_, _, root) in order {
            let columns = window.roots.get(root).map_or(&[][..], |root| &root.columns);
            let fits = columns.iter().enumerate().filter(|(_, column)| state.lacks(column, None).is_none());
            let cheapest = fits.min_by_key(|(number, column)| (prices.cost(column), *number));
            if let Some((number, _)) = cheapest {
                state.place(root, number);
            }
        }
        Some(state)
    }

    /// Walks until nothing is gained any more, or the weight is `enough`. Better placements on the way are kept in `best`.
    pub(crate) fn run(&mut self, state: &mut State<'p>, best: &mut Best, enough: Option<u128>, steps: &mut Steps) {
        let roots = self.problem.window.roots.iter().enumerate();
        let mut waiting: Vec<usize> = roots
            .filter(|(root, of)| state.choice(*root).is_none() && !of.columns.is_empty())
            .map(|(root, _)| root)
            .collect();
        let mut fruitless = 0;
        while fruitless < FRUITLESS_MAX && !best.has(enough) {
            let at = self.next(state, &waiting);
            let Some(root) = waiting.get(at).copied() else { return };
            let columns = self.problem.window.roots.get(root).map_or(&[][..], |root| &root.columns);
            if !steps.spend(columns.len()) {
                return;
            }
            (self.swaps, fruitless) = (self.swaps + 1, fruitless + 1);
            let mut tried = 0;
            let swap = self.swap(state, root, columns, &mut tried);
            if !steps.spend(tried) {
                return;
            }
            let Some(Swap { column, displaced }) = swap else { continue };
            match (displaced, waiting.get_mut(at)) {
                (Some(other), Some(place)) => {
                    state.remove(other);
                    *place = other;
                    count(&mut self.displaced, other);
                    if let Some(kept) = self.kept.get_mut(root) {
                        *kept = self.swaps + KEPT_FOR + self.random.below(KEPT_FOR + 1);
                    }
                }
                _ => {
                    waiting.swap_remove(at);
                }
            }
            state.place(root, column);
            if best.offer(state) {
                fruitless = 0;
            }
        }
    }

    /// The place of the next root: at random, but first those that give what is due and missing.
    fn next(&mut self, state: &State<'_>, waiting: &[usize]) -> usize {
        let start = self.random.index(waiting.len());
        if state.balance().is_even() {
            return start;
        }
        let wanted =
            |at: &usize| waiting.get(*at).is_some_and(|root| state.balance().wants(&self.problem.rules, *root));
        (start..waiting.len()).chain(0..start).find(wanted).unwrap_or(start)
    }

    /// A column that fits, the best one; else one that fits if one other root loses its gang: the root that lost its gang least often. Counts
    /// how many of these were `tried`.
    fn swap(&mut self, state: &State<'_>, root: usize, columns: &[Column], tried: &mut usize) -> Option<Swap> {
        let mut free: Option<(Score, Swap)> = None;
        let mut least: Option<((bool, u64), Swap)> = None;
        let mut equal = 0;
        for (number, column) in columns.iter().enumerate() {
            let Some(lacking) = state.lacks(column, None) else {
                if free.as_ref().is_none_or(|(score, _)| column.score > *score) {
                    free = Some((column.score, Swap { column: number, displaced: None }));
                }
                continue;
            };
            if free.is_some() {
                continue;
            }
            *tried += state.holders(lacking).len();
            for other in state.holders(lacking) {
                let Some(key) = self.key(state, root, *other) else { continue };
                let order = least.as_ref().map_or(Ordering::Less, |(least, _)| key.cmp(least));
                if order.is_gt() || state.lacks(column, Some(*other)).is_some() {
                    continue;
                }
                // of equal ones each has the same chance
                equal = if order.is_eq() { equal + 1 } else { 1 };
                if self.random.below(equal) == 0 {
                    least = Some((key, Swap { column: number, displaced: Some(*other) }));
                }
            }
        }
        free.map(|(_, swap)| swap).or(least.map(|(_, swap)| swap))
    }

    /// How bad it is that a root displaces another one, if it may: smaller is better.
    fn key(&self, state: &State<'_>, root: usize, other: usize) -> Option<(bool, u64)> {
        let Problem { rules, objective, .. } = self.problem;
        let ((band, weight), (other_band, other_weight)) = (objective.count(root), objective.count(other));
        let is_kept = self.kept.get(other).is_some_and(|until| *until > self.swaps);
        if is_kept || other_band < band || !state.balance().allows(rules, (root, weight), (other, other_weight)) {
            return None;
        }
        Some((other_band == band && other_weight > weight, self.displaced.get(other).copied().unwrap_or(0)))
    }
}

fn count(counts: &mut [u64], at: usize) {
    if let Some(count) = counts.get_mut(at) {
        *count += 1;
    }
}
