//! A pool that changes a little from one cycle to the next.

use std::collections::BTreeSet;
use std::sync::Arc;

use matchmaker::{AdKey, Consent, Cycle, Offer, PoolAd, Role, Root, Snapshot, Usage};

use crate::world::World;

/// The ads of a world as they are now.
pub(crate) struct History {
    world: World,
    /// In the order of their keys; some are gone.
    ads: Vec<(Arc<PoolAd>, bool)>,
    /// What ads can become.
    others: Vec<PoolAd>,
    /// Those that have their gang ask no more.
    served: BTreeSet<AdKey>,
    refusing: BTreeSet<AdKey>,
    text: String,
}

impl History {
    pub(crate) fn new(world: World, others: &World) -> History {
        let ads = world.snapshot.ads().map(|(_, ad)| (Arc::new(ad.clone()), true)).collect();
        let others = others.snapshot.ads().map(|(_, ad)| ad.clone()).collect();
        let (served, refusing, text) = (BTreeSet::new(), BTreeSet::new(), world.text.clone());
        History { world, ads, others, served, refusing, text }
    }

    /// The pool as it is now.
    pub(crate) fn world(&self) -> World {
        let ads = self.ads.iter().filter(|(_, there)| *there).map(|(ad, _)| Arc::clone(ad));
        let mut snapshot = Snapshot::of(ads.collect());
        for root in &self.world.snapshot.roots {
            let key = &self.world.snapshot.ad(root.ad).unwrap().key;
            if let Some(ad) = snapshot.find(key).filter(|_| !self.served.contains(key)) {
                let exclusions = root.exclusions.union(&self.refusing).cloned().collect();
                snapshot.roots.push(Root { ad, exclusions, ..root.clone() });
            }
        }
        World { snapshot, config: self.world.config.clone(), text: self.text.clone() }
    }

    /// Changes one thing.
    pub(crate) fn change(&mut self, number: u16) {
        let (place, what) = (usize::from(number & 0xff) % self.ads.len(), number >> 8);
        self.text += &format!("\nchange {place}: {}", what % 13);
        let other = self.others[usize::from(number) % self.others.len()].clone();
        let Some((own, there)) = self.ads.get_mut(place) else { return };
        let mut ad = PoolAd::clone(own);
        let offer = match &mut ad.role {
            Role::Offers(offer) => Some(&mut **offer),
            Role::Asks => None,
        };
        match (what % 13, offer) {
            (0, _) => *there = !*there,
            (1, Some(offer)) => offer.open = !offer.open,
            (2, Some(offer)) => offer.usage = Usage::default(),
            (3, Some(offer)) => offer.usage.own = offer.capacity.clone(),
            (4, Some(Offer { usage, capacity, .. })) => usage.external = capacity.clone(),
            (5, Some(offer)) => {
                offer.consent = match &offer.consent {
                    Consent::Everybody => Consent::same("m"),
                    Consent::Namespaces(list) if list.contains("n") => Consent::Everybody,
                    Consent::Namespaces(_) => Consent::same("n"),
                }
            }
            (6, Some(offer)) => {
                let there = other.offer().filter(|other| other.shared_by.is_some());
                offer.shared_by = there.and_then(|other| other.shared_by.clone());
            }
            (7, Some(offer)) => {
                if let Some(other) = other.offer() {
                    (offer.capacity, offer.default_request) = (other.capacity.clone(), other.default_request.clone());
                }
            }
            (8, _) => ad.ports = other.ports,
            (9, _) => ad = PoolAd { key: ad.key, ..other },
            (10, _) => (ad.uid, ad.node_name) = (other.uid, other.node_name),
            (11, _) if self.refusing.remove(&ad.key) => {}
            (11, _) => drop(self.refusing.replace(ad.key.clone())),
            _ => {}
        }
        *own = Arc::new(ad);
    }

    /// Claims a gang that was found in the pool as it was: what it takes is taken.
    pub(crate) fn claim(&mut self, cycle: &Cycle, snapshot: &Snapshot, number: usize) {
        let Some(gang) = cycle.gangs.get(number) else { return };
        self.text += &format!("\nclaim {number}");
        for member in &gang.members {
            let key = &snapshot.ad(member.ad).unwrap().key;
            if member.edge.is_none() {
                self.served.insert(key.clone());
            }
            let Some((own, _)) = self.ads.iter_mut().find(|(ad, _)| ad.key == *key) else { continue };
            let mut ad = PoolAd::clone(own);
            if let Role::Offers(offer) = &mut ad.role {
                offer.usage.take(&member.ask);
                *own = Arc::new(ad);
            }
        }
    }
}
