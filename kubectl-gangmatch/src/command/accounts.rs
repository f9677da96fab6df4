//! The accounts of a pool: what each has used, holds and waits for, for the verbs that show or use them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::bail;
use crds::{Match, charge_micros};
use jiff::Timestamp;
use matchmaker::{Config, Policy, PoolAd, Prices, Snapshot};
use policy::{Amount, CHARGE, GANGS, Quotas};
use pool::{CycleInputs, Objects, PolicyBuilder, account_usage, snapshot};

use crate::cluster::{Kind, Pool, PoolSource};
use crate::output::OutputOptions;

/// Which accounts to show, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct AccountsArguments {
    #[command(flatten)]
    pub(crate) output: OutputOptions,

    #[command(flatten)]
    pub(crate) source: PoolSource,
}

/// How many micros a charge has.
pub(crate) const MICROS: Amount = 1_000_000;

/// Adds the accounts to a snapshot, with what they have used at a time; nothing without a PoolPolicy.
pub(crate) fn add(snapshot: &mut Snapshot, objects: &Objects, now: Timestamp) {
    let usage = account_usage(objects, now.as_second());
    let used = usage.accounts.into_iter().map(|(name, own)| (name, own.usage.at(usage.time))).collect();
    let nominated = CycleInputs::of(objects).assumed;
    snapshot.policy = PolicyBuilder::default().build(objects, snapshot, &nominated, &used).map(Arc::new);
}

/// A pool with accounts.
pub(crate) struct Accounted {
    pub(crate) pool: Pool,
    snapshot: Snapshot,
    pub(crate) policy: Arc<Policy>,
}

/// Reads a pool with its accounts.
///
/// # Errors
/// It cannot be read, it has no PoolPolicy, or the user may not list accounts.
pub(crate) fn read(source: &PoolSource) -> anyhow::Result<Accounted> {
    let kinds =
        [Kind::Account, Kind::PoolPolicy, Kind::Job, Kind::Machine, Kind::License, Kind::Match, Kind::Namespace];
    let pool = source.read(None, &kinds)?;
    let (objects, partly) = (&pool.objects, &pool.partly);
    if partly.contains(&Kind::Account) || partly.contains(&Kind::PoolPolicy) {
        bail!(
            "you may not list accounts and poolpolicies; ask the administrator of the pool for the ClusterRole gangmatch-policy-viewer"
        );
    }
    let mut snapshot = snapshot(objects, &CycleInputs::of(objects));
    add(&mut snapshot, objects, source.time());
    let Some(policy) = snapshot.policy.clone() else {
        bail!("there is no PoolPolicy, so nothing is charged; create one that is named {}", crds::POOL_POLICY);
    };
    Ok(Accounted { pool, snapshot, policy })
}

impl Accounted {
    /// The accounts, each before those below it, with its level in the tree.
    pub(crate) fn in_order(&self) -> Vec<(usize, &policy::Account)> {
        let tree = &self.policy.tree;
        // Those below the pool are below the empty name, which no account has.
        let mut below: BTreeMap<&str, Vec<&policy::Account>> = BTreeMap::new();
        for account in tree.accounts() {
            below.entry(tree.parent_of(&account.name).unwrap_or("")).or_default().push(account);
        }
        let mut of = |level: usize, parent: &str| {
            let children = below.remove(parent).unwrap_or_default();
            children.into_iter().rev().map(|account| (level, account)).collect::<Vec<_>>()
        };
        let mut next = of(0, "");
        let mut order = Vec::new();
        while let Some((level, account)) = next.pop() {
            order.push((level, account));
            next.extend(of(level + 1, &account.name));
        }
        order
    }

    /// The quotas, and what is held.
    pub(crate) fn quotas(&self) -> Quotas<'_> {
        Quotas::new(&self.policy.tree, &self.policy.total)
    }

    /// How many jobs wait, by account, without those of accounts below it.
    pub(crate) fn waiting(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for account in self.policy.account_of.values() {
            *counts.entry(&**account).or_default() += 1;
        }
        counts
    }

    /// What each account holds and waits for itself, in micros. A job is taken to wait for what its last gang cost, or for what the gangs of
    /// its account cost on average, or for one charge.
    pub(crate) fn demands(&self) -> BTreeMap<String, Amount> {
        let held = |account: &policy::Account, counter: &str| account.held.get(counter).copied().unwrap_or(0);
        let accounts = self.policy.tree.accounts();
        let mut demands: BTreeMap<String, Amount> =
            accounts.iter().map(|account| (account.name.clone(), held(account, CHARGE))).collect();
        let mean = |account: &policy::Account| match held(account, GANGS) {
            0 => MICROS,
            gangs => held(account, CHARGE) / gangs,
        };
        let means: BTreeMap<&str, Amount> =
            accounts.iter().map(|account| (account.name.as_str(), mean(account))).collect();
        for (root, account) in &self.policy.account_of {
            let last = self.snapshot.ad(*root).and_then(|ad| self.last_charge(ad));
            let waits_for = last.or_else(|| means.get(&**account).copied()).unwrap_or(MICROS);
            *demands.entry(account.to_string()).or_default() += waits_for;
        }
        demands
    }

    /// What the last gang of a job cost.
    fn last_charge(&self, job: &PoolAd) -> Option<Amount> {
        let matches = self.pool.objects.matches.of_root(&job.uid).map(|(_, found)| found);
        let last = matches.max_by_key(|found| found.spec.attempt)?;
        let charges = |found: &Match| -> Option<Vec<Amount>> {
            found.spec.members.iter().skip(1).map(|member| charge_micros(member.charge.as_deref()?)).collect()
        };
        charges(last).map(|charges| charges.into_iter().sum())
    }

    /// What all open offers together cost, in micros.
    pub(crate) fn pool_charge(&self, now: Timestamp) -> Amount {
        let mut prices = Prices::of(&Config::product(), now.as_second());
        let open = self.snapshot.ads().filter(|(_, ad)| ad.offer().is_some_and(|offer| offer.open));
        open.map(|(id, _)| self.policy.charge_of_all(&self.snapshot, id, &mut prices)).sum()
    }
}

/// Micros as charges with so many places, rounded half up.
pub(crate) fn charges(micros: Amount, places: u32) -> String {
    let unit = 10_i128.pow(6_u32.saturating_sub(places));
    let rounded = (micros + unit / 2) / unit;
    let scale = 10_i128.pow(places);
    format!("{}.{:0width$}", rounded / scale, rounded % scale, width = usize::try_from(places).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_rounded_to_their_places() {
        assert_eq!(charges(12_375_283, 2), "12.38");
        assert_eq!(charges(999_999, 2), "1.00");
        assert_eq!(charges(12_340, 4), "0.0123");
    }
}
