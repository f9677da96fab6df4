//! Which workloads and pods belong to a claim. A label or a name alone is no evidence: every user who may edit workloads can write both.

use std::sync::Arc;

use crds::{Job, JobClaim, Match, WorkKind, WorkloadRef};
use kube::ResourceExt;

use crate::key::ObjectKey;
use crate::objects::Objects;
use crate::workload::{Origin, WorkloadObject};
use crate::workloads::Workloads;

/// A claim, as far as it determines which workloads and pods belong to it.
///
/// A workload belongs to it if it has the label of the claim's Match, is in the same namespace, and is the batch Job of the Match's name or
/// the object in `workloadRef` of the job. A pod belongs to it if it is such a workload itself, or if its controller is one, or was one when
/// the pod was created: orphaned pods go on running.
#[derive(Clone, Copy, Debug)]
pub struct ClaimRef<'c> {
    /// The uid of the Match.
    pub uid: &'c str,
    /// The key of the Match, which is also that of the batch Job that is created for it.
    pub key: &'c ObjectKey,
    /// The job; `None` if it is not in the cache: then its `workloadRef` is not known.
    pub job: Option<&'c Job>,
}

impl<'c> ClaimRef<'c> {
    /// The claim of a Match whose root has this key and this uid.
    pub fn of(uid: &'c str, key: &'c ObjectKey, root: (&ObjectKey, &str), objects: &'c Objects) -> ClaimRef<'c> {
        let job = objects.jobs.get(root.0).map(|held| held.object.as_ref());
        ClaimRef { uid, key, job: job.filter(|job| job.uid().is_some_and(|uid| uid == root.1)) }
    }

    /// The uid of the workload that has run under this claim, from the status of the job.
    #[must_use]
    pub fn recorded(&self) -> Option<&'c str> {
        let status = self.job?.status.as_ref()?;
        let JobClaim { uid, .. } = status.claim.as_ref()?;
        status.workload.as_ref().filter(|_| uid == self.uid).map(|workload| workload.uid.as_str())
    }

    /// Whether a workload belongs to the claim.
    #[must_use]
    pub fn owns(&self, work: &WorkloadObject) -> bool {
        work.marks.match_uid.as_deref() == Some(self.uid)
            && work.marks.match_name.as_ref().is_none_or(|name| *name == self.key.name)
            && work.key.namespace == self.key.namespace
            && self.names(work.kind, &work.key.name)
    }

    /// Whether a pod with the claim's label, this key and this origin belongs to the claim.
    #[must_use]
    pub fn owns_pod(&self, key: &ObjectKey, origin: &Origin, workloads: &Workloads) -> bool {
        if key.namespace != self.key.namespace {
            return false;
        }
        let by = origin.controller.as_ref().filter(|controller| controller.is(WorkKind::Job));
        self.names(WorkKind::Pod, &key.name)
            || by.is_some_and(|by| self.names(WorkKind::Job, &by.name) || self.has_child(&by.name, workloads))
            || origin.prefix.as_ref().is_some_and(|prefix| self.has_orphan(prefix))
    }

    /// Whether a pod was made by a batch Job of this claim, going by what its name was made of: `NAME-`, or `NAME-0-` of an indexed one, of
    /// whose name only the beginning stands there if it is long.
    fn has_orphan(&self, prefix: &str) -> bool {
        if self.job.is_none() {
            return false;
        }
        let name = prefix.trim_end_matches('-');
        let indexed = name.rsplit_once('-').filter(|(_, index)| index.bytes().all(|byte| byte.is_ascii_digit()));
        let is_cut = prefix.len() == INDEXED_PREFIX_MAX;
        self.names(WorkKind::Job, name)
            || self.job_set().is_some_and(|set| is_below(name, set))
            || indexed.is_some_and(|(name, _)| {
                self.names(WorkKind::Job, name) || is_cut && self.batch_names().any(|whole| whole.starts_with(name))
            })
    }

    /// Whether this is a batch Job of the JobSet that the job names. One that is not there any more, or has lost its controller, is recognized
    /// by its name alone.
    fn has_child(&self, batch: &str, workloads: &Workloads) -> bool {
        let Some(set) = self.job_set() else { return false };
        let found = workloads.get(WorkKind::Job, &ObjectKey::new(&self.key.namespace, batch));
        match found.and_then(|batch| batch.marks.controller.as_ref()) {
            Some(controller) => controller.is(WorkKind::JobSet) && controller.name == set,
            None => is_below(batch, set),
        }
    }

    fn reference(&self) -> Option<&'c WorkloadRef> {
        self.job?.spec.workload.as_ref()?.workload_ref.as_ref()
    }

    /// The JobSet that the job names.
    fn job_set(&self) -> Option<&'c str> {
        self.reference().filter(|found| found.kind == WorkKind::JobSet).map(|found| found.name.as_str())
    }

    /// The name of the batch Job that is created for the claim, and of one that the job names.
    fn batch_names(&self) -> impl Iterator<Item = &'c str> {
        let named = self.reference().filter(|found| found.kind == WorkKind::Job).map(|found| found.name.as_str());
        named.into_iter().chain([self.key.name.as_str()])
    }

    /// Whether an object of this kind and name is created for the claim, or named by its job.
    fn names(&self, kind: WorkKind, name: &str) -> bool {
        let named = self.reference().is_some_and(|reference| reference.kind == kind && reference.name == name);
        self.job.is_none() || named || (kind == WorkKind::Job && name == self.key.name)
    }
}

/// How much of the name of an indexed batch Job and of the index the job controller writes into the names of its pods, in bytes.
const INDEXED_PREFIX_MAX: usize = 58;

/// Whether a batch Job of this name may be one of a JobSet, or a pod one of such a batch Job.
fn is_below(name: &str, set: &str) -> bool {
    name.strip_prefix(set).is_some_and(|rest| rest.starts_with('-'))
}

impl Workloads {
    /// The workloads that belong to a claim.
    pub fn of_claim<'w>(&'w self, claim: ClaimRef<'w>) -> impl Iterator<Item = &'w Arc<WorkloadObject>> {
        self.labelled_with(claim.uid).filter(move |work| claim.owns(work))
    }

    /// How many unfinished pods of a claim are in the cache.
    #[must_use]
    pub fn pods_of_claim(&self, claim: ClaimRef<'_>) -> usize {
        self.pods_labelled_with(claim.uid).filter(|(key, origin)| claim.owns_pod(key, origin, self)).count()
    }
}

/// Why a Match cannot have been written by the controller, if it cannot: its job is in another namespace, or its name is not that of its
/// job and attempt.
#[must_use]
pub fn is_foreign(found: &Match) -> Option<String> {
    let Some(root) = found.spec.members.first() else { return Some("it has no members".to_owned()) };
    let name = crds::match_name(&root.name, &root.uid, found.spec.attempt);
    if root.kind != crds::AdKind::Job.as_str() || root.parent.is_some() {
        Some("its first member is no Job".to_owned())
    } else if found.namespace().as_ref() != Some(&root.namespace) {
        Some(format!("its job is in the namespace {}", root.namespace))
    } else if found.name_any() != name {
        Some(format!("attempt {} of this job has the name {name}", found.spec.attempt))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Controller;
    use crate::workload::Marks;
    use serde_json::{Value, json};

    fn job(reference: Value, recorded: Option<&str>) -> Job {
        let workload = match reference {
            Value::Null => json!({"jobTemplate": {}}),
            reference => json!({"workloadRef": reference}),
        };
        let status = json!({"claim": {"match": "m", "uid": "u"},
            "workload": recorded.map(|uid| json!({"name": "m", "uid": uid}))});
        let metadata = json!({"name": "j", "namespace": "ns", "uid": "u-j"});
        let written = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": metadata,
            "spec": {"workload": workload}, "status": status});
        serde_json::from_value(written).unwrap()
    }

    fn labelled(kind: WorkKind, namespace: &str, name: &str) -> WorkloadObject {
        WorkloadObject {
            kind,
            key: ObjectKey::new(namespace, name),
            marks: Marks { match_uid: Some("u".to_owned()), match_name: Some("m".to_owned()), ..Marks::default() },
            ..WorkloadObject::default()
        }
    }

    fn of(group: &str, kind: &str, name: &str) -> Controller {
        let [group, kind, name] = [group, kind, name].map(str::to_owned);
        Controller { group, kind, name, uid: "u-c".to_owned() }
    }

    #[test]
    fn a_label_is_not_enough() {
        let key = ObjectKey::new("ns", "m");
        let (made, named) = (job(Value::Null, None), job(json!({"kind": "JobSet", "name": "s"}), None));
        let claim = |job| ClaimRef { uid: "u", key: &key, job };
        let table = [
            ("made", WorkKind::Job, "ns", "m", [true, true, true]),
            ("another namespace", WorkKind::Job, "far", "m", [false, false, false]),
            ("another name", WorkKind::Job, "ns", "x", [false, false, true]),
            ("named", WorkKind::JobSet, "ns", "s", [false, true, true]),
            ("a namesake of another kind", WorkKind::Job, "ns", "s", [false, false, true]),
            ("a pod of the name", WorkKind::Pod, "ns", "m", [false, false, true]),
        ];
        for (what, kind, namespace, name, expected) in table {
            let work = labelled(kind, namespace, name);
            let found = [Some(&made), Some(&named), None].map(|job| claim(job).owns(&work));
            assert_eq!(found, expected, "{what}");
        }
        let mut other = labelled(WorkKind::Job, "ns", "m");
        other.marks.match_uid = Some("v".to_owned());
        assert!(!claim(Some(&made)).owns(&other), "of another Match");
        (other.marks.match_uid, other.marks.match_name) = (Some("u".to_owned()), Some("n".to_owned()));
        assert!(!claim(Some(&made)).owns(&other), "of another name");
    }

    #[test]
    fn a_pod_counts_by_what_has_made_it() {
        let key = ObjectKey::new("ns", "m");
        let mut works = Workloads::default();
        let child = |name: &str, set: &str| WorkloadObject {
            marks: Marks {
                controller: Some(of("jobset.x-k8s.io", "JobSet", set)),
                ..labelled(WorkKind::Job, "ns", name).marks
            },
            ..labelled(WorkKind::Job, "ns", name)
        };
        works.put(child("s-head-0", "s"));
        works.put(child("s-other-0", "another"));
        works.put(labelled(WorkKind::Job, "ns", "s-lost-0"));
        let (made, named) = (job(Value::Null, None), job(json!({"kind": "JobSet", "name": "s"}), None));
        let pod = job(json!({"kind": "Pod", "name": "p"}), None);
        let counts = |job: &Job, namespace: &str, controller: Option<Controller>| {
            let claim = ClaimRef { uid: "u", key: &key, job: Some(job) };
            claim.owns_pod(&ObjectKey::new(namespace, "p"), &Origin { controller, prefix: None }, &works)
        };
        let batch = |name: &str| Some(of("batch", "Job", name));
        assert!(counts(&made, "ns", batch("m")) && !counts(&made, "far", batch("m")));
        assert!(!counts(&made, "ns", batch("x")) && !counts(&made, "ns", None));
        assert!(!counts(&made, "ns", Some(of("bob.io", "Job", "m"))), "another group's Job");
        assert!(counts(&named, "ns", batch("s-head-0")) && !counts(&named, "ns", batch("s-other-0")));
        assert!(counts(&named, "ns", batch("s-gone-0")), "of one that is gone the name has to do");
        assert!(counts(&named, "ns", batch("s-lost-0")), "and of one that has lost its controller");
        let orphan = |job: &Job, prefix: &str| {
            let claim = ClaimRef { uid: "u", key: &key, job: Some(job) };
            claim.owns_pod(
                &ObjectKey::new("ns", "p"),
                &Origin { controller: None, prefix: Some(prefix.to_owned()) },
                &works,
            )
        };
        assert!(orphan(&named, "s-gone-0-1-") && !orphan(&named, "x-0-") && !orphan(&made, "s-gone-0-1-"));
        assert!(counts(&pod, "ns", None) && counts(&pod, "ns", batch("x")), "it is what the job names");
        let claim = ClaimRef { uid: "u", key: &key, job: None };
        assert!(
            claim.owns_pod(&ObjectKey::new("ns", "p"), &Origin::default(), &works),
            "a job that is gone names nothing"
        );
        // E12: orphaned, or given another controller; an indexed one, too
        for (prefix, expected) in [("m-", true), ("m-17-", true), ("x-", false), ("m-x-", false), ("m1-", false)] {
            for controller in [None, batch("x")] {
                let (claim, prefix) = (ClaimRef { uid: "u", key: &key, job: Some(&made) }, Some(prefix.to_owned()));
                let found = claim.owns_pod(&ObjectKey::new("ns", "p"), &Origin { controller, prefix }, &works);
                assert_eq!(found, expected, "{claim:?}");
            }
        }
    }

    /// The job controller cuts the names of indexed batch Jobs in those of their pods.
    #[test]
    fn a_pod_of_an_indexed_batch_job_counts_however_long_its_name_is() {
        let made = job(Value::Null, None);
        for length in [40, 54, 56, 60, 63] {
            let key = ObjectKey::new("ns", &"m".repeat(length));
            let claim = ClaimRef { uid: "u", key: &key, job: Some(&made) };
            for index in [0, 17] {
                let index = format!("-{index}-");
                let kept: String = key.name.chars().take(INDEXED_PREFIX_MAX - index.len()).collect();
                let origin = |prefix: String| Origin { controller: None, prefix: Some(prefix) };
                let owns = |prefix| claim.owns_pod(&ObjectKey::new("ns", "p"), &origin(prefix), &Workloads::default());
                assert!(owns(format!("{kept}{index}")), "{length}");
                assert!(!owns(format!("x{kept}{index}")) && !owns(format!("mmm{index}")), "{length}");
            }
        }
    }

    #[test]
    fn what_has_run_is_known_by_its_uid_under_its_own_claim_only() {
        let key = ObjectKey::new("ns", "m");
        let ran = job(Value::Null, Some("u-b"));
        assert_eq!(ClaimRef { uid: "u", key: &key, job: Some(&ran) }.recorded(), Some("u-b"));
        assert_eq!(ClaimRef { uid: "v", key: &key, job: Some(&ran) }.recorded(), None);
    }

    #[test]
    fn a_match_has_the_name_and_the_namespace_that_a_record_gives() {
        let found = |name: &str, namespace: &str, kind: &str| {
            let root = json!({"id": 0, "kind": kind, "namespace": "ns", "name": "j", "uid": "u-j", "generation": 1});
            let spec = json!({"attempt": 2, "cycle": {"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1}, "epoch": 0,
                "reserveTimeoutSeconds": 30, "summary": "", "rank": "0", "members": [root]});
            let metadata = json!({"name": name, "namespace": namespace});
            let written =
                json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": metadata, "spec": spec});
            is_foreign(&serde_json::from_value(written).unwrap())
        };
        let name = crds::match_name("j", "u-j", 2);
        assert_eq!(found(&name, "ns", "Job"), None);
        assert!(found(&name, "far", "Job").unwrap().contains("in the namespace ns"));
        assert!(found(&name, "ns", "Machine").unwrap().contains("no Job"));
        assert!(found("j-1", "ns", "Job").unwrap().contains(&name));
    }
}
