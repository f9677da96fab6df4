//! What accounts ask for and deserve of a pool, for people who watch it. Nothing is decided by it.

use std::collections::BTreeMap;

use crds::{Match, charge_micros};
use matchmaker::{Accounts, Config, PoolAd, Prices, Snapshot, charge_by_weights};
use policy::{Amount, CHARGE, GANGS};

use crate::objects::Objects;

/// How many micros a charge has.
const MICROS: Amount = 1_000_000;

/// What each account holds and waits for itself, in micros. A job is taken to wait for what its last gang cost, or for what the gangs of
/// its account cost on average, or for one charge.
pub fn demands(objects: &Objects, snapshot: &Snapshot, accounts: &Accounts) -> BTreeMap<String, Amount> {
    let held = |account: &policy::Account, counter: &str| account.held.get(counter).copied().unwrap_or(0);
    let all = accounts.tree.accounts();
    let mut demands: BTreeMap<String, Amount> =
        all.iter().map(|account| (account.name.clone(), held(account, CHARGE))).collect();
    let mean = |account: &policy::Account| match held(account, GANGS) {
        0 => MICROS,
        gangs => held(account, CHARGE) / gangs,
    };
    let means: BTreeMap<&str, Amount> = all.iter().map(|account| (account.name.as_str(), mean(account))).collect();
    for (root, account) in accounts.account_of.iter() {
        let last = snapshot.ad(root).and_then(|ad| last_charge(objects, ad));
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

/// How much fuel the prices of the offers of one namespace may take here: the others count as the weights of the pool say.
const NAMESPACE_FUEL: u64 = 200_000;

/// What all open offers together cost, in micros.
pub fn pool_charge(snapshot: &Snapshot, accounts: &Accounts, now: i64) -> Amount {
    pool_charge_and_fuel(snapshot, accounts, now).0
}

/// The same, and the fuel that it took.
fn pool_charge_and_fuel(snapshot: &Snapshot, accounts: &Accounts, now: i64) -> (Amount, u64) {
    let mut prices = Prices::of(&Config::product(), now);
    let mut used: BTreeMap<&str, u64> = BTreeMap::new();
    let mut sum = 0;
    for (id, ad) in snapshot.ads() {
        let Some(offer) = ad.offer().filter(|offer| offer.open) else { continue };
        let used = used.entry(&ad.key.namespace).or_default();
        if *used > NAMESPACE_FUEL {
            sum += charge_by_weights(&accounts.weights, offer.capacity.iter());
        } else {
            sum += accounts.charge_of_all(snapshot, id, &mut prices);
            *used += prices.take_used().into_iter().map(|(_, fuel)| fuel).sum::<u64>();
        }
    }
    (sum, used.values().sum())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use classad::{Dialect, parse_ad, parse_expr};
    use matchmaker::{AdKey, Consent, CountedOffer, Offer, Res, Role, RootAccounts, Seats};
    use policy::{Amounts, Tree};

    use super::*;

    fn offer(namespace: &str, name: &str) -> PoolAd {
        let key = AdKey { kind: "Machine".into(), namespace: namespace.into(), name: name.into() };
        let slots: Res = [("slots".to_owned(), 1)].into_iter().collect();
        let offer = Offer { consent: Consent::same(namespace), ..Offer::of(slots) };
        let ad = PoolAd::asking(key, name, &parse_ad("[]", Dialect::Gangmatch).unwrap());
        PoolAd { role: Role::Offers(Box::new(offer)), ..ad }
    }

    #[test]
    fn q2_what_watching_shares_costs_is_bounded_for_each_namespace() {
        let mut ads: Vec<PoolAd> = (0..500).map(|number| offer("eve", &format!("m{number:03}"))).collect();
        ads.push(offer("zoe", "m"));
        let snapshot = Snapshot::new(ads);
        let list = vec!["1 + 1"; 4000].join(",");
        let expr = |text: &str| parse_expr(text, Dialect::Gangmatch).unwrap();
        let priced = |ad: &PoolAd| match ad.key.namespace.as_str() {
            "eve" => expr(&format!("member(-1, {{{list}}}) ? 1 : 2")),
            _ => expr("7"),
        };
        let counted = |ad: &PoolAd| CountedOffer { charge_weight: Some(priced(ad)), counters: Vec::new() };
        let accounts = Accounts {
            tree: Tree::new([]),
            total: Amounts::new(),
            counters: Vec::new(),
            account_of: RootAccounts::default(),
            offers: snapshot.ads().map(|(id, ad)| (id, Arc::new(counted(ad)))).collect(),
            weights: BTreeMap::new(),
            seats: Seats::default(),
            counting: BTreeMap::new(),
        };
        let (charge, fuel) = pool_charge_and_fuel(&snapshot, &accounts, 0);
        assert!(fuel > NAMESPACE_FUEL && fuel < 2 * NAMESPACE_FUEL, "{fuel}");
        // Each costs 2 charges or, as if it stated nothing, 1; the last one costs what it states.
        assert!(charge > 507 * MICROS && charge < 600 * MICROS, "{charge}");
    }
}
