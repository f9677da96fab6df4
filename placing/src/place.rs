//! The steps of a placement, one after the other.

use crate::best::{Best, Steps};
use crate::classes::Classes;
use crate::exact::solve;
use crate::exchange::Exchange;
use crate::fixed::ONE;
use crate::model::{Choice, Window};
use crate::objective::weight;
use crate::prices::{Prices, Rounds};
use crate::settle::settle;
use crate::state::{Problem, State};
use crate::walk::Walk;

/// Rounds of prices before the first order by price, and after each, up to a number.
const ROUNDS: (u64, u64, u64) = (60, 20, 1000);
/// The costs of an order by price vary by up to this much when the order is made again.
const NOISE: u64 = ONE / 8;

/// What a placement may cost, and where its random choices start from.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// A step is 64 columns that are looked at.
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
    /// No placement that gives every submitter what is due has a larger sum.
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
    if State::of(&Problem::of(window), &in_turn).is_none() {
        let (weight, bound) = (weight(window, &in_turn), Prices::zero(window).bound(window));
        return Placed { choices: in_turn, weight, in_turn: weight, bound, proven: false, steps: 0 };
    }
    let classes = Classes::of(window);
    let mut steps = Steps::new(effort.steps);
    let mut prices = Prices::zero(&classes.window);
    let (choices, proven) = improve(&classes.window, &mut prices, &mut steps, effort.seed);
    let reached = weight(window, &choices);
    Placed {
        choices: classes.expand(window, &choices),
        weight: reached,
        in_turn: weight(window, &in_turn),
        bound: if proven { reached } else { prices.bound(&classes.window) },
        proven,
        steps: steps.used(),
    }
}

/// The best placement that is found, and whether its weights are proven to be the largest.
fn improve(window: &Window, prices: &mut Prices, steps: &mut Steps, seed: u64) -> (Vec<Choice>, bool) {
    let problem = &Problem::of(window);
    let in_turn: Vec<Choice> = window.roots.iter().map(|root| root.in_turn).collect();
    let Some(mut state) = State::of(problem, &in_turn) else { return (in_turn, false) };
    let mut best = Best { worth: state.worth().clone(), choices: in_turn };
    // 1. Walk from the result in turn.
    let mut walk = Walk::new(problem, seed);
    walk.run(&mut state, &mut best, steps);
    // 2. Prices.
    let (first, more, rounds_max) = ROUNDS;
    let mut rounds = Rounds::of(window);
    prices.improve(&mut rounds, first, steps);
    // 3. Walk from an order by price, each time from another one, and improve the scores.
    let (mut exchange, mut noise, mut proven) = (Exchange::of(problem), 1, false);
    while !proven {
        let Some(mut state) = walk.by_price(prices, noise, steps) else { break };
        best.offer(&state);
        walk.run(&mut state, &mut best, steps);
        exchange.run(&mut best, steps);
        // 4. A small window exactly, once there is a good placement to begin with.
        proven = noise == 1 && solve(problem, &mut best, steps);
        proven |= problem.objective.bands() == 1 && weight(window, &best.choices) >= prices.bound(window);
        noise = NOISE;
        // 5. Other prices.
        if !proven && rounds.done() < rounds_max {
            prices.improve(&mut rounds, more, steps);
        }
    }
    while !steps.is_spent() && exchange.run(&mut best, steps) {}
    (settle(problem, &best.choices), proven)
}
