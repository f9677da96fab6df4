//! An object and the last cycle's finding into the status patch that is due; none if nothing changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{AdKind, Job, OfferStatus};
use jiff::Timestamp;
use kube::ResourceExt;
use pool::{Cached, ClaimRef, JobState, ObjectKey, Objects, OfferRef, job_state};

use crate::status::job::retells_at;
use crate::status::waiting::left;
use crate::status::work::is_edited_under_its_claim;
use crate::status::{EventText, Finding, job_waiting, job_working, news, offer_status};
use crate::workloads::work_of;
use crate::write::patch::Ops;

/// How long a job may wait for the first word about it, so that it is the right one.
const MOMENT_SECONDS: i64 = 5;

/// What is done to an object.
pub(crate) enum StatusWrite {
    /// Its status changes, from exactly the version that the patch was made for.
    Status(json_patch::Patch),
    /// It is deleted: it has finished, and its time is over.
    Delete,
}

/// One status to be written.
pub(crate) struct Update {
    /// The kind of its object.
    pub(crate) kind: AdKind,
    /// Which one.
    pub(crate) key: ObjectKey,
    /// Its uid.
    pub(crate) uid: String,
    /// What is done to it.
    pub(crate) change: StatusWrite,
    /// What an Event is to say of it.
    pub(crate) news: Option<EventText>,
}

/// What one status comes to.
#[derive(Default)]
pub(crate) struct StatusCheck {
    /// What is to be written now.
    pub(crate) update: Option<Update>,
    /// When it is to be looked at again if nothing changes, in seconds since 1970.
    pub(crate) at: Option<i64>,
}

/// What the last cycle found.
pub(crate) struct Findings<'f> {
    /// Of each job that it could not match, by uid.
    pub(crate) all: &'f BTreeMap<String, Arc<Finding>>,
    /// The next cycle is under way, or about to be: it has more to say about jobs that were not looked at yet.
    pub(crate) searching: bool,
}

impl Findings<'_> {
    /// Until when the status of a job without one is not written, since more is known in a moment: then it is not written twice.
    fn comes_by(&self, job: &Job, now: Timestamp) -> Option<i64> {
        let is_told = job.status.as_ref().is_some_and(|status| !status.conditions.is_empty());
        if is_told || !self.searching {
            return None;
        }
        let since = job.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second());
        Some(since.saturating_add(MOMENT_SECONDS)).filter(|by| *by > now.as_second())
    }
}

/// The status of a job. Jobs whose claims are under way (by uid) are left to these.
pub(crate) fn job_next(
    held: &Cached<Job>,
    objects: &Objects,
    findings: &Findings<'_>,
    under_way: &BTreeSet<String>,
    now: Timestamp,
) -> StatusCheck {
    let job = held.object.as_ref();
    let uid = job.uid().unwrap_or_default();
    if under_way.contains(&uid) || job.metadata.deletion_timestamp.is_some() {
        return StatusCheck::default();
    }
    let state = job_state(held, objects);
    let from = job.status.clone().unwrap_or_default();
    let finding = findings.all.get(&uid).map(Arc::as_ref);
    let claim = from
        .claim
        .as_ref()
        .map(|claim| (&claim.uid, ObjectKey::new(&job.namespace().unwrap_or_default(), &claim.match_name)));
    let work = claim.as_ref().and_then(|(uid, key)| work_of(ClaimRef { uid, key, job: Some(job) }, objects));
    let to = match (state, work) {
        (JobState::Held, None) if !is_edited_under_its_claim(job) => return StatusCheck::default(),
        (JobState::Held, work) => job_working(held, work.map(Arc::as_ref), now),
        (JobState::Waits, _) if finding.is_none() => match findings.comes_by(job, now) {
            Some(by) => return StatusCheck { update: None, at: Some(by) },
            None => job_waiting(held, state, None, now),
        },
        _ => job_waiting(held, state, finding, now),
    };
    if from != to {
        let version = job.resource_version().unwrap_or_default();
        let ops = guarded(&version).status(&from, &to);
        let news = news(&from.conditions, &to.conditions);
        return StatusCheck { update: update(AdKind::Job, ObjectKey::of(job), &uid, ops, news), at: None };
    }
    if let Some(at) = expires_at(job, state) {
        let is_over = at <= now.as_second();
        let delete =
            || Update { kind: AdKind::Job, key: ObjectKey::of(job), uid, change: StatusWrite::Delete, news: None };
        return StatusCheck { update: is_over.then(delete), at: Some(at).filter(|_| !is_over) };
    }
    let second = now.as_second();
    let waits = state == JobState::Waits;
    let timeout = left(job, &from, now).filter(|_| waits).map(|left| second.saturating_add(left));
    let retold = finding.filter(|_| waits).and_then(|found| retells_at(&from, job.metadata.generation, found, second));
    StatusCheck { update: None, at: timeout.into_iter().chain(retold).filter(|at| *at > second).min() }
}

/// When a finished job is deleted, in seconds since 1970.
fn expires_at(job: &Job, state: JobState) -> Option<i64> {
    let ttl = job.spec.ttl_seconds_after_finished.filter(|_| state == JobState::Finished)?;
    let finished_at = job.status.as_ref()?.finished_at.as_ref()?;
    Some(finished_at.0.as_second().saturating_add(i64::from(ttl)))
}

/// When a job that waits, and whose status is in line with all but this finding, is to be looked at.
pub(crate) fn hears_at(job: &Job, finding: &Finding, now: Timestamp) -> Option<i64> {
    let second = now.as_second();
    let retold = |status| retells_at(status, job.metadata.generation, finding, second);
    job.status.as_ref().map_or(Some(second), retold)
}

/// The status of an offer.
pub(crate) fn offer_next(offer: OfferRef<'_>, objects: &Objects, now: Timestamp) -> Option<Update> {
    if offer.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let from = offer.status.cloned().unwrap_or_default();
    let to = offer_status(offer, without_empty_seats(from.clone()), objects, now);
    if from == to {
        return None;
    }
    let version = offer.metadata.resource_version.clone().unwrap_or_default();
    let ops = guarded(&version).status(&from, &to);
    update(offer.kind.into(), offer.key(), offer.uid(), ops, news(&from.conditions, &to.conditions))
}

/// A ledger without shared seats that no claim holds: two sharers that left side by side have each seen the other still there.
fn without_empty_seats(mut ledger: OfferStatus) -> OfferStatus {
    let OfferStatus { claims, shared, .. } = &mut ledger;
    shared.retain(|key, _| claims.values().any(|entry| entry.share.as_ref() == Some(key)));
    ledger
}

fn guarded(version: &str) -> Ops {
    Ops::default().test(&["metadata", "resourceVersion"], version)
}

fn update(kind: AdKind, key: ObjectKey, uid: &str, ops: Ops, news: Option<EventText>) -> Option<Update> {
    ops.writes().then(|| Update { kind, key, uid: uid.to_owned(), change: StatusWrite::Status(ops.build()), news })
}
