//! The cache of workloads that work for claims, or wait for one, and of their pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{ANNOTATION_MEMBERS, GATE_PLACE, LABEL_AD, LABEL_MATCH_UID, WorkKind};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::key::ObjectKey;
use crate::multi_map::MultiMap;
use crate::workload::{Origin, WorkloadObject, has_finished, has_gate};
use crate::workload_scope::WorkloadScope;

/// The kind and the key of a workload.
pub(crate) type Name = (WorkKind, ObjectKey);

/// All batch Jobs and JobSets, the Pods that ask for a gang themselves, and the unfinished pods of other workloads with the label of a
/// claim.
#[derive(Clone, Debug, Default)]
pub struct Workloads {
    objects: BTreeMap<Name, Arc<WorkloadObject>>,
    /// Names by the uid of the Match on their label.
    by_match: MultiMap<String, Name>,
    /// Names of those that carry the label of an ad.
    with_ad: BTreeSet<Name>,
    /// The pods that have not finished, each with the uid of its Match and what has made it; and their keys by that uid.
    pods: BTreeMap<ObjectKey, (String, Origin)>,
    pods_of: MultiMap<String, ObjectKey>,
    /// Those of them that are held until they are placed, each with its own uid.
    unplaced: BTreeMap<ObjectKey, String>,
    /// The workloads that have changed since [`Workloads::take_changes`], and the uids of the Matches on their labels.
    changed: (BTreeSet<Name>, BTreeSet<String>),
    /// There are JobSets in this cluster: their kind is served.
    pub job_sets: bool,
    /// The namespaces in which workloads are watched.
    pub scope: WorkloadScope,
}

impl Workloads {
    /// Caches a workload as it was seen, unless the cached one is newer. Returns whether anything but its version has changed.
    pub fn put(&mut self, work: WorkloadObject) -> bool {
        let number = |version: &str| version.parse::<u64>().unwrap_or(0);
        let name = (work.kind, work.key.clone());
        if let Some(held) = self.objects.get(&name) {
            if held.uid == work.uid && number(&held.version) > number(&work.version) {
                return false;
            }
            if **held == (WorkloadObject { version: held.version.clone(), ..work.clone() }) {
                // Only unused fields have changed, but a patch may test the version.
                self.objects.insert(name, Arc::new(work));
                return false;
            }
        }
        self.remove(work.kind, &work.key);
        self.changed.0.insert(name.clone());
        if let Some(uid) = &work.marks.match_uid {
            self.changed.1.insert(uid.clone());
            self.by_match.insert(uid.clone(), name.clone());
        }
        if work.marks.ad.is_some() {
            self.with_ad.insert(name.clone());
        }
        self.objects.insert(name, Arc::new(work));
        true
    }

    /// What has changed since this was called last.
    pub(crate) fn take_changes(&mut self) -> (BTreeSet<Name>, BTreeSet<String>) {
        std::mem::take(&mut self.changed)
    }

    /// Removes a workload.
    pub fn remove(&mut self, kind: WorkKind, key: &ObjectKey) {
        let name = (kind, key.clone());
        let Some(held) = self.objects.remove(&name) else { return };
        self.changed.0.insert(name.clone());
        self.with_ad.remove(&name);
        let Some(uid) = &held.marks.match_uid else { return };
        self.changed.1.insert(uid.clone());
        self.by_match.remove(uid, &name);
    }

    /// Removes all workloads of a kind but those whose keys `keep` accepts.
    pub fn retain(&mut self, kind: WorkKind, keep: impl Fn(&ObjectKey) -> bool) {
        self.remove_all(|work| work.kind == kind && !keep(&work.key));
    }

    fn remove_all(&mut self, is_gone: impl Fn(&WorkloadObject) -> bool) {
        let gone: Vec<Name> =
            self.objects.iter().filter(|(_, work)| is_gone(work)).map(|(name, _)| name.clone()).collect();
        gone.iter().for_each(|(kind, key)| self.remove(*kind, key));
    }

    /// Caches a pod with the label of a claim as it was seen. Returns whether anything has changed.
    pub fn put_pod(&mut self, pod: &Pod) -> bool {
        let key = ObjectKey::of(pod);
        // one that carries the label of an ad comes by another watch, too
        let asks = pod.annotations().contains_key(ANNOTATION_MEMBERS) && !pod.labels().contains_key(LABEL_AD);
        let new = asks && self.put(WorkloadObject::of_pod(pod));
        let uid = pod.labels().get(LABEL_MATCH_UID).filter(|_| !has_finished(pod));
        let counted = uid.map(|uid| (uid.clone(), Origin::of(&pod.metadata)));
        let is_held = counted.is_some() && has_gate(pod, GATE_PLACE) && pod.metadata.deletion_timestamp.is_none();
        let unplaced = pod.uid().filter(|_| is_held);
        if self.pods.get(&key) == counted.as_ref() && self.unplaced.get(&key) == unplaced.as_ref() {
            return new;
        }
        self.uncount(&key);
        self.unplaced.extend(unplaced.map(|uid| (key.clone(), uid)));
        if let Some((uid, origin)) = counted {
            self.changed.1.insert(uid.clone());
            self.pods_of.insert(uid.clone(), key.clone());
            self.pods.insert(key, (uid, origin));
        }
        true
    }

    /// Removes a pod that was deleted, or has lost the label of its claim.
    pub fn remove_pod(&mut self, key: &ObjectKey) {
        self.uncount(key);
        self.remove_if(key, |work| work.marks.ad.is_none());
    }

    /// Removes a Pod that was deleted, or has lost the label of an ad.
    pub fn remove_asking_pod(&mut self, key: &ObjectKey) {
        self.remove_if(key, |work| work.marks.ad.is_some());
    }

    fn remove_if(&mut self, key: &ObjectKey, is_it: impl Fn(&WorkloadObject) -> bool) {
        if self.get(WorkKind::Pod, key).is_some_and(|work| is_it(work)) {
            self.remove(WorkKind::Pod, key);
        }
    }

    fn uncount(&mut self, key: &ObjectKey) {
        self.unplaced.remove(key);
        let Some((uid, _)) = self.pods.remove(key) else { return };
        self.changed.1.insert(uid.clone());
        self.pods_of.remove(&uid, key);
    }

    /// Removes all pods with the label of a claim but those whose keys `keep` accepts.
    pub fn retain_pods(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        let gone: Vec<ObjectKey> = self.pods.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| self.uncount(key));
        self.remove_all(|work| work.kind == WorkKind::Pod && work.marks.ad.is_none() && !keep(&work.key));
    }

    /// Removes all Pods with the label of an ad but those whose keys `keep` accepts.
    pub fn retain_asking_pods(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        self.remove_all(|work| work.kind == WorkKind::Pod && work.marks.ad.is_some() && !keep(&work.key));
    }

    /// The workload of this kind and key.
    #[must_use]
    pub fn get(&self, kind: WorkKind, key: &ObjectKey) -> Option<&Arc<WorkloadObject>> {
        self.objects.get(&(kind, key.clone()))
    }

    /// The workloads with the label of this Match, whether they belong to its claim or not: see [`Workloads::of_claim`].
    pub fn labelled_with(&self, uid: &str) -> impl Iterator<Item = &Arc<WorkloadObject>> {
        self.by_match.get(uid).filter_map(|name| self.objects.get(name))
    }

    /// The workloads with the label of an ad, and its name.
    pub fn with_ad(&self) -> impl Iterator<Item = (&str, &Arc<WorkloadObject>)> {
        let all = self.with_ad.iter().filter_map(|name| self.objects.get(name));
        all.filter_map(|work| Some((work.marks.ad.as_deref()?, work)))
    }

    /// The unfinished pods with the label of this Match, each with its origin.
    pub(crate) fn pods_labelled_with(&self, uid: &str) -> impl Iterator<Item = (&ObjectKey, &Origin)> {
        self.pods_of.get(uid).filter_map(|key| Some((key, &self.pods.get(key)?.1)))
    }

    /// The pods that are held until they are placed, each with its own uid and that of its Match.
    pub fn unplaced(&self) -> impl Iterator<Item = (&ObjectKey, &str, &str)> {
        self.unplaced.iter().filter_map(|(key, uid)| Some((key, uid.as_str(), self.pods.get(key)?.0.as_str())))
    }

    /// A pod was placed, or cannot be as it is: there is nothing to do about it until it changes.
    pub fn leave_unplaced(&mut self, key: &ObjectKey) {
        self.unplaced.remove(key);
    }

    /// All workloads with the label of a Match, and its uid.
    pub fn labelled(&self) -> impl Iterator<Item = (&str, &Arc<WorkloadObject>)> {
        self.by_match.iter().filter_map(|(uid, name)| Some((uid.as_str(), self.objects.get(name)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Marks;

    fn batch(name: &str, version: u64, of: Option<&str>) -> WorkloadObject {
        WorkloadObject {
            key: ObjectKey::new("ns", name),
            uid: format!("u-{name}"),
            version: version.to_string(),
            marks: Marks { match_uid: of.map(str::to_owned), ..Marks::default() },
            ..WorkloadObject::default()
        }
    }

    fn pod(labels: &str, phase: &str) -> Pod {
        let text = format!(
            r#"{{"metadata": {{"name": "p", "namespace": "ns", "labels": {{{labels}}},
                "annotations": {{"gangmatch.dev/members": ""}}}}, "status": {{"phase": "{phase}"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_older_state_never_replaces_a_newer_one() {
        let mut works = Workloads::default();
        let key = ObjectKey::new("ns", "a");
        assert!(works.put(batch("a", 5, Some("m"))));
        assert!(!works.put(batch("a", 4, None)));
        assert_eq!(works.labelled_with("m").count(), 1);
        assert!(!works.put(batch("a", 6, Some("m"))), "nothing that counts is new");
        assert_eq!(works.get(WorkKind::Job, &key).unwrap().version, "6", "but a patch may test it");
        assert!(works.put(batch("a", 7, None)));
        assert_eq!((works.labelled_with("m").count(), works.labelled().count()), (0, 0));
        works.put(WorkloadObject { kind: WorkKind::Pod, ..batch("a", 1, Some("m")) });
        works.retain(WorkKind::Job, |_| false);
        assert!(works.get(WorkKind::Job, &key).is_none() && works.get(WorkKind::Pod, &key).is_some());
    }

    #[test]
    fn pods_count_until_they_have_finished() {
        let labels = r#""gangmatch.dev/match-uid": "m""#;
        let mut works = Workloads::default();
        assert!(works.put_pod(&pod(labels, "Pending")));
        assert!(!works.put_pod(&pod(labels, "Running")));
        assert_eq!(works.pods_labelled_with("m").count(), 1);
        assert!(works.put_pod(&pod(labels, "Succeeded")));
        assert_eq!(works.pods_labelled_with("m").count(), 0);
    }

    #[test]
    fn a_pod_that_asks_is_forgotten_by_the_watch_that_has_brought_it() {
        let key = ObjectKey::new("ns", "p");
        let (ours, asking) =
            (r#""gangmatch.dev/match-uid": "m""#, r#""gangmatch.dev/match-uid": "m", "gangmatch.dev/ad": "a""#);
        let mut works = Workloads::default();
        works.put_pod(&pod(ours, "Running"));
        works.remove_asking_pod(&key);
        works.retain_asking_pods(|_| false);
        assert_eq!(works.labelled_with("m").count(), 1);
        works.remove_pod(&key);
        assert_eq!((works.labelled_with("m").count(), works.pods_labelled_with("m").count()), (0, 0));
        works.put_pod(&pod(asking, "Running"));
        assert_eq!(works.with_ad().count(), 0, "the other watch brings it");
        works.put(WorkloadObject::of_pod(&pod(asking, "Running")));
        works.remove_pod(&key);
        assert_eq!((works.labelled_with("m").count(), works.with_ad().count()), (1, 1));
        works.remove_asking_pod(&key);
        assert_eq!((works.labelled_with("m").count(), works.with_ad().count()), (0, 0));
    }
}
