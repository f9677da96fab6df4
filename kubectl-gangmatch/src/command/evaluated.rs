//! What a negotiation cycle that is computed here makes of jobs in files, of which no controller has said anything.

use std::collections::BTreeMap;

use crds::conditions::{Finding, Holds, find, reasons, set, types};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use matchmaker::{AdId, summary};
use pool::{Explanation, ObjectKey, Obstacles, explained};

use crate::cluster::Pool;
use crate::why::Case;

/// Writes what a cycle makes of the jobs that wait into their statuses, as the controller would. A job of which a controller has said it
/// already keeps that.
pub(crate) fn evaluate(pool: &mut Pool, now: Timestamp) {
    for (key, (reason, why)) in found(pool, now) {
        let Some(held) = pool.objects.jobs.get(&key) else { continue };
        let said = held.object.status.as_ref().and_then(|status| find(&status.conditions, types::MATCHED));
        if said.is_some_and(|said| said.reason != reasons::PENDING_EVALUATION) {
            continue;
        }
        let mut job = held.object.as_ref().clone();
        let (generation, status) = (job.metadata.generation, job.status.get_or_insert_default());
        let holds = if reason == reasons::GANG_FOUND { Holds::True } else { Holds::False };
        let finding = Finding { type_: types::MATCHED, holds, reason, message: why.clone() };
        set(&mut status.conditions, finding, generation, Time(now));
        status.why = Some(why);
        pool.objects.put(job);
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
