//! Accounts of a workload: a hundred on three levels, with quotas of six counters.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchmaker::{Accounts, ByAd, CountedOffer, RootAccounts, Seats, Snapshot};
use policy::{Account, Amount, Amounts, Counter, Quota, Tree};

/// How many accounts there are above all others, and below each of these; and how many counters.
const GROUPS: usize = 5;
const TEAMS: usize = 3;
const ACCOUNTS: usize = 100;
const COUNTERS: usize = 6;

fn counter(number: usize) -> Counter {
    format!("counter-{number}").into()
}

/// The same pool with accounts; roots are charged to those of the lowest level, one after the other.
pub(crate) fn with_accounts(snapshot: &Snapshot) -> Snapshot {
    let inner = GROUPS + GROUPS * TEAMS;
    let leaf = |number: usize| -> Arc<str> { format!("user-{number}").into() };
    let leaves: Vec<Arc<str>> = (0..ACCOUNTS - inner).map(leaf).collect();
    let (mut offers, mut total) = (ByAd::default(), Amounts::new());
    for (number, (id, _)) in snapshot.ads().filter(|(_, ad)| ad.offer().is_some()).enumerate() {
        *total.entry(counter(number % COUNTERS)).or_default() += 1;
        offers.insert(id, Arc::new(CountedOffer { charge_weight: None, counters: vec![number % COUNTERS] }));
    }
    let account_of: RootAccounts =
        snapshot.roots.iter().zip(leaves.iter().cycle()).map(|(root, leaf)| (root.ad, leaf.clone())).collect();
    let accounts = Accounts {
        tree: Tree::new(accounts(&leaves, &total)),
        total,
        counters: (0..COUNTERS).map(|number| (counter(number), Some("slots".to_owned()))).collect(),
        account_of,
        offers,
        weights: BTreeMap::from([("slots".to_owned(), 1_000_000)]),
        seats: Seats::default(),
        counting: BTreeMap::new(),
    };
    let mut with = snapshot.clone();
    with.accounts = Some(Arc::new(accounts));
    with
}

fn accounts(leaves: &[Arc<str>], total: &Amounts) -> Vec<Account> {
    let group = |number: usize| format!("group-{number}");
    let team = |number: usize| format!("team-{number}");
    let part = |parts: usize| {
        let quota = |(counter, all): (&Counter, &Amount)| {
            let part = all / Amount::try_from(parts).unwrap_or(1);
            (counter.clone(), Quota { min: Some(part / 2), max: Some(all.max(&part) * 2), lend: None })
        };
        total.iter().map(quota).collect::<BTreeMap<_, _>>()
    };
    let groups = (0..GROUPS).map(|number| Account { quotas: part(GROUPS), ..Account::named(&group(number)) });
    let teams = (0..GROUPS * TEAMS).map(|number| Account {
        parent: Some(group(number % GROUPS)),
        quotas: part(GROUPS * TEAMS),
        ..Account::named(&team(number))
    });
    let users = leaves.iter().enumerate().map(|(number, name)| Account {
        parent: Some(team(number % (GROUPS * TEAMS))),
        weight: 500 + 100 * i64::try_from(number % 10).unwrap_or(0),
        usage: Amount::try_from(number).unwrap_or(0) * 100_000,
        ..Account::named(name)
    });
    groups.chain(teams).chain(users).collect()
}
