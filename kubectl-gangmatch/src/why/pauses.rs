//! Jobs that back off: which offers refused them, and for how long, only the controller knows, so that its conditions are believed.

use std::collections::BTreeSet;

use crds::Job;
use crds::conditions::{find, reasons, types};
use kube::ResourceExt;
use pool::{Cached, JobState, ObjectKey, Objects, job_state};

/// How many refusals are named.
const REFUSALS_MAX: usize = 3;

/// Whether the controller says of the job, as it is now, that it backs off.
pub(super) fn backs_off(job: &Job) -> bool {
    let conditions = job.status.as_ref().map(|status| status.conditions.as_slice());
    let matched = find(conditions.unwrap_or_default(), types::MATCHED);
    matched.is_some_and(|matched| {
        matched.reason == reasons::BACKING_OFF && matched.observed_generation == job.metadata.generation
    })
}

/// Uids of the jobs that back off: the next cycle does not match them, as far as can be known.
pub(super) fn that_back_off(objects: &Objects) -> BTreeSet<String> {
    let jobs = objects.jobs.iter().map(|(_, held)| held.object.as_ref());
    jobs.filter(|job| backs_off(job)).filter_map(ResourceExt::uid).collect()
}

/// Those of these jobs, by uid, that wait.
pub(super) fn waiting_among(objects: &Objects, uids: &BTreeSet<String>) -> Vec<ObjectKey> {
    let is_one = |held: &Cached<Job>| held.object.uid().is_some_and(|uid| uids.contains(&uid));
    let waits = |held: &Cached<Job>| job_state(held, objects) == JobState::Waits;
    objects.jobs.iter().filter(|(_, held)| is_one(held) && waits(held)).map(|(key, _)| key.clone()).collect()
}

/// The last refusals of a job, newest first, as `license eda/sim, at 2026-11-21T14:00:00Z: not now`.
pub(super) fn refusals(job: &Job) -> Vec<String> {
    let all = job.status.as_ref().map(|status| status.refusals.as_slice()).unwrap_or_default();
    let sentence = |refusal: &crds::Refusal| {
        let at = refusal.time.as_ref().map(|time| format!(", at {}", time.0)).unwrap_or_default();
        let kind = refusal.kind.to_ascii_lowercase();
        let why = if refusal.message.is_empty() { &refusal.reason } else { &refusal.message };
        format!("{kind} {}/{}{at}: {why}", refusal.namespace, refusal.name)
    };
    all.iter().take(REFUSALS_MAX).map(sentence).collect()
}
