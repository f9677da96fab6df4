//! A batch Job into what its job says of it: whether the work has started.

use crds::conditions::{Holds, reasons, types};
use crds::{Job, JobStatus, StartedWorkload};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pool::WorkloadObject;

use crate::status::job::Draft;

/// A job whose claim is committed: once a pod is up, it says so, and which batch Job it is.
pub(crate) fn job_working(job: &Job, batch: &WorkloadObject, now: Timestamp) -> JobStatus {
    let mut draft = Draft::of(job, now);
    if draft.holds(types::CLAIMED) && batch.run.up {
        started(&mut draft, batch);
    }
    draft.done()
}

/// A pod of it has been ready, or has finished.
pub(super) fn started(draft: &mut Draft<'_>, batch: &WorkloadObject) {
    draft.status.workload = Some(StartedWorkload { name: batch.key.name.clone(), uid: batch.uid.clone() });
    let at = batch.run.started.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(draft.now);
    draft.status.started_at.get_or_insert(Time(at));
    draft.status.rejections = None;
    draft.say(types::STARTED, Holds::True, reasons::WORKLOAD_STARTED, format!("{} {}", batch.noun(), batch.key.name));
}
