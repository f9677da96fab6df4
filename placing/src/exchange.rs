//! Better scores for the same placed roots: a root takes a better gang, and the root that held it up another one.

use crate::best::{Best, Steps};
use crate::objective::{Score, cut};
use crate::state::{Problem, State};

/// So many roots change their gangs together.
const CHAIN_MAX: usize = 3;
/// After so many steps something else is tried, before the exchange goes on.
const STEPS_AT_A_TIME: u64 = 10_000;

/// Exchanges gangs until no chain of up to three roots raises the sum of the scores (ejection chains; F. Glover, *Ejection chains, reference
/// structures and alternating path methods for traveling salesman problems*, 1996).
pub(crate) struct Exchange<'p> {
    problem: &'p Problem<'p>,
    /// The columns of each root, best score first.
    sorted: Vec<Vec<usize>>,
    /// The roots that have changed their gangs.
    chain: Vec<usize>,
    /// The weights of the placement whose scores are being raised.
    weights: Option<Vec<i128>>,
    /// How many roots change their gangs together at most, for now.
    length: usize,
    /// The root that is next, and how many were tried in vain since the last gain.
    next: usize,
    fruitless: usize,
}

impl<'p> Exchange<'p> {
    /// Nothing has been tried yet.
    pub(crate) fn of(problem: &'p Problem<'p>) -> Exchange<'p> {
        let sorted = problem.window.roots.iter().map(|root| {
            let mut numbers: Vec<usize> = (0..root.columns.len()).collect();
            numbers.sort_by_key(|number| std::cmp::Reverse(root.columns.get(*number).map(|column| column.score)));
            numbers
        });
        let sorted = sorted.collect();
        Exchange { problem, sorted, chain: Vec::new(), weights: None, length: 1, next: 0, fruitless: 0 }
    }

    /// Raises the scores of the best placement for a while; whether there is more to try. A placement with other weights is begun anew.
    pub(crate) fn run(&mut self, best: &mut Best, steps: &mut Steps) -> bool {
        if self.weights.as_ref() != Some(&best.worth.weights) {
            self.weights = Some(best.worth.weights.clone());
            (self.length, self.next, self.fruitless) = (1, 0, 0);
        }
        let roots = self.problem.window.roots.len();
        let until = steps.used().saturating_add(STEPS_AT_A_TIME);
        let Some(mut state) = State::of(self.problem, &best.choices) else { return false };
        while self.length <= CHAIN_MAX && steps.used() < until && !steps.is_spent() {
            if self.fruitless >= roots {
                (self.length, self.fruitless) = (self.length + 1, 0);
                continue;
            }
            let root = self.next;
            (self.next, self.fruitless) = ((root + 1) % roots, self.fruitless + 1);
            let Some(before) = state.remove(root) else { continue };
            self.chain.clear();
            if self.improve(&mut state, (root, before), Score::default(), self.length, steps) {
                best.offer(&state);
                self.fruitless = 0;
            } else {
                state.place(root, before);
            }
        }
        self.length <= CHAIN_MAX
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
        let numbers = self.sorted.get(root).cloned().unwrap_or_default();
        self.chain.push(root);
        for number in numbers {
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
