//! What the order of service costs: so many submitters with one job each, by gangs held, or by accounts. For profilers, which count instructions:
//! `valgrind --tool=callgrind --toggle-collect='*in_order*' target/release/examples/bench_queue 10000 accounts`

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use classad::{Dialect, parse_ad};
use matchmaker::{Accounts, AdId, AdKey, ByAd, PoolAd, Root, Seats, Snapshot, service_order};
use policy::{Account, Amounts, Tree};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().ok_or("how many submitters?")?.parse()?;
    let has_accounts = arguments.next().is_some_and(|word| word == "accounts");
    let snapshot = pool(count, has_accounts)?;
    let order = in_order(&snapshot);
    writeln!(std::io::stdout(), "{} jobs are in order", order.len())?;
    Ok(())
}

/// A function of its own for profilers.
#[inline(never)]
fn in_order(snapshot: &Snapshot) -> Vec<AdId> {
    service_order(snapshot)
}

fn pool(count: usize, has_accounts: bool) -> Result<Snapshot, Box<dyn Error>> {
    let ad = parse_ad("[Type = \"Job\"]", Dialect::Gangmatch)?;
    let key = |number: usize| AdKey { kind: "Job".into(), namespace: format!("team-{number:06}"), name: "job".into() };
    let mut snapshot =
        Snapshot::new((0..count).map(|number| PoolAd::asking(key(number), &number.to_string(), &ad)).collect());
    let account = |number: usize| -> Arc<str> { format!("ns-team-{number:06}").into() };
    let accounts: Vec<Arc<str>> = (0..count).map(account).collect();
    let submitter = |number: usize| -> Arc<str> { format!("team-{number:06}").into() };
    let root = |number: usize| Root {
        ad: AdId::at(number),
        submitter: submitter(number),
        priority: 0,
        since: 0,
        exclusions: BTreeSet::new(),
    };
    snapshot.roots = (0..count).map(root).collect();
    if has_accounts {
        let named = |(number, name): (usize, &Arc<str>)| Account {
            usage: i128::try_from(number * 7919 % count).unwrap_or(0) * 1000,
            ..Account::named(name)
        };
        snapshot.accounts = Some(Arc::new(Accounts {
            tree: Tree::new(accounts.iter().enumerate().map(named)),
            total: Amounts::new(),
            account_of: accounts.iter().enumerate().map(|(number, name)| (AdId::at(number), name.clone())).collect(),
            offers: ByAd::default(),
            weights: BTreeMap::new(),
            seats: Seats::default(),
            counters: Vec::new(),
            counting: BTreeMap::new(),
        }));
    } else {
        let held = |number: usize| (format!("team-{number:06}"), u64::try_from(number * 7919 % count).unwrap_or(0));
        snapshot.held = (0..count).map(held).collect::<BTreeMap<_, _>>();
    }
    Ok(snapshot)
}
