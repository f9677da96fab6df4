//! What a negotiation cycle that is computed here makes of jobs in files, of which no controller has said anything.

use std::collections::BTreeMap;

use crds::conditions::{Finding, Holds, find, reasons, set, types};
use crds::{Job, JobPhase, License, Machine, OfferStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::object::HasStatus;
use matchmaker::{AdId, summary};
use pool::{Cached, Explanation, ObjectKey, Obstacles, Stored, explained, offer_state, ready, usage};

use crate::cluster::Pool;
use crate::why::Case;

/// Writes what a controller would say of jobs and offers into their statuses: the states of offers, jobs that do not wait, and what a cycle makes
/// of those that do. What a controller has said already stays.
pub(crate) fn evaluate(pool: &mut Pool, now: Timestamp) {
    let found = found(pool, now);
    evaluate_offers::<Machine>(pool, now);
    evaluate_offers::<License>(pool, now);
    let keys: Vec<ObjectKey> = pool.objects.jobs.iter().map(|(key, _)| key.clone()).collect();
    for key in keys {
        let Some(held) = pool.objects.jobs.get(&key) else { continue };
        let said = held.object.status.as_ref().and_then(|status| find(&status.conditions, types::MATCHED));
        let is_said = said.is_some_and(|said| said.reason != reasons::PENDING_EVALUATION);
        let Some((phase, findings)) = not_waiting(held).or_else(|| waiting(found.get(&key)?)).filter(|_| !is_said)
        else {
            continue;
        };
        let mut job = held.object.as_ref().clone();
        let (generation, status) = (job.metadata.generation, job.status.get_or_insert_default());
        status.phase = status.phase.or(Some(phase));
        status.why = found.get(&key).map(|(_, why)| why.clone());
        for finding in findings {
            set(&mut status.conditions, finding, generation, Time(now));
        }
        pool.objects.put(job);
    }
}

/// The phase and the conditions of a job that no cycle looks at.
fn not_waiting(held: &Cached<Job>) -> Option<(JobPhase, Vec<Finding>)> {
    let finding =
        |type_, holds, reason, message: &str| vec![Finding { type_, holds, reason, message: message.to_owned() }];
    let (job, ad) = (&held.object.spec, &held.ad);
    match ad {
        _ if job.done => {
            let message = "spec.done was set before the job was claimed";
            Some((JobPhase::Cancelled, finding(types::FINISHED, Holds::True, reasons::CANCELLED, message)))
        }
        Err(problem) => {
            let said = finding(types::ACCEPTED, Holds::False, problem.reason, &problem.message);
            Some((JobPhase::Pending, said))
        }
        Ok(_) if job.suspend => {
            let said = finding(types::MATCHED, Holds::False, reasons::SUSPENDED, "spec.suspend is true");
            Some((JobPhase::Suspended, said))
        }
        Ok(_) => None,
    }
}

/// The same of a job that waits, of which a cycle has found this.
fn waiting((reason, why): &(&'static str, String)) -> Option<(JobPhase, Vec<Finding>)> {
    let holds = if *reason == reasons::GANG_FOUND { Holds::True } else { Holds::False };
    Some((JobPhase::Pending, vec![Finding { type_: types::MATCHED, holds, reason, message: why.clone() }]))
}

/// Writes the states of the offers of a kind, as far as their own objects tell.
fn evaluate_offers<K: Stored + HasStatus<Status = OfferStatus>>(pool: &mut Pool, now: Timestamp) {
    let keys: Vec<ObjectKey> = K::store_mut(&mut pool.objects).iter().map(|(key, _)| key.clone()).collect();
    for key in keys {
        let Some(offer) = pool.objects.offer(K::kind(&()).as_ref(), &key) else { continue };
        if offer.status.is_some_and(|status| status.state.is_some()) {
            continue;
        }
        let has_claims = offer.status.is_some_and(|status| !status.claims.is_empty());
        let (holds, reason, message) = ready(offer, &usage(offer.status), has_claims, &pool.objects);
        let state = offer_state(offer, holds, reason, has_claims);
        let Some(held) = K::store_mut(&mut pool.objects).get(&key) else { continue };
        let mut object = held.object.as_ref().clone();
        let generation = object.meta().generation;
        let status = object.status_mut().get_or_insert_default();
        status.state = Some(state);
        set(&mut status.conditions, Finding { type_: types::READY, holds, reason, message }, generation, Time(now));
        pool.objects.put(object);
    }
}

/// The reason of each job that waits, and the same in a sentence.
fn found(pool: &Pool, now: Timestamp) -> BTreeMap<ObjectKey, (&'static str, String)> {
    let case = Case::of(pool, now);
    let key = |ad: AdId| case.snapshot.ad(ad).map(|ad| ObjectKey::new(&ad.key.namespace, &ad.key.name));
    let no_steps = || (reasons::SEARCH_BUDGET_EXHAUSTED, "the cycle had no steps left to say why".to_owned());
    let roots = case.snapshot.roots.iter().filter_map(|root| key(root.ad));
    let mut all: BTreeMap<ObjectKey, (&'static str, String)> = roots.map(|key| (key, no_steps())).collect();
    all.extend(case.cycle.gangs.iter().filter_map(|gang| {
        let why = format!("it would get {}", summary(&case.snapshot, gang));
        Some((key(gang.root()?)?, (reasons::GANG_FOUND, why)))
    }));
    let mut obstacles = Obstacles::of(&case.left, &case.unavailable).naming_all();
    all.extend(case.cycle.unmatched.iter().filter_map(|unmatched| {
        let in_the_way = obstacles.find(unmatched, &case.config, now.as_second()).unwrap_or_default();
        let Explanation { reason, why, .. } = explained(unmatched, &in_the_way);
        Some((key(unmatched.root)?, (reason, why)))
    }));
    all
}
