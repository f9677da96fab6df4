//! Batch Jobs, JobSets and Pods, as far as claims are concerned: what is running for whom.

use crds::{
    ANNOTATION_CREATOR, ANNOTATION_MADE, ANNOTATION_MATCH, ANNOTATION_MEMBERS, GATE, LABEL_AD, LABEL_MATCH_UID,
    WorkKind,
};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource, ResourceExt};

use crate::job_set::JobSet;
use crate::key::ObjectKey;

/// Something that works for a claim, or waits for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkObject {
    /// What it is.
    pub kind: WorkKind,
    /// Where it is.
    pub key: ObjectKey,
    /// Its metadata.uid.
    pub uid: String,
    /// Its metadata.resourceVersion.
    pub version: String,
    /// The uid of the Match that it works for, or did.
    pub match_uid: Option<String>,
    /// The name of that Match, in its own namespace.
    pub match_name: Option<String>,
    /// It was made from a template, and not by somebody else.
    pub made: bool,
    /// The ad by which it wants to be asked for.
    pub ad: Option<String>,
    /// Who has created it, as the API server's policy says.
    pub creator: Option<String>,
    /// What has made it, and takes it along when it goes.
    pub controller: Option<Controller>,
    /// The offers that it works on: kind, namespace, name, uid.
    pub members: Vec<[String; 4]>,
    /// Its specification says that nothing is to run.
    pub suspended: bool,
    /// Its controller says so, too: no pod is made any more.
    pub rests: bool,
    /// How much of it runs, or is still to end.
    pub active: i32,
    /// A pod of its present start has been ready, or has finished.
    pub up: bool,
    /// When it was started last, in seconds since 1970.
    pub started: Option<i64>,
    /// It has ended; true: well.
    pub ended: Option<bool>,
    /// A controller that is not known here manages it.
    pub is_managed_elsewhere: bool,
    /// It is being deleted: somebody's finalizers, or its pods, keep it.
    pub deleting: bool,
    /// Why, if it has ended badly.
    pub message: String,
}

/// How long the name of an object may be.
const NAME_MAX: usize = 253;

/// What a pod was made by, as far as that counts for claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its controller now.
    pub controller: Option<Controller>,
    /// What its name was made of, which cannot be changed: of a pod of a batch Job, the name of that and a number perhaps.
    pub prefix: Option<String>,
}

impl Origin {
    /// That of a pod.
    pub fn of(metadata: &ObjectMeta) -> Origin {
        let prefix = metadata.generate_name.clone().filter(|prefix| prefix.len() <= NAME_MAX);
        Origin { controller: Controller::of(metadata), prefix }
    }
}

/// The object of which the controller makes another one.
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
    /// That of an object.
    pub fn of(metadata: &ObjectMeta) -> Option<Controller> {
        let owners = metadata.owner_references.iter().flatten();
        let found = owners.into_iter().find(|owner| owner.controller == Some(true))?;
        let (group, _) = found.api_version.split_once('/').unwrap_or_default();
        let OwnerReference { kind, name, uid, .. } = found;
        // longer ones are no names of anything that is there, and would only take room
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

/// The controllers that are waited for: of a batch Job and of a JobSet.
const BATCH_MANAGER: &str = "kubernetes.io/job-controller";
const SET_MANAGER: &str = "jobset.sigs.k8s.io/jobset-controller";

/// What is said of a workload that another controller manages.
fn managed_elsewhere(managed_by: Option<&str>, known: &str) -> Option<String> {
    let other = managed_by.filter(|name| *name != known)?;
    Some(format!(
        "spec.managedBy is `{other}`: a controller of which it is not known whether it says when the work stops; create it without \
         spec.managedBy"
    ))
}

impl WorkObject {
    /// What counts of a batch Job. One that another controller manages has failed: nothing is started by it, and nothing held for it.
    pub fn of_batch(batch: &Batch) -> WorkObject {
        let managed_by = batch.spec.as_ref().and_then(|spec| spec.managed_by.as_deref());
        WorkObject::of_own_batch(batch).unless(managed_elsewhere(managed_by, BATCH_MANAGER))
    }

    fn of_own_batch(batch: &Batch) -> WorkObject {
        let status = batch.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let holds = |type_: &str| conditions.iter().find(|found| found.type_ == type_ && found.status == "True");
        let count = |count: Option<i32>| count.unwrap_or(0);
        WorkObject {
            suspended: batch.spec.as_ref().and_then(|spec| spec.suspend).unwrap_or(false),
            rests: holds("Suspended").is_some(),
            active: count(status.active).saturating_add(count(status.terminating)),
            up: [status.ready, status.succeeded, status.failed].into_iter().any(|pods| count(pods) > 0),
            started: status.start_time.map(|time| time.0.as_second()),
            ended: ended(
                holds("Complete").is_some(),
                holds("Failed").is_some() || is_over(batch, holds("Suspended").is_some()),
            ),
            message: holds("Failed").and_then(|failed| failed.message.clone()).unwrap_or_default(),
            ..WorkObject::named(WorkKind::Job, batch)
        }
    }

    /// What counts of a JobSet.
    pub fn of_job_set(set: &JobSet) -> WorkObject {
        WorkObject::of_own_job_set(set).unless(managed_elsewhere(set.spec.managed_by.as_deref(), SET_MANAGER))
    }

    /// The same, failed if there is an obstacle.
    fn unless(self, obstacle: Option<String>) -> WorkObject {
        match obstacle {
            None => self,
            Some(message) => WorkObject { ended: Some(false), is_managed_elsewhere: true, message, ..self },
        }
    }

    fn of_own_job_set(set: &JobSet) -> WorkObject {
        let status = set.status.clone().unwrap_or_default();
        let holds = |type_: &str| status.conditions.iter().find(|found| found.type_ == type_ && found.status == "True");
        let jobs = &status.replicated_jobs_status;
        WorkObject {
            suspended: set.spec.suspend.unwrap_or(false),
            rests: holds("Suspended").is_some(),
            active: jobs.iter().map(|jobs| jobs.active).fold(0, i32::saturating_add),
            up: jobs.iter().any(|jobs| jobs.ready > 0 || jobs.succeeded > 0 || jobs.failed > 0),
            ended: ended(holds("Completed").is_some(), holds("Failed").is_some()),
            message: holds("Failed").map(|failed| failed.message.clone()).unwrap_or_default(),
            ..WorkObject::named(WorkKind::JobSet, set)
        }
    }

    /// What counts of a Pod. One that is being deleted has ended: it is not waited for, but its seats are held until it is gone.
    pub fn of_pod(pod: &Pod) -> WorkObject {
        let status = pod.status.clone().unwrap_or_default();
        let phase = status.phase.as_deref();
        let deleted = pod.metadata.deletion_timestamp.is_some();
        let ready = |found: &k8s_openapi::api::core::v1::PodCondition| found.type_ == "Ready" && found.status == "True";
        let gates = pod.spec.iter().flat_map(|spec| spec.scheduling_gates.iter().flatten());
        let gated = gates.into_iter().any(|gate| gate.name == GATE);
        let said = [status.reason, status.message].into_iter().flatten().collect::<Vec<_>>().join(": ");
        WorkObject {
            suspended: gated,
            rests: gated,
            up: has_finished(pod) || status.conditions.iter().flatten().any(ready),
            ended: ended(phase == Some("Succeeded"), phase == Some("Failed") || deleted),
            message: match (said.is_empty(), deleted) {
                (false, _) => said,
                (true, true) => "it was deleted".to_owned(),
                (true, false) => "it has failed".to_owned(),
            },
            ..WorkObject::named(WorkKind::Pod, pod)
        }
    }

    /// What its metadata says.
    fn named<K: Resource<DynamicType = ()>>(kind: WorkKind, object: &K) -> WorkObject {
        WorkObject {
            kind,
            key: ObjectKey::of(object),
            uid: object.uid().unwrap_or_default(),
            version: object.resource_version().unwrap_or_default(),
            // an empty one is not one that gangmatch has written
            match_uid: object.labels().get(LABEL_MATCH_UID).filter(|uid| !uid.is_empty()).cloned(),
            match_name: object.annotations().get(ANNOTATION_MATCH).cloned(),
            made: object.annotations().contains_key(ANNOTATION_MADE),
            ad: object.labels().get(LABEL_AD).cloned(),
            creator: object.annotations().get(ANNOTATION_CREATOR).cloned(),
            controller: Controller::of(object.meta()),
            members: members(object.meta()),
            deleting: object.meta().deletion_timestamp.is_some(),
            ..WorkObject::default()
        }
    }

    /// What it is called in sentences.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        noun(self.kind)
    }
}

/// What a kind of workload is called in sentences.
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

/// The offers in an annotation, one after the other: `Machine/grid/foo/UID License/eda/sim/UID`.
fn members(metadata: &ObjectMeta) -> Vec<[String; 4]> {
    let text = metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION_MEMBERS)).map_or("", String::as_str);
    let parts = |word: &str| <[String; 4]>::try_from(word.split('/').map(str::to_owned).collect::<Vec<_>>()).ok();
    text.split_whitespace().filter_map(parts).collect()
}

/// Whether a pod has come to its end: nothing of it runs any more.
pub fn has_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether a batch Job that has come to rest is being deleted: it never makes a pod again, even if a finalizer keeps it there.
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
        let read = WorkObject::of_batch(&serde_json::from_str(text).unwrap());
        assert_eq!((read.ended, read.message.as_str(), read.active), (Some(false), "too often", 2));
        assert!(read.suspended && !read.rests && !read.up && !read.made);
        assert_eq!(read.members.len(), 2);
        assert_eq!(read.members[1], ["License", "eda", "sim", "2"].map(str::to_owned));
    }

    #[test]
    fn a_batch_job_that_rests_and_is_being_deleted_has_ended() {
        let batch = |deleted: &str, suspended: bool, said: &str| {
            let text = format!(
                r#"{{"metadata": {{"name": "b" {deleted}}}, "spec": {{"suspend": {suspended}, "template": {{}}}},
                    "status": {{"conditions": [{{"type": "Suspended", "status": "{said}"}}]}}}}"#
            );
            WorkObject::of_batch(&serde_json::from_str(&text).unwrap()).ended
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
            WorkObject::of_pod(&serde_json::from_str(&text).unwrap())
        };
        let held = pod(r#"}, "spec": {"containers": [], "schedulingGates": [{"name": "gangmatch.dev/hold"}]}"#);
        assert!(held.suspended && held.rests && held.ended.is_none() && !held.up);
        assert_eq!(held.ad.as_deref(), Some("needs-sim"));
        let other = pod(r#"}, "spec": {"containers": [], "schedulingGates": [{"name": "other.dev/gate"}]}"#);
        assert!(!other.suspended, "somebody else's gate");
        let ready = pod(r#"}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}"#);
        assert!(ready.up && ready.ended.is_none());
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
            WorkObject::of_job_set(&serde_json::from_str(&text).unwrap())
        };
        let condition = |type_: &str| {
            format!(
                r#""conditions": [{{"type": "{type_}", "status": "True", "reason": "r", "message": "m",
                    "lastTransitionTime": "2026-11-21T14:00:00Z"}}]"#
            )
        };
        let held = set(r#""suspend": true,"#, &condition("Suspended"));
        assert!(held.suspended && held.rests && held.ended.is_none());
        let works = set("", r#""replicatedJobsStatus": [{"name": "driver", "ready": 1, "active": 1}]"#);
        assert!(!works.suspended && works.up && works.active == 1);
        assert_eq!(set("", &condition("Completed")).ended, Some(true));
        let failed = set("", &condition("Failed"));
        assert_eq!((failed.ended, failed.message.as_str()), (Some(false), "m"));
    }
}
