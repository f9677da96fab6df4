//! Reservation: for a root that has waited long, offers are held until the claims on them have ended by themselves. Backfill: roots whose claims
//! end before that use them meanwhile.

mod backfill;
mod occupancy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use policy::{Amount, Amounts, Quotas};

use crate::account_queue::AccountQueue;
use crate::capacity::Ask;
use crate::charges::{MemberCharges, Prices};
use crate::finder::Turn;
use crate::gang::Gang;
use crate::left_over::{RootSteps, SideSearches, StepsLeft, TurnsLeft};
use crate::model::{AdId, AdKey, Config, Root, Snapshot};

pub use self::backfill::{Backfilled, HeldGangs, StoredReservation, backfill, held_for_others};
use self::occupancy::Occupancy;

/// The most roots that are looked at in one cycle.
const ROOTS_MAX: usize = 16;
/// The most gangs that are looked at for one root.
const TARGETS_MAX: usize = 16;

/// What one claim holds of offers, and when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldOffers {
    /// The account that it is charged to.
    pub account: Arc<str>,
    /// What its account holds less of when it has ended, by counter.
    pub takes: Amounts,
    /// When it ends at the latest, in seconds since 1970; none if that is not known.
    pub ends: Option<i64>,
    /// By offer.
    pub holds: Vec<(AdId, Ask)>,
}

/// What reservations are decided on, beside the pool.
#[derive(Clone, Copy, Debug)]
pub struct Reserving<'r> {
    /// All claims that hold offers.
    pub held: &'r [HeldOffers],
    /// When the claims of roots end at the latest, if they are found now; of those of which that is known.
    pub ends: &'r BTreeMap<AdId, i64>,
    /// The roots that offers may be held for.
    pub candidates: &'r BTreeSet<AdId>,
    /// The offers that are held for others.
    pub nominated: &'r BTreeSet<AdKey>,
    /// For how many roots.
    pub room: usize,
}

/// A gang that is held for a root until all of it is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The root.
    pub root: AdId,
    /// Its gang.
    pub gang: Gang,
    /// When all of it is free at the latest, in seconds since 1970; none if that is not known.
    pub free_at: Option<i64>,
    /// How many claims are in its way.
    pub in_the_way: usize,
}

/// What came of reservation in a cycle.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    /// Those that are to be made, in the order in which roots are served.
    pub made: Vec<Reservation>,
    /// What the members of their gangs cost, each with its root, in micros.
    pub charges: Vec<(AdId, MemberCharges)>,
    /// The steps that submitters have spent on roots for which nothing is reserved. Without submitters that have spent none.
    pub fruitless: Vec<(Arc<str>, u64)>,
    /// The roots that had a turn, and for which nothing can be reserved; only if more roots wait than have a turn.
    pub hopeless: Vec<AdId>,
}

/// For which of the roots that a cycle has left over offers are held, in the order in which roots are served. Each gets the gang that is free
/// soonest, of the best ones that there are if everything is free; gangs that have no known end come last. Nothing is held
/// twice, and nothing for a root whose quotas do not allow the gang.
///
/// If more roots wait than are looked at, all accounts have as many turns as each other, as far as they have roots. Searches take steps of the
/// submitters of their roots; of a root whose steps end, the gangs that were found by then are compared.
pub fn reserve(
    (snapshot, gangs): (&Snapshot, &[Gang]),
    reserving: &Reserving<'_>,
    (config, now): (&Config, i64),
    search: &mut SideSearches<'_>,
) -> Reservations {
    let mut all = Reservations::default();
    let Some(accounts) = snapshot.accounts.clone() else { return all };
    let mut left = snapshot.after(gangs);
    left.accounts = None;
    left.roots.retain(|root| reserving.candidates.contains(&root.ad));
    if left.roots.is_empty() || reserving.room == 0 {
        return all;
    }
    let mut prices = search.take_prices(config, now);
    let mut queue = AccountQueue::after(&left, &accounts, gangs, &mut prices);
    let roots: BTreeMap<AdId, &Root> = snapshot.roots.iter().map(|root| (root.ad, root)).collect();
    let found = gangs.iter().filter_map(|gang| found_now((&roots, gang), &queue, reserving, &mut prices));
    let held: Vec<HeldOffers> = reserving.held.iter().cloned().chain(found).collect();
    let occupancy = Occupancy::of(&held);
    let everything = left.freed(occupancy.all());
    let (mut quotas, mut taken) = (queue.quotas().clone(), reserving.nominated.clone());
    let mut steps = StepsLeft::of(queue.names(), ROOTS_MAX, &snapshot.frugal, config);
    let accounts = left.roots.iter().map(|root| queue.account(root));
    let mut turns = TurnsLeft::of(accounts, queue.names().len(), ROOTS_MAX, config.seed);
    while let Some(turn) = queue.next() {
        if all.made.len() == reserving.room || config.stop.is_set() {
            break;
        }
        if !turns.take(queue.account(turn.root), turn.submitter) {
            queue.not_found();
            continue;
        }
        let mut of_root = steps.for_root(turn.submitter);
        let target =
            Target { left: &left, everything: &everything, occupancy: &occupancy, quotas: &quotas, taken: &taken };
        let is_hopeless = |best: &Option<Reservation>| best.is_none() && left.roots.len() > ROOTS_MAX;
        let best = target.best((&queue, &turn), (config, now), (&mut of_root, search, &mut prices));
        steps.pay(turn.submitter, of_root, best.is_none());
        all.hopeless.extend(is_hopeless(&best).then_some(turn.ad));
        if let Some(reservation) = best {
            let keys = reservation.gang.members.iter().filter_map(|member| left.ad(member.ad)).map(|ad| ad.key.clone());
            taken.extend(keys);
            let charge = queue.charge_of(turn.root, &reservation.gang, &mut prices);
            quotas.take_of(queue.account(turn.root), &charge.takes);
            all.charges.push((turn.ad, charge.members));
            all.made.push(reservation);
        }
        queue.not_found();
    }
    search.keep_prices(prices);
    all.fruitless = steps.fruitless();
    all
}

/// Whether its quotas allow a root a gang that is held for it, which counts as held already. `charges`: what its members cost, as was recorded
/// when it was found.
pub fn may_keep(snapshot: &Snapshot, (root, gang): (AdId, &Gang), charges: &[Amount], held: &[HeldOffers]) -> bool {
    let Some(accounts) = snapshot.accounts.clone() else { return false };
    let Some(account) = accounts.account_of.get(root) else { return false };
    let Some(leaf) = accounts.tree.leaf(account) else { return false };
    let occupancy = Occupancy::of(held);
    let without = snapshot.freed(unshared(gang));
    let Some(in_the_way) = occupancy.in_the_way(&without, gang) else { return true };
    let mut seats = accounts.seats.of_gang((snapshot, gang), account);
    let charge = accounts.charge_as_recorded((snapshot, gang), account, &mut seats, charges);
    let mut quotas = Quotas::new(&accounts.tree, &accounts.total);
    quotas.give_back(leaf, &charge.takes);
    occupancy.give_back(&in_the_way, &mut quotas);
    quotas.allows(leaf, &charge.takes)
}

/// When a gang that counts as taken is free at the latest; none if that is not known.
pub fn free_at(snapshot: &Snapshot, gang: &Gang, held: &[HeldOffers]) -> Option<i64> {
    let occupancy = Occupancy::of(held);
    let in_the_way = occupancy.in_the_way(&snapshot.freed(unshared(gang)), gang)?;
    occupancy.end(&in_the_way)
}

/// What a gang takes; not seats that it may share, which others may hold.
fn unshared(gang: &Gang) -> impl Iterator<Item = (AdId, &Ask)> {
    gang.asks().filter(|(_, ask)| ask.share.is_none())
}

/// What a gang of this cycle holds.
fn found_now(
    (roots, gang): (&BTreeMap<AdId, &Root>, &Gang),
    queue: &AccountQueue<'_>,
    reserving: &Reserving<'_>,
    prices: &mut Prices,
) -> Option<HeldOffers> {
    let id = gang.root()?;
    let root = roots.get(&id)?;
    let takes = queue.charge_of(root, gang, prices).takes;
    let offers = gang.members.iter().filter(|member| member.edge.is_some());
    Some(HeldOffers {
        account: Arc::clone(queue.account(root)),
        takes,
        ends: reserving.ends.get(&id).copied(),
        holds: offers.map(|member| (member.ad, member.ask.clone())).collect(),
    })
}

/// The gangs that one root could have if everything were free.
struct Target<'t> {
    /// The pool after the cycle.
    left: &'t Snapshot,
    /// The same with nothing held, but by agents and for others.
    everything: &'t Snapshot,
    occupancy: &'t Occupancy<'t>,
    quotas: &'t Quotas<'t>,
    /// The offers that are held for others.
    taken: &'t BTreeSet<AdKey>,
}

impl Target<'_> {
    /// The gang that is free soonest, then the one with the fewest claims in its way, then the one that the root prefers.
    fn best(
        &self,
        (queue, turn): (&AccountQueue<'_>, &Turn<'_>),
        (config, now): (&Config, i64),
        (steps, search, prices): (&mut RootSteps, &mut SideSearches<'_>, &mut Prices),
    ) -> Option<Reservation> {
        let mut view = self.everything.without_roots();
        view.barred.clone_from(&self.left.barred);
        let mut root = Root::clone(turn.root);
        root.exclusions.extend(self.taken.iter().cloned());
        let mut best: Option<Reservation> = None;
        for _ in 0..TARGETS_MAX {
            if config.stop.is_set() || steps.left() == 0 {
                break;
            }
            view.roots = vec![root.clone()];
            let cycle = search.cycle(&mut view, &Config { cycle_steps_max: steps.left(), ..config.clone() }, now);
            steps.pay(cycle.costs.spent);
            let Some(gang) = cycle.gangs.into_iter().next() else { break };
            if !steps.look_at(self.occupancy.amounts(&gang)) {
                break;
            }
            let in_the_way = self.occupancy.in_the_way(self.left, &gang);
            // without it, there may be one that is free sooner
            let last = self.occupancy.last(self.left, &gang);
            if let Some(in_the_way) = in_the_way {
                let mut quotas = self.quotas.clone();
                self.occupancy.give_back(&in_the_way, &mut quotas);
                let takes = queue.charge_of(turn.root, &gang, prices).takes;
                steps.burn(prices.settle(self.left, turn.ad, search.owners()));
                let leaf = queue.leaf(turn.root)?;
                let (free_at, count) = (self.occupancy.end(&in_the_way), in_the_way.len());
                let cost = (free_at.is_none(), free_at, count);
                let is_better =
                    best.as_ref().is_none_or(|best| cost < (best.free_at.is_none(), best.free_at, best.in_the_way));
                if count > 0 && is_better && quotas.allows(leaf, &takes) {
                    best = Some(Reservation { root: turn.ad, gang, free_at, in_the_way: count });
                }
            }
            let Some(last) = last.and_then(|ad| self.left.ad(ad)) else { break };
            root.exclusions.insert(last.key.clone());
        }
        best
    }
}
