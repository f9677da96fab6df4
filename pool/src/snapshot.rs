//! What is known now into the frozen snapshot of one negotiation cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::conditions::types;
use crds::{AdKind, ClaimPolicy, Decision, Job, Match, Member, StopPolicy, conditions};
use matchmaker::{AdKey, Ask, Offer, PoolAd, Role, Snapshot};

use crate::agents::Life;
use crate::consent::consent;
use crate::freezer::Freezer;
use crate::key::ObjectKey;
use crate::node::node_trouble;
use crate::objects::{Held, Objects, OfferRef};
use crate::usage::usage;

/// A gang that was handed on and may not be seen in the objects yet.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Its Match.
    pub match_key: ObjectKey,
    /// What it takes, by offer.
    pub asks: Vec<(AdKey, Ask)>,
}

/// What the caller knows beside the objects.
#[derive(Clone, Debug, Default)]
pub struct CycleInputs {
    /// Gangs in flight.
    pub flights: Vec<Flight>,
    /// Uids of jobs that are not to be matched in this cycle.
    pub held_back: BTreeSet<String>,
    /// Uids of jobs that ask though they are held, or held back: their claims are at their ends, and what they gave back is not for
    /// those behind them. Gangs that are found for them are not to be claimed.
    pub returning: BTreeSet<String>,
    /// Uids of offers of which it is not known yet whether somebody is at work on a former one of the name.
    pub unverified: BTreeSet<String>,
    /// Offers that refused a job and are not to be asked again yet, by the job's uid.
    pub exclusions: BTreeMap<String, BTreeSet<AdKey>>,
}

/// Where a job stands between its making and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for a gang.
    Waits,
    /// Its ad is none.
    NotAccepted,
    /// Its owner paused it.
    Suspended,
    /// It is held by a Match, or one is still to be ended.
    Held,
    /// It is over.
    Finished,
}

/// Where a job stands.
pub fn job_state(held: &Held<Job>, objects: &Objects) -> JobState {
    let job = held.object.as_ref();
    let status = job.status.as_ref();
    let finished = status.is_some_and(|status| {
        status.finished_at.is_some()
            || conditions::find(&status.conditions, types::FINISHED).is_some_and(|found| found.status == "True")
    });
    if status.is_some_and(|status| status.claim.is_some()) || has_open_match(job, objects) {
        JobState::Held
    } else if finished || job.spec.done || job.metadata.deletion_timestamp.is_some() {
        JobState::Finished
    } else if held.ad.is_err() {
        JobState::NotAccepted
    } else if job.spec.suspend {
        JobState::Suspended
    } else {
        JobState::Waits
    }
}

/// Uids of the jobs whose claims are at their ends and that wait again then: some of their offers are free already.
pub fn returning(objects: &Objects) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for found in objects.matches.values() {
        let decision = found.status.as_ref().map(|status| status.decision).unwrap_or_default();
        let (true, Some((root, offers))) = (decision.is_terminal(), found.spec.members.split_first()) else { continue };
        let uid = found.metadata.uid.as_deref().unwrap_or("");
        let Some((_, held)) = objects.jobs.by_uid(&root.uid) else { continue };
        let job = held.object.as_ref();
        let claim = job.status.as_ref().and_then(|status| status.claim.as_ref());
        let waits = !job.spec.done && !job.spec.suspend && job.metadata.deletion_timestamp.is_none() && held.ad.is_ok();
        let is_free = |member: &Member| {
            objects
                .offer_of(member)
                .is_none_or(|offer| !offer.status().is_some_and(|status| status.claims.contains_key(uid)))
        };
        if waits && claim.is_some_and(|claim| claim.uid == uid) && offers.iter().any(is_free) {
            all.insert(root.uid.clone());
        }
    }
    all
}

/// Whether a Match of this very job is still undecided or stands.
fn has_open_match(job: &Job, objects: &Objects) -> bool {
    let [namespace, uid] = [&job.metadata.namespace, &job.metadata.uid].map(|name| name.as_deref().unwrap_or(""));
    let open = |decision: Decision| !decision.is_terminal();
    let mut here = objects.matches.of_root(uid).filter(|(key, _)| key.namespace == namespace);
    here.any(|(_, found)| open(found.status.as_ref().map(|status| status.decision).unwrap_or_default()))
}

/// Freezes what is known. Every accepted offer is in it, open or not, so that "busy" and "closed" can be told apart; every
/// accepted job is in it; those that wait are its roots.
pub fn snapshot(objects: &Objects, inputs: &CycleInputs) -> Snapshot {
    Freezer::default().freeze(objects, inputs)
}

/// Offers that were made again under a name whose former claims are not over: whoever works under one of those may still
/// do so, and the new ledger does not show it. By key and uid.
pub(crate) fn recreated_under_live_claims(objects: &Objects) -> BTreeSet<(AdKey, String)> {
    let over = |found: &crds::Match| {
        let decision = found.status.as_ref().map(|status| status.decision).unwrap_or_default();
        let root = found.spec.members.first();
        let job = root.and_then(|root| objects.jobs.get(&ObjectKey::new(&root.namespace, &root.name)));
        let claim = job.and_then(|held| held.object.status.as_ref()?.claim.as_ref());
        decision.is_terminal() && claim.is_none_or(|claim| Some(&claim.uid) != found.metadata.uid.as_ref())
    };
    let mut all = BTreeSet::new();
    for member in
        objects.matches.values().filter(|found| !over(found)).flat_map(|found| found.spec.members.iter().skip(1))
    {
        if let Some(offer) = objects.offer_of(member).filter(|offer| offer.uid() != member.uid) {
            all.insert((ad_key(offer.kind(), &offer.key()), offer.uid().to_owned()));
        }
    }
    // of a Match that is gone its batch Job still names the members
    let has_pods = |uid: &str| objects.works.pods_labelled_with(uid).next().is_some();
    let at_work = objects.works.labelled().filter(|(uid, batch)| batch.ended.is_none() || has_pods(uid));
    for [kind, namespace, name, uid] in at_work.flat_map(|(_, batch)| &batch.members) {
        let key = ObjectKey::new(namespace, name);
        if let Some(offer) = objects.offer(kind, &key).filter(|offer| offer.uid() != uid) {
            all.insert((ad_key(offer.kind(), &key), offer.uid().to_owned()));
        }
    }
    all
}

/// Claims that stand, and whose entry has gone from the ledger of an offer: somebody has wiped its status. What else was in
/// it may be gone too, so nothing of such an offer is given away before the entries are back. Of a job that the offer does not admit
/// no entry can have been there: that Match was not written here.
pub fn forgotten(objects: &Objects) -> Vec<(&Arc<Match>, &Member)> {
    let stands = |found: &&Arc<Match>| {
        found.status.as_ref().is_some_and(|status| status.decision == Decision::Committed)
            && found.metadata.deletion_timestamp.is_none()
    };
    let mut all = Vec::new();
    for found in objects.matches.values().filter(stands) {
        let uid = found.metadata.uid.as_deref().unwrap_or("");
        let namespace = found.metadata.namespace.clone().unwrap_or_default();
        for member in found.spec.members.iter().skip(1) {
            let Some(offer) = objects.offer_of(member).filter(|offer| offer.uid() == member.uid) else { continue };
            let has_entry = offer.status().is_some_and(|status| status.claims.contains_key(uid));
            if !has_entry && admits(offer, &namespace, objects) {
                all.push((found, member));
            }
        }
    }
    all
}

/// Whether an offer's owner takes jobs of this namespace.
pub fn admits(offer: OfferRef<'_>, namespace: &str, objects: &Objects) -> bool {
    let allowed = offer.fields().allowed_namespaces.as_ref();
    consent(allowed, &offer.key().namespace, &objects.namespaces).admits(namespace)
}

/// The name of an ad in the engine.
pub(crate) fn ad_key(kind: impl Into<AdKind>, key: &ObjectKey) -> AdKey {
    AdKey { kind: kind.into().to_string(), namespace: key.namespace.clone(), name: key.name.clone() }
}

/// An offer as the engine sees it, gangs in flight counted; `None` if its ad was not accepted.
pub(crate) fn offer_ad(found: OfferRef<'_>, objects: &Objects, inputs: &CycleInputs) -> Option<PoolAd> {
    let prepared = found.ad().as_ref().ok()?;
    let key = ad_key(found.kind(), &found.key());
    let mut usage = usage(found.status());
    let booked = |flight: &Flight| {
        let name = flight.match_key.to_string();
        found.status().is_some_and(|status| status.claims.values().any(|entry| entry.match_key == name))
    };
    for flight in inputs.flights.iter().filter(|flight| !booked(flight)) {
        for (_, ask) in flight.asks.iter().filter(|(taken, _)| *taken == key) {
            usage.take(ask);
        }
    }
    let fields = found.fields();
    let offer = Offer {
        capacity: found.capacity().clone().into(),
        default_request: fields.default_request.clone().into(),
        usage,
        shared_by: prepared.shared_by.clone(),
        consent: consent(fields.allowed_namespaces.as_ref(), &key.namespace, &objects.namespaces),
        open: is_open(found, objects, inputs),
    };
    Some(PoolAd {
        key,
        uid: found.uid().to_owned(),
        node_name: found.node_name().map(str::to_owned),
        ports: prepared.ports.clone(),
        role: Role::Offers(Box::new(offer)),
    })
}

/// Whether new claims may be made on an offer: it is open, whoever speaks for it is there, its node has nothing against it, and
/// nobody works on a former one of its name.
pub(crate) fn is_open(found: OfferRef<'_>, objects: &Objects, inputs: &CycleInputs) -> bool {
    let fields = found.fields();
    let speaks = || {
        let life = objects.agent(found.kind(), &found.key());
        match fields.claim_policy {
            ClaimPolicy::Agent => life == Life::Renewed,
            // nobody is asked; but one that had an agent and has lost it says what was true before
            ClaimPolicy::Auto => life != Life::Expired,
        }
    };
    fields.stop_policy == StopPolicy::None
        && found.metadata().deletion_timestamp.is_none()
        && speaks()
        && node_trouble(found, objects).is_none()
        && !inputs.unverified.contains(found.uid())
}
