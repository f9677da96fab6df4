//! The cache of accounts, by name and with what is looked up of them, and of the PoolPolicy.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use crds::{Account, POOL_POLICY, PoolPolicy};
use kube::ResourceExt;

use crate::account_index::AccountIndex;
use crate::known_policy::KnownPolicy;
use crate::store::{Tombstones, is_newer};

/// The cached accounts and the PoolPolicy. Reads as a map of the accounts by name.
#[derive(Clone, Debug, Default)]
pub struct KnownAccounts {
    held: BTreeMap<String, Arc<Account>>,
    index: AccountIndex,
    policy: Option<KnownPolicy>,
    deleted: Tombstones,
    /// The names of those that have changed since [`KnownAccounts::take_changes`], be it their status only.
    changed: BTreeSet<String>,
    /// Whether what accounts are and may have has changed since then.
    policy_changed: bool,
}

impl Deref for KnownAccounts {
    type Target = BTreeMap<String, Arc<Account>>;

    fn deref(&self) -> &Self::Target {
        &self.held
    }
}

impl KnownAccounts {
    /// The PoolPolicy, and what counts of it.
    pub fn policy(&self) -> Option<&KnownPolicy> {
        self.policy.as_ref()
    }

    /// The accounts by their submitters and parents.
    pub(crate) fn index(&self) -> &AccountIndex {
        &self.index
    }

    /// What has changed since this was called last: what accounts are and may have, and the names of accounts.
    pub(crate) fn take_changes(&mut self) -> (bool, BTreeSet<String>) {
        (std::mem::take(&mut self.policy_changed), std::mem::take(&mut self.changed))
    }

    /// Caches an Account as it was seen. Returns whether that changed anything.
    pub fn apply(&mut self, mut account: Account) -> bool {
        account.metadata.managed_fields = None;
        let known = self.held.get(&account.name_any());
        if known.is_some_and(|known| is_newer(known.as_ref(), &account) || **known == account)
            || self.deleted.contains(&account)
        {
            return false;
        }
        self.policy_changed |= known.is_none_or(|known| {
            known.spec != account.spec || known.uid() != account.uid() || known.made_for() != account.made_for()
        });
        if let Some(before) = self.held.remove(&account.name_any()) {
            self.index.remove(&before);
        }
        self.index.add(&account);
        self.changed.insert(account.name_any());
        self.held.insert(account.name_any(), Arc::new(account));
        true
    }

    /// Removes an Account.
    pub fn remove(&mut self, name: &str) {
        if let Some(account) = self.held.remove(name) {
            self.index.remove(&account);
            self.policy_changed = true;
        }
        self.changed.insert(name.to_owned());
    }

    /// Removes an Account that was deleted; an older state of it that arrives late does not bring it back.
    pub fn delete(&mut self, account: &Account) {
        self.deleted.add(account);
        let name = account.name_any();
        if self.held.get(&name).is_some_and(|known| known.uid() == account.uid()) {
            self.remove(&name);
        }
    }

    /// Removes all Accounts but those whose names `keep` accepts.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let gone: Vec<String> = self.held.keys().filter(|name| !keep(name)).cloned().collect();
        gone.iter().for_each(|name| self.remove(name));
    }

    /// Caches the PoolPolicy as it was seen. Returns whether that changed anything.
    pub fn apply_policy(&mut self, mut policy: PoolPolicy) -> bool {
        policy.metadata.managed_fields = None;
        let known = self.policy.as_ref();
        if policy.name_any() != POOL_POLICY
            || known.is_some_and(|known| is_newer(known.object.as_ref(), &policy) || *known.object == policy)
        {
            return false;
        }
        self.policy_changed |= known.is_none_or(|known| known.object.spec != policy.spec);
        self.policy = Some(KnownPolicy::of(policy, known));
        true
    }

    /// Removes the PoolPolicy.
    pub fn remove_policy(&mut self) {
        self.policy_changed |= self.policy.take().is_some();
    }
}
