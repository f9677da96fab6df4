//! Snapshots one after the other: ads that are what they were are the very same in both, so that an engine knows them again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crds::{Job, License, Machine};
use kube::ResourceExt;
use matchmaker::{AdKey, Consent, PoolAd, Role, Root, Snapshot};

use crate::ads::{Advertises, Prepared};
use crate::consent::consent;
use crate::key::ObjectKey;
use crate::objects::{Objects, OfferRef};
use crate::snapshot::{Outlook, Standing, ad_key, forgotten, haunted, is_open, job_ad, may_ask, offer_ad};

/// Freezes what is known, again and again. What it remembers saves time and changes no snapshot.
#[derive(Debug, Default)]
pub struct Freezer {
    /// The ads of the last snapshot, in the order of their keys, and what each was made of.
    last: Vec<(Arc<PoolAd>, MadeOf)>,
    /// The last snapshot, without roots.
    snapshot: Option<Snapshot>,
}

/// What an ad was made of, as far as its object does not tell.
#[derive(Clone, Debug)]
enum MadeOf {
    Job,
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
    outlook: &'a Outlook,
    /// Offers that are closed for what others do: by key and uid.
    closed: BTreeSet<(AdKey, String)>,
    asked: BTreeSet<&'a AdKey>,
}

impl Freezer {
    /// The snapshot of what is known now.
    pub fn freeze(&mut self, objects: &Objects, outlook: &Outlook) -> Snapshot {
        let last = std::mem::take(&mut self.last);
        let number = last.len();
        let mut before = last.into_iter().peekable();
        // Of the last snapshot's ads, the one with this key. All keys are asked for in their order.
        let mut known = |key: &AdKey| {
            while before.next_if(|(ad, _)| ad.key < *key).is_some() {}
            before.next_if(|(ad, _)| ad.key == *key)
        };
        let mut same = 0;
        let mut put = |all: &mut Vec<(Arc<PoolAd>, MadeOf)>, ad: (Arc<PoolAd>, MadeOf), is_same: bool| {
            same += usize::from(is_same);
            all.push(ad);
        };
        let mut all = Vec::with_capacity(number);
        for (key, held) in objects.jobs.iter() {
            let Ok(prepared) = &held.ad else { continue };
            let before =
                known(&ad_key(<Job as Advertises>::KIND, key)).filter(|(ad, _)| is_job(ad, &held.object, prepared));
            let is_same = before.is_some();
            let ad = before.unwrap_or_else(|| (Arc::new(job_ad(key, &held.object, prepared)), MadeOf::Job));
            put(&mut all, ad, is_same);
        }
        let around = Around::of(objects, outlook);
        let licenses = objects.licenses.iter().map(|(key, held)| (key, OfferRef::License(held)));
        let machines = objects.machines.iter().map(|(key, held)| (key, OfferRef::Machine(held)));
        for (key, found) in licenses.chain(machines) {
            let key = ad_key(found.kind(), key);
            let terms = around.terms(found, &key);
            let before = known(&key).filter(|(ad, made_of)| around.is_offer(ad, made_of, found, terms));
            let is_same = before.is_some();
            if let Some(ad) = before.or_else(|| around.make(found, terms)) {
                put(&mut all, ad, is_same);
            }
        }
        let unchanged = same == number && number == all.len();
        let mut snapshot = match self.snapshot.take().filter(|_| unchanged) {
            Some(snapshot) => snapshot,
            None => Snapshot::of(all.iter().map(|(ad, _)| ad.clone()).collect()),
        };
        self.last = all;
        self.snapshot = Some(snapshot.clone());
        ask(&mut snapshot, objects, outlook);
        snapshot
    }
}

impl<'a> Around<'a> {
    fn of(objects: &'a Objects, outlook: &'a Outlook) -> Around<'a> {
        let mut closed = haunted(objects);
        closed.extend(forgotten(objects).into_iter().map(|(_, member)| {
            (ad_key(&member.kind, &ObjectKey::new(&member.namespace, &member.name)), member.uid.clone())
        }));
        let asked = outlook.flights.iter().flat_map(|flight| flight.asks.iter().map(|(offer, _)| offer)).collect();
        Around { objects, outlook, closed, asked }
    }

    fn terms(&self, found: OfferRef<'_>, key: &AdKey) -> Terms {
        let closed = !self.closed.is_empty() && self.closed.contains(&(key.clone(), found.uid().to_owned()));
        Terms { open: !closed && is_open(found, self.objects, self.outlook), in_flight: self.asked.contains(key) }
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
        let mut ad = offer_ad(found, self.objects, self.outlook)?;
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

/// Whether this is the ad of a job.
fn is_job(ad: &PoolAd, job: &Job, prepared: &Prepared) -> bool {
    Arc::ptr_eq(&ad.ports, &prepared.ports) && job.metadata.uid.as_ref() == Some(&ad.uid)
}

/// Puts in who asks, and how much everybody holds.
fn ask(snapshot: &mut Snapshot, objects: &Objects, outlook: &Outlook) {
    let mut jobs = objects.jobs.iter().filter(|(_, held)| held.ad.is_ok());
    let mut roots = Vec::new();
    // Jobs come first in a snapshot, in the order of their keys, as they do among the objects.
    for (place, ad) in snapshot.ads().take_while(|(_, ad)| ad.key.kind == <Job as Advertises>::KIND) {
        let Some((key, held)) = jobs.find(|(key, _)| key.name == ad.key.name && key.namespace == ad.key.namespace)
        else {
            break;
        };
        if outlook.held_back.contains(&ad.uid) || may_ask(held, objects) != Standing::Waits {
            continue;
        }
        let since = held.object.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second());
        roots.push(Root {
            ad: place,
            submitter: key.namespace.clone(),
            priority: held.object.spec.priority,
            since,
            exclusions: outlook.exclusions.get(&ad.uid).cloned().unwrap_or_default(),
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
