//! What is looked up of accounts, updated as they change: none of it is computed from all accounts.

use std::collections::BTreeMap;

use crds::{Account, Submitter};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

/// The place of an account among those with the same submitter.
type Age = (Option<Time>, Option<String>, String);

/// Accounts by their submitters and parents, and how many were created for the jobs of each namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccountIndex {
    of_submitter: BTreeMap<Submitter, BTreeMap<Age, bool>>,
    /// How many accounts of users the controller has created, by namespace of the jobs.
    users_of: BTreeMap<String, usize>,
    below: BTreeMap<String, usize>,
}

impl AccountIndex {
    /// Adds an account.
    pub(crate) fn add(&mut self, account: &Account) {
        if let Some(submitter) = &account.spec.submitter {
            let all = self.of_submitter.entry(submitter.clone()).or_default();
            all.insert(age(account), account.made_for().is_some());
        }
        for (counts, key) in self.counted(account) {
            *counts.entry(key).or_default() += 1;
        }
    }

    /// Removes an account; it is as it was when it was added.
    pub(crate) fn remove(&mut self, account: &Account) {
        if let Some(submitter) = &account.spec.submitter
            && let Some(all) = self.of_submitter.get_mut(submitter)
        {
            all.remove(&age(account));
            if all.is_empty() {
                self.of_submitter.remove(submitter);
            }
        }
        for (counts, key) in self.counted(account) {
            let left = counts.get(&key).map_or(0, |count| count.saturating_sub(1));
            match left {
                0 => drop(counts.remove(&key)),
                left => drop(counts.insert(key, left)),
            }
        }
    }

    /// The account that is charged for a submitter: the oldest one. And whether the controller has created it.
    pub(crate) fn of(&self, submitter: &Submitter) -> Option<(&str, bool)> {
        let ((_, _, name), is_made) = self.of_submitter.get(submitter)?.first_key_value()?;
        Some((name, *is_made))
    }

    /// How many accounts of users the controller has created for jobs of a namespace.
    pub(crate) fn users_of(&self, namespace: &str) -> usize {
        self.users_of.get(namespace).copied().unwrap_or(0)
    }

    /// Whether some account has this one as its parent.
    pub(crate) fn has_below(&self, name: &str) -> bool {
        self.below.contains_key(name)
    }

    /// The counts that an account is part of, each with its key there.
    fn counted(&mut self, account: &Account) -> impl Iterator<Item = (&mut BTreeMap<String, usize>, String)> {
        let is_user = account.spec.submitter.as_ref().is_some_and(|submitter| submitter.owner.is_some());
        let namespace = account.made_for().filter(|_| is_user).map(str::to_owned);
        let parent = account.spec.parent.clone();
        let users = namespace.map(|key| (&mut self.users_of, key));
        users.into_iter().chain(parent.map(|key| (&mut self.below, key)))
    }
}

fn age(account: &Account) -> Age {
    (account.metadata.creation_timestamp.clone(), account.metadata.uid.clone(), account.name_any())
}
