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

/// The temperature of the first round.
const HOT: u64 = ONE / 7;
/// It is halved after so many rounds, is a third after twice as many, and so on.
const HALF_LIFE: u64 = 10;

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

    /// Lowers the bound by so many more rounds of prices.
    pub(crate) fn improve(&mut self, rounds: &mut Rounds<'_>, count: u64, steps: &mut Steps) {
        for _ in 0..count {
            if !steps.spend(rounds.window.columns()) {
                return;
            }
            let bound = rounds.round();
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
pub(crate) struct Rounds<'w> {
    window: &'w Window,
    values: Vec<u64>,
    /// How many rounds there were.
    done: u64,
    exponential: Exponential,
    /// The most that a column takes of each resource: prices move in this unit.
    typical: Vec<u64>,
    /// The price of as much.
    price: Vec<u64>,
    /// The price of one unit in the last round.
    before: Vec<u64>,
    /// How much of each resource is taken, with 30 fractional bits.
    load: Vec<u128>,
    /// What each column of a root costs.
    costs: Vec<u64>,
}

impl Rounds<'_> {
    /// No rounds yet.
    pub(crate) fn of(window: &Window) -> Rounds<'_> {
        let zeros = vec![0; window.free.len()];
        Rounds {
            window,
            values: values(window),
            done: 0,
            exponential: Exponential::new(),
            typical: window.typical(),
            price: zeros.clone(),
            before: zeros,
            load: vec![0; window.free.len()],
            costs: Vec::new(),
        }
    }

    /// How many rounds there were.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// One more round. The bound that the prices gave before it.
    fn round(&mut self) -> u128 {
        let temperature = HOT * HALF_LIFE / (HALF_LIFE + self.done);
        self.done += 1;
        for ((unit, price), typical) in self.before.iter_mut().zip(&self.price).zip(&self.typical) {
            *unit = price / typical;
        }
        self.load.fill(0);
        let mut bound = worth_of_all(self.window, &self.before);
        for (number, root) in self.window.roots.iter().enumerate() {
            let value = self.values.get(number).copied().unwrap_or(0);
            let profit = self.divide(&root.columns, value, temperature);
            bound = bound.saturating_add(u128::from(if root.has_more { value } else { profit }));
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
        let Rounds { exponential, before, load, costs, .. } = self;
        costs.clear();
        costs.extend(columns.iter().map(|column| cost(before, column)));
        // "none" has no cost and no value
        let least = costs.iter().copied().min().unwrap_or(value).min(value);
        let share = |cost: u64| exponential.falling(cost - least, temperature);
        let sum = costs.iter().map(|cost| share(*cost)).fold(share(value), u64::saturating_add);
        for (column, cost) in columns.iter().zip(costs.iter()) {
            let part = u128::from(share(*cost)) * u128::from(ONE) / u128::from(sum.max(1));
            if part >> 12 == 0 {
                continue;
            }
            for (resource, amount) in column.units() {
                if let Some(load) = load.get_mut(resource) {
                    *load = load.saturating_add(part.saturating_mul(u128::from(amount)));
                }
            }
        }
        value - least
    }
}
