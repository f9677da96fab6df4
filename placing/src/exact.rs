//! Small windows exactly: branch and bound (A. Land, A. Doig, *An automatic method of solving discrete programming problems*, 1960) over
//! "root: column, or none", with prices for the bound (M. Held, R. Karp, *The traveling-salesman problem and minimum spanning trees*, 1970).
//!
//! The objective is one number here, in which a level counts more than all lower levels together. A node of the search tree has
//! some roots decided. Its bound is what they are worth, the prices of what is left, and for each other root the most by which the value
//! of one of its columns exceeds the cost. The root with the fewest choices that may still lead to something better is decided next.

use std::collections::BTreeMap;

use crate::best::{Best, Steps};
use crate::model::{Choice, Column, Root, Window};
use crate::objective::{Score, cut};
use crate::state::{Problem, State};

/// Larger windows are not solved exactly.
const ROOTS_MAX: usize = 64;
const COLUMNS_MAX: usize = 20_000;
/// The sum of the values of all roots stays below.
const SUM_MAX: i128 = 1 << 80;
/// How many bits of the scores are compared, level by level: the most that keep the sum within its bounds.
const PRECISIONS: [[u32; 3]; 4] = [[32, 12, 8], [20, 8, 4], [10, 4, 2], [1, 1, 1]];
/// Fractional bits of prices and values.
const BITS: u32 = 30;
/// So many nodes of the search tree are remembered.
const SEEN_MAX: usize = 100_000;
/// Rounds of prices before the search.
const ROUNDS: usize = 300;

/// Solves a small window. Whether no placement has more weight, band by band, than `best`; false if the window is not small, or the steps
/// did not suffice. The score is the best one, too, as far as it is compared.
pub(crate) fn solve(problem: &Problem<'_>, best: &mut Best, steps: &mut Steps) -> bool {
    let window = problem.window;
    let is_listed = window.roots.iter().all(|root| !root.has_more);
    if !is_listed || window.roots.len() > ROOTS_MAX || window.columns() > COLUMNS_MAX {
        return false;
    }
    let Some(values) = PRECISIONS.iter().find_map(|bits| values(problem, *bits)) else { return false };
    let mut search = Search {
        problem,
        typical: window.typical(),
        prices: vec![0; window.free.len()],
        state: State::empty(problem),
        decided: vec![false; window.roots.len()],
        value: 0,
        target: total(&values, &best.choices),
        values,
        seen: BTreeMap::new(),
        best,
    };
    search.set_prices(steps);
    search.descend(steps);
    !steps.is_spent()
}

/// By root and column what it adds to the objective; `None` if that does not fit into a number.
fn values(problem: &Problem<'_>, precision: [u32; 3]) -> Option<Vec<Vec<i128>>> {
    let window = problem.window;
    let all = || window.roots.iter().flat_map(|root| root.columns.iter()).map(|column| column.score.map(cut));
    let roots = i128::try_from(window.roots.len()).ok()?;
    let mut levels = [(0u32, 0i128); 3];
    // everything in lower levels comes to less
    let mut factor = 1i128;
    for (level, (shift, of)) in levels.iter_mut().enumerate().rev() {
        let scores = || all().filter_map(|score| score.get(level).copied());
        let (least, most) = (scores().min().unwrap_or(0).min(0), scores().max().unwrap_or(0).max(0));
        let bits = 128 - (most - least).leading_zeros();
        let zeros = scores().fold(0, |bits, score| bits | score).trailing_zeros();
        *shift = zeros.max(bits.saturating_sub(*precision.get(level)?)).min(127);
        *of = factor;
        let span = ((most >> *shift) - (least >> *shift)).checked_mul(roots)?;
        factor = factor.checked_add(span.checked_mul(factor)?).filter(|factor| *factor < SUM_MAX)?;
    }
    let mut bands = vec![0i128; problem.objective.bands()];
    for (band, of) in bands.iter_mut().enumerate().rev() {
        *of = factor;
        let counts = (0..window.roots.len()).map(|root| problem.objective.count(root));
        let weight: i128 = counts.filter(|(of, _)| *of == band).map(|(_, weight)| weight).sum();
        factor = factor.checked_add(weight.checked_mul(factor)?).filter(|factor| *factor < SUM_MAX)?;
    }
    let value = |root: usize, score: &Score| {
        let (band, weight) = problem.objective.count(root);
        let score = score.iter().zip(levels).map(|(level, (shift, factor))| (cut(*level) >> shift) * factor);
        bands.get(band).map_or(0, |factor| factor * weight) + score.sum::<i128>()
    };
    let of = |(number, root): (usize, &Root)| root.columns.iter().map(|column| value(number, &column.score)).collect();
    Some(window.roots.iter().enumerate().map(of).collect())
}

fn total(values: &[Vec<i128>], choices: &[Choice]) -> i128 {
    let value = |(values, choice): (&Vec<i128>, &Choice)| values.get((*choice)?).copied();
    values.iter().zip(choices).filter_map(value).sum()
}

/// What a root may get, and by how much its value exceeds its cost, with 30 fractional bits.
type Candidate = (i128, Choice);
/// A root that is not decided, and what it may get.
type Open = (usize, Vec<Candidate>);

struct Search<'a, 'p> {
    problem: &'p Problem<'p>,
    /// By root and column.
    values: Vec<Vec<i128>>,
    /// The most that a column takes of each resource.
    typical: Vec<u64>,
    /// Of a unit of each resource, with 30 fractional bits.
    prices: Vec<i128>,
    state: State<'p>,
    decided: Vec<bool>,
    /// What the decided roots are worth.
    value: i128,
    /// What the best placement is worth.
    target: i128,
    /// What the decided roots were worth the last time that the same was left for the same roots.
    seen: BTreeMap<Situation, i128>,
    best: &'a mut Best,
}

/// What the rest of the search depends on: which roots are decided, what is left of what the others may take, which seats are taken, and
/// what is due and missing.
type Situation = (Vec<bool>, Vec<u64>, Vec<bool>, Vec<i128>);

impl Search<'_, '_> {
    /// What a bound must reach to be of interest.
    fn threshold(&self) -> i128 {
        (self.target + 1) << BITS
    }

    fn cost(&self, column: &Column) -> i128 {
        let price = |resource: usize| self.prices.get(resource).copied().unwrap_or(0);
        column
            .units()
            .fold(0, |sum, (resource, amount)| sum.saturating_add(price(resource).saturating_mul(i128::from(amount))))
    }

    fn worth_of(&self, amounts: &[u64]) -> i128 {
        let all = amounts.iter().zip(&self.prices).map(|(left, price)| price.saturating_mul(i128::from(*left)));
        all.fold(0, i128::saturating_add)
    }

    /// Lowers the bound of the roots that are not decided until nothing better is possible: each round moves the prices against the surplus of
    /// what is left, by half as much as the bound exceeds the threshold (B. Polyak, *Minimization of unsmooth functionals*, 1969).
    fn set_prices(&mut self, steps: &mut Steps) {
        let mut least = (i128::MAX, Vec::new());
        for _ in 0..ROUNDS {
            let Some((bound, surplus)) = self.relaxed(steps) else { break };
            if bound < least.0 {
                least = (bound, self.prices.clone());
            }
            // in parts of a typical amount, with 6 fractional bits
            let parts = |(surplus, typical): (i128, &u64)| (surplus * 64 / i128::from(*typical)).clamp(-4096, 4096);
            let moves: Vec<i128> = surplus.into_iter().zip(&self.typical).map(parts).collect();
            let open = moves.iter().zip(&self.prices).filter(|(by, price)| **by < 0 || **price > 0);
            let length: i128 = open.map(|(by, _)| by * by).sum();
            let gap = bound.saturating_sub(self.threshold()).max(-1) + 1;
            if length == 0 || gap == 0 {
                break;
            }
            for ((price, by), typical) in self.prices.iter_mut().zip(moves).zip(&self.typical) {
                let change = gap.saturating_mul(32 * by) / length / i128::from(*typical);
                *price = price.saturating_sub(change).max(0);
            }
        }
        if !least.1.is_empty() {
            self.prices = least.1;
        }
    }

    /// The bound if each root that is not decided takes the column that is best for it at these prices, and what that leaves of each
    /// resource, which may be less than nothing.
    fn relaxed(&self, steps: &mut Steps) -> Option<(i128, Vec<i128>)> {
        let mut bound = (self.value << BITS).saturating_add(self.worth_of(self.state.left()));
        let mut surplus: Vec<i128> = self.state.left().iter().map(|left| i128::from(*left)).collect();
        for root in self.undecided() {
            let options = self.options(root, steps)?;
            let (profit, choice) = options.into_iter().max_by_key(|(profit, choice)| (*profit, choice.is_none()))?;
            bound = bound.saturating_add(profit);
            for (resource, amount) in self.problem.window.column(root, choice).into_iter().flat_map(Column::units) {
                surplus.get_mut(resource).into_iter().for_each(|surplus| *surplus -= i128::from(amount));
            }
        }
        Some((bound, surplus))
    }

    fn undecided(&self) -> impl Iterator<Item = usize> {
        self.decided.iter().enumerate().filter(|(_, decided)| !**decided).map(|(root, _)| root)
    }

    /// What a root may still get; `None` if the steps are spent.
    fn options(&self, root: usize, steps: &mut Steps) -> Option<Vec<Candidate>> {
        let of = self.problem.window.roots.get(root)?;
        if !steps.spend(of.columns.len()) {
            return None;
        }
        let fits = of.columns.iter().zip(self.values.get(root)?).enumerate();
        let fits = fits.filter(|(_, (column, _))| self.state.lacks(column, None).is_none());
        let profit = |(number, (column, value)): (usize, (&Column, &i128))| {
            ((*value << BITS).saturating_sub(self.cost(column)), Some(number))
        };
        let none = (!self.problem.rules.must(root)).then_some((0, None));
        Some(fits.map(profit).chain(none).collect())
    }

    /// Looks through everything below the decisions made.
    fn descend(&mut self, steps: &mut Steps) {
        let Some((bound, mut open)) = self.open(steps).filter(|_| !self.was_here()) else { return };
        let most = |options: &[Candidate]| options.iter().map(|option| option.0).max().unwrap_or(0);
        let threshold = self.threshold();
        for (_, options) in &mut open {
            let others = bound - most(options);
            options.retain(|option| others + option.0 >= threshold);
        }
        let Some((root, mut options)) = open.into_iter().min_by_key(|(root, options)| (options.len(), *root)) else {
            if self.state.balance().is_even() {
                self.target = self.value;
                self.best.offer(&self.state);
            }
            return;
        };
        let others = bound - most(&options);
        options.sort_by_key(|(profit, choice)| (std::cmp::Reverse(*profit), choice.is_none(), *choice));
        for (profit, choice) in options {
            if others + profit < self.threshold() || steps.is_spent() {
                return;
            }
            self.decide(root, choice, steps);
        }
    }

    /// Whether the same was left for the same roots before, and the others were worth no less.
    fn was_here(&mut self) -> bool {
        let Window { roots, seats, .. } = self.problem.window;
        let mut left = vec![0; self.state.left().len()];
        let columns = self.undecided().filter_map(|root| roots.get(root)).flat_map(|root| root.columns.iter());
        let units = columns.flat_map(Column::units).map(|(resource, _)| resource);
        for resource in units.chain(seats.iter().flat_map(|seat| &seat.takes).map(|(resource, _)| *resource)) {
            if let (Some(left), Some(now)) = (left.get_mut(resource), self.state.left().get(resource)) {
                *left = *now;
            }
        }
        let seats = self.state.sitting().iter().map(|sitting| *sitting > 0).collect();
        let situation = (self.decided.clone(), left, seats, self.state.balance().deficits().collect());
        if self.seen.get(&situation).is_some_and(|worth| *worth >= self.value) {
            return true;
        }
        if self.seen.len() < SEEN_MAX || self.seen.contains_key(&situation) {
            self.seen.insert(situation, self.value);
        }
        false
    }

    /// Looks through everything in which a root has this choice, too.
    fn decide(&mut self, root: usize, choice: Choice, steps: &mut Steps) {
        let value = |number| self.values.get(root).and_then(|values| values.get(number)).copied();
        let value = choice.and_then(value).unwrap_or(0);
        self.decided.get_mut(root).into_iter().for_each(|decided| *decided = true);
        if let Some(number) = choice {
            self.state.place(root, number);
        }
        self.value += value;
        self.descend(steps);
        self.value -= value;
        self.state.remove(root);
        self.decided.get_mut(root).into_iter().for_each(|decided| *decided = false);
    }

    /// The bound, and the options of each root that is not decided; `None` if nothing better is possible.
    fn open(&self, steps: &mut Steps) -> Option<(i128, Vec<Open>)> {
        let mut bound = (self.value << BITS).saturating_add(self.worth_of(self.state.left()));
        let mut open = Vec::new();
        for root in self.undecided() {
            let options = self.options(root, steps)?;
            bound = bound.saturating_add(options.iter().map(|option| option.0).max()?);
            open.push((root, options));
        }
        let can = open.iter().filter(|(_, options)| options.iter().any(|option| option.1.is_some()));
        let weights = can.map(|(root, _)| (*root, self.problem.objective.count(*root).1));
        let is_possible = self.state.balance().can_be_even(&self.problem.rules, weights);
        (is_possible && bound >= self.threshold()).then_some((bound, open))
    }
}
