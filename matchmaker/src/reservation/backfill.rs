//! Backfill: roots whose claims end before a reservation is free use what is held for it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::budget::SIDE_SHARE;
use crate::casts::as_u64;
use crate::charges::{Accounts, MemberCharges, Prices};
use crate::gang::Gang;
use crate::left_over::SideSearches;
use crate::model::{AdId, Config, Snapshot};

use super::unshared;

/// A reservation that stands, and counts as taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReservation {
    /// The root.
    pub root: AdId,
    /// Its gang.
    pub gang: Gang,
    /// What the members of the gang cost, as was recorded when it was found, in micros.
    pub charges: MemberCharges,
    /// When all of it is free at the latest, in seconds since 1970; none if that is not known.
    pub free_at: Option<i64>,
}

/// Roots that wait, and what is held while they do.
#[derive(Clone, Copy, Debug)]
pub struct HeldGangs<'h> {
    /// The reservations.
    pub reserved: &'h [StoredReservation],
    /// The roots that a cycle has left over because of capacity or quotas.
    pub waiting: &'h BTreeSet<AdId>,
    /// When their claims end at the latest, if they are found now; of those of which that is known.
    pub ends: &'h BTreeMap<AdId, i64>,
}

/// Gangs that use what is held for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backfilled {
    /// The gangs.
    pub gangs: Vec<Gang>,
    /// What their members cost, each with its root.
    pub charges: Vec<(AdId, MemberCharges)>,
}

/// The gangs of roots that a cycle has left over and whose claims end before reservations are free. A reservation whose start is
/// not known is not used. All searches together take as many steps as preemption may.
pub fn backfill(
    (snapshot, gangs): (&Snapshot, &[Gang]),
    held: HeldGangs<'_>,
    (config, now): (&Config, i64),
    search: &mut SideSearches<'_>,
) -> Backfilled {
    let mut known: Vec<(i64, &StoredReservation)> =
        held.reserved.iter().filter_map(|reserved| Some((reserved.free_at?, reserved))).collect();
    known.sort_by_key(|(free_at, reserved)| (Reverse(*free_at), reserved.root));
    let (mut all, mut found) = (Backfilled::default(), gangs.to_vec());
    let config = &with_steps(config, known.len());
    for (number, (free_at, _)) in known.iter().enumerate() {
        let usable: Vec<&StoredReservation> = known.iter().take(number + 1).map(|(_, reserved)| *reserved).collect();
        let is_short = |root: AdId| held.ends.get(&root).is_some_and(|ends| ends <= free_at);
        let mut prices = search.take_prices(config, now);
        let view = view((snapshot, &found), &usable, held, is_short, &mut prices);
        search.keep_prices(prices);
        let Some(mut view) = view else { continue };
        let cycle = search.cycle(&mut view, config, now);
        found.extend(cycle.gangs.iter().cloned());
        all.gangs.extend(cycle.gangs);
        all.charges.extend(cycle.charges);
    }
    all
}

/// The settings of each of so many searches beside a cycle.
fn with_steps(config: &Config, searches: usize) -> Config {
    let searches = as_u64(searches).max(1);
    Config { cycle_steps_max: config.cycle_steps_max / SIDE_SHARE / searches, ..config.clone() }
}

/// The roots that a cycle has left over, and that would have gangs if nothing were held for others; as far as the steps of one search
/// beside the cycle tell.
pub fn held_for_others(
    (snapshot, gangs): (&Snapshot, &[Gang]),
    held: HeldGangs<'_>,
    (config, now): (&Config, i64),
    search: &mut SideSearches<'_>,
) -> BTreeSet<AdId> {
    let usable: Vec<&StoredReservation> = held.reserved.iter().collect();
    if usable.is_empty() {
        return BTreeSet::new();
    }
    let mut prices = search.take_prices(config, now);
    let view = view((snapshot, gangs), &usable, held, |_| true, &mut prices);
    search.keep_prices(prices);
    let Some(mut view) = view else { return BTreeSet::new() };
    search.cycle(&mut view, &with_steps(config, 1), now).gangs.iter().filter_map(Gang::root).collect()
}

/// The pool after some gangs, with what these reservations hold as free, for those roots that wait and may use it. None if there are none.
fn view(
    (snapshot, gangs): (&Snapshot, &[Gang]),
    usable: &[&StoredReservation],
    held: HeldGangs<'_>,
    may: impl Fn(AdId) -> bool,
    prices: &mut Prices,
) -> Option<Snapshot> {
    let accounts = snapshot.accounts.as_ref()?;
    let left = snapshot.after(gangs);
    let is_reserved = |root: AdId| held.reserved.iter().any(|reserved| reserved.root == root);
    let mut roots = left.roots.clone();
    roots.retain(|root| held.waiting.contains(&root.ad) && !is_reserved(root.ad) && may(root.ad));
    if roots.is_empty() {
        return None;
    }
    let mut view = left.freed(usable.iter().flat_map(|reserved| unshared(&reserved.gang)));
    (view.roots, view.frugal, view.bands) = (roots, left.frugal.clone(), left.bands.clone());
    view.accounts = Some(Arc::new(accounts_after((snapshot, accounts), gangs, usable, prices)));
    Some(view)
}

/// The accounts when these gangs are held, and when nothing is held for these reservations.
fn accounts_after(
    (snapshot, accounts): (&Snapshot, &Accounts),
    gangs: &[Gang],
    usable: &[&StoredReservation],
    prices: &mut Prices,
) -> Accounts {
    let (mut seats, mut changes) = (accounts.seats.clone(), BTreeMap::new());
    let found = gangs.iter().map(|gang| (gang, None));
    for (gang, recorded) in found.chain(usable.iter().map(|reserved| (&reserved.gang, Some(&reserved.charges)))) {
        let Some(account) = gang.root().and_then(|root| accounts.account_of.get(root)) else { continue };
        let (charge, sign) = match recorded {
            None => (accounts.charge_of((snapshot, gang), account, &mut seats, prices), 1),
            Some(charges) => {
                let mut seats = seats.of_gang((snapshot, gang), account);
                (accounts.charge_as_recorded((snapshot, gang), account, &mut seats, charges), -1)
            }
        };
        let changed: &mut policy::Amounts = changes.entry(Arc::clone(account)).or_default();
        for (counter, amount) in charge.takes {
            *changed.entry(counter).or_default() += sign * amount;
        }
    }
    let all = accounts.tree.accounts().iter().map(|account| {
        let mut account = account.clone();
        for (counter, amount) in changes.get(account.name.as_str()).into_iter().flatten() {
            let held = account.held.entry(Arc::clone(counter)).or_default();
            *held = (*held + amount).max(0);
        }
        account
    });
    // What counting has cost is among the costs of the cycle.
    Accounts { tree: policy::Tree::new(all), seats, counting: BTreeMap::new(), ..accounts.clone() }
}
