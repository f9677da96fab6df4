//! Jobs: the queue with its reasons, and one job.

use std::cmp::Reverse;

use crds::{Job, JobPhase};
use jiff::Timestamp;
use kube::ResourceExt;
use pool::ObjectKey;

use super::gang::GangView;
use super::{ConditionRow, Listing, Query, age_seconds, condition_rows, listing, seconds_since, visible};
use crate::metrics::census::phase_text;
use crate::page::picture::{Picture, find};
use crate::page::sight::{Kind, Sight};

/// A job in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobRow {
    pub(crate) key: ObjectKey,
    pub(crate) owner: String,
    pub(crate) phase: &'static str,
    pub(crate) priority: i32,
    /// Why it waits, or the members of its gang.
    pub(crate) says: String,
    pub(crate) age_seconds: i64,
    /// How long it has waited, if it waits.
    pub(crate) waited_seconds: Option<i64>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobDetail {
    pub(crate) row: JobRow,
    pub(crate) conditions: Vec<ConditionRow>,
    pub(crate) ports: Vec<PortRow>,
    /// The parts of its constraints with the number of offers that each refused: port, text, number.
    pub(crate) conjuncts: Vec<(String, String, i64)>,
    pub(crate) hint: Option<String>,
    /// Its gang, if a Match holds it and the viewer may list Matches there.
    pub(crate) gang: Option<GangView>,
}

/// What the last search found at one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortRow {
    pub(crate) label: String,
    pub(crate) candidates: i64,
    pub(crate) refused_by_job: i64,
    pub(crate) refused_by_offer: i64,
    pub(crate) busy: i64,
}

/// All phases, as they are shown.
pub(crate) const PHASES: [&str; 9] =
    ["New", "Pending", "Reserving", "Claimed", "Running", "Suspended", "Succeeded", "Failed", "Cancelled"];

/// The phase of a job.
pub(super) fn phase(job: &Job) -> &'static str {
    phase_text(job.status.as_ref().and_then(|status| status.phase))
}

/// The jobs that a viewer may list and that the query asks for: those that wait first, each in the order in which they are served
/// within a namespace.
pub(crate) fn jobs(picture: &Picture, sight: &Sight, query: &Query) -> Listing<JobRow> {
    let here = visible(&picture.jobs, Kind::Job, sight, query.namespace.as_deref());
    let wanted = query.state.as_deref();
    let mut all: Vec<&Job> = here.filter(|job| wanted.is_none_or(|wanted| phase(job) == wanted)).collect();
    all.sort_by_cached_key(|job| place(job));
    listing(&all, query.page, |job| row(job, picture.taken_at))
}

/// Where a job is in the list.
pub(super) fn place(job: &Job) -> (u8, Reverse<i32>, i64, String, String) {
    let group = match job.status.as_ref().and_then(|status| status.phase) {
        None | Some(JobPhase::Pending) => 0,
        Some(JobPhase::Reserving) => 1,
        Some(JobPhase::Claimed | JobPhase::Running) => 2,
        Some(JobPhase::Suspended) => 3,
        Some(JobPhase::Succeeded | JobPhase::Failed | JobPhase::Cancelled) => 4,
    };
    let created = job.metadata.creation_timestamp.as_ref().map_or(i64::MAX, |time| time.0.as_second());
    (group, Reverse(job.spec.priority), created, job.namespace().unwrap_or_default(), job.name_any())
}

/// The row of a job in the list of jobs.
pub(super) fn row(job: &Job, now: Timestamp) -> JobRow {
    let status = job.status.as_ref();
    let why = status.and_then(|status| status.why.clone().or_else(|| status.members.clone()));
    let since = status.and_then(|status| status.waiting_since.as_ref());
    let before = status.and_then(|status| status.waited_seconds).unwrap_or(0);
    JobRow {
        key: ObjectKey::of(job),
        owner: job.spec.ad.owner.clone().unwrap_or_default(),
        phase: phase(job),
        priority: job.spec.priority,
        says: why.unwrap_or_default(),
        age_seconds: age_seconds(&job.metadata, now),
        waited_seconds: since.map(|since| seconds_since(Some(since.0), now).saturating_add(before)),
    }
}

/// One job; none if there is none, or if the viewer may not list jobs there.
pub(crate) fn job(picture: &Picture, sight: &Sight, namespace: &str, name: &str) -> Option<JobDetail> {
    let job = find(&picture.jobs, namespace, name).filter(|_| sight.sees(Kind::Job, namespace))?;
    let status = job.status.clone().unwrap_or_default();
    let unmatched = status.unmatched.unwrap_or_default();
    let gang = job.claim().and_then(|claim| GangView::of(picture, sight, namespace, &claim.match_name));
    Some(JobDetail {
        row: row(job, picture.taken_at),
        conditions: condition_rows(&status.conditions, picture.taken_at),
        ports: unmatched
            .ports
            .into_iter()
            .map(|port| PortRow {
                label: port.label,
                candidates: port.candidates,
                refused_by_job: port.refused_by_job,
                refused_by_offer: port.refused_by_offer,
                busy: port.busy,
            })
            .collect(),
        conjuncts: unmatched.conjuncts.into_iter().map(|part| (part.port, part.text, part.rejects)).collect(),
        hint: unmatched.hint,
        gang,
    })
}
