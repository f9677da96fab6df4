//! Batch Jobs, JobSets and Pods, as far as claims depend on them.

use crds::{
    ANNOTATION_CREATOR, ANNOTATION_MADE, ANNOTATION_MATCH, ANNOTATION_MEMBERS, GATE, LABEL_AD, LABEL_MATCH_UID,
    WorkKind,
};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource, ResourceExt};

use crate::job_set::JobSet;
use crate::key::{NAME_MAX, ObjectKey};

/// A workload that works for a claim, or waits for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadObject {
    /// What it is.
    pub kind: WorkKind,
    /// Where it is.
    pub key: ObjectKey,
    /// Its metadata.uid.
    pub uid: String,
    /// Its metadata.resourceVersion.
    pub version: String,
    /// What its labels, annotations and owner references say.
    pub marks: Marks,
    /// Whether it runs.
    pub run: RunState,
    /// Whether it has ended with success; `None`: it has not ended.
    pub ended: Option<bool>,
    /// `spec.managedBy` names an unknown controller.
    pub is_managed_elsewhere: bool,
    /// It is being deleted; finalizers or its pods still keep it.
    pub deleting: bool,
    /// Why it has failed, if it has.
    pub message: String,
}

/// What the labels, annotations and owner references of a workload say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The uid of the Match that it works for, or did.
    pub match_uid: Option<String>,
    /// The name of that Match, in its own namespace.
    pub match_name: Option<String>,
    /// It was created by the controller, from a template.
    pub made: bool,
    /// The Job on its label, which is the ad of its gang.
    pub ad: Option<String>,
    /// The user who has created it, as recorded by the admission policy.
    pub creator: Option<String>,
    /// The object that controls it.
    pub controller: Option<Controller>,
    /// The offers that it works on: kind, namespace, name, uid.
    pub members: Vec<[String; 4]>,
}

/// Whether a workload runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunState {
    /// Its spec is suspended: nothing is to run.
    pub suspended: bool,
    /// Its status is suspended: its controller creates no pods any more.
    pub rests: bool,
    /// How many of its pods (of a JobSet: batch Jobs) run, or are still ending.
    pub active: i32,
    /// A pod has been ready or has finished since its last start.
    pub up: bool,
    /// When it was started last, in seconds since 1970.
    pub started: Option<i64>,
}

/// What created a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its controller now.
    pub controller: Option<Controller>,
    /// Its `generateName`, which a policy protects: for a pod of a batch Job, the name of the batch Job and perhaps an index.
    pub prefix: Option<String>,
}

impl Origin {
    /// The origin of a pod.
    pub fn of(metadata: &ObjectMeta) -> Origin {
        Origin { controller: Controller::of(metadata), prefix: metadata.generate_name.clone() }
    }
}

/// The controller in the owner references of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controller {
    /// Its apiVersion, without the version.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its name, in the same namespace.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl Controller {
    /// The controller of an object.
    pub fn of(metadata: &ObjectMeta) -> Option<Controller> {
        let owners = metadata.owner_references.iter().flatten();
        let found = owners.into_iter().find(|owner| owner.controller == Some(true))?;
        let (group, _) = found.api_version.split_once('/').unwrap_or_default();
        let OwnerReference { kind, name, uid, .. } = found;
        // Longer texts are not names of existing objects, and would only take memory.
        let brief = |text: &str| if text.len() <= NAME_MAX { text.to_owned() } else { String::new() };
        Some(Controller { group: brief(group), kind: brief(kind), name: brief(name), uid: brief(uid) })
    }

    /// Whether it is a workload of this kind.
    #[must_use]
    pub fn is(&self, kind: WorkKind) -> bool {
        let (group, name) = match kind {
            WorkKind::Job => ("batch", "Job"),
            WorkKind::JobSet => ("jobset.x-k8s.io", "JobSet"),
            WorkKind::Pod => ("", "Pod"),
        };
        self.group == group && self.kind == name
    }
}

/// The values of `spec.managedBy` that are supported, for batch Jobs and JobSets.
const BATCH_MANAGER: &str = "kubernetes.io/job-controller";
const SET_MANAGER: &str = "jobset.sigs.k8s.io/jobset-controller";

/// The message for a workload with another value of `spec.managedBy`.
fn managed_elsewhere(managed_by: Option<&str>, known: &str) -> Option<String> {
    let other = managed_by.filter(|name| *name != known)?;
    Some(format!(
        "spec.managedBy is `{other}`: a controller of which it is not known whether it says when the work stops; create it without \
         spec.managedBy"
    ))
}

impl WorkloadObject {
    /// A batch Job. If another controller manages it, it counts as failed: it is not started, and holds nothing.
    pub fn of_batch(batch: &Batch) -> WorkloadObject {
        let managed_by = batch.spec.as_ref().and_then(|spec| spec.managed_by.as_deref());
        WorkloadObject::of_own_batch(batch).unless(managed_elsewhere(managed_by, BATCH_MANAGER))
    }

    fn of_own_batch(batch: &Batch) -> WorkloadObject {
        let status = batch.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let holds = |type_: &str| conditions.iter().find(|found| found.type_ == type_ && found.status == "True");
        let count = |count: Option<i32>| count.unwrap_or(0);
        WorkloadObject {
            ended: ended(
                holds("Complete").is_some(),
                holds("Failed").is_some() || is_over(batch, holds("Suspended").is_some()),
            ),
            message: holds("Failed").and_then(|failed| failed.message.clone()).unwrap_or_default(),
            run: RunState {
                suspended: batch.spec.as_ref().and_then(|spec| spec.suspend).unwrap_or(false),
                rests: holds("Suspended").is_some(),
                active: count(status.active).saturating_add(count(status.terminating)),
                up: [status.ready, status.succeeded, status.failed].into_iter().any(|pods| count(pods) > 0),
                started: status.start_time.map(|time| time.0.as_second()),
            },
            ..WorkloadObject::named(WorkKind::Job, batch)
        }
    }

    /// A JobSet.
    pub fn of_job_set(set: &JobSet) -> WorkloadObject {
        WorkloadObject::of_own_job_set(set).unless(managed_elsewhere(set.spec.managed_by.as_deref(), SET_MANAGER))
    }

    /// The same workload; failed, if there is an obstacle.
    fn unless(self, obstacle: Option<String>) -> WorkloadObject {
        match obstacle {
            None => self,
            Some(message) => WorkloadObject { ended: Some(false), is_managed_elsewhere: true, message, ..self },
        }
    }

    fn of_own_job_set(set: &JobSet) -> WorkloadObject {
        let status = set.status.clone().unwrap_or_default();
        let holds = |type_: &str| status.conditions.iter().find(|found| found.type_ == type_ && found.status == "True");
        let jobs = &status.replicated_jobs_status;
        WorkloadObject {
            ended: ended(holds("Completed").is_some(), holds("Failed").is_some()),
            message: holds("Failed").map(|failed| failed.message.clone()).unwrap_or_default(),
            run: RunState {
                suspended: set.spec.suspend.unwrap_or(false),
                rests: holds("Suspended").is_some(),
                active: jobs.iter().map(|jobs| jobs.active).fold(0, i32::saturating_add),
                up: jobs.iter().any(|jobs| jobs.ready > 0 || jobs.succeeded > 0 || jobs.failed > 0),
                ..RunState::default()
            },
            ..WorkloadObject::named(WorkKind::JobSet, set)
        }
    }

    /// A Pod. While it is being deleted it counts as ended, but its seats are held until it is gone.
    pub fn of_pod(pod: &Pod) -> WorkloadObject {
        let status = pod.status.clone().unwrap_or_default();
        let phase = status.phase.as_deref();
        let deleted = pod.metadata.deletion_timestamp.is_some();
        let ready = |found: &k8s_openapi::api::core::v1::PodCondition| found.type_ == "Ready" && found.status == "True";
        let gated = has_gate(pod, GATE);
        let said = [status.reason, status.message].into_iter().flatten().collect::<Vec<_>>().join(": ");
        WorkloadObject {
            ended: ended(phase == Some("Succeeded"), phase == Some("Failed") || deleted),
            message: match (said.is_empty(), deleted) {
                (false, _) => said,
                (true, true) => "it was deleted".to_owned(),
                (true, false) => "it has failed".to_owned(),
            },
            run: RunState {
                suspended: gated,
                rests: gated,
                up: has_finished(pod) || status.conditions.iter().flatten().any(ready),
                ..RunState::default()
            },
            ..WorkloadObject::named(WorkKind::Pod, pod)
        }
    }

    /// What the metadata say.
    fn named<K: Resource<DynamicType = ()>>(kind: WorkKind, object: &K) -> WorkloadObject {
        WorkloadObject {
            // an empty one is not one that gangmatch has written
            kind,
            key: ObjectKey::of(object),
            uid: object.uid().unwrap_or_default(),
            version: object.resource_version().unwrap_or_default(),
            deleting: object.meta().deletion_timestamp.is_some(),
            marks: Marks {
                match_uid: object.labels().get(LABEL_MATCH_UID).filter(|uid| !uid.is_empty()).cloned(),
                match_name: object.annotations().get(ANNOTATION_MATCH).cloned(),
                made: object.annotations().contains_key(ANNOTATION_MADE),
                ad: object.labels().get(LABEL_AD).cloned(),
                creator: object.annotations().get(ANNOTATION_CREATOR).cloned(),
                controller: Controller::of(object.meta()),
                members: members(object.meta()),
            },
            ..WorkloadObject::default()
        }
    }

    /// The name of its kind in messages.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        noun(self.kind)
    }
}

/// Whether a pod is held by the scheduling gate of this name.
pub(crate) fn has_gate(pod: &Pod, name: &str) -> bool {
    pod.spec.iter().flat_map(|spec| spec.scheduling_gates.iter().flatten()).any(|gate| gate.name == name)
}

/// The name of a kind of workload in messages.
#[must_use]
pub const fn noun(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Job => "batch Job",
        WorkKind::JobSet => "JobSet",
        WorkKind::Pod => "Pod",
    }
}

fn ended(well: bool, badly: bool) -> Option<bool> {
    match (well, badly) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

/// The offers in the annotation of the members: `Machine/grid/foo/UID License/eda/sim/UID`.
fn members(metadata: &ObjectMeta) -> Vec<[String; 4]> {
    let text = metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION_MEMBERS)).map_or("", String::as_str);
    let parts = |word: &str| <[String; 4]>::try_from(word.split('/').map(str::to_owned).collect::<Vec<_>>()).ok();
    text.split_whitespace().filter_map(parts).collect()
}

/// Whether a pod has finished: no container runs any more.
pub fn has_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether a suspended batch Job is being deleted: it never creates a pod again, even if a finalizer keeps it.
fn is_over(batch: &Batch, rests: bool) -> bool {
    let suspended = batch.spec.as_ref().and_then(|spec| spec.suspend).unwrap_or(false);
    batch.metadata.deletion_timestamp.is_some() && suspended && rests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_job_is_read_from_its_conditions() {
        let text = r#"{"metadata": {"name": "a", "namespace": "ns", "uid": "u", "labels": {"gangmatch.dev/match-uid": "m"},
            "annotations": {"gangmatch.dev/members": "Machine/grid/foo/1 License/eda/sim/2 broken"}},
            "spec": {"suspend": true, "template": {}},
            "status": {"active": 1, "terminating": 1, "conditions": [
                {"type": "Complete", "status": "False"}, {"type": "Failed", "status": "True", "message": "too often"}]}}"#;
        let read = WorkloadObject::of_batch(&serde_json::from_str(text).unwrap());
        assert_eq!((read.ended, read.message.as_str(), read.run.active), (Some(false), "too often", 2));
        assert!(read.run.suspended && !read.run.rests && !read.run.up && !read.marks.made);
        assert_eq!(read.marks.members.len(), 2);
        assert_eq!(read.marks.members[1], ["License", "eda", "sim", "2"].map(str::to_owned));
    }

    #[test]
    fn a_batch_job_that_rests_and_is_being_deleted_has_ended() {
        let batch = |deleted: &str, suspended: bool, said: &str| {
            let text = format!(
                r#"{{"metadata": {{"name": "b" {deleted}}}, "spec": {{"suspend": {suspended}, "template": {{}}}},
                    "status": {{"conditions": [{{"type": "Suspended", "status": "{said}"}}]}}}}"#
            );
            WorkloadObject::of_batch(&serde_json::from_str(&text).unwrap()).ended
        };
        let deleted = r#", "deletionTimestamp": "2026-11-21T14:00:00Z""#;
        assert_eq!(batch(deleted, true, "True"), Some(false), "a finalizer keeps it there, and no seat");
        for (deleted, suspended, said) in [("", true, "True"), (deleted, false, "True"), (deleted, true, "False")] {
            assert_eq!(batch(deleted, suspended, said), None, "{deleted} {suspended} {said}");
        }
    }

    #[test]
    fn a_pod_is_held_by_its_gate_and_ends_with_its_phase_or_its_deletion() {
        let pod = |more: &str| {
            let text = format!(
                r#"{{"metadata": {{"name": "p", "namespace": "ns", "labels": {{"gangmatch.dev/ad": "needs-sim"}} {more}}}"#
            );
            WorkloadObject::of_pod(&serde_json::from_str(&text).unwrap())
        };
        let held = pod(r#"}, "spec": {"containers": [], "schedulingGates": [{"name": "gangmatch.dev/hold"}]}"#);
        assert!(held.run.suspended && held.run.rests && held.ended.is_none() && !held.run.up);
        assert_eq!(held.marks.ad.as_deref(), Some("needs-sim"));
        let other = pod(r#"}, "spec": {"containers": [], "schedulingGates": [{"name": "other.dev/gate"}]}"#);
        assert!(!other.run.suspended, "somebody else's gate");
        let ready = pod(r#"}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}"#);
        assert!(ready.run.up && ready.ended.is_none());
        let evicted = pod(r#"}, "status": {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}"#);
        assert_eq!((evicted.ended, evicted.message.as_str()), (Some(false), "Evicted: low on memory"));
        let going = pod(r#", "deletionTimestamp": "2026-11-21T14:00:00Z"}, "status": {"phase": "Running"}"#);
        assert_eq!((going.ended, going.message.as_str()), (Some(false), "it was deleted"));
        assert_eq!(pod(r#"}, "status": {"phase": "Succeeded"}"#).ended, Some(true));
    }

    #[test]
    fn a_job_set_is_read_from_its_conditions() {
        let set = |spec: &str, status: &str| {
            let text = format!(
                r#"{{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {{"name": "s", "namespace": "ns"}},
                    "spec": {{{spec} "replicatedJobs": [{{"name": "driver"}}]}}, "status": {{{status}}}}}"#
            );
            WorkloadObject::of_job_set(&serde_json::from_str(&text).unwrap())
        };
        let condition = |type_: &str| {
            format!(
                r#""conditions": [{{"type": "{type_}", "status": "True", "reason": "r", "message": "m",
                    "lastTransitionTime": "2026-11-21T14:00:00Z"}}]"#
            )
        };
        let held = set(r#""suspend": true,"#, &condition("Suspended"));
        assert!(held.run.suspended && held.run.rests && held.ended.is_none());
        let works = set("", r#""replicatedJobsStatus": [{"name": "driver", "ready": 1, "active": 1}]"#);
        assert!(!works.run.suspended && works.run.up && works.run.active == 1);
        assert_eq!(set("", &condition("Completed")).ended, Some(true));
        let failed = set("", &condition("Failed"));
        assert_eq!((failed.ended, failed.message.as_str()), (Some(false), "m"));
    }
}
