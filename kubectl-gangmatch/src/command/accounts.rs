//! The accounts of a pool: what each has used, holds and waits for, for the verbs that show or use them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{anyhow, bail};
use jiff::Timestamp;
use matchmaker::{Accounts, Snapshot};
use policy::{Amount, Quotas};
use pool::{AccountsBuilder, CycleInputs, Objects, account_problems, account_usage, demands, pool_charge, snapshot};

use crate::cluster::{Failure, Kind, Pool, PoolSource};
use crate::output::{self, OutputOptions};
use crate::subject::subjects;

/// Which accounts to show, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct AccountsArguments {
    /// The accounts: NAME or account/NAME. Default: all.
    #[arg(value_name = "ACCOUNT")]
    accounts: Vec<String>,

    #[command(flatten)]
    pub(crate) output: OutputOptions,

    #[command(flatten)]
    pub(crate) source: PoolSource,
}

/// Adds the accounts to a snapshot, with what they have used at a time; nothing without a PoolPolicy.
pub(crate) fn add(snapshot: &mut Snapshot, objects: &Objects, now: Timestamp) {
    let usage = account_usage(objects, now.as_second());
    let used = usage.accounts.into_iter().map(|(name, own)| (name, own.usage.at(usage.time))).collect();
    let nominated = CycleInputs::of(objects).assumed;
    snapshot.accounts = AccountsBuilder::default().build(objects, snapshot, &nominated, &used).map(Arc::new);
}

/// A pool with accounts.
pub(crate) struct Accounted {
    pub(crate) pool: Pool,
    snapshot: Snapshot,
    pub(crate) charged: Arc<Accounts>,
    /// The accounts that are shown; all, if it is empty.
    named: BTreeSet<String>,
}

/// What the verbs about accounts need.
const ROLE: &str = "ask the administrator of the pool for the ClusterRole gangmatch-policy-viewer";

/// Names the role for accounts, too: a user who may not list jobs usually lacks that right as well.
fn with_the_role(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(Failure::Forbidden(_)) => {
            anyhow!("{error}; you also need the right to list accounts and poolpolicies: {ROLE}")
        }
        _ => error,
    }
}

/// Reads a pool with its accounts.
///
/// # Errors
/// It cannot be read, it has no PoolPolicy, the user may not list accounts, or there is no account of a given name.
pub(crate) fn read(arguments: &AccountsArguments) -> anyhow::Result<Accounted> {
    let AccountsArguments { source, accounts, .. } = arguments;
    let named: BTreeSet<String> =
        subjects(accounts, &[Kind::Account])?.into_iter().map(|subject| subject.name).collect();
    let kinds =
        [Kind::Account, Kind::PoolPolicy, Kind::Job, Kind::Machine, Kind::License, Kind::Match, Kind::Namespace];
    let mut pool = source.read(None, &kinds).map_err(with_the_role)?;
    let (objects, partly) = (&pool.objects, &pool.partly);
    if partly.contains(&Kind::Account) || partly.contains(&Kind::PoolPolicy) {
        bail!("you may not list accounts and poolpolicies; {ROLE}");
    }
    let mut snapshot = snapshot(objects, &CycleInputs::of(objects));
    add(&mut snapshot, objects, source.time());
    let Some(charged) = snapshot.accounts.clone() else {
        let is_wrong = pool.problems.iter().any(|problem| problem.contains("PoolPolicy "));
        output::problems(&pool.problems)?;
        if is_wrong {
            bail!("the PoolPolicy is not accepted, so nothing is charged; correct it first");
        }
        bail!(
            "there is no PoolPolicy, so nothing is charged; an administrator can create it: \
             echo '{{apiVersion: gangmatch.dev/v1alpha1, kind: PoolPolicy, metadata: {{name: {}}}, spec: {{}}}}' | kubectl apply -f -",
            crds::POOL_POLICY
        );
    };
    if let Some(missing) = named.iter().find(|name| charged.tree.account(name).is_none()) {
        bail!("there is no account {missing}; without a name, all accounts are shown");
    }
    // Of files, the reader has told it already.
    if let (Some(known), true) = (pool.objects.accounts.policy(), pool.sources.is_empty()) {
        let wrong = account_problems(&pool.objects, &known.terms);
        pool.warnings.extend(wrong.into_iter().map(|(name, why)| format!("Account {name}: {}", why.message)));
    }
    Ok(Accounted { pool, snapshot, charged, named })
}

impl Accounted {
    /// The accounts that are shown, each before those below it, with its level in the tree.
    pub(crate) fn in_order(&self) -> Vec<(usize, &policy::Account)> {
        let tree = &self.charged.tree;
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
        order.retain(|(_, account)| self.named.is_empty() || self.named.contains(&account.name));
        order
    }

    /// The quotas, and what is held.
    pub(crate) fn quotas(&self) -> Quotas<'_> {
        Quotas::new(&self.charged.tree, &self.charged.total)
    }

    /// How many jobs wait, by account, without those of accounts below it.
    pub(crate) fn waiting(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for (_, account) in self.charged.account_of.iter() {
            *counts.entry(&**account).or_default() += 1;
        }
        counts
    }

    /// What each account holds and waits for itself, in micros.
    pub(crate) fn demands(&self) -> BTreeMap<String, Amount> {
        demands(&self.pool.objects, &self.snapshot, &self.charged)
    }

    /// What all open offers together cost, in micros.
    pub(crate) fn pool_charge(&self, now: Timestamp) -> Amount {
        pool_charge(&self.snapshot, &self.charged, now.as_second())
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
