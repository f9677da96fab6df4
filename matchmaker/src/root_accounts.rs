//! The account of each root: which one is charged for its gang. A cycle asks for it for each root once, so accounts have numbers. With names instead, the
//! order of 10,000 accounts with a job each (`bench_queue 10000 accounts`) takes 31 instead of 25 million instructions.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::by_ad::ByAd;
use crate::casts::{as_u32, as_usize};
use crate::model::AdId;

/// The accounts of roots, by their ads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootAccounts {
    /// By number.
    names: Vec<Arc<str>>,
    /// The number of the account of each root.
    numbers: ByAd<u32>,
}

impl RootAccounts {
    /// Adds an account that is not there. Returns its number.
    pub fn add(&mut self, name: Arc<str>) -> u32 {
        self.names.push(name);
        as_u32(self.names.len() - 1)
    }

    /// Sets the account of a root, by the number of the account.
    pub fn insert(&mut self, root: AdId, number: u32) {
        self.numbers.insert(root, number);
    }

    /// The name of the account of a root, by its ad.
    #[must_use]
    pub fn get(&self, root: AdId) -> Option<&Arc<str>> {
        self.names.get(self.number(root)?)
    }

    /// The number of the account of a root.
    #[inline]
    pub(crate) fn number(&self, root: AdId) -> Option<usize> {
        self.numbers.get(root).map(|number| as_usize(*number))
    }

    /// The accounts of which there are roots, in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The roots, each with its account, in the order of their ads.
    pub fn iter(&self) -> impl Iterator<Item = (AdId, &Arc<str>)> {
        self.numbers.iter().filter_map(|(root, number)| Some((root, self.names.get(as_usize(*number))?)))
    }
}

impl FromIterator<(AdId, Arc<str>)> for RootAccounts {
    fn from_iter<I: IntoIterator<Item = (AdId, Arc<str>)>>(roots: I) -> RootAccounts {
        let mut accounts = RootAccounts::default();
        let mut known: HashMap<Arc<str>, u32, RandomState> = HashMap::default();
        for (root, name) in roots {
            let number = *known.entry(name).or_insert_with_key(|name| accounts.add(Arc::clone(name)));
            accounts.insert(root, number);
        }
        accounts
    }
}
