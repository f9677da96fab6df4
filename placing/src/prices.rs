//! Prices of the resources, and the upper bound that they give.
//!
//! For all prices of at least 0, no placement is worth more than U = the sum of the prices of everything that is free, and for each root
//! the most by which the value of a column exceeds its cost, if it does (weak duality of the linear program "each root one column
//! at most, no resource overdrawn"). Each round divides every root among its columns, the cheaper ones more, and raises the prices
//! of the resources of which too much is taken (multiplicative weights; S. Plotkin, D. Shmoys, É. Tardos, *Fast approximation
//! algorithms for fractional packing and covering problems*, 1995).

use crate::best::Steps;
use crate::fixed::{Exponential, ONE, log_ratio};
use crate::model::{Column, Root, Window};

/// Rounds for one window.
const ROUNDS: u64 = 160;
/// The temperature falls from the first to the last of these parts of [`ONE`].
const TEMPERATURES: (u64, u64) = (ONE / 7, ONE / 100);

/// The prices with the smallest bound that was found.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    /// Of one unit of each resource, in parts of [`ONE`], which is the largest weight of a root.
    per_unit: Vec<u64>,
    /// The bound that these prices give, in the same parts.
    bound: u128,
}

impl Prices {
    /// Every price 0: the bound is the sum of all values.
    pub(crate) fn zero(window: &Window) -> Prices {
        let per_unit = vec![0; window.free.len()];
        let bound = bound(window, &values(window), &per_unit);
        Prices { per_unit, bound }
    }

    /// Lowers the bound by rounds of prices.
    pub(crate) fn improve(&mut self, window: &Window, steps: &mut Steps) {
        let values = values(window);
        let mut rounds = Rounds::of(window);
        for round in 0..ROUNDS {
            if !steps.spend(window.columns()) {
                return;
            }
            let (first, last) = TEMPERATURES;
            let temperature = first * ROUNDS / (ROUNDS + (first / last - 1) * round);
            let bound = rounds.round(&values, temperature);
            if bound < self.bound {
                self.bound = bound;
                self.per_unit.clone_from(&rounds.before);
            }
        }
    }

    /// What a column costs.
    pub(crate) fn cost(&self, column: &Column) -> u64 {
        cost(&self.per_unit, column)
    }

    /// The most that the weights of the placed roots can come to.
    pub(crate) fn bound(&self, window: &Window) -> u128 {
        let all = window.roots.iter().filter(|root| root.can_have()).map(|root| u128::from(root.counts())).sum();
        let scaled = self.bound.saturating_mul(u128::from(heaviest(window)));
        (scaled / u128::from(ONE)).min(all)
    }
}

/// The weight of each root in parts of [`ONE`], which is the largest weight; rounded up.
fn values(window: &Window) -> Vec<u64> {
    let heaviest = u128::from(heaviest(window));
    let value = |weight: u64| (u128::from(weight) * u128::from(ONE)).div_ceil(heaviest);
    window.roots.iter().map(|root| u64::try_from(value(root.counts())).unwrap_or(ONE)).collect()
}

/// The bound that any prices give: the most that the weights of the placed roots can come to. Prices are in parts of 2^30, which stands for
/// the largest weight of a root.
#[must_use]
pub fn bound_at(window: &Window, per_unit: &[u64]) -> u128 {
    let bound = bound(window, &values(window), per_unit);
    Prices { per_unit: per_unit.to_vec(), bound }.bound(window)
}

fn heaviest(window: &Window) -> u64 {
    window.roots.iter().map(Root::counts).max().unwrap_or(1)
}

fn cost(per_unit: &[u64], column: &Column) -> u64 {
    let price = |resource: usize| per_unit.get(resource).copied().unwrap_or(0);
    column.units().fold(0, |sum, (resource, amount)| sum.saturating_add(price(resource).saturating_mul(amount)))
}

fn worth_of_all(window: &Window, per_unit: &[u64]) -> u128 {
    let all = window.free.iter().zip(per_unit).map(|(free, price)| u128::from(*free) * u128::from(*price));
    all.fold(0, u128::saturating_add)
}

fn bound(window: &Window, values: &[u64], per_unit: &[u64]) -> u128 {
    let profit = |(root, value): (&Root, &u64)| {
        let cheapest = root.columns.iter().map(|column| cost(per_unit, column)).min();
        match (root.has_more, cheapest) {
            (true, _) => *value,
            (false, cheapest) => cheapest.map_or(0, |cost| value.saturating_sub(cost)),
        }
    };
    let profits = window.roots.iter().zip(values).map(|root| u128::from(profit(root)));
    profits.fold(worth_of_all(window, per_unit), u128::saturating_add)
}

/// The prices of one round after the other.
struct Rounds<'w> {
    window: &'w Window,
    exponential: Exponential,
    /// The most that a column takes of each resource: prices move in this unit.
    typical: Vec<u64>,
    /// The price of as much.
    price: Vec<u64>,
    /// The price of one unit in the last round.
    before: Vec<u64>,
    /// How much of each resource is taken, with 30 fractional bits.
    load: Vec<u128>,
    /// By how much a root's value exceeds the cost of each of its columns.
    profits: Vec<u64>,
}

impl Rounds<'_> {
    fn of(window: &Window) -> Rounds<'_> {
        let zeros = vec![0; window.free.len()];
        Rounds {
            window,
            exponential: Exponential::new(),
            typical: window.typical(),
            price: zeros.clone(),
            before: zeros,
            load: vec![0; window.free.len()],
            profits: Vec::new(),
        }
    }

    /// One round at this temperature. The bound that the prices gave before it.
    fn round(&mut self, values: &[u64], temperature: u64) -> u128 {
        for ((unit, price), typical) in self.before.iter_mut().zip(&self.price).zip(&self.typical) {
            *unit = price / typical;
        }
        self.load.fill(0);
        let mut bound = worth_of_all(self.window, &self.before);
        for (root, value) in self.window.roots.iter().zip(values) {
            let profit = self.divide(&root.columns, *value, temperature);
            bound = bound.saturating_add(u128::from(if root.has_more { *value } else { profit }));
        }
        let loads = self.load.iter().zip(&self.window.free).zip(&self.typical);
        for (price, ((load, free), typical)) in self.price.iter_mut().zip(loads) {
            let slack = u128::from(*typical) * u128::from(ONE) / 50;
            let ratio = log_ratio(load + slack, u128::from(*free) * u128::from(ONE) + slack);
            let change = (i128::from(ratio) * i128::from(temperature)) / i128::from(ONE);
            let next = (i128::from(*price) + change).clamp(0, i128::from(ONE));
            *price = u64::try_from(next).unwrap_or(0);
        }
        bound
    }

    /// Divides a root among its columns and "none". The most by which its value exceeds the cost of a column.
    fn divide(&mut self, columns: &[Column], value: u64, temperature: u64) -> u64 {
        let Rounds { exponential, before, load, profits, .. } = self;
        profits.clear();
        // a column that costs more than the value counts like "none"; it is far behind soon
        profits.extend(columns.iter().map(|column| value.saturating_sub(cost(before, column))));
        let Some(most) = profits.iter().copied().max() else { return 0 };
        let share = |profit: u64| exponential.falling(most - profit, temperature);
        let sum = profits.iter().map(|profit| share(*profit)).fold(share(0), u64::saturating_add);
        for (column, profit) in columns.iter().zip(profits.iter()) {
            let part = u128::from(share(*profit)) * u128::from(ONE) / u128::from(sum.max(1));
            if part >> 12 == 0 {
                continue;
            }
            for (resource, amount) in column.units() {
                if let Some(load) = load.get_mut(resource) {
                    *load = load.saturating_add(part.saturating_mul(u128::from(amount)));
                }
            }
        }
        most
    }
}
