//! The objects into what is known of the workload of a claim.

use std::sync::Arc;

use claiming::{Digest, Work};
use crds::{Job, WorkKind};
use pool::{ClaimRef, ObjectKey, Objects, WorkloadObject};

/// What works for a claim; of several the one that has not ended. Of one that has run under the claim the uid is known: another one
/// of its name is none of it.
pub(crate) fn work_of<'o>(whose: ClaimRef<'o>, objects: &'o Objects) -> Option<&'o Arc<WorkloadObject>> {
    let is_recorded = |work: &&Arc<WorkloadObject>| whose.recorded().is_none_or(|uid| work.uid == uid);
    objects.workloads.of_claim(whose).filter(is_recorded).min_by_key(|work| work.ended.is_some())
}

/// What is to be stopped when a claim ends: what works for it, or else what bears its marks.
pub(crate) fn left_of<'o>(whose: ClaimRef<'o>, objects: &'o Objects) -> Option<&'o Arc<WorkloadObject>> {
    work_of(whose, objects).or_else(|| objects.workloads.of_claim(whose).min_by_key(|work| work.ended.is_some()))
}

/// What the job of a claim names in `workloadRef`, whether it works for the claim or not.
pub(crate) fn asked_for<'o>(whose: ClaimRef<'o>, objects: &'o Objects) -> Option<&'o Arc<WorkloadObject>> {
    let reference = whose.job?.spec.workload.as_ref()?.workload_ref.as_ref()?;
    objects.workloads.get(reference.kind, &ObjectKey::new(&whose.key.namespace, &reference.name))
}

/// What is known of the workload of a claim. Of a job that is not seen it is not known whether it wants one: then it is
/// looked for.
pub(crate) fn work(whose: ClaimRef<'_>, objects: &Objects) -> Work {
    if let Some(work) = work_of(whose, objects) {
        return state_of(work);
    }
    if !objects.workloads.scope.includes(&whose.key.namespace) {
        // nothing may be made nor looked for there: a claim that was committed before is left as it is
        return if whose.job.is_some_and(|job| job.spec.workload.is_some()) { Work::Started } else { Work::None };
    }
    let Some(job) = whose.job else { return Work::Absent };
    if was_up(job, whose.uid) {
        // It ran and was deleted: it is not started again. Its pods may run on, whatever the job wishes now.
        return Work::Finished(false);
    }
    let Some(workload) = &job.spec.workload else {
        return if objects.workloads.pods_of_claim(whose) > 0 { Work::Finished(false) } else { Work::None };
    };
    if workload.workload_ref.is_none() && objects.workloads.get(WorkKind::Job, whose.key).is_some() {
        return Work::Foreign;
    }
    asked_for(whose, objects).and_then(|work| work.ended).map_or(Work::Absent, Work::Finished)
}

/// What a workload is to its claim.
pub(crate) fn state_of(work: &WorkloadObject) -> Work {
    match work.ended {
        Some(well) => Work::Finished(well),
        None if work.run.suspended && work.run.active == 0 => Work::Suspended(version_of(work)),
        None => Work::Started,
    }
}

/// What of a workload is started: this object; if it was there before, in this version.
pub(crate) fn version_of(work: &WorkloadObject) -> Digest {
    if work.marks.made { Digest::of(&[&work.uid]) } else { Digest::of(&[&work.uid, &work.version]) }
}

/// Whether the job's status says that a pod has run under this claim.
pub(crate) fn was_up(job: &Job, match_uid: &str) -> bool {
    let is_claimed = job.claim().is_some_and(|claim| claim.uid == match_uid);
    is_claimed && job.status.as_ref().is_some_and(|status| status.workload.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::{MATCH_UID, job, key};
    use pool::{Marks, RunState};
    use serde_json::{Value, json};

    fn batch(change: impl FnOnce(&mut WorkloadObject)) -> WorkloadObject {
        let mut batch = WorkloadObject {
            key: key("match"),
            uid: "u-batch".to_owned(),
            marks: Marks { match_uid: Some(MATCH_UID.to_owned()), ..Marks::default() },
            run: RunState { suspended: true, ..RunState::default() },
            ..WorkloadObject::default()
        };
        change(&mut batch);
        batch
    }

    fn seen(spec: &Value, status: &Value, batch: Option<WorkloadObject>) -> Work {
        let mut objects = Objects::default();
        objects.jobs.put(job(spec, status));
        batch.map(|batch| objects.workloads.put(batch));
        work(ClaimRef::of(MATCH_UID, &key("match"), (&key("job"), "u-job"), &objects), &objects)
    }

    #[test]
    fn what_the_objects_show_of_the_work() {
        let template = json!({"workload": {"jobTemplate": {}}});
        let reference = json!({"workload": {"workloadRef": {"name": "match"}}});
        let nothing = json!({});
        let told =
            json!({"claim": {"match": "match", "uid": MATCH_UID}, "workload": {"name": "match", "uid": "u-batch"}});
        let another = |batch: &mut WorkloadObject| batch.marks.match_uid = Some("u-other".to_owned());
        let again = |batch: &mut WorkloadObject| (batch.uid, batch.ended) = ("u-again".to_owned(), Some(true));
        let elsewhere =
            |batch: &mut WorkloadObject| (batch.key, batch.ended) = (ObjectKey::new("far", "match"), Some(true));
        let beside = |batch: &mut WorkloadObject| (batch.key, batch.ended) = (key("beside"), Some(true));
        let managed = |batch: &mut WorkloadObject| {
            (batch.marks.match_uid, batch.ended, batch.is_managed_elsewhere) = (None, Some(false), true);
        };
        let suspended = Work::Suspended(version_of(&batch(|_| {})));
        let table: [(&str, &Value, &Value, Option<WorkloadObject>, Work); 18] = [
            ("ran", &template, &told, Some(batch(|batch| batch.ended = Some(true))), Work::Finished(true)),
            (
                "ran, and another one of its name has ended well",
                &template,
                &told,
                Some(batch(again)),
                Work::Finished(false),
            ),
            ("labelled in another namespace", &template, &nothing, Some(batch(elsewhere)), Work::Absent),
            ("labelled under another name", &template, &nothing, Some(batch(beside)), Work::Absent),
            ("managed elsewhere", &reference, &nothing, Some(batch(managed)), Work::Finished(false)),
            ("wants none", &nothing, &nothing, None, Work::None),
            ("not made yet", &template, &nothing, None, Work::Absent),
            ("made", &template, &nothing, Some(batch(|_| {})), suspended),
            ("of another Match", &template, &nothing, Some(batch(another)), Work::Foreign),
            ("still ending", &template, &nothing, Some(batch(|batch| batch.run.active = 1)), Work::Started),
            ("started", &template, &nothing, Some(batch(|batch| batch.run.suspended = false)), Work::Started),
            ("well", &template, &nothing, Some(batch(|batch| batch.ended = Some(true))), Work::Finished(true)),
            ("badly", &template, &nothing, Some(batch(|batch| batch.ended = Some(false))), Work::Finished(false)),
            ("deleted at work", &template, &told, None, Work::Finished(false)),
            ("deleted at work, and no wish any more", &nothing, &told, None, Work::Finished(false)),
            ("to be marked", &reference, &nothing, Some(batch(another)), Work::Absent),
            ("marked", &reference, &nothing, Some(batch(|_| {})), suspended),
            ("no wish any more", &nothing, &nothing, Some(batch(|_| {})), suspended),
        ];
        for (what, spec, status, batch, expected) in table {
            assert_eq!(seen(spec, status, batch), expected, "{what}");
        }
    }

    #[test]
    fn w3_pods_of_a_claim_are_work_that_ends_whatever_its_job_wishes_now() {
        let pod = |prefix: &str| {
            let labels = json!({"gangmatch.dev/match-uid": MATCH_UID});
            let metadata = json!({"name": "p", "namespace": "ns", "generateName": prefix, "labels": labels});
            serde_json::from_value(json!({"metadata": metadata})).unwrap()
        };
        let mut objects = Objects::default();
        objects.jobs.put(job(&json!({}), &json!({})));
        let of =
            |objects: &Objects| work(ClaimRef::of(MATCH_UID, &key("match"), (&key("job"), "u-job"), objects), objects);
        objects.workloads.put_pod(&pod("another-"));
        assert_eq!(of(&objects), Work::None, "the label alone is no evidence");
        objects.workloads.put_pod(&pod("match-"));
        assert_eq!(of(&objects), Work::Finished(false), "its batch Job is gone, and it runs on");
        objects.workloads.remove_pod(&key("p"));
        assert_eq!(of(&objects), Work::None);
    }

    #[test]
    fn where_nothing_may_be_started_a_claim_that_works_stays_and_others_need_no_look() {
        let mut objects = Objects::default().with_workloads_in(pool::WorkloadScope::In(["other".to_owned()].into()));
        let of =
            |objects: &Objects| work(ClaimRef::of(MATCH_UID, &key("match"), (&key("job"), "u-job"), objects), objects);
        assert_eq!(of(&objects), Work::None, "the job is gone");
        objects.jobs.put(job(&json!({}), &json!({})));
        assert_eq!(of(&objects), Work::None);
        let told =
            json!({"claim": {"match": "match", "uid": MATCH_UID}, "workload": {"name": "match", "uid": "u-batch"}});
        objects.jobs.put(job(&json!({"workload": {"jobTemplate": {}}}), &told));
        assert_eq!(of(&objects), Work::Started);
    }

    #[test]
    fn of_a_job_that_is_not_seen_the_work_is_looked_for() {
        let objects = Objects::default();
        assert_eq!(
            work(ClaimRef::of(MATCH_UID, &key("match"), (&key("job"), "u-job"), &objects), &objects),
            Work::Absent
        );
    }
}
