//! The end of work whose own controller does not end it: its pods listed at the server, and deleted once it has had its time.
//!
//! What counts is that no pod is there that has not finished. A seat is not freed before that, however long it takes.

use std::collections::BTreeSet;

use claiming::Event;
use crds::ad::GRACE_SECONDS_MAX;
use crds::{LABEL_MATCH_UID, WorkKind};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use pool::{Controller, ObjectKey, Origin, WorkloadObject, has_finished};

use crate::claims::stalls::{Retry, Setback};
use crate::claims::step::{Step, StepResult};
use crate::workloads::{self, state_of};
use crate::write::answer::Answer;

/// The label by which the batch Jobs of a JobSet are known.
const LABEL_JOB_SET: &str = "jobset.sigs.k8s.io/jobset-name";
/// What a pod gives itself that does not say.
const GRACE_SECONDS: i64 = 30;

/// How a pod that is late is to be deleted.
#[derive(Debug, PartialEq, Eq)]
enum Deletion {
    /// It is being deleted, and has no more time than it may have.
    UnderWay,
    /// With the time that it gives itself.
    AsItSays,
    /// With so many seconds: it gives itself too much, or was given more than it gives itself when it was deleted before.
    Within(u32),
}

fn deletion(pod: &Pod) -> Deletion {
    let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(GRACE_SECONDS);
    // 0 would take the pod away whether its containers have ended or not
    let most = own.clamp(1, GRACE_SECONDS_MAX);
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    let given = if is_deleted { pod.metadata.deletion_grace_period_seconds.unwrap_or(0) } else { own };
    match (given > most, is_deleted) {
        (true, _) => Deletion::Within(u32::try_from(most).unwrap_or(u32::MAX)),
        (false, true) => Deletion::UnderWay,
        (false, false) => Deletion::AsItSays,
    }
}

impl Step<'_> {
    /// Whether something that is suspended can be taken for stopped though its own controller does not say so: no pod of it is there
    /// that has not finished. Those that are there are deleted once the time is over that it was given.
    pub(super) async fn stop_by_force(&self, work: &WorkloadObject, by_ms: u64) -> Result<(), Setback> {
        let is_late = self.context.now_ms() >= by_ms;
        let mut owners = BTreeSet::from([work.uid.clone()]);
        if work.kind == WorkKind::JobSet {
            // A batch Job that still runs now was resumed or created after it had been suspended.
            let is_last = self.context.now_ms() >= by_ms.saturating_add(self.claims.stop_timeout_ms);
            match self.suspend_children(work, is_late, is_last).await {
                Answer::Done(children) => owners.extend(children),
                answer => return Err(self.lost(&answer)),
            }
        }
        let pods = self.done(self.context.cluster.unfinished_pods(&work.key.namespace).await)?;
        let match_uid = work.marks.match_uid.as_ref();
        let is_labelled = |pod: &Pod| match_uid.is_some() && pod.labels().get(LABEL_MATCH_UID) == match_uid;
        let is_owned = |pod: &Pod| pod.owner_references().iter().any(|owner| owners.contains(&owner.uid));
        let left: Vec<Pod> = pods.into_iter().filter(is_owned).collect();
        if left.is_empty() {
            tracing::warn!(work = %work.key, "its own controller has not said that it is suspended; it has no pods, and is taken for stopped");
            return Ok(());
        }
        if is_late {
            self.delete_pods(&left).await;
        }
        let why = format!("{} {} is suspended, and its last pods are still ending", work.noun(), work.key);
        // no watch shows those that do not carry the label
        Err(self.waits(why, retry(left.iter().all(is_labelled), is_late, by_ms)))
    }

    /// Whether none of the batch Jobs of a JobSet makes pods any more.
    pub(super) async fn children_rest(&self, set: &WorkloadObject) -> bool {
        match self.children(set).await {
            Answer::Done(jobs) => jobs.iter().all(|job| job.ended.is_some() || (job.run.suspended && job.run.rests)),
            _ => false,
        }
    }

    async fn children(&self, set: &WorkloadObject) -> Answer<Vec<WorkloadObject>> {
        let selector = format!("{LABEL_JOB_SET}={}", set.key.name);
        self.context.cluster.list_works(WorkKind::Job, &set.key.namespace, &selector).await
    }

    /// Suspends the batch Jobs of a JobSet; their uids. One that cannot be changed is deleted, if it is late; if `is_last` and one
    /// still runs, the JobSet is deleted.
    async fn suspend_children(&self, set: &WorkloadObject, is_late: bool, is_last: bool) -> Answer<Vec<String>> {
        let jobs = match self.children(set).await {
            Answer::Done(jobs) => jobs,
            answer => return answer.map(|_| Vec::new()),
        };
        let running: Vec<_> = jobs.iter().filter(|job| !job.run.suspended && job.ended.is_none()).collect();
        if is_last && !running.is_empty() {
            tracing::warn!(work = %set.key, "its claim is over, and its batch Jobs are resumed again and again: it is deleted");
            self.context.cluster.delete_work(set).await;
        }
        for job in running {
            match self.context.cluster.patch_work(job.kind, &job.key, &workloads::suspend(&job.uid)).await {
                Answer::Done(_) | Answer::Missing => {}
                answer if answer.is_refused() && is_late => drop(self.context.cluster.delete_work(job).await),
                answer => return answer.map(|_| Vec::new()),
            }
        }
        Answer::Done(jobs.into_iter().map(|job| job.uid).collect())
    }

    /// Deletes pods with the time that each gives itself, if that is not too long; once more those that were given more.
    async fn delete_pods(&self, pods: &[Pod]) {
        for pod in pods {
            let seconds = match deletion(pod) {
                Deletion::UnderWay => continue,
                Deletion::AsItSays => None,
                Deletion::Within(seconds) => Some(seconds),
            };
            let work = WorkloadObject::of_pod(pod);
            tracing::warn!(pod = %work.key, seconds, "the claim that it works for is over, and it has not ended in time: it is deleted");
            self.context.cluster.delete_within(&work, seconds).await;
        }
    }

    /// Lists workloads and pods of the claim that have not finished. Pods that are left when their time is over are deleted.
    pub(super) async fn list_work(&mut self) -> StepResult {
        let (namespace, selector) = (&self.view.key.namespace, format!("{LABEL_MATCH_UID}={}", self.view.uid));
        let job_sets = self.context.cache.lock().workloads.job_sets.then_some(WorkKind::JobSet);
        for kind in [WorkKind::Job].into_iter().chain(job_sets) {
            // Missing: the kind is not served any more.
            let works = self.found(self.context.cluster.list_works(kind, namespace, &selector).await)?;
            let (kept, works): (Vec<_>, Vec<_>) =
                works.unwrap_or_default().into_iter().partition(|work| self.is_kept(work));
            if let Some(event) = self.unfinished(works) {
                return Ok(event);
            }
            for batch in kept {
                self.stop_by_force(&batch, self.claims.stop_by_ms(&self.view.uid, &batch.uid)).await?;
            }
        }
        let pods = self.done(self.context.cluster.pods(namespace, &selector).await)?;
        let taken = pods.iter().map(WorkloadObject::of_pod).filter(|pod| !pod.marks.members.is_empty());
        if let Some(event) = self.unfinished(taken.collect()) {
            return Ok(event);
        }
        let left: Vec<Pod> = pods.into_iter().filter(|pod| !has_finished(pod) && self.is_its_pod(pod)).collect();
        if left.is_empty() {
            return Ok(Event::NoWork);
        }
        let by_ms = self.claims.stop_by_ms(&self.view.uid, "");
        let is_late = self.context.now_ms() >= by_ms;
        if is_late {
            self.stop_makers(&left).await;
            self.delete_pods(&left).await;
        }
        let are_seen = {
            let objects = self.context.cache.lock();
            objects.workloads.pods_of_claim(self.view.whose(&objects)) > 0
        };
        // the end of pods that no watch has shown would not be seen either
        Err(self.waits("its last pods are still ending", retry(are_seen, is_late, by_ms)))
    }

    /// Suspends the batch Jobs that go on making pods for this claim: those of a JobSet that was resumed after it had been given back still
    /// have the claim's label in their templates. One that cannot be suspended, or is resumed again and again, is deleted.
    async fn stop_makers(&self, left: &[Pod]) {
        let new = left.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let makers = new.filter_map(|pod| Controller::of(&pod.metadata)).filter(|maker| maker.is(WorkKind::Job));
        let makers: BTreeSet<String> = makers.map(|maker| maker.name).collect();
        for name in makers {
            let key = ObjectKey::new(&self.view.key.namespace, &name);
            let Answer::Done(maker) = self.context.cluster.read_work(WorkKind::Job, &key).await else { continue };
            let labels = maker.raw.spec.pointer("/template/metadata/labels");
            let label = labels.and_then(|labels| labels.get(LABEL_MATCH_UID)).and_then(serde_json::Value::as_str);
            if label != Some(&self.view.uid) || maker.work.run.suspended || maker.work.ended.is_some() {
                continue;
            }
            let is_last = self.context.now_ms() >= self.claims.stop_by_ms(&self.view.uid, &maker.work.uid);
            let suspended =
                self.context.cluster.patch_work(WorkKind::Job, &key, &workloads::suspend(&maker.work.uid)).await;
            if is_last || suspended.is_refused() {
                tracing::warn!(work = %key, "the claim that it makes pods for is over, and it does not stop: it is deleted");
                self.context.cluster.delete_work(&maker.work).await;
            }
        }
    }

    /// Whether finalizers keep a batch Job that is deleted, and it was given its time: it may refuse even to lose its label, but
    /// nothing more is made for it, and only its pods count.
    fn is_kept(&self, work: &WorkloadObject) -> bool {
        work.kind == WorkKind::Job && work.deleting && self.is_time_over(work)
    }

    fn is_its_pod(&self, pod: &Pod) -> bool {
        let objects = self.context.cache.lock();
        self.view.whose(&objects).owns_pod(&ObjectKey::of(pod), &Origin::of(&pod.metadata), &objects.workloads)
    }

    /// Puts what of this claim has not ended into the cache, if anything has not.
    fn unfinished(&self, works: Vec<WorkloadObject>) -> Option<Event> {
        let left: Vec<WorkloadObject> = {
            let objects = self.context.cache.lock();
            let whose = self.view.whose(&objects);
            works.into_iter().filter(|work| work.ended.is_none() && whose.owns(work)).collect()
        };
        let state = left.first().map(state_of)?;
        left.into_iter().for_each(|work| self.context.learn_work(work));
        Some(Event::Work(state))
    }
}

/// When the end of pods is looked at again: if a watch shows it, when it does.
fn retry(are_seen: bool, is_late: bool, by_ms: u64) -> Retry {
    match (are_seen, is_late) {
        (true, true) => Retry::OnChange,
        (true, false) => Retry::By(by_ms),
        (false, _) => Retry::BackOff,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn e7_a_pod_that_is_late_has_the_time_that_it_gives_itself_and_an_hour_at_most() {
        let pod = |own: Value, deleted: Option<i64>| -> Pod {
            let deleted = deleted.map(|seconds| ("2026-11-21T14:00:00Z", seconds));
            let metadata = json!({"deletionTimestamp": deleted.map(|found| found.0),
                "deletionGracePeriodSeconds": deleted.map(|found| found.1)});
            let spec = json!({"containers": [], "terminationGracePeriodSeconds": own});
            serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
        };
        let long = 1_000_000_000;
        for (own, deleted, expected) in [
            (json!(null), None, Deletion::AsItSays),
            (json!(0), None, Deletion::AsItSays),
            (json!(3600), None, Deletion::AsItSays),
            (json!(3601), None, Deletion::Within(3600)),
            (json!(long), None, Deletion::Within(3600)),
            (json!(i64::MAX), None, Deletion::Within(3600)),
            (json!(long), Some(long), Deletion::Within(3600)),
            (json!(long), Some(3600), Deletion::UnderWay),
            (json!(long), Some(5), Deletion::UnderWay),
            (json!(60), Some(long), Deletion::Within(60)),
            (json!(0), Some(long), Deletion::Within(1)),
            (json!(null), Some(31), Deletion::Within(30)),
            (json!(null), Some(30), Deletion::UnderWay),
        ] {
            assert_eq!(deletion(&pod(own.clone(), deleted)), expected, "{own} {deleted:?}");
        }
    }
}
