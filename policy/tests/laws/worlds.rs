//! Random worlds.

use std::collections::BTreeMap;

use policy::{Account, Amount, Amounts, Counter, Quota, Waiting, taken_by_gang};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

pub(crate) const NAMES: [&str; 7] = ["a", "B", "b", "g", "x", "y", "zz"];
pub(crate) const COUNTERS: [&str; 4] = ["charge", "cpus", "gangs", "seats"];

/// Accounts, in any order, and what the pool has.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) accounts: Vec<Account>,
    pub(crate) total: Amounts,
}

/// A pool with jobs that wait, and what the gang of each takes.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub(crate) pool: Pool,
    pub(crate) jobs: Vec<Waiting>,
    pub(crate) takes: Vec<Amounts>,
}

/// Small whole numbers; of charge they are whole charges, and some odd micros.
pub(crate) fn amount(counter: &'static str, most: Amount) -> BoxedStrategy<Amount> {
    if counter == "charge" {
        (0..=most, prop_oneof![3 => Just(0), 1 => 0..1_000_000_i128])
            .prop_map(|(whole, odd)| whole * 1_000_000 + odd)
            .boxed()
    } else {
        (0..=most).boxed()
    }
}

/// Some amounts of some counters.
pub(crate) fn amounts(most: Amount) -> impl Strategy<Value = Amounts> {
    let one = |counter: &'static str| (Just(counter), prop::option::of(amount(counter, most)));
    COUNTERS.map(one).prop_map(|all| {
        all.into_iter().filter_map(|(counter, amount)| Some((Counter::from(counter), amount?))).collect()
    })
}

fn quota(counter: &'static str) -> impl Strategy<Value = (Counter, Quota)> {
    let limit = move |most| prop::option::of(amount(counter, most));
    (limit(6), limit(9), limit(5)).prop_map(move |(min, max, lend)| {
        // As the API demands: no minimum above the maximum.
        let max = max.map(|max: Amount| max.max(min.unwrap_or(0)));
        (counter.into(), Quota { min, max, lend })
    })
}

fn account(name: &'static str) -> impl Strategy<Value = Account> {
    let parent = prop::option::of(prop_oneof![9 => select(NAMES.to_vec()), 1 => Just("gone")]);
    let weight = select(vec![1, 10, 500, 1000, 1000, 1000, 3000, 1_000_000]);
    let quotas = subsequence(COUNTERS.to_vec(), 0..3).prop_flat_map(|of| of.into_iter().map(quota).collect::<Vec<_>>());
    let usage = amount("charge", 9);
    (parent, weight, usage, amounts(3), quotas).prop_map(move |(parent, weight, usage, held, quotas)| Account {
        parent: parent.map(str::to_owned),
        weight,
        usage,
        held,
        quotas: quotas.into_iter().collect::<BTreeMap<_, _>>(),
        ..Account::named(name)
    })
}

pub(crate) fn pool() -> impl Strategy<Value = Pool> {
    let names = subsequence(NAMES.to_vec(), 1..=7).prop_shuffle();
    let accounts = names.prop_flat_map(|names| names.into_iter().map(account).collect::<Vec<_>>());
    (accounts, amounts(20)).prop_map(|(accounts, total)| Pool { accounts, total })
}

pub(crate) fn cycle() -> impl Strategy<Value = Cycle> {
    let job = (any::<prop::sample::Index>(), -1..2_i64, 0..3_i64, amount("charge", 3), amounts(2));
    (pool(), prop::collection::vec(job, 0..12)).prop_map(|(pool, jobs)| {
        let (jobs, takes) = jobs
            .into_iter()
            .enumerate()
            .map(|(number, (account, priority, since, charge, takes))| {
                let account = account.get(&pool.accounts).name.clone();
                (
                    Waiting { key: format!("j{}", (number * 7) % 12), account, priority, since },
                    taken_by_gang(charge, takes),
                )
            })
            .unzip();
        Cycle { pool, jobs, takes }
    })
}

/// A world for which a law fails, out of so many; the same ones each time.
pub(crate) fn counterexample<S: Strategy>(
    worlds: &S,
    count: usize,
    holds: impl Fn(&S::Value) -> bool,
) -> Option<S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| worlds.new_tree(&mut runner).unwrap().current()).find(|world| !holds(world))
}
