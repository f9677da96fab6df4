//! Workloads that name an ad by a label into the Jobs that ask for them.

use std::sync::Arc;

use crds::{Job, JobRef, LABEL_AD, WorkKind, Workload};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use pool::{ObjectKey, Objects, WorkObject};

use crate::workloads::Trouble;

/// What is to be done about labelled workloads that are held.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    /// The Jobs that are still to be made, each with what it is made for.
    pub(crate) jobs: Vec<(Arc<WorkObject>, Job)>,
    /// Those for which nothing is claimed unless their authors do something.
    pub(crate) troubles: Vec<(Arc<WorkObject>, Trouble)>,
}

/// A Job is to be made for each workload that carries the label, is held, and whose ad is there. One that a Match has taken over is
/// asked for already.
pub(crate) fn asks(objects: &Objects) -> Asks {
    let mut all = Asks::default();
    for (ad, work) in objects.works.with_ad().filter(|(_, work)| work.match_uid.is_none() && work.ended.is_none()) {
        let name = crds::match_name(&work.key.name, &work.uid, 0);
        let job = |name: &str| objects.jobs.get(&ObjectKey::new(&work.key.namespace, name)).map(|held| &held.object);
        let trouble = match (work.suspended, job(&name), job(ad)) {
            (false, asking, _) => Some(Trouble::NotHeld { asked_for_by: asking.map(|_| name) }),
            (true, Some(asking), _) => Trouble::of_finished(asking),
            (true, None, None) => Some(Trouble::AdMissing { ad: ad.to_owned() }),
            (true, None, Some(template)) => {
                all.jobs.push((work.clone(), asking(template, work, &name)));
                None
            }
        };
        all.troubles.extend(trouble.map(|trouble| (work.clone(), trouble)));
    }
    all
}

/// A Job as the ad says, for this workload, which takes it along when it goes.
fn asking(template: &Job, work: &WorkObject, name: &str) -> Job {
    let mut spec = template.spec.clone();
    spec.ad.owner.clone_from(&work.creator);
    spec.suspend = false;
    spec.done = false;
    spec.workload = Some(Workload {
        job_template: None,
        job_ref: Some(JobRef { kind: work.kind, name: work.key.name.clone() }),
        ..spec.workload.unwrap_or_default()
    });
    let mut job = Job::new(name, spec);
    job.metadata.namespace = Some(work.key.namespace.clone());
    let mut labels = template.labels().clone();
    labels.insert(LABEL_AD.to_owned(), template.name_any());
    job.metadata.labels = Some(labels);
    let (api_version, kind) = type_of(work.kind);
    job.metadata.owner_references = Some(vec![OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: work.key.name.clone(),
        uid: work.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }]);
    job
}

/// `apiVersion` and `kind`.
fn type_of(kind: WorkKind) -> (&'static str, &'static str) {
    match kind {
        WorkKind::Job => ("batch/v1", "Job"),
        WorkKind::JobSet => ("jobset.x-k8s.io/v1alpha2", "JobSet"),
        WorkKind::Pod => ("v1", "Pod"),
    }
}

/// A workload, for an Event about it.
pub(crate) fn reference(work: &WorkObject) -> ObjectReference {
    let (api_version, kind) = type_of(work.kind);
    ObjectReference {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
        name: Some(work.key.name.clone()),
        namespace: Some(work.key.namespace.clone()),
        uid: Some(work.uid.clone()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{job, key};
    use serde_json::json;

    fn batch() -> WorkObject {
        WorkObject {
            key: key("regression"),
            uid: "u-batch".to_owned(),
            ad: Some("job".to_owned()),
            creator: Some("raman".to_owned()),
            suspended: true,
            ..WorkObject::default()
        }
    }

    #[test]
    fn a_held_batch_job_is_asked_for_as_its_ad_says() {
        let mut objects = Objects::default();
        objects.works.put(batch());
        let found = asks(&objects);
        assert!(found.jobs.is_empty());
        let [(_, Trouble::AdMissing { ad })] = &found.troubles[..] else { panic!("{found:?}") };
        assert_eq!(ad, "job");
        let ad = json!({"owner": "livny", "suspend": true, "priority": 3, "constraint": "other.Type == \"Machine\"",
            "workload": {"jobTemplate": {}, "startTimeoutSeconds": 7}});
        objects.jobs.put(job(&ad, &json!({})));
        let made = asks(&objects);
        assert!(made.troubles.is_empty());
        let [(_, made)] = &made.jobs[..] else { panic!("{made:?}") };
        assert_eq!(made.spec.ad.owner.as_deref(), Some("raman"), "who created the batch Job, not who wrote the ad");
        assert_eq!((made.spec.suspend, made.spec.priority), (false, 3));
        let workload = made.spec.workload.as_ref().unwrap();
        assert_eq!(workload.job_ref.as_ref().unwrap().name, "regression");
        assert_eq!((workload.start_timeout_seconds, workload.job_template.is_none()), (7, true));
        assert_eq!(made.metadata.owner_references.as_ref().unwrap()[0].uid, "u-batch");
        let mut made = made.clone();
        made.metadata.uid = Some("u-made".to_owned());
        objects.jobs.put(made);
        let found = asks(&objects);
        assert!(found.jobs.is_empty() && found.troubles.is_empty(), "it is asked for already");
    }

    #[test]
    fn what_nobody_holds_is_not_asked_for_and_its_author_is_told() {
        let mut objects = Objects::default();
        objects.jobs.put(job(&json!({"suspend": true}), &json!({})));
        objects.works.put(WorkObject { suspended: false, ..batch() });
        let found = asks(&objects);
        assert!(found.jobs.is_empty());
        assert!(matches!(&found.troubles[..], [(_, Trouble::NotHeld { asked_for_by: None })]), "{found:?}");
    }

    #[test]
    fn of_a_job_that_asked_and_is_finished_the_author_is_told() {
        let mut objects = Objects::default();
        objects.works.put(batch());
        let conditions = json!([{"type": "Finished", "status": "True", "reason": "MatchTimedOut", "message": "too long",
            "lastTransitionTime": "2026-11-22T00:00:00Z"}]);
        let mut asked = job(&json!({}), &json!({"conditions": conditions}));
        asked.metadata.name = Some(crds::match_name("regression", "u-batch", 0));
        objects.jobs.put(asked);
        let found = asks(&objects);
        assert!(found.jobs.is_empty(), "it has asked already");
        let [(_, Trouble::Finished { why, .. })] = &found.troubles[..] else { panic!("{found:?}") };
        assert_eq!(why, "MatchTimedOut, too long");
    }

    #[test]
    fn what_has_ended_or_is_claimed_for_is_left_alone() {
        let changes: [fn(&mut WorkObject); 3] = [
            |batch| batch.ended = Some(true),
            |batch| batch.match_uid = Some("u-match".to_owned()),
            |batch| (batch.suspended, batch.match_uid) = (false, Some("u-match".to_owned())),
        ];
        for change in changes {
            let mut objects = Objects::default();
            objects.jobs.put(job(&json!({"suspend": true}), &json!({})));
            let mut batch = batch();
            change(&mut batch);
            objects.works.put(batch);
            let found = asks(&objects);
            assert!(found.jobs.is_empty() && found.troubles.is_empty());
        }
    }
}
