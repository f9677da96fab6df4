//! The steps of a placement, one after the other.

use crate::best::{Best, Steps};
use crate::exact::solve;
use crate::exchange::exchange;
use crate::fairness::Rules;
use crate::fixed::ONE;
use crate::model::{Choice, Window};
use crate::objective::{Objective, weight};
use crate::prices::{Prices, values};
use crate::settle::settle;
use crate::state::{Problem, State};
use crate::walk::Walk;

/// The costs of an order by price vary by up to this much when the order is made again.
const NOISE: u64 = ONE / 8;

/// What a placement may cost, and where its random choices start from.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// A step is 64 columns that are looked at. 200,000 take about a third of a second.
    pub steps: u64,
    /// The same seed gives the same placement.
    pub seed: u64,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// What each root gets.
    pub choices: Vec<Choice>,
    /// The sum of the weights of the roots that are placed.
    pub weight: u128,
    /// The same sum in turn.
    pub in_turn: u128,
    /// No placement that gives everybody what is due has a larger sum.
    pub bound: u128,
    /// The weights are the largest that are possible, band by band.
    pub proven: bool,
    /// The steps that were used.
    pub steps: u64,
}

/// Places a window. If the choices in turn overdraw a resource, they are the result.
#[must_use]
pub fn place(window: &Window, effort: Effort) -> Placed {
    let in_turn: Vec<Choice> = window.roots.iter().map(|root| root.in_turn).collect();
    let problem = Problem { window, rules: Rules::of(window), objective: Objective::of(window) };
    let mut steps = Steps::new(effort.steps);
    let mut prices = Prices::zero(window, &values(window));
    let (choices, proven) = match State::of(&problem, &in_turn) {
        Some(state) => {
            let mut best = Best { worth: state.worth().clone(), choices: in_turn.clone() };
            let proven = improve(&problem, state, &mut best, &mut prices, (&mut steps, effort.seed));
            (settle(&problem, &best.choices), proven)
        }
        None => (in_turn.clone(), false),
    };
    let reached = weight(window, &choices);
    let bound = if proven { reached } else { prices.bound(window) };
    let in_turn = weight(window, &in_turn);
    Placed { choices, weight: reached, in_turn, bound, proven, steps: steps.used() }
}

/// Improves on the result in turn. Whether the weights are proven to be the largest.
fn improve<'p>(
    problem: &'p Problem<'p>,
    mut state: State<'p>,
    best: &mut Best,
    prices: &mut Prices,
    (steps, seed): (&mut Steps, u64),
) -> bool {
    let window = problem.window;
    // 1. Walk from the result in turn.
    let mut walk = Walk::new(problem, seed);
    walk.run(&mut state, best, steps);
    // 2. Prices.
    prices.improve(window, &values(window), steps);
    // 3. Walk from an order by price, each time from another one, and improve the scores where there is a gain.
    let (mut ranked, mut noise) = (None, 1);
    while let Some(mut state) = walk.by_price(prices, noise, steps) {
        best.offer(&state);
        walk.run(&mut state, best, steps);
        if ranked.as_ref() != Some(&best.worth.weights) {
            rank(problem, best, steps);
            ranked = Some(best.worth.weights.clone());
        }
        // 4. A small window exactly, once there is a good placement to begin with.
        if noise == 1 && solve(problem, best, steps) {
            return true;
        }
        if problem.objective.bands() == 1 && weight(window, &best.choices) >= prices.bound(window) {
            return true;
        }
        noise = NOISE;
    }
    false
}

/// Improves the scores of the best placement.
fn rank<'p>(problem: &'p Problem<'p>, best: &mut Best, steps: &mut Steps) {
    if let Some(mut state) = State::of(problem, &best.choices) {
        exchange(problem, &mut state, best, steps);
    }
}
