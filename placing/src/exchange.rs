//! Better scores for the same placed roots: a root takes a better gang, and the root that held it up another one.

use std::sync::Arc;

use crate::best::{Best, Steps};
use crate::objective::{Score, cut};
use crate::state::{Problem, State};

/// So many roots change their gangs together.
const CHAIN_MAX: usize = 3;
/// After so many steps something else is tried, before the exchange goes on.
const STEPS_AT_A_TIME: u64 = 10_000;
/// After so many steps without a gain there is no more to try.
const PATIENCE: u64 = 20_000;

/// Exchanges gangs until no chain of up to three roots raises the sum of the scores (ejection chains; F. Glover, *Ejection chains, reference
/// structures and alternating path methods for traveling salesman problems*, 1996).
pub(crate) struct Exchange<'p> {
    problem: &'p Problem<'p>,
    /// The columns of each root, best score first.
    sorted: Vec<Arc<[usize]>>,
    /// The roots that have changed their gangs.
    chain: Vec<usize>,
    /// The weights of the placement whose scores are being raised.
    weights: Option<Vec<i128>>,
    /// How many roots change their gangs together at most, for now.
    length: usize,
    /// The root that is next, and how many were tried in vain since the last gain.
    next: usize,
    fruitless: usize,
    /// How many steps there were without a gain.
    in_vain: u64,
}

impl<'p> Exchange<'p> {
    /// Nothing has been tried yet.
    pub(crate) fn of(problem: &'p Problem<'p>) -> Exchange<'p> {
        let lists = problem.window.lists();
        let sorted = lists.all.iter().map(|columns| {
            let mut numbers: Vec<usize> = (0..columns.len()).collect();
            numbers.sort_by_key(|number| std::cmp::Reverse(columns.get(*number).map(|column| column.score)));
            numbers.into()
        });
        let sorted: Vec<Arc<[usize]>> = sorted.collect();
        let sorted = lists.of.iter().filter_map(|list| sorted.get(*list).cloned()).collect();
        Exchange { problem, sorted, chain: Vec::new(), weights: None, length: 1, next: 0, fruitless: 0, in_vain: 0 }
    }

    /// Raises the scores of the best placement for a while; whether there is more to try. A placement with other weights is begun anew.
    pub(crate) fn run(&mut self, best: &mut Best, steps: &mut Steps) -> bool {
        if self.weights.as_ref() != Some(&best.worth.weights) {
            self.weights = Some(best.worth.weights.clone());
            (self.length, self.next, self.fruitless, self.in_vain) = (1, 0, 0, 0);
        }
        let roots = self.problem.window.roots.len();
        let until = steps.used().saturating_add(STEPS_AT_A_TIME);
        let Some(mut state) = State::of(self.problem, &best.choices) else { return false };
        while self.has_more() && steps.used() < until && !steps.is_spent() {
            if self.fruitless >= roots {
                (self.length, self.fruitless) = (self.length + 1, 0);
                continue;
            }
            let root = self.next;
            (self.next, self.fruitless) = ((root + 1) % roots, self.fruitless + 1);
            let Some(before) = state.remove(root) else { continue };
            let used = steps.used();
            self.chain.clear();
            if self.improve(&mut state, (root, before), Score::default(), self.length, steps) {
                best.offer(&state);
                (self.fruitless, self.in_vain) = (0, 0);
            } else {
                state.place(root, before);
                self.in_vain += steps.used() - used;
            }
        }
        self.has_more()
    }

    /// Whether there is more to try.
    fn has_more(&self) -> bool {
        self.length <= CHAIN_MAX && self.in_vain < PATIENCE
    }

    /// Gives a root, which has lost its column, one with which the chain gains; the chain has gained so much without it. If there is
    /// none, the placement is as before.
    fn improve(
        &mut self,
        state: &mut State<'p>,
        (root, before): (usize, usize),
        gained: Score,
        length: usize,
        steps: &mut Steps,
    ) -> bool {
        let Some(of) = self.problem.window.roots.get(root) else { return false };
        let Some(lost) = of.columns.get(before).map(|column| column.score) else { return false };
        let Some(numbers) = self.sorted.get(root).cloned() else { return false };
        self.chain.push(root);
        for number in numbers.iter().copied() {
            let Some(column) = of.columns.get(number) else { continue };
            let gains = change(gained, column.score, lost);
            if gains <= Score::default() || !steps.spend(1) {
                break;
            }
            let Some(lacking) = state.lacks(column, None) else {
                state.place(root, number);
                return true;
            };
            if length <= 1 {
                continue;
            }
            let others: Vec<usize> = state.holders(lacking).to_vec();
            for other in others {
                if self.chain.contains(&other) || state.lacks(column, Some(other)).is_some() {
                    continue;
                }
                let Some(had) = state.remove(other) else { continue };
                state.place(root, number);
                if self.improve(state, (other, had), gains, length - 1, steps) {
                    return true;
                }
                state.remove(root);
                state.place(other, had);
            }
        }
        self.chain.pop();
        false
    }
}

/// A sum of scores after one score has replaced another one.
fn change(sum: Score, gained: Score, lost: Score) -> Score {
    let mut levels = sum;
    for (level, (gained, lost)) in levels.iter_mut().zip(gained.into_iter().zip(lost)) {
        *level += cut(gained) - cut(lost);
    }
    levels
}
