//! How long a job has waited to be claimed, and whether that is longer than it wants to.

use crds::{Job, JobStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The job waits from now on, or still.
pub(super) fn begin(job: &Job, status: &mut JobStatus, now: Timestamp) {
    if status.waiting_since.is_none() {
        // The time before a controller saw it counts, too.
        let created = job.metadata.creation_timestamp.clone().filter(|_| status.waited_seconds.is_none());
        status.waiting_since = Some(created.unwrap_or(Time(now)));
    }
}

/// It does not wait any more: it is claimed, paused or finished.
pub(super) fn end(status: &mut JobStatus, now: Timestamp) {
    status.waited_seconds = Some(status.waited(now.as_second()));
    status.waiting_since = None;
}

/// In how many seconds it has waited long enough; `None` if it waits for ever.
pub(crate) fn left(job: &Job, status: &JobStatus, now: Timestamp) -> Option<i64> {
    Some(i64::from(job.spec.match_timeout_seconds?).saturating_sub(status.waited(now.as_second())))
}
