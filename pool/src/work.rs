//! Batch Jobs and pods, as far as claims are concerned: what is running for whom.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{ANNOTATION_CREATOR, ANNOTATION_MADE, ANNOTATION_MATCH, ANNOTATION_MEMBERS, LABEL_AD, LABEL_MATCH_UID};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;

use crate::key::ObjectKey;

/// A batch Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchJob {
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
    /// The offers that it works on: kind, namespace, name, uid.
    pub members: Vec<[String; 4]>,
    /// Its specification says that nothing is to run.
    pub suspended: bool,
    /// Its controller says so, too: no pod is made any more.
    pub rests: bool,
    /// How many pods run, or are still to end.
    pub active: i32,
    /// A pod of its present start has been ready, or has finished.
    pub up: bool,
    /// When it was started last, in seconds since 1970.
    pub started: Option<i64>,
    /// It has ended; true: well.
    pub ended: Option<bool>,
    /// Why, if it has ended badly.
    pub message: String,
}

impl BatchJob {
    /// What counts of an object.
    pub fn of(batch: &Batch) -> BatchJob {
        let status = batch.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let holds = |type_: &str| conditions.iter().find(|found| found.type_ == type_ && found.status == "True");
        let ended = match (holds("Complete"), holds("Failed")) {
            (Some(_), _) => Some(true),
            (None, Some(_)) => Some(false),
            (None, None) => None,
        };
        let count = |count: Option<i32>| count.unwrap_or(0);
        BatchJob {
            key: ObjectKey::of(batch),
            uid: batch.uid().unwrap_or_default(),
            version: batch.resource_version().unwrap_or_default(),
            match_uid: batch.labels().get(LABEL_MATCH_UID).cloned(),
            match_name: batch.annotations().get(ANNOTATION_MATCH).cloned(),
            made: batch.annotations().contains_key(ANNOTATION_MADE),
            ad: batch.labels().get(LABEL_AD).cloned(),
            creator: batch.annotations().get(ANNOTATION_CREATOR).cloned(),
            members: members(&batch.metadata),
            suspended: batch.spec.as_ref().and_then(|spec| spec.suspend).unwrap_or(false),
            rests: holds("Suspended").is_some(),
            active: count(status.active).saturating_add(count(status.terminating)),
            up: [status.ready, status.succeeded, status.failed].into_iter().any(|pods| count(pods) > 0),
            started: status.start_time.map(|time| time.0.as_second()),
            ended,
            message: holds("Failed").and_then(|failed| failed.message.clone()).unwrap_or_default(),
        }
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

/// All batch Jobs, and the pods that carry a claim's label and have not finished.
#[derive(Clone, Debug, Default)]
pub struct Works {
    jobs: BTreeMap<ObjectKey, Arc<BatchJob>>,
    /// Keys of batch Jobs by the uid of the Match on their label.
    by_match: BTreeMap<String, BTreeSet<ObjectKey>>,
    /// Uids of Matches by pod, and how many pods each has.
    pods: BTreeMap<ObjectKey, String>,
    pods_of: BTreeMap<String, usize>,
    /// The batch Jobs, and the uids of Matches whose batch Jobs or pods, have changed since somebody asked.
    changed: (BTreeSet<ObjectKey>, BTreeSet<String>),
}

impl Works {
    /// Takes in a batch Job as it was seen, unless what is held is newer. Whether anything is new.
    pub fn put(&mut self, batch: BatchJob) -> bool {
        let number = |version: &str| version.parse::<u64>().unwrap_or(0);
        if let Some(held) = self.jobs.get(&batch.key) {
            if held.uid == batch.uid && number(&held.version) > number(&batch.version) {
                return false;
            }
            if **held == (BatchJob { version: held.version.clone(), ..batch.clone() }) {
                // only what nobody looks at has changed, but a patch may test the version
                self.jobs.insert(batch.key.clone(), Arc::new(batch));
                return false;
            }
        }
        self.remove(&batch.key.clone());
        self.changed.0.insert(batch.key.clone());
        if let Some(uid) = &batch.match_uid {
            self.changed.1.insert(uid.clone());
            self.by_match.entry(uid.clone()).or_default().insert(batch.key.clone());
        }
        self.jobs.insert(batch.key.clone(), Arc::new(batch));
        true
    }

    pub(crate) fn take_changes(&mut self) -> (BTreeSet<ObjectKey>, BTreeSet<String>) {
        std::mem::take(&mut self.changed)
    }

    /// Forgets a batch Job.
    pub fn remove(&mut self, key: &ObjectKey) {
        let Some(held) = self.jobs.remove(key) else { return };
        self.changed.0.insert(key.clone());
        let Some(uid) = &held.match_uid else { return };
        self.changed.1.insert(uid.clone());
        if let Some(keys) = self.by_match.get_mut(uid) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_match.remove(uid);
            }
        }
    }

    /// Forgets all batch Jobs that `keep` does not name.
    pub fn retain(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        let gone: Vec<ObjectKey> = self.jobs.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| self.remove(key));
    }

    /// Takes in a pod as it was seen. Whether anything is new.
    pub fn put_pod(&mut self, pod: &Pod) -> bool {
        let key = ObjectKey::of(pod);
        let uid = pod.labels().get(LABEL_MATCH_UID).filter(|_| !has_finished(pod)).cloned();
        if self.pods.get(&key) == uid.as_ref() {
            return false;
        }
        self.remove_pod(&key);
        if let Some(uid) = uid {
            self.changed.1.insert(uid.clone());
            *self.pods_of.entry(uid.clone()).or_default() += 1;
            self.pods.insert(key, uid);
        }
        true
    }

    /// Forgets a pod.
    pub fn remove_pod(&mut self, key: &ObjectKey) {
        let Some(uid) = self.pods.remove(key) else { return };
        self.changed.1.insert(uid.clone());
        if let Some(count) = self.pods_of.get_mut(&uid) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.pods_of.remove(&uid);
            }
        }
    }

    /// Forgets all pods that `keep` does not name.
    pub fn retain_pods(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        let gone: Vec<ObjectKey> = self.pods.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| self.remove_pod(key));
    }

    /// The batch Job of this key.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<BatchJob>> {
        self.jobs.get(key)
    }

    /// The batch Jobs that carry the label of this Match.
    pub fn of_match(&self, uid: &str) -> impl Iterator<Item = &Arc<BatchJob>> {
        self.by_match.get(uid).into_iter().flatten().filter_map(|key| self.jobs.get(key))
    }

    /// The batch Jobs that name an ad.
    pub fn with_ad(&self) -> impl Iterator<Item = (&str, &Arc<BatchJob>)> {
        self.jobs.values().filter_map(|batch| Some((batch.ad.as_deref()?, batch)))
    }

    /// How many pods of this Match have not finished, as far as is seen.
    pub fn pods_of(&self, uid: &str) -> usize {
        self.pods_of.get(uid).copied().unwrap_or(0)
    }

    /// All batch Jobs that work for a Match, or did.
    pub fn labelled(&self) -> impl Iterator<Item = (&str, &Arc<BatchJob>)> {
        let keys = self.by_match.iter().flat_map(|(uid, keys)| keys.iter().map(move |key| (uid.as_str(), key)));
        keys.filter_map(|(uid, key)| Some((uid, self.jobs.get(key)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(name: &str, version: u64, of: Option<&str>) -> BatchJob {
        BatchJob {
            key: ObjectKey::new("ns", name),
            uid: format!("u-{name}"),
            version: version.to_string(),
            match_uid: of.map(str::to_owned),
            ..BatchJob::default()
        }
    }

    #[test]
    fn an_older_state_never_replaces_a_newer_one() {
        let mut works = Works::default();
        assert!(works.put(batch("a", 5, Some("m"))));
        assert!(!works.put(batch("a", 4, None)));
        assert_eq!(works.of_match("m").count(), 1);
        assert!(!works.put(batch("a", 6, Some("m"))), "nothing that counts is new");
        assert_eq!(works.get(&ObjectKey::new("ns", "a")).unwrap().version, "6", "but a patch may test it");
        assert!(works.put(batch("a", 7, None)));
        assert_eq!((works.of_match("m").count(), works.labelled().count()), (0, 0));
    }

    #[test]
    fn pods_count_until_they_have_finished() {
        let pod = |phase: &str| -> Pod {
            let text = format!(
                r#"{{"metadata": {{"name": "p", "namespace": "ns", "labels": {{"{LABEL_MATCH_UID}": "m"}}}},
                    "status": {{"phase": "{phase}"}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let mut works = Works::default();
        assert!(works.put_pod(&pod("Pending")));
        assert!(!works.put_pod(&pod("Running")));
        assert_eq!(works.pods_of("m"), 1);
        assert!(works.put_pod(&pod("Succeeded")));
        assert_eq!(works.pods_of("m"), 0);
    }

    #[test]
    fn a_batch_job_is_read_from_its_conditions() {
        let text = r#"{"metadata": {"name": "a", "namespace": "ns", "uid": "u", "labels": {"gangmatch.dev/match-uid": "m"},
            "annotations": {"gangmatch.dev/members": "Machine/grid/foo/1 License/eda/sim/2 broken"}},
            "spec": {"suspend": true, "template": {}},
            "status": {"active": 1, "terminating": 1, "conditions": [
                {"type": "Complete", "status": "False"}, {"type": "Failed", "status": "True", "message": "too often"}]}}"#;
        let read = BatchJob::of(&serde_json::from_str(text).unwrap());
        assert_eq!((read.ended, read.message.as_str(), read.active), (Some(false), "too often", 2));
        assert!(read.suspended && !read.rests && !read.up && !read.made);
        assert_eq!(read.members.len(), 2);
        assert_eq!(read.members[1], ["License", "eda", "sim", "2"].map(str::to_owned));
    }
}
