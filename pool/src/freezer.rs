//! Snapshots one after the other: ads that are what they were are the very same in both, so that an engine knows them again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crds::{License, Machine};
use kube::ResourceExt;
use matchmaker::{AdKey, Consent, PoolAd, Role, Root, Snapshot};

use crate::consent::consent;
use crate::objects::{Objects, OfferRef};
use crate::snapshot::{
    CycleInputs, JobState, ad_key, forgotten, is_open, job_state, offer_ad, recreated_under_live_claims,
};

/// Freezes what is known, again and again. What it remembers saves time and changes no snapshot.
#[derive(Debug, Default)]
pub struct Freezer {
    /// The offers of the last snapshot, in the order of their keys, and what each was made of.
    offers: Vec<(Arc<PoolAd>, MadeOf)>,
    /// The last snapshot, without roots.
    snapshot: Option<Snapshot>,
}

/// What an offer's ad was made of, as far as its object does not tell.
#[derive(Clone, Debug)]
enum MadeOf {
    Machine(Arc<Machine>, Terms),
    License(Arc<License>, Terms),
}

/// What is true of an offer beside what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terms {
    open: bool,
    /// A gang in flight takes some of it.
    in_flight: bool,
}

/// What all offers of a snapshot have to do with.
struct Around<'a> {
    objects: &'a Objects,
    inputs: &'a CycleInputs,
    /// Offers that are closed for what others do: by key and uid.
    closed: BTreeSet<(AdKey, String)>,
    asked: BTreeSet<&'a AdKey>,
}

impl Freezer {
    /// The snapshot of what is known now.
    pub fn freeze(&mut self, objects: &Objects, inputs: &CycleInputs) -> Snapshot {
        // Jobs come first, as their kind does in the order of keys.
        let jobs = objects.jobs.iter().filter_map(|(_, held)| held.ad.as_ref().ok()?.asks.clone());
        let mut all: Vec<Arc<PoolAd>> = jobs.collect();
        self.offers = self.offers(objects, inputs);
        all.extend(self.offers.iter().map(|(ad, _)| ad.clone()));
        let mut snapshot = match self.snapshot.take().filter(|last| is_of(last, &all)) {
            Some(snapshot) => snapshot,
            None => Snapshot::of(all),
        };
        self.snapshot = Some(snapshot.clone());
        ask(&mut snapshot, objects, inputs);
        snapshot
    }

    /// The offers as they are now, in the order of their keys.
    fn offers(&mut self, objects: &Objects, inputs: &CycleInputs) -> Vec<(Arc<PoolAd>, MadeOf)> {
        let mut before = std::mem::take(&mut self.offers).into_iter().peekable();
        // Of the last snapshot's offers, the one with this key. All keys are asked for in their order.
        let mut known = |key: &AdKey| {
            while before.next_if(|(ad, _)| ad.key < *key).is_some() {}
            before.next_if(|(ad, _)| ad.key == *key)
        };
        let around = Around::of(objects, inputs);
        let licenses = objects.licenses.iter().map(|(key, held)| (key, OfferRef::License(held)));
        let machines = objects.machines.iter().map(|(key, held)| (key, OfferRef::Machine(held)));
        let now = licenses.chain(machines).filter_map(|(key, found)| {
            let key = ad_key(found.kind(), key);
            let terms = around.terms(found, &key);
            let before = known(&key).filter(|(ad, made_of)| around.is_offer(ad, made_of, found, terms));
            before.or_else(|| around.make(found, terms))
        });
        now.collect()
    }
}

/// Whether a snapshot is of these very ads.
fn is_of(snapshot: &Snapshot, ads: &[Arc<PoolAd>]) -> bool {
    snapshot.len() == ads.len() && snapshot.ads().zip(ads).all(|((_, known), ad)| std::ptr::eq(known, Arc::as_ptr(ad)))
}

impl<'a> Around<'a> {
    fn of(objects: &'a Objects, inputs: &'a CycleInputs) -> Around<'a> {
        let mut closed = recreated_under_live_claims(objects);
        let forgotten = forgotten(objects).into_iter().filter_map(|(_, member)| objects.offer_of(member));
        closed.extend(forgotten.map(|offer| (ad_key(offer.kind(), &offer.key()), offer.uid().to_owned())));
        let asked = inputs.flights.iter().flat_map(|flight| flight.asks.iter().map(|(offer, _)| offer)).collect();
        Around { objects, inputs, closed, asked }
    }

    fn terms(&self, found: OfferRef<'_>, key: &AdKey) -> Terms {
        let closed = !self.closed.is_empty() && self.closed.contains(&(key.clone(), found.uid().to_owned()));
        Terms { open: !closed && is_open(found, self.objects, self.inputs), in_flight: self.asked.contains(key) }
    }

    /// Whether this is what would be made of an offer now. Gangs in flight come and go: then it is made anew.
    fn is_offer(&self, ad: &PoolAd, made_of: &MadeOf, found: OfferRef<'_>, terms: Terms) -> bool {
        let same = match (made_of, found) {
            (MadeOf::Machine(object, then), OfferRef::Machine(held)) => {
                Arc::ptr_eq(object, &held.object) && *then == terms
            }
            (MadeOf::License(object, then), OfferRef::License(held)) => {
                Arc::ptr_eq(object, &held.object) && *then == terms
            }
            _ => false,
        };
        let consents = |now: &Consent| ad.offer().is_some_and(|offer| offer.consent == *now);
        same && !terms.in_flight
            && found
                .fields()
                .allowed_namespaces
                .as_ref()
                .is_none_or(|allowed| consents(&consent(Some(allowed), &ad.key.namespace, &self.objects.namespaces)))
    }

    fn make(&self, found: OfferRef<'_>, terms: Terms) -> Option<(Arc<PoolAd>, MadeOf)> {
        let mut ad = offer_ad(found, self.objects, self.inputs)?;
        if let Role::Offers(offer) = &mut ad.role {
            offer.open = terms.open;
        }
        let made_of = match found {
            OfferRef::Machine(held) => MadeOf::Machine(held.object.clone(), terms),
            OfferRef::License(held) => MadeOf::License(held.object.clone(), terms),
        };
        Some((Arc::new(ad), made_of))
    }
}

/// Puts in who asks, and how much everybody holds.
fn ask(snapshot: &mut Snapshot, objects: &Objects, inputs: &CycleInputs) {
    let jobs = objects.jobs.iter().filter(|(_, held)| held.ad.is_ok());
    let (mut roots, mut submitter) = (Vec::new(), Arc::<str>::default());
    // Jobs come first in a snapshot, in the order of their keys, as they do among the objects.
    for ((place, ad), (key, held)) in snapshot.ads().zip(jobs) {
        let waits = || !inputs.held_back.contains(&ad.uid) && job_state(held, objects) == JobState::Waits;
        if !inputs.returning.contains(&ad.uid) && !waits() {
            continue;
        }
        let since = held.object.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second());
        if *submitter != *key.namespace {
            submitter = key.namespace.as_str().into();
        }
        roots.push(Root {
            ad: place,
            submitter: Arc::clone(&submitter),
            priority: held.object.spec.priority,
            since,
            exclusions: inputs.exclusions.get(&ad.uid).cloned().unwrap_or_default(),
        });
    }
    snapshot.roots = roots;
    for found in objects.matches.values() {
        let decision = found.status.as_ref().map(|status| status.decision).unwrap_or_default();
        if !decision.is_terminal() {
            *snapshot.held.entry(found.namespace().unwrap_or_default()).or_default() += 1;
        }
    }
}
