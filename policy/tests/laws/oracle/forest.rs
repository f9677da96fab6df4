//! The tree of accounts, by names.

use policy::{Account, Amount};

/// Accounts in order of their names. A node is a name; the pool is the empty path. The leaf of `a` is named `a/`.
#[derive(Clone, Debug)]
pub(crate) struct Forest {
    pub(crate) accounts: Vec<Account>,
}

impl Forest {
    pub(crate) fn of(accounts: &[Account]) -> Forest {
        let mut accounts = accounts.to_vec();
        accounts.sort_by(|one, other| one.name.cmp(&other.name));
        Forest { accounts }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Account> {
        self.accounts.iter().find(|account| account.name == name)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.accounts.iter().map(|account| account.name.as_str()).collect()
    }

    fn stated_parent(&self, name: &str) -> Option<&str> {
        let parent = self.get(name)?.parent.as_deref()?;
        self.get(parent).map(|parent| parent.name.as_str())
    }

    /// The account above; none for those below the pool, and none for those that come back to themselves.
    pub(crate) fn parent(&self, name: &str) -> Option<&str> {
        let mut ancestor = self.stated_parent(name);
        for _ in &self.accounts {
            if ancestor == Some(name) {
                return None;
            }
            ancestor = ancestor.and_then(|ancestor| self.stated_parent(ancestor));
        }
        self.stated_parent(name)
    }

    /// An account and those above it.
    pub(crate) fn path<'f>(&'f self, name: &'f str) -> Vec<&'f str> {
        std::iter::successors(Some(name), |name| self.parent(name)).collect()
    }

    /// Accounts directly below one, or below the pool.
    pub(crate) fn children(&self, parent: Option<&str>) -> Vec<&str> {
        self.names().into_iter().filter(|name| self.parent(name) == parent).collect()
    }

    /// The accounts at and below one.
    pub(crate) fn subtree(&self, root: &str) -> Vec<&Account> {
        self.accounts.iter().filter(|account| self.path(&account.name).contains(&root)).collect()
    }

    pub(crate) fn held(&self, root: &str, counter: &str) -> Amount {
        let below = self.subtree(root);
        below.iter().map(|account| account.held.get(counter).copied().unwrap_or(0)).sum()
    }

    pub(crate) fn held_by_all(&self, counter: &str) -> Amount {
        self.accounts.iter().map(|account| account.held.get(counter).copied().unwrap_or(0)).sum()
    }

    /// An account holds more, or less, itself.
    pub(crate) fn hold(&mut self, name: &str, amounts: &policy::Amounts, sign: Amount) {
        let account = self.accounts.iter_mut().find(|account| account.name == name).unwrap();
        for (counter, amount) in amounts {
            *account.held.entry(counter.clone()).or_default() += sign * amount;
        }
    }
}
