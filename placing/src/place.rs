//! The steps of a placement, one after the other.

use crate::best::{Best, Steps};
use crate::classes::Classes;
use crate::exact::solve;
use crate::exchange::Exchange;
use crate::fixed::ONE;
use crate::flow;
use crate::model::{Choice, Window};
use crate::objective::weight;
use crate::prices::{Prices, Rounds};
use crate::settle::settle;
use crate::state::{Problem, State};
use crate::walk::Walk;

/// Rounds of prices before the first order by price, and after each, up to a number.
const ROUNDS: (u64, u64, u64) = (50, 50, 1000);
/// The costs of an order by price vary by up to this much when the order is made again.
const NOISE: u64 = ONE / 8;

/// The search for more roots ends when it has taken so many steps, and so many times those up to the last gain, in vain.
const PATIENCE: (u64, u64) = (20_000, 3);

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
    /// By resource: the first one that is equal to it. Equal resources can be exchanged in all choices, each with what is taken together with
    /// it.
    pub equal: Vec<usize>,
    /// By resource: the first one that is always taken together with it.
    pub together: Vec<usize>,
    /// The sum of the weights of the roots that are placed.
    pub weight: u128,
    /// The same sum in turn.
    pub in_turn: u128,
    /// No placement that gives every submitter what is due has a larger sum.
    pub bound: u128,
    /// No placement has more roots.
    pub roots_bound: u128,
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
        let (equal, roots_bound) = ((0..window.free.len()).collect::<Vec<usize>>(), can_have(window));
        return Placed {
            choices: in_turn,
            together: equal.clone(),
            equal,
            weight,
            in_turn: weight,
            bound,
            roots_bound,
            proven: false,
            steps: 0,
        };
    }
    let classes = Classes::of(window);
    let counts = Classes::without_scores(&classes.window);
    let mut steps = Steps::new(effort.steps);
    let mut search = PlacingSearch { prices: Prices::zero(&counts.window), seed: effort.seed, proven: false };
    let roots_bound = if are_equal(window) { None } else { Some(roots_bound(&counts.window, &mut steps)) };
    let choices = search.improve(&classes.window, &counts, &mut steps);
    let reached = weight(window, &choices);
    let bound = if search.proven { reached } else { search.prices.bound(&counts.window) };
    let weights = window.roots.first().map_or(1, |root| u128::from(root.counts()));
    Placed {
        choices: classes.expand(window, &choices),
        equal: classes.firsts,
        together: classes.together,
        weight: reached,
        in_turn: weight(window, &in_turn),
        bound,
        roots_bound: roots_bound.unwrap_or(bound / weights),
        proven: search.proven,
        steps: steps.used(),
    }
}

/// Whether all roots count the same.
fn are_equal(window: &Window) -> bool {
    window.roots.windows(2).all(|pair| matches!(pair, [one, other] if one.counts() == other.counts()))
}

/// How many roots may have a gang, each by itself.
fn can_have(window: &Window) -> u128 {
    window.roots.iter().filter(|root| root.can_have()).fold(0, |count, _| count + 1)
}

/// How many roots can have a gang at most, whatever they count.
fn roots_bound(window: &Window, steps: &mut Steps) -> u128 {
    let mut equal = window.clone();
    equal.roots.iter_mut().for_each(|root| root.weight = 1);
    let mut prices = Prices::zero(&equal);
    prices.improve(&mut Rounds::of(&equal), ROUNDS.0, steps);
    prices.bound(&equal)
}

/// The search for the best placement of a window.
struct PlacingSearch {
    prices: Prices,
    seed: u64,
    /// No placement has larger weights, band by band.
    proven: bool,
}

impl PlacingSearch {
    /// The best placement that is found. Which roots are placed is looked for in a window without scores, in which more resources are
    /// equal; then the scores are raised.
    fn improve(&mut self, scored: &Window, counts: &Classes, steps: &mut Steps) -> Vec<Choice> {
        let in_turn: Vec<Choice> = scored.roots.iter().map(|root| root.in_turn).collect();
        let (problem, window) = (&Problem::of(scored), &counts.window);
        let Some(state) = State::of(problem, &in_turn) else { return in_turn };
        let mut best = Best { worth: state.worth().clone(), choices: in_turn };
        let counting = &Problem::of(window);
        let choices: Vec<Choice> = window.roots.iter().map(|root| root.in_turn).collect();
        let Some(mut state) = State::of(counting, &choices) else { return best.choices };
        let mut most = Best { worth: state.worth().clone(), choices };
        let (mut exchange, mut noise) = (Exchange::of(problem), 1);
        // 0. At once, if the window is a flow.
        if let Some((choices, is_most)) = flow::most(window, steps) {
            State::of(counting, &choices).into_iter().for_each(|state| _ = most.offer(&state));
            best.take_over(problem, counts, &most);
            self.proven = is_most && weight(scored, &best.choices) >= weight(window, &choices);
            exchange.run(&mut best, steps);
            solve(problem, &mut best, steps);
            return PlacingSearch::finish(problem, best, exchange, steps);
        }
        // 1. Prices, and the bound that they give.
        let (first, more, rounds_max) = ROUNDS;
        let mut rounds = Rounds::of(window);
        self.prices.improve(&mut rounds, first, steps);
        // 2. Walk from the result in turn.
        let mut walk = Walk::new(counting, self.seed);
        walk.run(&mut state, &mut most, self.enough(counting), steps);
        best.take_over(problem, counts, &most);
        self.proven = best.has(self.enough(counting));
        if self.proven {
            exchange.run(&mut best, steps);
            solve(problem, &mut best, steps);
        }
        // 3. Walk from an order by price, each time from another one, and improve the scores.
        let (mut gained_at, mut before) = (steps.used(), (most.worth.clone(), self.prices.bound(window)));
        while !self.proven && steps.used() <= gained_at.saturating_mul(PATIENCE.1).saturating_add(PATIENCE.0) {
            let Some(mut state) = walk.by_price(&self.prices, noise, steps) else { break };
            most.offer(&state);
            walk.run(&mut state, &mut most, self.enough(counting), steps);
            best.take_over(problem, counts, &most);
            exchange.run(&mut best, steps);
            // 4. A small window exactly, once there is a good placement to begin with.
            self.proven = noise == 1 && solve(problem, &mut best, steps);
            self.proven |= best.has(self.enough(counting));
            noise = NOISE;
            // 5. Other prices.
            if !self.proven && rounds.done() < rounds_max {
                self.prices.improve(&mut rounds, more, steps);
            }
            let now = (most.worth.clone(), self.prices.bound(window));
            if now != before {
                (gained_at, before) = (steps.used(), now);
            }
        }
        best.take_over(problem, counts, &most);
        PlacingSearch::finish(problem, best, exchange, steps)
    }

    /// The weight that no placement exceeds, if there is one band.
    fn enough(&self, problem: &Problem<'_>) -> Option<u128> {
        (problem.objective.bands() == 1).then(|| self.prices.bound(problem.window))
    }

    /// Raises the scores until that is in vain.
    fn finish<'p>(
        problem: &'p Problem<'p>,
        mut best: Best,
        mut exchange: Exchange<'p>,
        steps: &mut Steps,
    ) -> Vec<Choice> {
        while !steps.is_spent() && exchange.run(&mut best, steps) {}
        settle(problem, &best.choices)
    }
}
