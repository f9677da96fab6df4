//! Batch Jobs that name an ad by a label into the Jobs that ask for them.

use crds::{Job, JobRef, LABEL_AD, Workload};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use pool::{BatchJob, ObjectKey, Objects};

/// The Jobs that are still to be made: one for each batch Job that carries the label, is held, and whose ad is there.
pub(crate) fn adoptions(objects: &Objects) -> Vec<Job> {
    let mut all = Vec::new();
    for (ad, batch) in objects.works.with_ad().filter(|(_, batch)| batch.suspended && batch.ended.is_none()) {
        let name = crds::match_name(&batch.key.name, &batch.uid, 0);
        if objects.jobs.get(&ObjectKey::new(&batch.key.namespace, &name)).is_some() {
            continue;
        }
        let template = objects.jobs.get(&ObjectKey::new(&batch.key.namespace, ad));
        all.extend(template.map(|template| asking(&template.object, batch, &name)));
    }
    all
}

/// A Job as the ad says, for this batch Job, which takes it along when it goes.
fn asking(template: &Job, batch: &BatchJob, name: &str) -> Job {
    let mut spec = template.spec.clone();
    spec.ad.owner.clone_from(&batch.creator);
    spec.suspend = false;
    spec.done = false;
    spec.workload = Some(Workload {
        job_template: None,
        job_ref: Some(JobRef { name: batch.key.name.clone() }),
        ..spec.workload.unwrap_or_default()
    });
    let mut job = Job::new(name, spec);
    job.metadata.namespace = Some(batch.key.namespace.clone());
    let mut labels = template.labels().clone();
    labels.insert(LABEL_AD.to_owned(), template.name_any());
    job.metadata.labels = Some(labels);
    job.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: batch.key.name.clone(),
        uid: batch.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }]);
    job
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{job, key};
    use serde_json::json;

    fn batch() -> BatchJob {
        BatchJob {
            key: key("regression"),
            uid: "u-batch".to_owned(),
            ad: Some("job".to_owned()),
            creator: Some("raman".to_owned()),
            suspended: true,
            ..BatchJob::default()
        }
    }

    #[test]
    fn a_held_batch_job_is_asked_for_as_its_ad_says() {
        let mut objects = Objects::default();
        objects.works.put(batch());
        assert!(adoptions(&objects).is_empty(), "there is no such ad yet");
        let ad = json!({"owner": "livny", "suspend": true, "priority": 3, "constraint": "other.Type == \"Machine\"",
            "workload": {"jobTemplate": {}, "startTimeoutSeconds": 7}});
        objects.jobs.put(job(&ad, &json!({})));
        let made = adoptions(&objects);
        let [made] = &made[..] else { panic!("{made:?}") };
        assert_eq!(made.spec.ad.owner.as_deref(), Some("raman"), "who created the batch Job, not who wrote the ad");
        assert_eq!((made.spec.suspend, made.spec.priority), (false, 3));
        let workload = made.spec.workload.as_ref().unwrap();
        assert_eq!(workload.job_ref.as_ref().unwrap().name, "regression");
        assert_eq!((workload.start_timeout_seconds, workload.job_template.is_none()), (7, true));
        assert_eq!(made.metadata.owner_references.as_ref().unwrap()[0].uid, "u-batch");
        let mut made = made.clone();
        made.metadata.uid = Some("u-made".to_owned());
        objects.jobs.put(made);
        assert!(adoptions(&objects).is_empty(), "it is asked for already");
    }

    #[test]
    fn what_runs_or_has_ended_is_left_alone() {
        for change in [|batch: &mut BatchJob| batch.suspended = false, |batch: &mut BatchJob| batch.ended = Some(true)]
        {
            let mut objects = Objects::default();
            objects.jobs.put(job(&json!({"suspend": true}), &json!({})));
            let mut batch = batch();
            change(&mut batch);
            objects.works.put(batch);
            assert!(adoptions(&objects).is_empty());
        }
    }
}
