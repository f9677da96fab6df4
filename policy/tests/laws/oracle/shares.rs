//! Shares: every way in which children may be at their floor, at their demand, or between, is tried until one is consistent.

use std::collections::BTreeMap;

use policy::{Account, Amount, Amounts};

use crate::oracle::{Forest, Rooms};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShareMistake {
    /// Parts are rounded up.
    RoundedUp,
    /// Nothing is cut to what is asked for.
    MoreThanAsked,
    /// Grants do not count.
    NoFloors,
    /// Parts are rounded down.
    RoundedDown,
    /// Weights do not count.
    NoWeights,
}

#[derive(Clone, Copy)]
struct Child {
    weight: Amount,
    floor: Amount,
    demand: Amount,
}

/// What each account deserves, with all below it.
pub(crate) fn shares(
    accounts: &[Account],
    total: Amount,
    demands: &BTreeMap<String, Amount>,
    mistake: Option<ShareMistake>,
) -> BTreeMap<String, Amount> {
    let forest = Forest::of(accounts);
    let mut shares = BTreeMap::new();
    divide(&World { forest: &forest, total, demands, mistake }, None, total, &mut shares);
    shares
}

struct World<'w> {
    forest: &'w Forest,
    total: Amount,
    demands: &'w BTreeMap<String, Amount>,
    mistake: Option<ShareMistake>,
}

fn own_demand(world: &World<'_>, name: &str) -> Amount {
    world.demands.get(name).copied().unwrap_or(0)
}

fn demand(world: &World<'_>, name: &str) -> Amount {
    let below: Amount = world.forest.children(Some(name)).iter().map(|child| demand(world, child)).sum();
    let max = world.forest.get(name).unwrap().quotas.get("charge").and_then(|quota| quota.max);
    (own_demand(world, name) + below).min(max.unwrap_or(Amount::MAX))
}

fn divide(world: &World<'_>, parent: Option<&str>, amount: Amount, shares: &mut BTreeMap<String, Amount>) {
    let total = Amounts::from([("charge".into(), world.total)]);
    let rooms = Rooms::of(world.forest, &total, "charge");
    let own = parent.map(|name| Child { weight: 1000, floor: 0, demand: own_demand(world, name) });
    let names = world.forest.children(parent);
    let child = |name: &&str| {
        let demand = demand(world, name);
        Child { weight: world.forest.get(name).unwrap().weight.into(), floor: rooms.grant(name).min(demand), demand }
    };
    let mut children: Vec<Child> = own.into_iter().chain(names.iter().map(child)).collect();
    for child in &mut children {
        match world.mistake {
            Some(ShareMistake::NoFloors) => child.floor = 0,
            Some(ShareMistake::NoWeights) => child.weight = 1,
            Some(ShareMistake::MoreThanAsked) => child.demand = Amount::MAX >> 64,
            _ => {}
        }
    }
    let parts = parts(&children, amount, world.mistake);
    for (name, part) in names.iter().zip(&parts[usize::from(own.is_some())..]) {
        shares.insert((*name).to_owned(), *part);
        divide(world, Some(name), *part, shares);
    }
}

fn parts(children: &[Child], amount: Amount, mistake: Option<ShareMistake>) -> Vec<Amount> {
    if children.iter().map(|child| child.demand).sum::<Amount>() <= amount {
        return children.iter().map(|child| child.demand).collect();
    }
    for ways in 0..3_usize.pow(children.len() as u32) {
        let states: Vec<usize> = (0..children.len()).map(|place| ways / 3_usize.pow(place as u32) % 3).collect();
        if let Some(exact) = consistent(children, &states, amount) {
            let mut parts: Vec<Amount> = exact.iter().map(|(value, under)| value / under).collect();
            let mut places: Vec<usize> = (0..parts.len()).collect();
            places.sort_by_key(|place| std::cmp::Reverse(exact[*place].0 % exact[*place].1));
            let rest = amount - parts.iter().sum::<Amount>();
            for place in places {
                parts[place] += match mistake {
                    Some(ShareMistake::RoundedUp) => Amount::from(exact[place].0 % exact[place].1 > 0),
                    Some(ShareMistake::RoundedDown) => 0,
                    _ => Amount::from(parts_before(&exact, place) < rest),
                };
            }
            return parts;
        }
    }
    panic!("no level for {amount}")
}

/// How many are rounded up before this one.
fn parts_before(exact: &[(Amount, Amount)], place: usize) -> Amount {
    let remainder = |(value, under): &(Amount, Amount)| value % under;
    let own = remainder(&exact[place]);
    let is_before = |(other, part): &(usize, &(Amount, Amount))| {
        remainder(part) > own || (remainder(part) == own && *other < place)
    };
    exact.iter().enumerate().filter(is_before).count() as Amount
}

/// The parts, as fractions with one denominator, if children in these states (0: floor, 1: demand, 2: level times weight) add up to the amount.
fn consistent(children: &[Child], states: &[usize], amount: Amount) -> Option<Vec<(Amount, Amount)>> {
    let both = || children.iter().zip(states);
    let fixed: Amount = both().map(|(child, state)| [child.floor, child.demand, 0][*state]).sum();
    let weight: Amount = both().map(|(child, state)| [0, 0, child.weight][*state]).sum();
    if weight == 0 || fixed > amount {
        // If none is at the level, there is room only for the floors.
        let all_floors = states.iter().all(|state| *state == 0) && fixed == amount;
        return all_floors.then(|| children.iter().map(|child| (child.floor, 1)).collect());
    }
    let level = amount - fixed; // over `weight`
    let is_right = |(child, state): (&Child, &usize)| match state {
        0 => level * child.weight <= child.floor * weight,
        1 => level * child.weight >= child.demand * weight,
        _ => level * child.weight >= child.floor * weight && level * child.weight <= child.demand * weight,
    };
    let part = |(child, state): (&Child, &usize)| {
        ([child.floor * weight, child.demand * weight, level * child.weight][*state], weight)
    };
    both().all(is_right).then(|| both().map(part).collect())
}
