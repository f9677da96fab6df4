//! One snapshot after the other: an ad that has not changed is the very same in both, so that the engine recognizes it.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use classad::Name;
use crds::Offer;
use matchmaker::{AdKey, Cycle, PoolAd, Role, Root, Snapshot};

use crate::ads::Advertises;
use crate::closure::{Closure, closure};
use crate::consent::{allowed_by_owner, consent, is_untrusted};
use crate::cycle_inputs::CycleInputs;
use crate::key::ad_key;
use crate::objects::Objects;
use crate::obstacles::Unavailable;
use crate::offer_ref::OfferRef;
use crate::returns::{Admitted, Returns};
use crate::snapshot::{JobState, job_state, missing_entries, offer_ad, recreated_under_live_claims};
use crate::store::AdStore;
use crate::unmatchable::Unmatchable;

/// Builds snapshots of the cache. What it remembers of the last one saves time and changes no snapshot.
#[derive(Debug, Default)]
pub struct SnapshotBuilder {
    /// The offers of the last snapshot, in the order of their keys.
    offers: Vec<BuiltOffer>,
    /// The last snapshot, without roots.
    snapshot: Option<Snapshot>,
    /// Jobs that are no roots, as they would find nothing.
    unmatchable: Unmatchable,
    /// Which of them come back because offers have changed.
    returns: Returns,
}

/// The snapshot of what is known now. It has every accepted offer, open or not, so that "busy" and "closed" can be told apart, and
/// every accepted job; the jobs that wait are its roots.
pub fn snapshot(objects: &Objects, inputs: &CycleInputs) -> Snapshot {
    SnapshotBuilder::default().build(objects, inputs)
}

/// The ad of an offer in a snapshot, and what it was made of.
#[derive(Clone, Debug)]
struct BuiltOffer {
    ad: Arc<PoolAd>,
    /// The cached object. It is kept, so that no other object is ever at its address.
    object: Arc<dyn Any + Send + Sync>,
    facts: OfferFacts,
}

/// What is true of an offer beside what its object says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OfferFacts {
    /// Why it takes no new claims, if so.
    closed: Option<Closure>,
    /// Its owner allows other namespaces, and its own namespace lacks the label for that.
    untrusted: bool,
    /// An assumed gang takes some of it.
    assumed: bool,
}

/// What all offers of a snapshot depend on.
struct SnapshotContext<'a> {
    objects: &'a Objects,
    inputs: &'a CycleInputs,
    /// Offers that are closed because of other objects: by key and uid.
    closed: BTreeSet<(AdKey, String)>,
    /// The offers that assumed gangs take some of.
    assumed: BTreeSet<&'a AdKey>,
}

impl SnapshotBuilder {
    /// The snapshot of what is known now.
    pub fn build(&mut self, objects: &Objects, inputs: &CycleInputs) -> Snapshot {
        // Jobs come first, as their kind does in the order of keys.
        let jobs = objects.jobs.iter().filter_map(|(_, held)| held.ad.as_ref().ok()?.root.clone());
        let mut all: Vec<Arc<PoolAd>> = jobs.collect();
        let before = std::mem::take(&mut self.offers);
        let mut rest = before.iter().peekable();
        // The offer of the last snapshot with this key. Keys are asked for in their order.
        let mut known = |key: &AdKey| {
            while rest.next_if(|built| built.ad.key < *key).is_some() {}
            rest.next_if(|built| built.ad.key == *key).cloned()
        };
        let context = SnapshotContext::of(objects, inputs);
        self.offers.extend(context.offers(&objects.licenses, &mut known));
        self.offers.extend(context.offers(&objects.machines, &mut known));
        let same =
            before.len() == self.offers.len() && before.iter().zip(&self.offers).all(|(old, new)| new.gives_as(old));
        self.unmatchable.begin(&inputs.barred, inputs.now_ms);
        if !same {
            self.returns.note(&changed(&before, &self.offers), &self.unmatchable.namespaces());
        }
        let concerned = self.returns.take(inputs.now_ms);
        if !concerned.is_empty() {
            self.unmatchable.bring_back(|ad| concerned.contains(&ad.key.namespace));
        }
        all.extend(self.offers.iter().map(|built| built.ad.clone()));
        let mut snapshot = match self.snapshot.take().filter(|last| is_of(last, &all)) {
            Some(snapshot) => snapshot,
            None => Snapshot::of(all),
        };
        self.snapshot = Some(snapshot.clone());
        let known = add_roots(&mut snapshot, objects, inputs, &self.unmatchable);
        if known.len() < self.unmatchable.known() {
            self.unmatchable.retain(|ad| known.contains(&std::ptr::from_ref(ad)));
        }
        snapshot
    }

    /// When jobs come back that are left out though an offer has changed, in milliseconds.
    pub fn next_ms(&self) -> Option<u64> {
        self.returns.next_ms()
    }

    /// The jobs that the last snapshot left out of its roots: earlier cycles have found that no gang would exist for them even if
    /// everything were free.
    pub fn unmatchable(&self) -> &Unmatchable {
        &self.unmatchable
    }

    /// The offers of the last snapshot that take no new claims, or none from other namespaces although their owners allow that.
    pub fn unavailable(&self, objects: &Objects) -> Vec<Unavailable> {
        let withheld = self.offers.iter().filter(|built| built.facts.closed.is_some() || built.facts.untrusted);
        let told = withheld.filter_map(|built| {
            let (key, facts) = (&built.ad.key, &built.facts);
            let allowed = || Some(objects.offer_at(key)?.fields.allowed_namespaces.as_ref());
            let consent = match facts.untrusted {
                true => allowed_by_owner(allowed()?, &key.namespace, &objects.namespaces),
                false => built.ad.offer()?.consent.clone(),
            };
            let unpublished = match facts.closed {
                Some(Closure::AgentLost) => unpublished(objects.offer_at(key)?, &built.ad),
                _ => Vec::new(),
            };
            let closed = facts.closed.clone();
            Some(Unavailable { key: key.clone(), closed, untrusted: facts.untrusted, consent, unpublished })
        });
        told.collect()
    }

    /// Takes in what a cycle has found about the last snapshot, as far as the jobs with these uids are concerned.
    pub fn learn(&mut self, snapshot: &Snapshot, cycle: &Cycle, is_concerned: impl Fn(&str) -> bool) {
        // Where an offer reads the clock or chance, what a cycle says of the jobs that it admits is not true for long.
        let timely = self.offers.iter().map(|built| &*built.ad).filter(|ad| ad.is_timely());
        let mut unsure = Admitted::to(timely);
        self.unmatchable.note(snapshot, cycle, |ad| is_concerned(&ad.uid), |ad| unsure.has(&ad.key.namespace));
    }
}

/// The attributes that an offer's agent would publish, and that its ad does not have.
fn unpublished(offer: OfferRef<'_>, ad: &PoolAd) -> Vec<Name> {
    let declared = offer.fields.dynamic_attributes.iter().map(|one| Name::from(one.name.as_str()));
    declared.filter(|name| ad.ports.body.get_name(name).is_none()).collect()
}

impl BuiltOffer {
    /// Whether it is the same offer, and gives the same, however much of it is taken.
    fn gives_as(&self, old: &BuiltOffer) -> bool {
        let terms = || Some((self.ad.offer()?, old.ad.offer()?));
        Arc::ptr_eq(&self.ad, &old.ad)
            || self.ad.looks_like(&old.ad)
                && terms().is_some_and(|(is, was)| is.open == was.open && is.has_terms_of(was))
    }
}

/// The offers that are not the same in both lists, as they were and as they are.
fn changed<'b>(before: &'b [BuiltOffer], now: &'b [BuiltOffer]) -> Vec<&'b PoolAd> {
    let find = |list: &'b [BuiltOffer], own: &BuiltOffer| {
        list.binary_search_by(|built| built.ad.key.cmp(&own.ad.key)).ok().and_then(|place| list.get(place))
    };
    let mut changed = Vec::new();
    for new in now {
        let old = find(before, new);
        if old.is_none_or(|old| !new.gives_as(old)) {
            changed.extend([Some(new), old].into_iter().flatten());
        }
    }
    changed.extend(before.iter().filter(|old| find(now, old).is_none()));
    changed.into_iter().map(|built| &*built.ad).collect()
}

/// Whether a snapshot is of these very ads.
fn is_of(snapshot: &Snapshot, ads: &[Arc<PoolAd>]) -> bool {
    snapshot.len() == ads.len() && snapshot.ads().zip(ads).all(|((_, known), ad)| std::ptr::eq(known, Arc::as_ptr(ad)))
}

impl<'a> SnapshotContext<'a> {
    fn of(objects: &'a Objects, inputs: &'a CycleInputs) -> SnapshotContext<'a> {
        let mut closed = recreated_under_live_claims(objects);
        let missing = missing_entries(objects).into_iter().filter_map(|(_, member)| objects.offer_of(member));
        closed.extend(missing.map(|offer| (ad_key(offer.kind, &offer.key()), offer.uid().to_owned())));
        let assumed = inputs.assumed.iter().flat_map(|gang| gang.asks.iter().map(|(offer, _)| offer)).collect();
        SnapshotContext { objects, inputs, closed, assumed }
    }

    /// The accepted offers of one kind, by key; those that have not changed as they were.
    fn offers<K: Offer + Advertises + Send + Sync + 'static>(
        &self,
        store: &AdStore<K>,
        known: &mut impl FnMut(&AdKey) -> Option<BuiltOffer>,
    ) -> Vec<BuiltOffer> {
        let built = store.iter().filter_map(|(key, held)| {
            let (key, offer) = (ad_key(<K as Advertises>::KIND, key), OfferRef::from(held));
            let facts = self.facts(offer, &key);
            let is_same = |built: &BuiltOffer| std::ptr::addr_eq(Arc::as_ptr(&built.object), Arc::as_ptr(&held.object));
            let before = known(&key).filter(|built| is_same(built) && self.is_current(built, offer, &facts));
            before.or_else(|| {
                let mut ad = offer_ad(offer, self.objects, self.inputs)?;
                if let Role::Offers(terms) = &mut ad.role {
                    terms.open = facts.closed.is_none();
                }
                Some(BuiltOffer { ad: Arc::new(ad), object: held.object.clone(), facts })
            })
        });
        built.collect()
    }

    fn facts(&self, offer: OfferRef<'_>, key: &AdKey) -> OfferFacts {
        let is_unsafe = !self.closed.is_empty() && self.closed.contains(&(key.clone(), offer.uid().to_owned()));
        let closed = closure(offer, self.objects, self.inputs);
        OfferFacts {
            closed: closed.or_else(|| is_unsafe.then_some(Closure::Unverified)),
            untrusted: is_untrusted(offer.fields.allowed_namespaces.as_ref(), &key.namespace, &self.objects.namespaces),
            assumed: self.assumed.contains(key),
        }
    }

    /// Whether the ad of an offer whose object has not changed is what would be made of it now. Assumed gangs come and go: an ad that
    /// counts one is made anew.
    fn is_current(&self, built: &BuiltOffer, offer: OfferRef<'_>, facts: &OfferFacts) -> bool {
        let namespace = &built.ad.key.namespace;
        built.facts == *facts
            && !facts.assumed
            && offer.fields.allowed_namespaces.as_ref().is_none_or(|allowed| {
                let now = consent(Some(allowed), namespace, &self.objects.namespaces);
                built.ad.offer().is_some_and(|terms| terms.consent == now)
            })
    }
}

/// Adds the roots, and how many gangs each namespace holds; not those that are left out, as nothing would be found for them. The ads of
/// jobs that wait and of which it is known that there was nothing for them.
fn add_roots(
    snapshot: &mut Snapshot,
    objects: &Objects,
    inputs: &CycleInputs,
    unmatchable: &Unmatchable,
) -> BTreeSet<*const PoolAd> {
    let jobs = objects.jobs.iter().filter(|(_, held)| held.ad.is_ok());
    let (mut roots, mut submitter, mut known) = (Vec::new(), Arc::<str>::default(), BTreeSet::new());
    // Jobs come first in a snapshot, in the order of their keys, as they do among the objects.
    for ((place, ad), (key, held)) in snapshot.ads().zip(jobs) {
        let waits = || !inputs.held_back.contains(&ad.uid) && job_state(held, objects) == JobState::Waits;
        if !inputs.returning.contains(&ad.uid) {
            if !waits() {
                continue;
            }
            if let Some(is_left_out) = unmatchable.knows(ad) {
                known.insert(std::ptr::from_ref(ad));
                if is_left_out {
                    continue;
                }
            }
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
        if !found.decision().is_terminal() {
            *snapshot.held.entry(found.metadata.namespace.clone().unwrap_or_default()).or_default() += 1;
        }
    }
    known
}
