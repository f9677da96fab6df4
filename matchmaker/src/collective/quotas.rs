//! The quotas of accounts in a window: what is left below them, as resources that gangs take, and whether gangs keep them.

use std::collections::BTreeMap;
use std::sync::Arc;

use policy::{Counter, Node, Quotas};

use crate::charges::{Accounts, MemberCharges, Prices};
use crate::gang::Gang;
use crate::model::{AdId, Snapshot};

/// What the accounts of a window may still take.
pub(crate) struct Caps<'s> {
    snapshot: &'s Snapshot,
    accounts: &'s Accounts,
    quotas: Quotas<'s>,
    /// The number of the resource of each quota.
    numbers: BTreeMap<(Node, Counter), usize>,
}

impl<'s> Caps<'s> {
    /// Those of a pool with accounts.
    pub(crate) fn of(snapshot: &'s Snapshot) -> Option<Caps<'s>> {
        let accounts = snapshot.accounts.as_deref()?;
        let quotas = Quotas::new(&accounts.tree, &accounts.total);
        Some(Caps { snapshot, accounts, quotas, numbers: BTreeMap::new() })
    }

    /// What a gang takes of what its account may take at these prices, by the numbers of resources. `free` has what is left of all resources. A seat that
    /// several gangs share counts in each of them: no fewer gangs than these fit.
    pub(crate) fn takes(
        &mut self,
        root: AdId,
        gang: &Gang,
        free: &mut Vec<u64>,
        prices: &mut Prices,
    ) -> Vec<(usize, u64)> {
        let Caps { snapshot, accounts, quotas, numbers } = self;
        let Some(account) = accounts.account_of.get(root) else { return Vec::new() };
        let Some(leaf) = accounts.tree.leaf(account) else { return Vec::new() };
        let mut seats = accounts.seats.of_gang((snapshot, gang), account);
        let charge = accounts.charge_of((snapshot, gang), account, &mut seats, prices);
        let mut all = Vec::new();
        for (counter, amount) in charge.takes.iter().filter(|(_, amount)| **amount > 0) {
            for (node, left) in quotas.caps(leaf, counter) {
                let number = *numbers.entry((node, Arc::clone(counter))).or_insert_with(|| {
                    free.push(u64::try_from(left).unwrap_or(u64::MAX));
                    free.len() - 1
                });
                all.push((number, u64::try_from(*amount).unwrap_or(u64::MAX)));
            }
        }
        all
    }
}

/// Whether gangs that are claimed in this order keep all quotas, and leave what is set aside for others. Without accounts they do.
pub(crate) fn are_kept(snapshot: &Snapshot, gangs: &[&Gang], prices: &mut Prices) -> bool {
    let Some(accounts) = snapshot.accounts.as_deref() else { return true };
    let (mut quotas, mut seats) = (Quotas::new(&accounts.tree, &accounts.total), accounts.seats.clone());
    gangs.iter().all(|gang| {
        let account = gang.root().and_then(|root| accounts.account_of.get(root));
        let Some((account, leaf)) = account.and_then(|name| Some((name, accounts.tree.leaf(name)?))) else {
            return false;
        };
        let takes = accounts.charge_of((snapshot, gang), account, &mut seats, prices).takes;
        let is_allowed = quotas.allows(leaf, &takes);
        quotas.take(leaf, &takes);
        is_allowed
    })
}

/// The accounts when these gangs are held, and what the members of each cost, with its root.
pub(crate) fn charged(
    snapshot: &Snapshot,
    gangs: &[Gang],
    prices: &mut Prices,
) -> Option<(Accounts, Vec<(AdId, MemberCharges)>)> {
    let accounts = snapshot.accounts.as_deref()?;
    // What counting has cost is among the costs of what went before.
    let mut after = Accounts { counting: BTreeMap::new(), ..accounts.clone() };
    let mut charges = Vec::new();
    let mut all = accounts.tree.accounts().to_vec();
    for gang in gangs {
        let Some(root) = gang.root() else { continue };
        let Some(account) = accounts.account_of.get(root) else { continue };
        let charge = accounts.charge_of((snapshot, gang), account, &mut after.seats, prices);
        charges.push((root, charge.members));
        // They are in the order of their names.
        let place = all.binary_search_by(|own| own.name.as_str().cmp(account));
        let Some(own) = place.ok().and_then(|place| all.get_mut(place)) else { continue };
        for (counter, amount) in charge.takes {
            *own.held.entry(counter).or_default() += amount;
        }
    }
    after.tree = policy::Tree::new(all);
    Some((after, charges))
}
