//! Prices of the resources, and the upper bound that they give.
//!
//! For all prices of at least 0, no placement is worth more than U = the sum of the prices of everything that is free, and for each root
//! the most by which the value of a column exceeds its cost, if it does (weak duality of the linear program "each root one column
//! at most, no resource overdrawn"). Each round divides every root among its columns, the cheaper ones more, and raises the prices
//! of the resources of which too much is taken (multiplicative weights; S. Plotkin, D. Shmoys, É. Tardos, *Fast approximation
//! algorithms for fractional packing and covering problems*, 1995).

use std::collections::BTreeMap;

use crate::best::Steps;
use crate::fixed::{Exponential, ONE, log_ratio};
use crate::model::{Column, Root, Window};

/// The temperature of the first round.
const HOT: u64 = ONE / 7;
/// It is halved after so many rounds, is a third after twice as many, and so on.
const HALF_LIFE: u64 = 10;
/// So many columns are priced in the time in which a walk looks at one.
const COLUMNS_AT_ONCE: usize = 4;

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
            if !steps.spend(rounds.columns() / COLUMNS_AT_ONCE) {
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
    let lists = window.lists();
    let cheapest = |columns: &[Column]| columns.iter().map(|column| cost(per_unit, column)).min();
    let cheapest: Vec<Option<u64>> = lists.columns(window).map(|columns| cheapest(columns)).collect();
    let profit = |((root, list), value): ((&Root, &usize), &u64)| match (
        root.has_more,
        cheapest.get(*list).copied().flatten(),
    ) {
        (true, _) => *value,
        (false, cheapest) => cheapest.map_or(0, |cost| value.saturating_sub(cost)),
    };
    let profits = window.roots.iter().zip(&lists.of).zip(values).map(|root| u128::from(profit(root)));
    profits.fold(worth_of_all(window, per_unit), u128::saturating_add)
}

/// The prices of one round after the other.
pub(crate) struct Rounds<'w> {
    window: &'w Window,
    kinds: Kinds,
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
    /// What each column of a kind costs.
    costs: Vec<u64>,
}

/// The roots of a window by what they may have and what they count, in lists that are read from the first to the last in each round.
#[derive(Debug, Default)]
struct Kinds {
    list: Vec<Kind>,
    /// By column: how many of the units it takes.
    takes: Vec<u32>,
    /// The resources and the amounts of all columns.
    units: Vec<(u32, u64)>,
}

/// Roots with the same columns that count the same.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// How many roots.
    roots: u64,
    /// In parts of [`ONE`].
    value: u64,
    columns: usize,
    has_more: bool,
}

impl Kinds {
    fn of(window: &Window) -> Kinds {
        let mut kinds = Kinds::default();
        let lists = window.lists();
        let mut numbers: BTreeMap<(u64, bool, usize), usize> = BTreeMap::new();
        for ((root, list), value) in window.roots.iter().zip(&lists.of).zip(values(window)) {
            let next = kinds.list.len();
            let number = *numbers.entry((value, root.has_more, *list)).or_insert(next);
            if number == next {
                kinds.list.push(Kind { roots: 0, value, columns: root.columns.len(), has_more: root.has_more });
                for column in root.columns.iter() {
                    let before = kinds.units.len();
                    let unit = |(resource, amount): (usize, u64)| (u32::try_from(resource).unwrap_or(u32::MAX), amount);
                    kinds.units.extend(column.units().map(unit));
                    kinds.takes.push(u32::try_from(kinds.units.len() - before).unwrap_or(u32::MAX));
                }
            }
            kinds.list.get_mut(number).into_iter().for_each(|kind| kind.roots += 1);
        }
        kinds
    }
}

impl Rounds<'_> {
    /// No rounds yet.
    pub(crate) fn of(window: &Window) -> Rounds<'_> {
        let zeros = vec![0; window.free.len()];
        Rounds {
            window,
            kinds: Kinds::of(window),
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

    /// How many columns a round looks at.
    fn columns(&self) -> usize {
        self.kinds.takes.len()
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
        let Rounds { kinds, exponential, before, load, costs, .. } = self;
        let (mut takes, mut units) = (kinds.takes.as_slice(), kinds.units.as_slice());
        for kind in &kinds.list {
            let (of_kind, others) = takes.split_at_checked(kind.columns).unwrap_or_default();
            takes = others;
            let count = of_kind.iter().map(|count| place(*count)).sum();
            let (own, others) = units.split_at_checked(count).unwrap_or_default();
            units = others;
            let profit = divide(kind, (of_kind, own), (before, temperature), exponential, costs, load);
            let profit = if kind.has_more { kind.value } else { profit };
            bound = bound.saturating_add(u128::from(profit) * u128::from(kind.roots));
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
}

/// Divides the roots of a kind among their columns and "none". The most by which their value exceeds the cost of a column.
fn divide(
    kind: &Kind,
    (takes, units): (&[u32], &[(u32, u64)]),
    (per_unit, temperature): (&[u64], u64),
    exponential: &Exponential,
    costs: &mut Vec<u64>,
    load: &mut [u128],
) -> u64 {
    costs.clear();
    let price =
        |(resource, amount): &(u32, u64)| per_unit.get(place(*resource)).copied().unwrap_or(0).saturating_mul(*amount);
    let mut rest = units;
    costs.extend(takes.iter().map(|count| {
        let (own, others) = rest.split_at_checked(place(*count)).unwrap_or_default();
        rest = others;
        own.iter().map(price).fold(0, u64::saturating_add)
    }));
    // "none" has no cost and no value
    let least = costs.iter().copied().min().unwrap_or(kind.value).min(kind.value);
    let mut sum = exponential.falling(kind.value - least, temperature);
    for cost in costs.iter_mut() {
        *cost = exponential.falling(*cost - least, temperature);
        sum = sum.saturating_add(*cost);
    }
    let mut rest = units;
    for (count, share) in takes.iter().zip(costs.iter()) {
        let (own, others) = rest.split_at_checked(place(*count)).unwrap_or_default();
        rest = others;
        // at most ONE each
        let part = share.saturating_mul(ONE) / sum.max(1);
        if part >> 12 == 0 {
            continue;
        }
        let part = u128::from(part) * u128::from(kind.roots);
        for (resource, amount) in own {
            if let Some(load) = load.get_mut(place(*resource)) {
                *load = load.saturating_add(part.saturating_mul(u128::from(*amount)));
            }
        }
    }
    kind.value - least
}

fn place(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
