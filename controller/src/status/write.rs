//! The objects and the last cycle's findings into the status patches that are due; none if nothing changed.

use std::collections::{BTreeMap, BTreeSet};

use crds::{Job, OfferStatus};
use jiff::Timestamp;
use kube::ResourceExt;
use pool::{ObjectKey, Objects, Standing, may_ask};

use crate::patch::Ops;
use crate::status::{Finding, job_waiting, job_working, offer_status};
use crate::workloads::work_of;

/// How long a job may wait for the first word about it, so that it is the right one.
const MOMENT_SECONDS: i64 = 5;

/// One status to be written.
pub(crate) struct Update {
    /// `Job`, `Machine` or `License`.
    pub(crate) kind: &'static str,
    /// Which one.
    pub(crate) key: ObjectKey,
    /// Its uid.
    pub(crate) uid: String,
    /// The change, for exactly the version that it was made for.
    pub(crate) patch: json_patch::Patch,
}

/// What the last cycle found.
pub(crate) struct Findings<'f> {
    /// Of each job that it could not match, by uid.
    pub(crate) all: &'f BTreeMap<String, Finding>,
    /// The next cycle is under way: it has more to say about jobs that were not looked at yet.
    pub(crate) searching: bool,
}

impl Findings<'_> {
    /// Whether a job that nobody has told anything yet hears more in a moment: then it is not told twice.
    fn is_to_come(&self, job: &Job, now: Timestamp) -> bool {
        let is_told = job.status.as_ref().is_some_and(|status| !status.conditions.is_empty());
        let since = job.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second());
        self.searching && !is_told && now.as_second().saturating_sub(since) < MOMENT_SECONDS
    }
}

/// All statuses that are not what they should be. Jobs under way (by uid) are left to whoever drives their claim.
pub(crate) fn updates(
    objects: &Objects,
    findings: &Findings<'_>,
    under_way: &BTreeSet<String>,
    now: Timestamp,
) -> Vec<Update> {
    let mut all = Vec::new();
    for (key, held) in objects.jobs.iter() {
        let uid = held.object.uid().unwrap_or_default();
        let standing = may_ask(held, objects);
        if under_way.contains(&uid) || held.object.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let from = held.object.status.clone().unwrap_or_default();
        let claim = from.claim.as_ref().map(|claim| claim.uid.as_str());
        let to = match (standing, claim.and_then(|uid| work_of(uid, objects))) {
            (Standing::Held, Some(batch)) => job_working(&held.object, batch, now),
            (Standing::Held, None) => continue,
            (Standing::Waits, _) if !findings.all.contains_key(&uid) && findings.is_to_come(&held.object, now) => {
                continue;
            }
            _ => job_waiting(held, standing, findings.all.get(&uid), now),
        };
        if from != to {
            let version = held.object.resource_version().unwrap_or_default();
            push(&mut all, "Job", (key, &uid), guarded(&version).status(&from, &to));
        }
    }
    for offer in objects.offers().filter(|offer| offer.metadata().deletion_timestamp.is_none()) {
        let from = offer.status().cloned().unwrap_or_default();
        let to = offer_status(offer, without_empty_seats(from.clone()), objects, now);
        if from != to {
            let version = offer.metadata().resource_version.clone().unwrap_or_default();
            push(&mut all, offer.kind(), (&offer.key(), offer.uid()), guarded(&version).status(&from, &to));
        }
    }
    all
}

/// A ledger without seats that nobody sits on: two sharers that left side by side have each seen the other still there.
fn without_empty_seats(mut ledger: OfferStatus) -> OfferStatus {
    let OfferStatus { claims, shared, .. } = &mut ledger;
    shared.retain(|key, _| claims.values().any(|entry| entry.share.as_ref() == Some(key)));
    ledger
}

fn guarded(version: &str) -> Ops {
    Ops::default().test(&["metadata", "resourceVersion"], version)
}

fn push(all: &mut Vec<Update>, kind: &'static str, (key, uid): (&ObjectKey, &str), ops: Ops) {
    if ops.writes() {
        all.push(Update { kind, key: key.clone(), uid: uid.to_owned(), patch: ops.build() });
    }
}
