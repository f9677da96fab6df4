//! Offers that are alike are one offer in a window; here each gang gets its own ones of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placing::Placed;

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
    /// By root and column; roots of one kind have those of one of them.
    pub(crate) gangs: Vec<Arc<Vec<Gang>>>,
    /// By root: its ad.
    pub(crate) roots: Vec<AdId>,
    pub(crate) alike: Alike,
    /// By first offer: its first resource, and how many gangs each of those like it has room for.
    pub(crate) places: BTreeMap<AdId, Resource>,
}

/// Offers that can be exchanged for each other, by the number of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Those with an equal one.
    Equal(usize),
    /// Those that are like the one that has it.
    Alike(usize),
}

/// Offers that can be exchanged: the next one, and how many gangs more it has room for.
struct Exchangeable {
    /// In order, the last one first.
    rest: Vec<(AdId, u64)>,
}

impl Gangs {
    /// The gangs of a placement. Of offers that can be exchanged the earlier roots get the smaller ones.
    pub(crate) fn chosen(&self, placed: &Placed) -> Vec<Gang> {
        let classes = self.classes(placed);
        let mut pools = self.exchangeable(&classes);
        let roots = self.gangs.iter().zip(&self.roots);
        let chosen = placed.choices.iter().zip(roots).filter_map(|(choice, (gangs, root))| {
            let gang = gangs.get((*choice)?)?;
            let offers: Vec<AdId> = gang
                .members
                .iter()
                .map(|member| self.take(member.ad, member.ask.share.is_some(), &classes, &mut pools))
                .collect();
            Some(self.with(gangs, gang, &offers).of_root(*root))
        });
        chosen.collect()
    }

    /// By first offer: its class. An offer of which another one is always taken together with it is exchanged only for those that are alike:
    /// whatever else it is equal to is so only together with another one.
    fn classes(&self, placed: &Placed) -> BTreeMap<AdId, Class> {
        let equal = |number: &usize| placed.equal.get(*number).copied();
        let (mut known, mut bound) = (BTreeSet::new(), BTreeSet::new());
        for Resource { number, .. } in self.places.values() {
            let is_alone = placed.together.get(*number).is_none_or(|together| known.insert(*together));
            bound.extend(equal(number).filter(|_| !is_alone));
        }
        let class = |number: &usize| match equal(number) {
            Some(class) if !bound.contains(&class) => Class::Equal(class),
            _ => Class::Alike(*number),
        };
        self.places.iter().map(|(first, place)| (*first, class(&place.number))).collect()
    }

    /// By class: its offers, if there are several.
    fn exchangeable(&self, classes: &BTreeMap<AdId, Class>) -> BTreeMap<Class, Exchangeable> {
        let mut pools: BTreeMap<Class, Exchangeable> = BTreeMap::new();
        for (first, Resource { slots, .. }) in &self.places {
            let Some(class) = classes.get(first) else { continue };
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
    fn take(
        &self,
        offer: AdId,
        is_shared: bool,
        classes: &BTreeMap<AdId, Class>,
        pools: &mut BTreeMap<Class, Exchangeable>,
    ) -> AdId {
        let class = classes.get(&self.alike.first(offer)).filter(|_| !is_shared);
        let pool = class.and_then(|class| pools.get_mut(class));
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
