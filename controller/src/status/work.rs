//! A job that holds a claim, and its batch Job, into what the job says: whether the work has started, and whether an edited ad is accepted.

use crds::conditions::{Holds, is_true, reasons, types};
use crds::{Job, JobStatus, StartedWorkload};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pool::{Cached, WorkloadObject};

use crate::status::draft::Draft;

/// A job whose claim is committed: once a pod is up, it says so, and which batch Job it is. An ad that was edited meanwhile counts after the
/// claim only, but whether it is accepted is said now.
pub(crate) fn job_working(held: &Cached<Job>, batch: Option<&WorkloadObject>, now: Timestamp) -> JobStatus {
    let mut draft = Draft::of(&held.object, now);
    if is_edited(&held.object) {
        draft.say_acceptance(&held.ad);
    }
    if let Some(batch) = batch.filter(|batch| draft.holds(types::CLAIMED) && batch.run.up) {
        started(&mut draft, batch);
    }
    draft.done()
}

/// Whether a job that is claimed was edited since its status was written, other than to end the claim: that end is written anyway.
pub(super) fn is_edited_under_its_claim(job: &Job) -> bool {
    let claimed = job.status.as_ref().is_some_and(|status| is_true(&status.conditions, types::CLAIMED));
    claimed && is_edited(job) && !job.spec.suspend && !job.spec.done
}

fn is_edited(job: &Job) -> bool {
    job.status.as_ref().and_then(|status| status.observed_generation) != job.metadata.generation
}

/// A pod of it has been ready, or has finished.
pub(super) fn started(draft: &mut Draft<'_>, batch: &WorkloadObject) {
    draft.status.workload = Some(StartedWorkload { name: batch.key.name.clone(), uid: batch.uid.clone() });
    let at = batch.run.started.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(draft.now);
    draft.status.started_at.get_or_insert(Time(at));
    draft.status.rejections = None;
    draft.say(types::STARTED, Holds::True, reasons::WORKLOAD_STARTED, format!("{} {}", batch.noun(), batch.key.name));
}
