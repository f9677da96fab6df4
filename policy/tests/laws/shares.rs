//! Laws of shares: S1 to S5.

use std::collections::BTreeMap;

use policy::{Amount, Tree};
use proptest::prelude::*;

use crate::oracle::{Forest, Rooms, ShareMistake, shares};
use crate::worlds::{NAMES, Pool, amount, counterexample, pool};

/// Accounts, the charge of the pool, and what the gangs of each account hold and wait for.
#[derive(Clone, Debug)]
struct Asked {
    pool: Pool,
    total: Amount,
    demands: BTreeMap<String, Amount>,
}

fn asked() -> impl Strategy<Value = Asked> {
    let demands = NAMES.map(|name| amount("charge", 12).prop_map(move |demand| (name.to_owned(), demand)));
    let total = prop_oneof![amount("charge", 40), 0..50_i128];
    (pool(), total, demands).prop_map(|(pool, total, demands)| Asked {
        pool,
        total,
        demands: demands.into_iter().collect(),
    })
}

type Shares = BTreeMap<String, Amount>;

fn product(asked: &Asked) -> Shares {
    let tree = Tree::new(asked.pool.accounts.clone());
    let shares = policy::shares(&tree, asked.total, &asked.demands);
    shares.into_iter().map(|(name, share)| (name.to_owned(), share)).collect()
}

fn plain(asked: &Asked, mistake: Option<ShareMistake>) -> Shares {
    shares(&asked.pool.accounts, asked.total, &asked.demands, mistake)
}

/// One child of a node: its weight, what it is granted, what it asks for, and what it gets.
struct Part {
    weight: Amount,
    floor: Amount,
    demand: Amount,
    share: Amount,
}

fn own(asked: &Asked, name: &str) -> Amount {
    asked.demands.get(name).copied().unwrap_or(0)
}

/// How much a subtree asks for.
fn demand(asked: &Asked, forest: &Forest, name: &str) -> Amount {
    let below: Amount = forest.children(Some(name)).iter().map(|child| demand(asked, forest, child)).sum();
    let max = forest.get(name).unwrap().quotas.get("charge").and_then(|quota| quota.max);
    (own(asked, name) + below).min(max.unwrap_or(Amount::MAX))
}

/// For the pool and each account: what is divided, and the parts. A leaf gets what the children of an account leave.
fn divisions(asked: &Asked, shares: &Shares) -> Vec<(Amount, Vec<Part>)> {
    let forest = Forest::of(&asked.pool.accounts);
    let total = [("charge".into(), asked.total)].into();
    let rooms = Rooms::of(&forest, &total, "charge");
    let part = |name: &&str| {
        let demand = demand(asked, &forest, name);
        let weight = forest.get(name).unwrap().weight.into();
        Part { weight, floor: rooms.grant(name).min(demand), demand, share: shares[*name] }
    };
    let parts = |parent| forest.children(parent).iter().map(part).collect::<Vec<_>>();
    let mut divisions = vec![(asked.total, parts(None))];
    for name in forest.names() {
        let mut parts = parts(Some(name));
        let share = shares[name] - parts.iter().map(|part| part.share).sum::<Amount>();
        let demand = own(asked, name);
        parts.push(Part { weight: 1000, floor: 0, demand, share });
        divisions.push((shares[name], parts));
    }
    divisions
}

type Law = fn(Amount, &[Part]) -> bool;

fn no_more_than_there_is(amount: Amount, parts: &[Part]) -> bool {
    parts.iter().map(|part| part.share).sum::<Amount>() <= amount && parts.iter().all(|part| part.share >= 0)
}

fn no_more_than_asked_for(_: Amount, parts: &[Part]) -> bool {
    parts.iter().all(|part| part.share <= part.demand)
}

fn no_less_than_granted(_: Amount, parts: &[Part]) -> bool {
    parts.iter().all(|part| part.share >= part.floor)
}

fn nothing_left_over(amount: Amount, parts: &[Part]) -> bool {
    let given: Amount = parts.iter().map(|part| part.share).sum();
    given == amount || parts.iter().all(|part| part.share >= part.demand)
}

/// Between floor and demand, shares differ from their weights by less than one unit each.
fn by_weight(_: Amount, parts: &[Part]) -> bool {
    let between: Vec<&Part> =
        parts.iter().filter(|part| part.floor + 1 < part.share && part.share + 1 < part.demand).collect();
    let near = |one: &Part, other: &Part| {
        (one.share * other.weight - other.share * one.weight).abs() <= one.weight + other.weight
    };
    between.iter().all(|one| between.iter().all(|other| near(one, other)))
}

const LAWS: [(&str, Law, ShareMistake); 5] = [
    ("S1", no_more_than_there_is, ShareMistake::RoundedUp),
    ("S2", no_more_than_asked_for, ShareMistake::MoreThanAsked),
    ("S3", no_less_than_granted, ShareMistake::NoFloors),
    ("S4", nothing_left_over, ShareMistake::RoundedDown),
    ("S5", by_weight, ShareMistake::NoWeights),
];

fn holds(law: Law, asked: &Asked, shares: &Shares) -> bool {
    divisions(asked, shares).iter().all(|(amount, parts)| law(*amount, parts))
}

proptest! {
    #[test]
    fn shares_are_those_of_the_definition(asked in asked()) {
        prop_assert_eq!(product(&asked), plain(&asked, None));
    }

    #[test]
    fn the_laws_hold(asked in asked()) {
        let shares = product(&asked);
        for (name, law, _) in LAWS {
            prop_assert!(holds(law, &asked, &shares), "{}", name);
        }
    }
}

#[test]
fn each_law_finds_its_mistake() {
    for (name, law, mistake) in LAWS {
        let holds = |asked: &Asked| holds(law, asked, &plain(asked, Some(mistake)));
        assert!(counterexample(&asked(), 2_000, holds).is_some(), "{name} does not find {mistake:?}");
    }
}
