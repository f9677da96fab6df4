//! Accounts, as their objects state them.

use std::collections::BTreeMap;

use crate::amounts::{Amount, Amounts, Counter};

/// A party that is charged for gangs: one node of the tree of accounts. Usage and held amounts are its own, without those of accounts below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Unique.
    pub name: String,
    /// The account above it; absent: the pool.
    pub parent: Option<String>,
    /// 1 to 1,000,000; an account of weight 1000 deserves twice as much as one of 500.
    pub weight: i64,
    /// What it has used, decayed to now, in micros.
    pub usage: Amount,
    /// What its gangs hold.
    pub held: Amounts,
    /// By counter.
    pub quotas: BTreeMap<Counter, Quota>,
}

impl Account {
    /// The weight of an account that states none, and of the gangs of an account beside the accounts below it.
    pub const WEIGHT: i64 = 1000;

    /// An account below the pool that states nothing.
    #[must_use]
    pub fn named(name: &str) -> Account {
        Account {
            name: name.to_owned(),
            parent: None,
            weight: Account::WEIGHT,
            usage: 0,
            held: Amounts::new(),
            quotas: BTreeMap::new(),
        }
    }
}

/// How much of one counter an account, with all below it, can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// What is guaranteed (Kueue: nominal quota; HTCondor: group quota, which is also the `max` unless the group accepts surplus); absent: nothing.
    pub min: Option<Amount>,
    /// What it never exceeds (Kueue: nominal quota and borrowing limit); absent: no limit.
    pub max: Option<Amount>,
    /// How much of what is guaranteed others may use meanwhile (Kueue: lending limit); absent: all.
    pub lend: Option<Amount>,
}
