//! Prices of the resources, and the upper bound that they give.
//!
//! For all prices of at least 0, no placement is worth more than U = the sum of the prices of everything that is free, and for each root
//! the most by which the value of a column exceeds its cost, if it does (weak duality of the linear program "each root one column
//! at most, no resource overdrawn"). Each round divides every root among its columns, the cheaper ones more, and raises the prices
//! of the resources of which too much is taken (multiplicative weights; S. Plotkin, D. Shmoys, É. Tardos, *Fast approximation
//! algorithms for fractional packing and covering problems*, 1995).

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::best::Steps;
use crate::fixed::{Exponential, ONE, log_ratio};
use crate::model::{Column, Lists, Root, Window};

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

    /// Of one unit of a resource.
    pub(crate) fn of(&self, resource: usize) -> u64 {
        self.per_unit.get(resource).copied().unwrap_or(0)
    }

    /// By root: by how much its value exceeds the cost of what it takes, in parts of [`ONE`].
    pub(crate) fn profits(&self, window: &Window, lists: &Lists) -> Vec<u64> {
        profits(window, lists, &values(window), &self.per_unit)
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
    let profits = profits(window, &window.lists(), values, per_unit);
    profits.into_iter().map(u128::from).fold(worth_of_all(window, per_unit), u128::saturating_add)
}

/// By root: by how much its value exceeds the cost of what it takes at least.
fn profits(window: &Window, lists: &Lists, values: &[u64], per_unit: &[u64]) -> Vec<u64> {
    let cheapest = |columns: &[Column]| columns.iter().map(|column| cost(per_unit, column)).min();
    let cheapest: Vec<Option<u64>> = lists.all.iter().map(|columns| cheapest(columns)).collect();
    let cheapest = |list: &usize| cheapest.get(*list).copied().flatten();
    let costs = window.roots.iter().zip(&lists.of).zip(&lists.needs).map(|((root, list), needs)| {
        if !root.has_more {
            return cheapest(list);
        }
        needs.iter().try_fold(0u64, |sum, list| Some(sum.saturating_add(cheapest(list)?)))
    });
    costs.zip(values).map(|(cost, value)| cost.map_or(0, |cost| value.saturating_sub(cost))).collect()
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
#[derive(Clone, Debug)]
struct Kind {
    /// How many roots.
    roots: u64,
    /// In parts of [`ONE`].
    value: u64,
    /// How many columns each list has of which a gang takes one.
    lists: SmallVec<[usize; 2]>,
    /// There may be gangs of which nothing is known.
    is_open: bool,
}

impl Kinds {
    fn of(window: &Window) -> Kinds {
        let mut kinds = Kinds::default();
        let lists = window.lists();
        let mut numbers: BTreeMap<(u64, bool, &[usize]), usize> = BTreeMap::new();
        let of_roots = window.roots.iter().zip(&lists.of).zip(&lists.needs);
        for (((root, list), needs), value) in of_roots.zip(values(window)) {
            let is_open = root.has_more && needs.is_empty();
            let of_kind = match (root.has_more, is_open) {
                (false, _) => std::slice::from_ref(list),
                // what these roots take instead is not known
                (true, true) => &[],
                (true, false) => needs.as_slice(),
            };
            let next = kinds.list.len();
            let number = *numbers.entry((value, is_open, of_kind)).or_insert(next);
            if number == next {
                let of_kind: SmallVec<[&Arc<Vec<Column>>; 2]> =
                    of_kind.iter().filter_map(|list| lists.all.get(*list)).collect();
                let sizes = of_kind.iter().map(|columns| columns.len()).collect();
                kinds.list.push(Kind { roots: 0, value, lists: sizes, is_open });
                for column in of_kind.into_iter().flat_map(|columns| columns.iter()) {
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
            let (of_kind, others) = takes.split_at_checked(kind.lists.iter().sum()).unwrap_or_default();
            takes = others;
            let count = of_kind.iter().map(|count| place(*count)).sum();
            let (own, others) = units.split_at_checked(count).unwrap_or_default();
            units = others;
            let profit = divide(kind, (of_kind, own), (before, temperature), exponential, costs, load);
            let profit = if kind.is_open { kind.value } else { profit };
            bound = bound.saturating_add(u128::from(profit) * u128::from(kind.roots));
        }
        let loads = self.load.iter().zip(&self.window.free).zip(&self.typical);
        for (price, ((load, free), typical)) in self.price.iter_mut().zip(loads) {
            let free = u128::from(*free) * u128::from(ONE);
            // it would fall, and it is 0 already
            if *price == 0 && *load <= free {
                continue;
            }
            let slack = u128::from(*typical) * u128::from(ONE) / 50;
            let ratio = log_ratio(load + slack, free + slack);
            let change = (i128::from(ratio) * i128::from(temperature)) / i128::from(ONE);
            let next = (i128::from(*price) + change).clamp(0, i128::from(ONE));
            *price = u64::try_from(next).unwrap_or(0);
        }
        bound
    }
}

/// Divides the roots of a kind among "none" and their columns, one of each list. The most by which their value exceeds the cost of such
/// columns.
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
    let Some(parts) = parts(kind, costs, (exponential, temperature)) else { return 0 };
    let mut rest = units;
    for (count, part) in takes.iter().zip(costs.iter()) {
        let (own, others) = rest.split_at_checked(place(*count)).unwrap_or_default();
        rest = others;
        if part >> 12 == 0 {
            continue;
        }
        let part = u128::from(*part) * u128::from(kind.roots);
        for (resource, amount) in own {
            if let Some(load) = load.get_mut(place(*resource)) {
                *load = load.saturating_add(part.saturating_mul(u128::from(*amount)));
            }
        }
    }
    kind.value - parts
}

/// Makes of the costs of the columns of a kind the parts of its roots that get them, of [`ONE`] for each list, what "none" gets apart. The
/// cost of the cheapest columns, or the value if that is less. `None` if a list is empty: there is no gang.
fn parts(kind: &Kind, costs: &mut [u64], (exponential, temperature): (&Exponential, u64)) -> Option<u64> {
    let falling = |cost: u64| exponential.falling(cost, temperature);
    let mut least = 0u64;
    // the weight of all choices of columns beside that of the cheapest ones
    let (mut weight, mut rest) = (u128::from(ONE), &mut *costs);
    let mut sums: SmallVec<[u64; 2]> = SmallVec::new();
    for size in &kind.lists {
        let (own, others) = rest.split_at_mut_checked(*size)?;
        rest = others;
        let cheapest = own.iter().copied().min()?;
        own.iter_mut().for_each(|cost| *cost = falling(*cost - cheapest));
        let sum = own.iter().copied().fold(0, u64::saturating_add);
        least = least.saturating_add(cheapest);
        weight = weight.saturating_mul(u128::from(sum)) / u128::from(ONE);
        sums.push(sum);
    }
    let profit = kind.value.saturating_sub(least);
    weight = weight.saturating_mul(u128::from(falling(least.saturating_sub(kind.value)))) / u128::from(ONE);
    // "none" has no cost and no value
    let all = weight.saturating_add(u128::from(falling(profit))).max(1);
    let placed = u64::try_from(weight.saturating_mul(u128::from(ONE)) / all).unwrap_or(ONE);
    let mut rest = &mut *costs;
    for (size, sum) in kind.lists.iter().zip(sums) {
        let (own, others) = rest.split_at_mut_checked(*size)?;
        rest = others;
        // at most ONE each
        own.iter_mut().for_each(|part| *part = part.saturating_mul(placed) / sum.max(1));
    }
    Some(least.min(kind.value))
}

fn place(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
