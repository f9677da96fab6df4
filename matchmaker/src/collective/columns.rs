//! The gangs of a window as numbers: which root may have which, and how much of what each takes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use placing::{Column, Root, Seat, Take, Window};

use super::alike::{Alike, Gangs, Resource};
use super::quotas::Caps;
use super::{Bill, Weight, weight};
use crate::capacity::Ask;
use crate::charges::Prices;
use crate::finder::Turn;
use crate::gang::Gang;
use crate::model::{AdId, Offer, PoolAd, Snapshot};
use crate::plain::Listed;

/// A window in the making.
pub(crate) struct Columns<'s> {
    snapshot: &'s Snapshot,
    window: Window,
    alike: Alike,
    /// The quotas of accounts, if there are any.
    caps: Option<Caps<'s>>,
    /// The gangs of each root, one for each of its columns.
    gangs: Vec<Vec<Gang>>,
    /// Each resource of an offer that is the first of those like it.
    resources: BTreeMap<(AdId, &'s str), Resource>,
    /// The number of each seat: of an offer and a share key.
    seats: BTreeMap<(AdId, String), usize>,
}

/// What is due to a root of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dues<'d> {
    /// The number of its submitter, or of its account.
    pub(crate) submitter: usize,
    /// If it has a gang in turn, it has one here.
    pub(crate) pinned: bool,
    /// What its best gang counts.
    pub(crate) weight: &'d Weight,
}

impl<'s> Columns<'s> {
    /// No roots yet. `fair`: no submitter gets less than in turn.
    pub(crate) fn new(snapshot: &'s Snapshot, alike: BTreeMap<AdId, AdId>, fair: bool) -> Columns<'s> {
        Columns {
            snapshot,
            alike: Alike::of(alike),
            window: Window { fair, ..Window::default() },
            caps: Caps::of(snapshot),
            gangs: Vec::new(),
            resources: BTreeMap::new(),
            seats: BTreeMap::new(),
        }
    }

    /// Adds a root with these gangs, the best first; of several that take the same only the best. `in_turn` is its gang in turn. If it cannot
    /// be paid for what all of them cost, some are left out.
    pub(crate) fn add(
        &mut self,
        (turn, dues): (&Turn<'s>, Dues<'_>),
        listed: Listed,
        in_turn: Option<&Gang>,
        mut bill: Bill<'_>,
    ) {
        let Listed { mut gangs, has_more, .. } = listed;
        gangs.extend(in_turn.cloned());
        gangs.sort_by(|one, other| other.order(one));
        let mut root = Root {
            weight: gangs.first().map_or(1, |gang| weight(dues.weight, (self.snapshot, gang), bill.prices)),
            submitter: dues.submitter,
            priority: turn.root.priority.into(),
            band: self.snapshot.bands.get(&turn.ad).copied().unwrap_or(0).into(),
            pinned: dues.pinned,
            has_more,
            ..Root::default()
        };
        let mut known: BTreeMap<Vec<Take>, usize> = BTreeMap::new();
        let mut kept = Vec::new();
        let mut is_paid = bill.settle(self.snapshot);
        for gang in gangs {
            let is_in_turn = in_turn == Some(&gang);
            // What the gang in turn costs is known.
            if !is_paid && !is_in_turn {
                root.has_more = true;
                continue;
            }
            let takes = self.takes(turn.ad, &gang, bill.prices);
            is_paid &= bill.settle(self.snapshot);
            let number = match known.entry(takes) {
                Entry::Occupied(same) => *same.get(),
                Entry::Vacant(new) => {
                    let score = [gang.score.own, gang.score.partners, gang.score.deeper].map(|level| level.bits());
                    root.columns.push(Column { takes: new.key().clone(), score });
                    kept.push(gang);
                    *new.insert(kept.len() - 1)
                }
            };
            if is_in_turn {
                root.in_turn = Some(number);
            }
        }
        self.window.roots.push(root);
        self.gangs.push(kept);
    }

    /// The window, and the gangs of its columns.
    pub(crate) fn finish(self) -> (Window, Gangs) {
        let Columns { window, alike, gangs, resources, .. } = self;
        // the first resource of an offer, and how many columns have room there
        let mut places: BTreeMap<AdId, Resource> = BTreeMap::new();
        for ((offer, _), resource) in resources {
            let place = places.entry(offer).or_insert(resource);
            place.slots = place.slots.min(resource.slots);
            place.number = place.number.min(resource.number);
        }
        (window, Gangs { gangs, alike, places })
    }

    /// What a gang takes of offers and of quotas, in order.
    fn takes(&mut self, root: AdId, gang: &Gang, prices: &mut Prices) -> Vec<Take> {
        let snapshot = self.snapshot;
        let mut takes = Vec::new();
        for member in &gang.members {
            let Some(offer) = snapshot.ad(member.ad).and_then(PoolAd::offer) else { continue };
            let amounts = self.amounts(member.ad, offer, &member.ask);
            match &member.ask.share {
                None => takes.extend(amounts.into_iter().map(|(resource, amount)| Take::Units { resource, amount })),
                // a seat that is held already takes nothing more
                Some(key) if snapshot.usage(member.ad, offer).shared.contains_key(key) => {}
                Some(key) => takes.push(Take::Seat(self.seat((member.ad, key.clone()), &amounts))),
            }
        }
        let of_quotas =
            self.caps.as_mut().map(|caps| caps.takes(root, gang, &mut self.window.free, prices)).unwrap_or_default();
        takes.extend(of_quotas.into_iter().map(|(resource, amount)| Take::Units { resource, amount }));
        takes.sort_unstable();
        takes
    }

    /// The resources that a request takes, and how much.
    fn amounts(&mut self, ad: AdId, offer: &'s Offer, ask: &Ask) -> Vec<(usize, u64)> {
        let mut amounts = Vec::new();
        for (name, all) in offer.capacity.iter() {
            let Some(amount) = ask.allocation.get(name) else { continue };
            let amount = u64::try_from(*amount).unwrap_or(u64::MAX);
            let (free, first) = (&mut self.window.free, self.alike.first(ad));
            let resource = *self.resources.entry((first, name)).or_insert_with(|| {
                let left = all.saturating_sub(self.snapshot.usage(ad, offer).used(name));
                let left = u64::try_from(left).unwrap_or(0);
                // all take the same amount of offers that are alike
                let slots = left.checked_div(amount).unwrap_or(0);
                free.push(match self.alike.members(first) {
                    [_, _, ..] => slots.saturating_mul(amount).saturating_mul(self.alike.members(first).len() as u64),
                    _ => left,
                });
                Resource { number: free.len() - 1, slots }
            });
            amounts.push((resource.number, amount));
        }
        amounts
    }

    /// The number of a seat. If gangs ask for different amounts of it, it takes the most of each.
    fn seat(&mut self, key: (AdId, String), amounts: &[(usize, u64)]) -> usize {
        let seats = &mut self.window.seats;
        let number = *self.seats.entry(key).or_insert_with(|| {
            seats.push(Seat::default());
            seats.len() - 1
        });
        let Some(seat) = seats.get_mut(number) else { return number };
        for (resource, amount) in amounts {
            match seat.takes.iter_mut().find(|(taken, _)| taken == resource) {
                Some((_, most)) => *most = (*most).max(*amount),
                None => seat.takes.push((*resource, *amount)),
            }
        }
        number
    }
}
