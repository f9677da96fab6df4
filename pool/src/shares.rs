//! What accounts ask for and deserve of a pool, for people who watch it. Nothing is decided by it.

use std::collections::BTreeMap;

use crds::{Match, charge_micros};
use matchmaker::{Config, Policy, PoolAd, Prices, Snapshot};
use policy::{Amount, CHARGE, GANGS};

use crate::objects::Objects;

/// How many micros a charge has.
const MICROS: Amount = 1_000_000;

/// What each account holds and waits for itself, in micros. A job is taken to wait for what its last gang cost, or for what the gangs of
/// its account cost on average, or for one charge.
pub fn demands(objects: &Objects, snapshot: &Snapshot, policy: &Policy) -> BTreeMap<String, Amount> {
    let held = |account: &policy::Account, counter: &str| account.held.get(counter).copied().unwrap_or(0);
    let accounts = policy.tree.accounts();
    let mut demands: BTreeMap<String, Amount> =
        accounts.iter().map(|account| (account.name.clone(), held(account, CHARGE))).collect();
    let mean = |account: &policy::Account| match held(account, GANGS) {
        0 => MICROS,
        gangs => held(account, CHARGE) / gangs,
    };
    let means: BTreeMap<&str, Amount> = accounts.iter().map(|account| (account.name.as_str(), mean(account))).collect();
    for (root, account) in &policy.account_of {
        let last = snapshot.ad(*root).and_then(|ad| last_charge(objects, ad));
        let waits_for = last.or_else(|| means.get(&**account).copied()).unwrap_or(MICROS);
        *demands.entry(account.to_string()).or_default() += waits_for;
    }
    demands
}

/// What the last gang of a job cost.
fn last_charge(objects: &Objects, job: &PoolAd) -> Option<Amount> {
    let matches = objects.matches.of_root(&job.uid).map(|(_, found)| found);
    let last = matches.max_by_key(|found| found.spec.attempt)?;
    let charges = |found: &Match| -> Option<Vec<Amount>> {
        found.spec.members.iter().skip(1).map(|member| charge_micros(member.charge.as_deref()?)).collect()
    };
    charges(last).map(|charges| charges.into_iter().sum())
}

/// What all open offers together cost, in micros.
pub fn pool_charge(snapshot: &Snapshot, policy: &Policy, now: i64) -> Amount {
    let mut prices = Prices::of(&Config::product(), now);
    let open = snapshot.ads().filter(|(_, ad)| ad.offer().is_some_and(|offer| offer.open));
    open.map(|(id, _)| policy.charge_of_all(snapshot, id, &mut prices)).sum()
}
