//! What accounts hold and deserve, as numbers that operators watch.

use std::collections::{BTreeMap, BTreeSet};

use matchmaker::{Accounts, Snapshot};
use policy::{Amount, CHARGE, Quotas, shares};
use pool::{Objects, demands};

/// The most accounts that have series of their own.
const ACCOUNTS_MAX: usize = 100;
/// How many micros a charge has.
const MICROS: Amount = 1_000_000;

/// The numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ShareCensus {
    /// The largest distance between what an account with waiting jobs holds and its share, as a part of the pool.
    pub(crate) gap: f64,
    /// What the whole pool costs, in whole charges.
    pub(crate) total: i64,
    /// Accounts, by name.
    pub(crate) accounts: BTreeMap<String, AccountLevels>,
}

/// What is said of one account, with all below it; amounts are in whole charges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccountLevels {
    pub(crate) held: i64,
    pub(crate) share: i64,
    pub(crate) usage: i64,
    /// How many of its jobs wait.
    pub(crate) waiting: i64,
}

/// What accounts hold and deserve in the pool of a cycle; nothing without accounts. Accounts that the controller has created have no series of
/// their own: users make them by submitting jobs.
/// `total`: what all open offers cost.
pub(crate) fn share_census(objects: &Objects, snapshot: &Snapshot, total: Amount) -> ShareCensus {
    let Some(accounts) = &snapshot.accounts else { return ShareCensus::default() };
    let deserved = shares(&accounts.tree, total, &demands(objects, snapshot, accounts));
    let quotas = Quotas::new(&accounts.tree, &accounts.total);
    let held = |name: &str| accounts.tree.account(name).map_or(0, |node| quotas.held(node, CHARGE));
    let share = |name: &str| deserved.get(name).copied().unwrap_or(0);
    let waiting: BTreeSet<&str> = accounts.account_of.names().iter().map(|account| &**account).collect();
    let gap = waiting.iter().map(|name| (held(name) - share(name)).abs()).max().unwrap_or(0);
    let is_own = |name: &&str| objects.accounts.get(*name).is_some_and(|account| account.made_for().is_none());
    let names = accounts.tree.accounts().iter().map(|account| account.name.as_str()).filter(is_own);
    let whole = |micros: Amount| i64::try_from((micros + MICROS / 2) / MICROS).unwrap_or(i64::MAX);
    let usage = |name: &str| accounts.tree.account(name).map_or(0, |node| accounts.tree.usage(node));
    let waiting = waiting_below(accounts);
    let levels = |name: &str| AccountLevels {
        held: whole(held(name)),
        share: whole(share(name)),
        usage: whole(usage(name)),
        waiting: waiting.get(name).copied().unwrap_or(0),
    };
    ShareCensus {
        gap: if total > 0 { gap.min(total) as f64 / total as f64 } else { 0.0 },
        total: whole(total),
        accounts: names.take(ACCOUNTS_MAX).map(|name| (name.to_owned(), levels(name))).collect(),
    }
}

/// How many jobs of each account, and of those below it, wait.
fn waiting_below(accounts: &Accounts) -> BTreeMap<&str, i64> {
    let mut own: BTreeMap<&str, i64> = BTreeMap::new();
    for (_, account) in accounts.account_of.iter() {
        *own.entry(account).or_default() += 1;
    }
    let mut all: BTreeMap<&str, i64> = BTreeMap::new();
    for (name, jobs) in own {
        for above in std::iter::successors(Some(name), |name| accounts.tree.parent_of(name)) {
            *all.entry(above).or_default() += jobs;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crds::{Account, AccountSpec, LABEL_MADE_BY, LABEL_MADE_FOR, MADE_BY_CONTROLLER};
    use matchmaker::{AdId, Seats};
    use policy::{Tree, taken_by_gang};

    use super::*;

    /// An account as it is stored: created by the controller, or by the administrator.
    fn stored(name: &str, is_made: bool) -> Account {
        let mut account = Account::new(name, AccountSpec::default());
        if is_made {
            let labels = [(LABEL_MADE_BY, MADE_BY_CONTROLLER), (LABEL_MADE_FOR, "made")];
            account.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        }
        account
    }

    fn holds(name: &str, charges: Amount) -> policy::Account {
        let held = taken_by_gang(charges * MICROS, policy::Amounts::new());
        policy::Account { held, ..policy::Account::named(name) }
    }

    /// A pool without offers and with these accounts, in which one job waits for each of some of them.
    fn snapshot(accounts: Vec<policy::Account>, waiting: &[&str]) -> Snapshot {
        let job = |(place, account): (usize, &&str)| (AdId::at(place), Arc::from(*account));
        let accounts = Accounts {
            tree: Tree::new(accounts),
            total: policy::Amounts::new(),
            account_of: waiting.iter().enumerate().map(job).collect(),
            offers: matchmaker::ByAd::default(),
            weights: BTreeMap::new(),
            seats: Seats::default(),
            counters: Vec::new(),
            counting: BTreeMap::new(),
        };
        let mut snapshot = Snapshot::default();
        snapshot.accounts = Some(Arc::new(accounts));
        snapshot
    }

    #[test]
    fn the_gap_is_that_of_an_account_with_jobs_that_wait_and_made_accounts_have_no_series() {
        let mut objects = Objects::default();
        for name in ["chips", "cfd", "ns-made"] {
            objects.accounts.apply(stored(name, name == "ns-made"));
        }
        assert_eq!(share_census(&objects, &Snapshot::default(), 0), ShareCensus::default());
        let below = policy::Account { parent: Some("chips".to_owned()), usage: 4 * MICROS, ..holds("ns-made", 0) };
        let accounts = vec![holds("chips", 1), holds("cfd", 9), below];
        let census = share_census(&objects, &snapshot(accounts, &["chips", "ns-made"]), 0);
        // There is no offer, so no account deserves a share.
        assert_eq!((census.gap, census.total), (0.0, 0));
        let cfd = AccountLevels { held: 9, ..AccountLevels::default() };
        let chips = AccountLevels { held: 1, share: 0, usage: 4, waiting: 2 };
        assert_eq!(census.accounts, BTreeMap::from([("cfd".to_owned(), cfd), ("chips".to_owned(), chips)]));
    }

    #[test]
    fn however_many_accounts_there_are_few_have_series() {
        let mut objects = Objects::default();
        let names: Vec<String> = (0..1_000).map(|number| format!("a{number:04}")).collect();
        // Every second one was created by the controller, for a tenant that has submitted a job.
        for (number, name) in names.iter().enumerate() {
            objects.accounts.apply(stored(name, number % 2 == 0));
        }
        let waiting: Vec<&str> = names.iter().map(String::as_str).collect();
        let accounts = waiting.iter().map(|name| holds(name, 1)).collect();
        let census = share_census(&objects, &snapshot(accounts, &waiting), 0);
        assert_eq!(census.accounts.len(), ACCOUNTS_MAX);
        assert!(census.accounts.keys().all(|name| objects.accounts[name].made_for().is_none()));
    }
}
