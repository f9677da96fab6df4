//! Which claims are in the way of a gang, and when they have ended.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use policy::Quotas;

use crate::capacity::Ask;
use crate::gang::{Gang, Member};
use crate::model::{AdId, PoolAd, Snapshot};

use super::HeldOffers;

/// All claims, by the offers that they hold.
pub(super) struct Occupancy<'h> {
    claims: &'h [HeldOffers],
    /// Of each offer: the places of claims, those that end first first, and what they hold.
    by_offer: BTreeMap<AdId, Vec<(usize, &'h Ask)>>,
}

impl<'h> Occupancy<'h> {
    /// Sorts the claims by the offers that they hold.
    pub(super) fn of(claims: &'h [HeldOffers]) -> Occupancy<'h> {
        let mut order: Vec<(usize, &HeldOffers)> = claims.iter().enumerate().collect();
        order.sort_by_key(|(place, claim)| (claim.ends.is_none(), claim.ends, *place));
        let mut by_offer: BTreeMap<AdId, Vec<(usize, &Ask)>> = BTreeMap::new();
        for (place, claim) in order {
            for (offer, ask) in &claim.holds {
                by_offer.entry(*offer).or_default().push((place, ask));
            }
        }
        Occupancy { claims, by_offer }
    }

    /// Everything that is held.
    pub(super) fn all(&self) -> impl Iterator<Item = (AdId, &'h Ask)> {
        self.claims.iter().flat_map(|claim| &claim.holds).map(|(offer, ask)| (*offer, ask))
    }

    /// How many amounts of claims have to be looked at to find out which are in the way of a gang.
    pub(super) fn amounts(&self, gang: &Gang) -> usize {
        let held = gang.members.iter().filter_map(|member| self.by_offer.get(&member.ad)).flatten();
        held.map(|(_, ask)| 1 + ask.allocation.len()).sum()
    }

    /// The claims that have to end so that a gang is free: of each offer, those that end first. None if that does not make enough room.
    pub(super) fn in_the_way(&self, pool: &Snapshot, gang: &Gang) -> Option<BTreeSet<usize>> {
        let mut all = BTreeSet::new();
        for member in gang.members.iter().filter(|member| !pool.fits(member)) {
            all.append(&mut self.in_the_way_of(pool, member)?);
        }
        Some(all)
    }

    /// The offer of a gang that is free last, of those that are not free now. An offer of which that is not known comes after all others.
    pub(super) fn last(&self, pool: &Snapshot, gang: &Gang) -> Option<AdId> {
        let end = |member: &&Member| {
            let ends = self.in_the_way_of(pool, member).map(|claims| self.end(&claims));
            (ends.is_none(), ends.is_some_and(|end| end.is_none()), ends.flatten())
        };
        let members = gang.members.iter().filter(|member| !pool.fits(member));
        members.min_by_key(|member| Reverse(end(member))).map(|member| member.ad)
    }

    /// The claims that have to end so that a member is free, which is not free now.
    fn in_the_way_of(&self, pool: &Snapshot, member: &Member) -> Option<BTreeSet<usize>> {
        let offer = pool.ad(member.ad).and_then(PoolAd::offer)?;
        let mut usage = pool.usage(member.ad, offer).clone();
        let held = self.by_offer.get(&member.ad).map(Vec::as_slice).unwrap_or_default();
        let mut sharing: BTreeMap<&str, usize> = BTreeMap::new();
        for key in held.iter().filter_map(|(_, ask)| ask.share.as_deref()) {
            *sharing.entry(key).or_default() += 1;
        }
        let mut all = BTreeSet::new();
        for (place, ask) in held {
            if !ask.allocation.keys().any(|name| member.ask.allocation.contains_key(name)) {
                continue;
            }
            // A seat that several share is free when the last of them has ended.
            let others = ask.share.as_deref().and_then(|key| sharing.get_mut(key));
            let is_last = others.is_none_or(|others| {
                *others = others.saturating_sub(1);
                *others == 0
            });
            all.insert(*place);
            if is_last {
                usage.give_back(ask);
            }
            if usage.fits(&offer.capacity, &member.ask).is_ok() {
                return Some(all);
            }
        }
        None
    }

    /// When all of these claims have ended; none if that is not known.
    pub(super) fn end(&self, claims: &BTreeSet<usize>) -> Option<i64> {
        let ends: Option<Vec<i64>> = claims.iter().map(|place| self.claims.get(*place)?.ends).collect();
        ends?.into_iter().max()
    }

    /// What accounts hold when these claims have ended.
    pub(super) fn give_back(&self, claims: &BTreeSet<usize>, quotas: &mut Quotas<'_>) {
        for claim in claims.iter().filter_map(|place| self.claims.get(*place)) {
            quotas.give_back_of(&claim.account, &claim.takes);
        }
    }
}
