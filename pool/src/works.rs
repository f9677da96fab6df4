//! What works for claims, or waits for one, as it was seen last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{ANNOTATION_MEMBERS, LABEL_AD, LABEL_MATCH_UID, WorkKind};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::key::ObjectKey;
use crate::reach::Reach;
use crate::work::{Origin, WorkObject, has_finished};

/// One of them: no two of a kind have one key.
pub(crate) type Name = (WorkKind, ObjectKey);

/// All batch Jobs and JobSets, the Pods that ask for a gang themselves, and the pods of others that carry a claim's label and have
/// not finished.
#[derive(Clone, Debug, Default)]
pub struct Works {
    objects: BTreeMap<Name, Arc<WorkObject>>,
    /// Names by the uid of the Match on their label.
    by_match: BTreeMap<String, BTreeSet<Name>>,
    /// Names of those that carry the label of an ad.
    with_ad: BTreeSet<Name>,
    /// The pods that have not finished, each with the uid of its Match and what has made it; and their keys by that uid.
    pods: BTreeMap<ObjectKey, (String, Origin)>,
    pods_of: BTreeMap<String, BTreeSet<ObjectKey>>,
    /// The names, and the uids of Matches on whose account something has changed, since somebody asked.
    changed: (BTreeSet<Name>, BTreeSet<String>),
    /// There are JobSets in this cluster: their kind is served.
    pub job_sets: bool,
    /// In which namespaces they are looked at.
    pub reach: Reach,
}

impl Works {
    /// Takes in an object as it was seen, unless what is held is newer. Whether anything is new.
    pub fn put(&mut self, work: WorkObject) -> bool {
        let number = |version: &str| version.parse::<u64>().unwrap_or(0);
        let name = (work.kind, work.key.clone());
        if let Some(held) = self.objects.get(&name) {
            if held.uid == work.uid && number(&held.version) > number(&work.version) {
                return false;
            }
            if **held == (WorkObject { version: held.version.clone(), ..work.clone() }) {
                // only what nobody looks at has changed, but a patch may test the version
                self.objects.insert(name, Arc::new(work));
                return false;
            }
        }
        self.remove(work.kind, &work.key);
        self.changed.0.insert(name.clone());
        if let Some(uid) = &work.match_uid {
            self.changed.1.insert(uid.clone());
            self.by_match.entry(uid.clone()).or_default().insert(name.clone());
        }
        if work.ad.is_some() {
            self.with_ad.insert(name.clone());
        }
        self.objects.insert(name, Arc::new(work));
        true
    }

    pub(crate) fn take_changes(&mut self) -> (BTreeSet<Name>, BTreeSet<String>) {
        std::mem::take(&mut self.changed)
    }

    /// Forgets an object.
    pub fn remove(&mut self, kind: WorkKind, key: &ObjectKey) {
        let name = (kind, key.clone());
        let Some(held) = self.objects.remove(&name) else { return };
        self.changed.0.insert(name.clone());
        self.with_ad.remove(&name);
        let Some(uid) = &held.match_uid else { return };
        self.changed.1.insert(uid.clone());
        if let Some(names) = self.by_match.get_mut(uid) {
            names.remove(&name);
            if names.is_empty() {
                self.by_match.remove(uid);
            }
        }
    }

    /// Forgets all objects of a kind that `keep` does not name.
    pub fn retain(&mut self, kind: WorkKind, keep: impl Fn(&ObjectKey) -> bool) {
        self.forget(|work| work.kind == kind && !keep(&work.key));
    }

    fn forget(&mut self, is_gone: impl Fn(&WorkObject) -> bool) {
        let gone: Vec<Name> =
            self.objects.iter().filter(|(_, work)| is_gone(work)).map(|(name, _)| name.clone()).collect();
        gone.iter().for_each(|(kind, key)| self.remove(*kind, key));
    }

    /// Takes in a pod with a claim's label as it was seen. Whether anything is new.
    pub fn put_pod(&mut self, pod: &Pod) -> bool {
        let key = ObjectKey::of(pod);
        // one that carries the label of an ad comes by another watch, too
        let asks = pod.annotations().contains_key(ANNOTATION_MEMBERS) && !pod.labels().contains_key(LABEL_AD);
        let new = asks && self.put(WorkObject::of_pod(pod));
        let uid = pod.labels().get(LABEL_MATCH_UID).filter(|_| !has_finished(pod));
        let counted = uid.map(|uid| (uid.clone(), Origin::of(&pod.metadata)));
        if self.pods.get(&key) == counted.as_ref() {
            return new;
        }
        self.uncount(&key);
        if let Some((uid, origin)) = counted {
            self.changed.1.insert(uid.clone());
            self.pods_of.entry(uid.clone()).or_default().insert(key.clone());
            self.pods.insert(key, (uid, origin));
        }
        true
    }

    /// Forgets a pod that carries no claim's label any more, or is gone.
    pub fn remove_pod(&mut self, key: &ObjectKey) {
        self.uncount(key);
        self.remove_if(key, |work| work.ad.is_none());
    }

    /// Forgets a Pod that carries no label of an ad any more, or is gone.
    pub fn remove_asking_pod(&mut self, key: &ObjectKey) {
        self.remove_if(key, |work| work.ad.is_some());
    }

    fn remove_if(&mut self, key: &ObjectKey, is_it: impl Fn(&WorkObject) -> bool) {
        if self.get(WorkKind::Pod, key).is_some_and(|work| is_it(work)) {
            self.remove(WorkKind::Pod, key);
        }
    }

    fn uncount(&mut self, key: &ObjectKey) {
        let Some((uid, _)) = self.pods.remove(key) else { return };
        self.changed.1.insert(uid.clone());
        if let Some(keys) = self.pods_of.get_mut(&uid) {
            keys.remove(key);
            if keys.is_empty() {
                self.pods_of.remove(&uid);
            }
        }
    }

    /// Forgets all pods with a claim's label that `keep` does not name.
    pub fn retain_pods(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        let gone: Vec<ObjectKey> = self.pods.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| self.uncount(key));
        self.forget(|work| work.kind == WorkKind::Pod && work.ad.is_none() && !keep(&work.key));
    }

    /// Forgets all Pods with the label of an ad that `keep` does not name.
    pub fn retain_asking_pods(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        self.forget(|work| work.kind == WorkKind::Pod && work.ad.is_some() && !keep(&work.key));
    }

    /// The object of this name.
    #[must_use]
    pub fn get(&self, kind: WorkKind, key: &ObjectKey) -> Option<&Arc<WorkObject>> {
        self.objects.get(&(kind, key.clone()))
    }

    /// The objects that carry the label of this Match, whether they work for it or not: see [`Works::of_claim`].
    pub fn labelled_with(&self, uid: &str) -> impl Iterator<Item = &Arc<WorkObject>> {
        self.by_match.get(uid).into_iter().flatten().filter_map(|name| self.objects.get(name))
    }

    /// The objects that name an ad.
    pub fn with_ad(&self) -> impl Iterator<Item = (&str, &Arc<WorkObject>)> {
        let all = self.with_ad.iter().filter_map(|name| self.objects.get(name));
        all.filter_map(|work| Some((work.ad.as_deref()?, work)))
    }

    /// The pods that carry the label of this Match and have not finished, each with what has made it.
    pub(crate) fn pods_labelled_with(&self, uid: &str) -> impl Iterator<Item = (&ObjectKey, &Origin)> {
        let keys = self.pods_of.get(uid).into_iter().flatten();
        keys.filter_map(|key| Some((key, &self.pods.get(key)?.1)))
    }

    /// All objects that carry the label of a Match.
    pub fn labelled(&self) -> impl Iterator<Item = (&str, &Arc<WorkObject>)> {
        let names = self.by_match.iter().flat_map(|(uid, names)| names.iter().map(move |name| (uid.as_str(), name)));
        names.filter_map(|(uid, name)| Some((uid, self.objects.get(name)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(name: &str, version: u64, of: Option<&str>) -> WorkObject {
        WorkObject {
            key: ObjectKey::new("ns", name),
            uid: format!("u-{name}"),
            version: version.to_string(),
            match_uid: of.map(str::to_owned),
            ..WorkObject::default()
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
        let mut works = Works::default();
        let key = ObjectKey::new("ns", "a");
        assert!(works.put(batch("a", 5, Some("m"))));
        assert!(!works.put(batch("a", 4, None)));
        assert_eq!(works.labelled_with("m").count(), 1);
        assert!(!works.put(batch("a", 6, Some("m"))), "nothing that counts is new");
        assert_eq!(works.get(WorkKind::Job, &key).unwrap().version, "6", "but a patch may test it");
        assert!(works.put(batch("a", 7, None)));
        assert_eq!((works.labelled_with("m").count(), works.labelled().count()), (0, 0));
        works.put(WorkObject { kind: WorkKind::Pod, ..batch("a", 1, Some("m")) });
        works.retain(WorkKind::Job, |_| false);
        assert!(works.get(WorkKind::Job, &key).is_none() && works.get(WorkKind::Pod, &key).is_some());
    }

    #[test]
    fn pods_count_until_they_have_finished() {
        let labels = r#""gangmatch.dev/match-uid": "m""#;
        let mut works = Works::default();
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
        let mut works = Works::default();
        works.put_pod(&pod(ours, "Running"));
        works.remove_asking_pod(&key);
        works.retain_asking_pods(|_| false);
        assert_eq!(works.labelled_with("m").count(), 1);
        works.remove_pod(&key);
        assert_eq!((works.labelled_with("m").count(), works.pods_labelled_with("m").count()), (0, 0));
        works.put_pod(&pod(asking, "Running"));
        assert_eq!(works.with_ad().count(), 0, "the other watch brings it");
        works.put(WorkObject::of_pod(&pod(asking, "Running")));
        works.remove_pod(&key);
        assert_eq!((works.labelled_with("m").count(), works.with_ad().count()), (1, 1));
        works.remove_asking_pod(&key);
        assert_eq!((works.labelled_with("m").count(), works.with_ad().count()), (0, 0));
    }
}
