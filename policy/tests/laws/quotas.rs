//! Laws of quotas: Q1 to Q7, and that an update is what a recomputation gives.

use policy::{Account, Amount, Amounts, Quota, Quotas, Tree};
use proptest::prelude::*;

use crate::oracle::{Forest, QuotaMistake, Rooms};
use crate::worlds::{COUNTERS, Pool, counterexample, pool};

/// What the crate says of every account: grant, what is set aside, and what is available.
type Room = (Amount, Amount, Option<Amount>);

fn product(quotas: &Quotas<'_>, name: &str, counter: &str) -> Room {
    let tree = quotas.tree();
    let (node, leaf) = (tree.account(name).unwrap(), tree.leaf(name).unwrap());
    (quotas.grant(node, counter), quotas.aside(node, counter), quotas.available(leaf, counter))
}

fn plain(rooms: &Rooms<'_>, name: &str) -> Room {
    (rooms.grant(name), rooms.aside(name), rooms.available(name))
}

fn rooms<'w>(forest: &'w Forest, pool: &Pool, counter: &'w str, mistake: Option<QuotaMistake>) -> Rooms<'w> {
    Rooms { mistake, ..Rooms::of(forest, &pool.total, counter) }
}

/// The law for one counter of a pool, with the quotas of the oracle.
type Law = fn(&Pool, &'static str, Option<QuotaMistake>) -> bool;

fn grants_are_within_the_grant_above(pool: &Pool, counter: &'static str, mistake: Option<QuotaMistake>) -> bool {
    let forest = Forest::of(&pool.accounts);
    let rooms = rooms(&forest, pool, counter, mistake);
    let sum = |parent| forest.children(parent).iter().map(|child| rooms.grant(child)).sum::<Amount>();
    rooms.total.is_none_or(|total| sum(None) <= total)
        && forest.names().iter().all(|name| sum(Some(name)) <= rooms.grant(name))
}

fn nothing_is_below_0(pool: &Pool, counter: &'static str, mistake: Option<QuotaMistake>) -> bool {
    let forest = Forest::of(&pool.accounts);
    let rooms = rooms(&forest, pool, counter, mistake);
    forest.names().iter().all(|name| rooms.available(name).is_none_or(|room| room >= 0))
}

/// After each account takes all it may.
fn after_each(
    pool: &Pool,
    counter: &'static str,
    mistake: Option<QuotaMistake>,
    holds: impl Fn(&Forest, &Forest, &str) -> bool,
) -> bool {
    let before = Forest::of(&pool.accounts);
    let rooms = rooms(&before, pool, counter, mistake);
    before.names().iter().all(|name| {
        let room = rooms.available(name).unwrap_or(100).max(0);
        let mut after = before.clone();
        after.hold(name, &Amounts::from([(counter.into(), room)]), 1);
        holds(&before, &after, name)
    })
}

fn no_maximum_is_exceeded(pool: &Pool, counter: &'static str, mistake: Option<QuotaMistake>) -> bool {
    after_each(pool, counter, mistake, |before, after, _| {
        before.accounts.iter().all(|account| {
            let max = account.quotas.get(counter).and_then(|quota| quota.max);
            let held = |forest: &Forest| forest.held(&account.name, counter);
            max.is_none_or(|max| held(after) <= max.max(held(before)))
        })
    })
}

fn nothing_is_taken_that_is_not_there(pool: &Pool, counter: &'static str, mistake: Option<QuotaMistake>) -> bool {
    let total = pool.total.get(counter).copied();
    after_each(pool, counter, mistake, |before, after, _| {
        total.is_none_or(|total| after.held_by_all(counter) <= total.max(before.held_by_all(counter)))
    })
}

fn a_room_never_grows(pool: &Pool, counter: &'static str, mistake: Option<QuotaMistake>) -> bool {
    after_each(pool, counter, mistake, |before, after, taker| {
        let room = |forest: &Forest, name: &str| rooms(forest, pool, counter, mistake).available(name);
        let is_smaller = |name: &&str| match (room(before, name), room(after, name)) {
            (Some(before), Some(after)) => after <= before,
            (before, after) => before == after,
        };
        before.names().iter().filter(|name| **name != taker).all(is_smaller)
    })
}

/// What is set aside at an account is still there, and still for it, after one elsewhere took all it may.
fn what_is_set_aside_stays_there(pool: &Pool, counter: &'static str, mistake: Option<QuotaMistake>) -> bool {
    let total = pool.total.get(counter).copied();
    after_each(pool, counter, mistake, |before, after, taker| {
        let elsewhere = |name: &&str| !before.path(taker).contains(name);
        before.names().into_iter().filter(elsewhere).all(|name| {
            let aside = rooms(before, pool, counter, None).aside(name);
            let left = |forest: &Forest| total.map_or(Amount::MAX, |total| total - forest.held_by_all(counter));
            rooms(after, pool, counter, None).aside(name) == aside && left(after) >= aside.min(left(before))
        })
    })
}

/// In a flat pool in which all hold no more than their grants and nothing is lent, each can have its grant.
fn each_account_can_have_its_grant(pool: &Pool, counter: &'static str, mistake: Option<QuotaMistake>) -> bool {
    let flat = |account: &Account| {
        let stated = account.quotas.get(counter).copied().unwrap_or_default();
        let quota = Quota { lend: Some(0), ..stated };
        let quotas = [(counter.into(), quota)].into();
        Account { parent: None, quotas, held: Amounts::new(), ..account.clone() }
    };
    let mut forest = Forest { accounts: Forest::of(&pool.accounts).accounts.iter().map(flat).collect() };
    let grants: Vec<Amount> =
        forest.names().iter().map(|name| rooms(&forest, pool, counter, mistake).grant(name)).collect();
    let halves: Vec<(String, Amount)> =
        forest.names().iter().zip(grants.iter()).map(|(name, grant)| ((*name).to_owned(), grant / 2)).collect();
    for (name, half) in halves {
        forest.hold(&name, &Amounts::from([(counter.into(), half)]), 1);
    }
    let rooms = rooms(&forest, pool, counter, mistake);
    forest
        .names()
        .iter()
        .zip(grants)
        .all(|(name, grant)| rooms.available(name).is_none_or(|room| rooms.held(name) + room >= grant))
}

const LAWS: [(&str, Law, QuotaMistake); 7] = [
    ("Q1", grants_are_within_the_grant_above, QuotaMistake::NotScaled),
    ("Q2", nothing_is_below_0, QuotaMistake::Negative),
    ("Q3", no_maximum_is_exceeded, QuotaMistake::OwnMaximumOnly),
    ("Q4", nothing_is_taken_that_is_not_there, QuotaMistake::PoolUnlimited),
    ("Q5", a_room_never_grows, QuotaMistake::AsideUntilUsed),
    ("Q6", what_is_set_aside_stays_there, QuotaMistake::NearestSiblingsOnly),
    ("Q7", each_account_can_have_its_grant, QuotaMistake::OwnAsideToo),
];

/// Whether a gang may take as much as is available, and no more.
fn forbids_what_is_not_available(quotas: &Quotas<'_>, name: &str, counter: &str) -> bool {
    let leaf = quotas.tree().leaf(name).unwrap();
    let Some(number) = quotas.number(counter) else { return quotas.available(leaf, counter).is_none() };
    let allows = |amount: Amount| quotas.allows_numbered(leaf, [(number, amount)]);
    match quotas.available(leaf, counter) {
        Some(most) => allows(most) && !allows(most + 1),
        None => allows(1 << 80),
    }
}

/// Makes gangs hold and give back, one after the other, and compares each time with what a recomputation gives.
fn updates_are_recomputations(
    pool: &Pool,
    changes: &[(usize, Amounts)],
    update: fn(&mut Quotas<'_>, &str, &Amounts),
) -> bool {
    let tree = Tree::new(pool.accounts.clone());
    let mut quotas = Quotas::new(&tree, &pool.total);
    let mut forest = Forest::of(&pool.accounts);
    changes.iter().all(|(account, takes)| {
        let name = pool.accounts[account % pool.accounts.len()].name.clone();
        update(&mut quotas, &name, takes);
        forest.hold(&name, takes, 1);
        let tree = Tree::new(forest.accounts.clone());
        let anew = Quotas::new(&tree, &pool.total);
        let same = |name: &str, counter| {
            let held = quotas.held(tree.account(name).unwrap(), counter);
            product(&quotas, name, counter) == product(&anew, name, counter)
                // nothing is kept of a counter that nobody limits or holds
                && (quotas.number(counter).is_none() || held == forest.held(name, counter))
                && forbids_what_is_not_available(&quotas, name, counter)
        };
        forest.names().iter().all(|name| COUNTERS.iter().all(|counter| same(name, counter)))
    })
}

fn changes() -> impl Strategy<Value = Vec<(usize, Amounts)>> {
    prop::collection::vec((0..7_usize, crate::worlds::amounts(4)), 0..6)
}

fn take(quotas: &mut Quotas<'_>, name: &str, takes: &Amounts) {
    quotas.take(quotas.tree().leaf(name).unwrap(), takes);
}

proptest! {
    #[test]
    fn quotas_are_those_of_the_definition(pool in pool()) {
        let (forest, tree) = (Forest::of(&pool.accounts), Tree::new(pool.accounts.clone()));
        let quotas = Quotas::new(&tree, &pool.total);
        for counter in COUNTERS {
            for name in forest.names() {
                prop_assert_eq!(product(&quotas, name, counter), plain(&rooms(&forest, &pool, counter, None), name), "{} of {}", counter, name);
            }
        }
    }

    #[test]
    fn the_laws_hold(pool in pool()) {
        for (name, law, _) in LAWS {
            for counter in COUNTERS {
                prop_assert!(law(&pool, counter, None), "{} for {}", name, counter);
            }
        }
    }

    #[test]
    fn an_update_along_one_path_is_what_a_recomputation_gives(pool in pool(), changes in changes()) {
        prop_assert!(updates_are_recomputations(&pool, &changes, take));
    }

    #[test]
    fn what_is_given_back_was_never_taken(pool in pool(), changes in changes()) {
        let tree = Tree::new(pool.accounts.clone());
        let (before, mut quotas) = (Quotas::new(&tree, &pool.total), Quotas::new(&tree, &pool.total));
        let places: Vec<_> = changes.iter().map(|(account, takes)| {
            (tree.leaf(&pool.accounts[account % pool.accounts.len()].name).unwrap(), takes)
        }).collect();
        places.iter().for_each(|(leaf, takes)| quotas.take(*leaf, takes));
        places.iter().for_each(|(leaf, takes)| quotas.give_back(*leaf, takes));
        for account in tree.accounts() {
            for counter in COUNTERS {
                prop_assert_eq!(product(&quotas, &account.name, counter), product(&before, &account.name, counter));
            }
        }
    }
}

#[test]
fn each_law_finds_its_mistake() {
    for (name, law, mistake) in LAWS {
        let holds = |pool: &Pool| COUNTERS.iter().all(|counter| law(pool, counter, Some(mistake)));
        assert!(counterexample(&pool(), 3_000, holds).is_some(), "{name} does not find {mistake:?}");
    }
    // An update that takes at the account above misses what the account itself holds.
    let wrong: fn(&mut Quotas<'_>, &str, &Amounts) = |quotas, name, takes| {
        let tree = quotas.tree();
        let parent =
            tree.accounts().iter().find(|account| account.name == name).and_then(|account| account.parent.clone());
        take(quotas, parent.filter(|parent| tree.account(parent).is_some()).as_deref().unwrap_or(name), takes);
    };
    let worlds = (pool(), changes());
    assert!(
        counterexample(&worlds, 1_000, |(pool, changes)| updates_are_recomputations(pool, changes, wrong)).is_some()
    );
}

#[test]
fn grants_are_exact_where_products_have_more_than_128_bits() {
    let most = (1 << 40) * 1_000_000;
    let account = |number: usize| Account {
        quotas: [("charge".into(), Quota { min: Some(most), ..Quota::default() })].into(),
        ..Account::named(&format!("a{number:03}"))
    };
    let tree = Tree::new((0..300).map(account));
    let total = most * 299 + 7;
    let quotas = Quotas::new(&tree, &Amounts::from([("charge".into(), total)]));
    let grants: Vec<Amount> =
        tree.accounts().iter().map(|account| quotas.grant(tree.account(&account.name).unwrap(), "charge")).collect();
    assert_eq!(grants.iter().sum::<Amount>(), total);
    assert!(grants.iter().all(|grant| (total / 300..=total / 300 + 1).contains(grant)));
    assert!(grants.is_sorted_by(|one, other| one >= other), "the rest goes to the first");
}
