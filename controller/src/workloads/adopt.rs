//! Workloads that name an ad by a label into the Jobs that ask for them.

use std::sync::Arc;

use crds::{Job, LABEL_AD, WorkKind, Workload, WorkloadRef};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::core::ApiResource;
use pool::{ObjectKey, Objects, OwnerTrust, WorkloadObject};

use crate::workloads::Problem;
use crate::write::work_requests::resource;

/// What is to be done about labelled workloads that are held.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    /// Those for which a Job is still to be made, each with the Job that it names.
    pub(crate) jobs: Vec<Asking>,
    /// Those for which nothing is claimed unless their authors do something.
    pub(crate) problems: Vec<(Arc<WorkloadObject>, Problem)>,
}

/// A labelled workload for which a Job is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    /// The workload.
    pub(crate) work: Arc<WorkloadObject>,
    /// The Job that its label names.
    pub(crate) ad: Arc<Job>,
    /// In whose name the Job is made; `None` where owners are not trusted at all.
    pub(crate) owner: Option<String>,
}

/// A Job is to be made for each workload that carries the label, is held, and whose ad is there. One that a Match has taken over is
/// asked for already; one that was made for a claim asks for nothing.
pub(crate) fn asks(objects: &Objects) -> Asks {
    let mut all = Asks::default();
    let asks = |work: &WorkloadObject| work.marks.match_uid.is_none() && !work.marks.made;
    let lives = |work: &WorkloadObject| work.ended.is_none() || work.is_managed_elsewhere;
    for (ad, work) in objects.workloads.with_ad().filter(|(_, work)| asks(work) && lives(work)) {
        let name = crds::match_name(&work.key.name, &work.uid, 0);
        let job = |name: &str| objects.jobs.get(&ObjectKey::new(&work.key.namespace, name));
        let problem = match (work.run.suspended, job(&name), job(ad)) {
            _ if work.is_managed_elsewhere => Some(Problem::ManagedElsewhere { why: work.message.clone() }),
            (false, asking, _) => Some(Problem::NotHeld { asked_for_by: asking.map(|_| name) }),
            (true, Some(asking), _) => Problem::of_finished(&asking.object),
            (true, None, None) => Some(Problem::AdMissing { ad: ad.to_owned() }),
            (true, None, Some(template)) if template.is_stripped() => Some(Problem::AdTooLarge { ad: ad.to_owned() }),
            (true, None, Some(template)) => match owner(work, objects) {
                Ok(owner) => {
                    all.jobs.push(Asking { work: work.clone(), ad: template.object.clone(), owner });
                    None
                }
                Err(problem) => Some(problem),
            },
        };
        all.problems.extend(problem.map(|problem| (work.clone(), problem)));
    }
    all
}

/// How many times something may be made by what is itself made by something: a JobSet makes batch Jobs, and these make pods.
const MAKERS_MAX: usize = 2;

/// What makes objects of a kind. Nothing makes JobSets: who names a controller of one wants that one's creator to count.
fn makers(kind: WorkKind) -> &'static [WorkKind] {
    match kind {
        WorkKind::Pod => &[WorkKind::Job, WorkKind::JobSet],
        WorkKind::Job => &[WorkKind::JobSet],
        WorkKind::JobSet => &[],
    }
}

/// The owner of the Job: the user who created the workload. If a controller has created it, the user who created the object of that
/// controller. Every user can write a reference to a controller, so it counts for nothing else.
/// `None` where owners are not trusted at all.
fn owner(work: &WorkloadObject, objects: &Objects) -> Result<Option<String>, Problem> {
    if objects.jobs.owners() == OwnerTrust::None {
        return Ok(None);
    }
    let mut at = work;
    for _ in 0..=MAKERS_MAX {
        let Some(controller) = &at.marks.controller else {
            return at.marks.creator.clone().map(Some).ok_or(Problem::OwnerUnknown { made_by: None });
        };
        let kind = [WorkKind::Job, WorkKind::JobSet].into_iter().find(|kind| controller.is(*kind));
        if let Some(creator) = at.marks.creator.as_ref().filter(|_| kind.is_some()) {
            return Ok(Some(creator.clone()));
        }
        let kind = kind.filter(|kind| makers(at.kind).contains(kind));
        let maker =
            kind.and_then(|kind| objects.workloads.get(kind, &ObjectKey::new(&work.key.namespace, &controller.name)));
        match maker.filter(|maker| maker.uid == controller.uid) {
            Some(maker) => at = maker,
            None => {
                let made_by = format!("{} `{}`", controller.kind, controller.name);
                return Err(Problem::OwnerUnknown { made_by: Some(made_by) });
            }
        }
    }
    Err(Problem::OwnerUnknown { made_by: None })
}

impl Asking {
    /// The Job as the ad says, for this workload, which takes it along when it goes.
    pub(crate) fn job(&self) -> Job {
        let Asking { work, ad, owner } = self;
        let mut spec = ad.spec.clone();
        spec.ad.owner.clone_from(owner);
        spec.suspend = false;
        // It is deleted with its workload, and its absence would ask for another one.
        spec.ttl_seconds_after_finished = None;
        spec.done = false;
        spec.workload = Some(Workload {
            job_template: None,
            workload_ref: Some(WorkloadRef { kind: work.kind, name: work.key.name.clone() }),
            ..spec.workload.unwrap_or_default()
        });
        let mut job = Job::new(&crds::match_name(&work.key.name, &work.uid, 0), spec);
        job.metadata.namespace = Some(work.key.namespace.clone());
        let mut labels = ad.labels().clone();
        labels.insert(LABEL_AD.to_owned(), ad.name_any());
        job.metadata.labels = Some(labels);
        let ApiResource { api_version, kind, .. } = resource(work.kind);
        job.metadata.owner_references = Some(vec![OwnerReference {
            api_version,
            kind,
            name: work.key.name.clone(),
            uid: work.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(false),
        }]);
        job
    }
}

/// A workload, for an Event about it.
pub(crate) fn reference(work: &WorkloadObject) -> ObjectReference {
    let ApiResource { api_version, kind, .. } = resource(work.kind);
    ObjectReference {
        api_version: Some(api_version),
        kind: Some(kind),
        name: Some(work.key.name.clone()),
        namespace: Some(work.key.namespace.clone()),
        uid: Some(work.uid.clone()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::{job, key};
    use pool::{Marks, RunState};
    use serde_json::json;

    fn batch() -> WorkloadObject {
        WorkloadObject {
            key: key("regression"),
            uid: "u-batch".to_owned(),
            marks: Marks { ad: Some("job".to_owned()), creator: Some("raman".to_owned()), ..Marks::default() },
            run: RunState { suspended: true, ..RunState::default() },
            ..WorkloadObject::default()
        }
    }

    #[test]
    fn a_held_batch_job_is_asked_for_as_its_ad_says() {
        let mut objects = Objects::default();
        objects.workloads.put(batch());
        let found = asks(&objects);
        assert!(found.jobs.is_empty());
        let [(_, Problem::AdMissing { ad })] = &found.problems[..] else { panic!("{found:?}") };
        assert_eq!(ad, "job");
        let ad = json!({"owner": "livny", "suspend": true, "priority": 3, "constraint": "other.Type == \"Machine\"",
            "workload": {"jobTemplate": {}, "startTimeoutSeconds": 7}});
        objects.jobs.put(job(&ad, &json!({})));
        let made = asks(&objects);
        assert!(made.problems.is_empty());
        let [asking] = &made.jobs[..] else { panic!("{made:?}") };
        let mut made = asking.job();
        assert_eq!(made.spec.ad.owner.as_deref(), Some("raman"), "who created the batch Job, not who wrote the ad");
        assert_eq!((made.spec.suspend, made.spec.priority), (false, 3));
        let workload = made.spec.workload.as_ref().unwrap();
        assert_eq!(workload.workload_ref.as_ref().unwrap().name, "regression");
        assert_eq!((workload.start_timeout_seconds, workload.job_template.is_none()), (7, true));
        assert_eq!(made.metadata.owner_references.as_ref().unwrap()[0].uid, "u-batch");
        made.metadata.uid = Some("u-made".to_owned());
        objects.jobs.put(made);
        let found = asks(&objects);
        assert!(found.jobs.is_empty() && found.problems.is_empty(), "it is asked for already");
    }

    fn owner_of(
        change: impl FnOnce(&mut WorkloadObject),
        more: Vec<WorkloadObject>,
    ) -> Result<Option<String>, Problem> {
        let mut objects = Objects::default();
        more.into_iter().for_each(|work| {
            objects.workloads.put(work);
        });
        let mut work = batch();
        change(&mut work);
        owner(&work, &objects)
    }

    #[test]
    fn what_a_controller_has_made_is_whose_the_maker_is() {
        let of = |group: &str, kind: &str, name: &str| {
            Some(pool::Controller {
                group: group.to_owned(),
                kind: kind.to_owned(),
                name: name.to_owned(),
                uid: format!("u-{name}"),
            })
        };
        let maker =
            |kind: WorkKind, name: &str, creator: Option<&str>, controller: Option<pool::Controller>| WorkloadObject {
                kind,
                key: key(name),
                uid: format!("u-{name}"),
                marks: Marks { creator: creator.map(str::to_owned), controller, ..Marks::default() },
                ..WorkloadObject::default()
            };
        assert_eq!(owner_of(|_| {}, vec![]), Ok(Some("raman".to_owned())));
        assert_eq!(owner_of(|work| work.marks.creator = None, vec![]), Err(Problem::OwnerUnknown { made_by: None }));
        // No creator is written on what the controllers of batch Jobs and of JobSets have made.
        let made = |work: &mut WorkloadObject| {
            (work.kind, work.marks.controller, work.marks.creator) = (WorkKind::Pod, of("batch", "Job", "b"), None);
        };
        let alone = maker(WorkKind::Job, "b", Some("livny"), None);
        assert_eq!(owner_of(made, vec![alone.clone()]), Ok(Some("livny".to_owned())));
        let in_set = maker(WorkKind::Job, "b", None, of("jobset.x-k8s.io", "JobSet", "s"));
        let set = maker(WorkKind::JobSet, "s", Some("solomon"), None);
        assert_eq!(owner_of(made, vec![in_set, set]), Ok(Some("solomon".to_owned())));
        let unknown = |kind: &str| Err(Problem::OwnerUnknown { made_by: Some(format!("{kind} `b`")) });
        assert_eq!(owner_of(made, vec![]), unknown("Job"));
        let other = WorkloadObject { uid: "another".to_owned(), ..alone.clone() };
        assert_eq!(owner_of(made, vec![other]), unknown("Job"), "a namesake");
        assert_eq!(
            owner_of(|work| work.marks.controller = of("apps", "ReplicaSet", "b"), vec![]),
            unknown("ReplicaSet")
        );
        let round = maker(WorkKind::Job, "b", None, of("batch", "Job", "b"));
        assert_eq!(owner_of(made, vec![round]), unknown("Job"));
        let in_set = maker(WorkKind::Job, "b", None, of("jobset.x-k8s.io", "JobSet", "s"));
        let set_of_another = maker(WorkKind::JobSet, "s", None, of("batch", "Job", "hers"));
        let hers = maker(WorkKind::Job, "hers", Some("livny"), None);
        let told = Err(Problem::OwnerUnknown { made_by: Some("Job `hers`".to_owned()) });
        assert_eq!(
            owner_of(made, vec![in_set, set_of_another, hers]),
            told,
            "a JobSet between it and another's batch Job"
        );
        // E5: a user who writes such a reference creates for no one else, on the object itself or between it and another.
        let refers = |work: &mut WorkloadObject| work.marks.controller = of("batch", "Job", "b");
        assert_eq!(owner_of(refers, vec![alone.clone()]), Ok(Some("raman".to_owned())));
        let between = maker(WorkKind::Job, "b", Some("raman"), of("batch", "Job", "hers"));
        let hers = maker(WorkKind::Job, "hers", Some("livny"), None);
        assert_eq!(owner_of(made, vec![between, hers]), Ok(Some("raman".to_owned())));
    }

    #[test]
    fn what_nobody_holds_is_not_asked_for_and_its_author_is_told() {
        let mut objects = Objects::default();
        objects.jobs.put(job(&json!({"suspend": true}), &json!({})));
        objects.workloads.put(WorkloadObject { run: RunState { suspended: false, ..batch().run }, ..batch() });
        let found = asks(&objects);
        assert!(found.jobs.is_empty());
        assert!(matches!(&found.problems[..], [(_, Problem::NotHeld { asked_for_by: None })]), "{found:?}");
    }

    #[test]
    fn of_a_job_that_asked_and_is_finished_the_author_is_told() {
        let mut objects = Objects::default();
        objects.workloads.put(batch());
        let conditions = json!([{"type": "Finished", "status": "True", "reason": "MatchTimedOut", "message": "too long",
            "lastTransitionTime": "2026-11-22T00:00:00Z"}]);
        let mut asked = job(&json!({}), &json!({"conditions": conditions}));
        asked.metadata.name = Some(crds::match_name("regression", "u-batch", 0));
        objects.jobs.put(asked);
        let found = asks(&objects);
        assert!(found.jobs.is_empty(), "it has asked already");
        let [(_, Problem::Finished { why, .. })] = &found.problems[..] else { panic!("{found:?}") };
        assert_eq!(why, "MatchTimedOut, too long");
    }

    #[test]
    fn what_has_ended_or_is_claimed_for_is_left_alone() {
        let changes: [fn(&mut WorkloadObject); 4] = [
            |batch| batch.marks.made = true,
            |batch| batch.ended = Some(true),
            |batch| batch.marks.match_uid = Some("u-match".to_owned()),
            |batch| (batch.run.suspended, batch.marks.match_uid) = (false, Some("u-match".to_owned())),
        ];
        for change in changes {
            let mut objects = Objects::default();
            objects.jobs.put(job(&json!({"suspend": true}), &json!({})));
            let mut batch = batch();
            change(&mut batch);
            objects.workloads.put(batch);
            let found = asks(&objects);
            assert!(found.jobs.is_empty() && found.problems.is_empty());
        }
    }
}
