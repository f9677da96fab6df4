//! The order of small pools, and how many comparisons a turn costs.

use std::cell::Cell;
use std::num::NonZeroU32;

use super::*;
use crate::account::Account;
use crate::amounts::{Amount, normalized, taken_by_gang};
use crate::tree::Tree;

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

pub(super) fn count_comparison() {
    COMPARISONS.with(|count| count.set(count.get() + 1));
}

/// How often places were compared to serve one job of each of so many accounts, per gang. The accounts are below `groups`, or below the pool.
fn comparisons_per_gang(accounts: usize, groups: usize) -> u64 {
    let group = |index: usize| format!("group{}", index % groups.max(1));
    let account = |index: usize| Account {
        parent: (groups > 0).then(|| group(index)),
        usage: i128::try_from((index * 7919) % 10_007).unwrap() * 1_000_000,
        ..Account::named(&format!("account{index}"))
    };
    let tree = Tree::new((0..accounts).map(account).chain((0..groups).map(|index| Account::named(&group(index)))));
    let job = |index: usize| Waiting { key: String::new(), account: format!("account{index}"), priority: 0, since: 0 };
    let jobs: Vec<Waiting> = (0..accounts).map(job).collect();
    let takes = taken_by_gang(1_000_000, Amounts::new());
    COMPARISONS.with(|count| count.set(0));
    let mut order = Order::new(Quotas::new(&tree, &Amounts::new()), &jobs);
    let mut served = 0;
    while let Some(turn) = order.next() {
        served += u64::from(order.found(turn, &takes));
    }
    assert_eq!(served, u64::try_from(accounts).unwrap());
    COMPARISONS.with(Cell::get) / served
}

#[test]
fn a_gang_costs_the_logarithm_of_the_number_of_accounts() {
    let (few, many) = (comparisons_per_gang(100, 0), comparisons_per_gang(10_000, 0));
    // 100 times as many accounts: twice the logarithm, and not 100 times.
    assert!(many <= 3 * few, "{few} comparisons a gang for 100 accounts, {many} for 10,000");
    assert!(many < 200, "{many} comparisons a gang");
    let grouped = comparisons_per_gang(10_000, 100);
    assert!(grouped < 400, "{grouped} comparisons a gang below groups");
    println!("comparisons per gang: {few} for 100 accounts, {many} for 10,000, {grouped} for 10,000 below 100 groups");
}

#[test]
fn the_normalized_usage_orders_as_the_quotient_does() {
    let weights = [1, 2, 3, 499_979, 999_999, 1_000_000];
    let normalized = |micros: Amount, weight: u32| normalized(micros, NonZeroU32::new(weight).unwrap());
    let amounts = [0, 1, 2, 333_333, 999_999, 1_000_000, (1 << 60) - 1, 1 << 60, 1 << 80];
    for (one, other) in weights.iter().flat_map(|one| weights.iter().map(move |other| (one, other))) {
        for (used, others) in amounts.iter().flat_map(|used| amounts.iter().map(move |others| (used, others))) {
            let exact = (used * Amount::from(*other)).cmp(&(others * Amount::from(*one)));
            assert_eq!(
                normalized(*used, *one).cmp(&normalized(*others, *other)),
                exact,
                "{used}/{one}, {others}/{other}"
            );
        }
    }
    // The closest two quotients there are.
    assert!(normalized(999_999, 1_000_000) > normalized(999_998, 999_999));
}

#[test]
fn a_gang_that_is_not_guaranteed_ends_the_pass_but_keeps_its_place() {
    let quota = crate::account::Quota { min: Some(2), ..Default::default() };
    let tree =
        Tree::new([Account { quotas: [("seats".into(), quota)].into(), ..Account::named("a") }, Account::named("b")]);
    let job = |account: &str, key: &str| Waiting { key: key.into(), account: account.into(), priority: 0, since: 0 };
    let jobs = [job("b", "b1"), job("a", "a1"), job("a", "a2")];
    let seats = |seats| taken_by_gang(0, Amounts::from([("seats".into(), seats)]));
    let mut order = Order::new(Quotas::new(&tree, &Amounts::new()), &jobs);
    let turn = order.next().unwrap();
    assert_eq!((turn.job, turn.pass), (1, Pass::Guarantee));
    assert!(!order.found(turn, &seats(3)));
    let turn = order.next().unwrap();
    assert_eq!((turn.job, turn.pass), (1, Pass::Fair));
    order.not_found(turn);
    let turn = order.next().unwrap();
    assert_eq!((turn.job, turn.pass), (2, Pass::Fair));
    assert!(order.found(turn, &seats(1)));
    assert_eq!(order.next().unwrap().job, 0);
}

#[test]
fn what_was_taken_counts_when_the_order_begins_again() {
    let tree = Tree::new(["a", "b"].map(Account::named));
    let [a, b] = ["a", "b"].map(|name| tree.leaf(name).unwrap());
    let jobs = [(a, 0), (b, 1)];
    let mut order = Order::of(Quotas::new(&tree, &Amounts::new()), jobs.into_iter());
    assert_eq!(order.next().map(|turn| turn.job), Some(0));
    order.take(a, &taken_by_gang(1_000_000, Amounts::new()));
    order.restart(jobs.into_iter());
    assert_eq!(order.next().map(|turn| turn.job), Some(1));
    // So does what the order itself has served.
    assert!(order.found(AccountTurn { job: 1, leaf: b, pass: Pass::Fair }, &taken_by_gang(2_000_000, Amounts::new())));
    order.restart(jobs.into_iter());
    assert_eq!(order.next().map(|turn| turn.job), Some(0));
    let held = [a, b].map(|leaf| order.quotas().held(leaf, CHARGE));
    assert_eq!((held, order.quotas().held(Node::POOL, CHARGE)), ([1_000_000, 2_000_000], 3_000_000));
}
