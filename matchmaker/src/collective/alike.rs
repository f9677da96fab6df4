//! Offers that are alike are one offer in a window; here each gang gets its own ones of them.

use std::collections::BTreeMap;

use crate::gang::Gang;
use crate::model::AdId;

/// Which offers are alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alike {
    /// By offer: the first one like it.
    firsts: BTreeMap<AdId, AdId>,
    /// By first offer: all of them, in order.
    members: BTreeMap<AdId, Vec<AdId>>,
}

impl Alike {
    /// From the first one that each offer is like.
    pub(crate) fn of(firsts: BTreeMap<AdId, AdId>) -> Alike {
        let mut members: BTreeMap<AdId, Vec<AdId>> = BTreeMap::new();
        firsts.iter().for_each(|(offer, first)| members.entry(*first).or_default().push(*offer));
        Alike { firsts, members }
    }

    /// The first offer like this one.
    pub(crate) fn first(&self, offer: AdId) -> AdId {
        self.firsts.get(&offer).copied().unwrap_or(offer)
    }

    /// All offers like a first one; none if there is no other one.
    pub(crate) fn members(&self, first: AdId) -> &[AdId] {
        self.members.get(&first).map_or(&[], Vec::as_slice)
    }
}

/// A resource of an offer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resource {
    /// Its number in the window.
    pub(crate) number: usize,
    /// For how many gangs one of the offers that are alike has room.
    pub(crate) slots: u64,
}

/// The gangs of the columns of a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gangs {
    /// By root and column.
    pub(crate) gangs: Vec<Vec<Gang>>,
    pub(crate) alike: Alike,
    /// By first offer: its first resource, and how many gangs each of those like it has room for.
    pub(crate) places: BTreeMap<AdId, Resource>,
}

/// Offers that can be exchanged: the next one, and how many gangs more it has room for.
struct Exchangeable {
    /// In order, the last one first.
    rest: Vec<(AdId, u64)>,
}

impl Gangs {
    /// The gangs of these choices. `equal` gives for each resource the first one that it can be exchanged for: of offers that can be exchanged
    /// the earlier roots get the smaller ones.
    pub(crate) fn chosen(&self, choices: &[Option<usize>], equal: &[usize]) -> Vec<Gang> {
        let mut pools = self.exchangeable(equal);
        let chosen = choices.iter().zip(&self.gangs).filter_map(|(choice, gangs)| {
            let gang = gangs.get((*choice)?)?;
            let offers: Vec<AdId> = gang
                .members
                .iter()
                .map(|member| self.take(member.ad, member.ask.share.is_some(), equal, &mut pools))
                .collect();
            Some(self.with(gangs, gang, &offers))
        });
        chosen.collect()
    }

    fn class(&self, offer: AdId, equal: &[usize]) -> Option<usize> {
        equal.get(self.places.get(&self.alike.first(offer))?.number).copied()
    }

    /// By the number of a resource: the offers of all that are equal to it, if there are several.
    fn exchangeable(&self, equal: &[usize]) -> BTreeMap<usize, Exchangeable> {
        let mut pools: BTreeMap<usize, Exchangeable> = BTreeMap::new();
        for (first, Resource { number, slots }) in &self.places {
            let Some(class) = equal.get(*number) else { continue };
            let alone = [*first];
            let members = self.alike.members(*first);
            let members = if members.is_empty() { &alone[..] } else { members };
            let pool = pools.entry(*class).or_insert(Exchangeable { rest: Vec::new() });
            pool.rest.extend(members.iter().map(|member| (*member, *slots)));
        }
        pools.retain(|_, pool| pool.rest.len() > 1);
        pools.values_mut().for_each(|pool| pool.rest.sort_unstable_by(|one, other| other.cmp(one)));
        pools
    }

    /// The next offer that can be exchanged for one.
    fn take(&self, offer: AdId, is_shared: bool, equal: &[usize], pools: &mut BTreeMap<usize, Exchangeable>) -> AdId {
        let pool = self.class(offer, equal).filter(|_| !is_shared).and_then(|class| pools.get_mut(&class));
        let Some(pool) = pool else { return offer };
        while let Some((next, slots)) = pool.rest.last_mut() {
            if *slots > 0 {
                *slots -= 1;
                return *next;
            }
            pool.rest.pop();
        }
        offer
    }

    /// The gang of a root with these members, which are exchanged for those of one of its gangs.
    fn with(&self, gangs: &[Gang], gang: &Gang, offers: &[AdId]) -> Gang {
        let is_it = |other: &&Gang| {
            other.score == gang.score
                && other.members.len() == offers.len()
                && other
                    .members
                    .iter()
                    .zip(offers)
                    .all(|(member, offer)| self.alike.first(member.ad) == self.alike.first(*offer))
        };
        let Some(mut found) = gangs.iter().find(is_it).cloned() else { return gang.clone() };
        found.members.iter_mut().zip(offers).for_each(|(member, offer)| member.ad = *offer);
        found
    }
}
