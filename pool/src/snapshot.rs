//! What of the cache is in a snapshot: which jobs wait, which offers are open, and what of them is taken.

use std::collections::BTreeSet;
use std::sync::Arc;

use crds::conditions::types;
use crds::{Decision, Disclosure, Job, Match, Member, conditions};
use matchmaker::{AdKey, Offer, PoolAd, Role};

use crate::claim_ref::ClaimRef;
use crate::closure::closure;
use crate::consent::consent;
use crate::cycle_inputs::{AssumedGang, CycleInputs};
use crate::key::{ObjectKey, ad_key};
use crate::objects::Objects;
use crate::offer_ref::OfferRef;
use crate::store::Cached;
use crate::usage::usage;

/// The state of a job between its creation and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for a gang.
    Waits,
    /// Its ad was not accepted.
    NotAccepted,
    /// It is suspended.
    Suspended,
    /// A Match holds it, or an undecided or committed Match of it is there.
    Held,
    /// It has finished, or is to finish.
    Finished,
}

/// The state of a job.
pub fn job_state(held: &Cached<Job>, objects: &Objects) -> JobState {
    let job = held.object.as_ref();
    let status = job.status.as_ref();
    let finished = status
        .is_some_and(|status| status.finished_at.is_some() || conditions::is_true(&status.conditions, types::FINISHED));
    if job.claim().is_some() || has_open_match(job, objects) {
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

/// Uids of the jobs that will wait again once their ending claims are over, some of whose offers are free already, and for which nothing
/// works any more: an offer that was deleted tells nothing of when the others will be free.
pub fn returning(objects: &Objects) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (key, found) in objects.matches.iter().filter(|(_, found)| found.decision().is_terminal()) {
        let Some((root, offers)) = found.spec.members.split_first() else { continue };
        let uid = found.metadata.uid.as_deref().unwrap_or("");
        let Some((job_key, held)) = objects.jobs.by_uid(&root.uid) else { continue };
        let job = held.object.as_ref();
        let claim = ClaimRef::of(uid, key, (job_key, &root.uid), objects);
        let works = objects.workloads.pods_of_claim(claim) > 0
            || objects.workloads.of_claim(claim).any(|work| work.ended.is_none());
        let waits = !job.spec.done && !job.spec.suspend && job.metadata.deletion_timestamp.is_none() && held.ad.is_ok();
        let is_free = |member: &Member| {
            objects.offer_of(member).is_some_and(|offer| offer.is(member) && offer.entry(uid).is_none())
        };
        if waits && !works && job.claim().is_some_and(|claim| claim.uid == uid) && offers.iter().any(is_free) {
            all.insert(root.uid.clone());
        }
    }
    all
}

/// Whether a Match of this very job is undecided or committed.
fn has_open_match(job: &Job, objects: &Objects) -> bool {
    let [namespace, uid] = [&job.metadata.namespace, &job.metadata.uid].map(|name| name.as_deref().unwrap_or(""));
    let mut here = objects.matches.of_root(uid).filter(|(key, _)| key.namespace == namespace);
    here.any(|(_, found)| !found.decision().is_terminal())
}

/// Offers that were created again under a name whose former claims are not over: the work of such a claim may still go on, and the new
/// ledger does not show it. By key and uid.
pub(crate) fn recreated_under_live_claims(objects: &Objects) -> BTreeSet<(AdKey, String)> {
    let is_over = |found: &Match| {
        let root = found.spec.members.first();
        let job = root.and_then(|root| objects.jobs.get(&ObjectKey::new(&root.namespace, &root.name)));
        let claim = job.and_then(|held| held.object.claim());
        found.decision().is_terminal() && claim.is_none_or(|claim| Some(&claim.uid) != found.metadata.uid.as_ref())
    };
    let live = objects.matches.values().filter(|found| !is_over(found));
    let members = live.flat_map(|found| found.spec.members.iter().skip(1));
    let recreated = members.filter_map(|member| objects.offer_of(member).filter(|offer| !offer.is(member)));
    // The batch Job of a deleted Match still names the members.
    let has_pods = |uid: &str| objects.workloads.pods_labelled_with(uid).next().is_some();
    let at_work = objects.workloads.labelled().filter(|(uid, batch)| batch.ended.is_none() || has_pods(uid));
    let named = at_work.flat_map(|(_, batch)| &batch.marks.members).filter_map(|[kind, namespace, name, uid]| {
        objects.offer(kind, &ObjectKey::new(namespace, name)).filter(|offer| offer.uid() != uid)
    });
    recreated.chain(named).map(|offer| (ad_key(offer.kind, &offer.key()), offer.uid().to_owned())).collect()
}

/// Committed claims whose entry is missing in the ledger of an offer: the status of the offer was overwritten. Other entries may be
/// missing too, so nothing of such an offer is allocated before they are restored. The entry of a job that the offer does not admit
/// cannot have been there: the controller has not written that Match.
pub fn missing_entries(objects: &Objects) -> Vec<(&Arc<Match>, &Member)> {
    let is_committed =
        |found: &&Arc<Match>| found.decision() == Decision::Committed && found.metadata.deletion_timestamp.is_none();
    let mut all = Vec::new();
    for found in objects.matches.values().filter(is_committed) {
        let uid = found.metadata.uid.as_deref().unwrap_or("");
        let namespace = found.metadata.namespace.as_deref().unwrap_or("");
        for member in found.spec.members.iter().skip(1) {
            let Some(offer) = objects.offer_of(member).filter(|offer| offer.is(member)) else { continue };
            if offer.entry(uid).is_none() && admits(offer, namespace, objects) {
                all.push((found, member));
            }
        }
    }
    all
}

/// Whether the owner of an offer admits jobs of this namespace.
pub fn admits(offer: OfferRef<'_>, namespace: &str, objects: &Objects) -> bool {
    let allowed = offer.fields.allowed_namespaces.as_ref();
    consent(allowed, &offer.key().namespace, &objects.namespaces).admits(namespace)
}

/// The ad of an offer as the engine sees it, assumed gangs counted; `None` if the ad was not accepted.
pub(crate) fn offer_ad(offer: OfferRef<'_>, objects: &Objects, inputs: &CycleInputs) -> Option<PoolAd> {
    let prepared = offer.ad.as_ref().ok()?;
    let key = ad_key(offer.kind, &offer.key());
    let mut usage = usage(offer.status);
    let is_booked = |gang: &AssumedGang| {
        let name = gang.match_key.to_string();
        offer.status.is_some_and(|status| status.claims.values().any(|entry| entry.match_key == name))
    };
    for gang in inputs.assumed.iter().filter(|gang| !is_booked(gang)) {
        for (_, ask) in gang.asks.iter().filter(|(taken, _)| *taken == key) {
            usage.take(ask);
        }
    }
    let terms = Offer {
        capacity: offer.capacity.clone().into(),
        default_request: offer.fields.default_request.clone().into(),
        usage,
        shared_by: prepared.shared_by.clone(),
        consent: consent(offer.fields.allowed_namespaces.as_ref(), &key.namespace, &objects.namespaces),
        open: closure(offer, objects, inputs).is_none(),
        disclosed: offer.fields.disclosure == Disclosure::Full,
    };
    Some(PoolAd {
        key,
        uid: offer.uid().to_owned(),
        node_name: offer.node_name.map(str::to_owned),
        ports: prepared.ports.clone(),
        role: Role::Offers(Box::new(terms)),
    })
}
