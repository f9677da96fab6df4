//! The cache of Matches, by key, by uid and by job: a cycle reads the Matches of every job.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use crds::Match;
use kube::ResourceExt;

use crate::key::ObjectKey;
use crate::multi_map::MultiMap;
use crate::store::{Tombstones, is_newer};

/// The cached Matches. Reads as a map by key.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    held: BTreeMap<ObjectKey, Arc<Match>>,
    of_root: MultiMap<String, ObjectKey>,
    by_uid: BTreeMap<String, ObjectKey>,
    /// By uid, those that were deleted: offers may still have their entries, while pods end.
    deleted: BTreeMap<String, (ObjectKey, Arc<Match>)>,
    /// Those that have changed since [`Matches::take_changes`], and the uids of their jobs.
    changed: (BTreeSet<ObjectKey>, BTreeSet<String>),
    tombstones: Tombstones,
}

impl Deref for Matches {
    type Target = BTreeMap<ObjectKey, Arc<Match>>;

    fn deref(&self) -> &Self::Target {
        &self.held
    }
}

impl Matches {
    /// The Matches whose root is the job with this uid.
    pub fn of_root(&self, job_uid: &str) -> impl Iterator<Item = (&ObjectKey, &Arc<Match>)> {
        self.of_root.get(job_uid).filter_map(|key| self.held.get_key_value(key))
    }

    /// The Match with this uid.
    pub fn by_uid(&self, uid: &str) -> Option<&Arc<Match>> {
        self.held.get(self.by_uid.get(uid)?)
    }

    /// By uid, those that were deleted and are not forgotten yet.
    pub(crate) fn deleted(&self) -> &BTreeMap<String, (ObjectKey, Arc<Match>)> {
        &self.deleted
    }

    /// The Match with this uid, if it was deleted and is not forgotten yet.
    pub fn deleted_by_uid(&self, uid: &str) -> Option<&Arc<Match>> {
        self.deleted.get(uid).map(|(_, found)| found)
    }

    /// Forgets a Match that was deleted.
    pub(crate) fn forget_deleted(&mut self, uid: &str) {
        self.deleted.remove(uid);
    }

    /// What has changed since this was called last.
    pub(crate) fn take_changes(&mut self) -> (BTreeSet<ObjectKey>, BTreeSet<String>) {
        std::mem::take(&mut self.changed)
    }

    /// Caches a Match as it was seen, unless the cached one is newer, or it was deleted.
    pub fn put(&mut self, object: Match) {
        self.apply(object);
    }

    /// The same; returns whether that changed anything.
    pub fn apply(&mut self, mut object: Match) -> bool {
        object.metadata.managed_fields = None;
        // They are for people, and nothing here reads them.
        object.spec.members.iter_mut().for_each(|member| member.values.clear());
        let key = ObjectKey::of(&object);
        let held = self.held.get(&key);
        let known = held.is_some_and(|held| is_newer(held.as_ref(), &object) || **held == object);
        if known || self.tombstones.contains(&object) {
            return false;
        }
        self.insert(key, object);
        true
    }

    /// Removes a Match that was deleted; an older state of it that arrives late does not bring it back.
    pub fn delete(&mut self, object: &Match) {
        let key = ObjectKey::of(object);
        if self.held.get(&key).is_some_and(|held| held.uid() == object.uid()) {
            self.remove(&key);
        }
        self.tombstones.add(object);
    }

    /// Caches a Match, in place of the one with its key.
    fn insert(&mut self, key: ObjectKey, found: Match) {
        self.take(&key);
        self.changed.0.insert(key.clone());
        if let Some(uid) = &found.metadata.uid {
            self.deleted.remove(uid);
            self.by_uid.insert(uid.clone(), key.clone());
        }
        if let Some(root) = found.spec.members.first() {
            self.changed.1.insert(root.uid.clone());
            self.of_root.insert(root.uid.clone(), key.clone());
        }
        self.held.insert(key, Arc::new(found));
    }

    /// Removes a Match. What it holds is remembered.
    pub fn remove(&mut self, key: &ObjectKey) {
        let Some(found) = self.take(key) else { return };
        if let Some(uid) = found.metadata.uid.clone() {
            self.deleted.insert(uid, (key.clone(), found));
        }
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<Match>> {
        let found = self.held.remove(key)?;
        self.changed.0.insert(key.clone());
        if let Some(uid) = &found.metadata.uid {
            self.by_uid.remove(uid);
        }
        if let Some(root) = found.spec.members.first() {
            self.changed.1.insert(root.uid.clone());
            self.of_root.remove(&root.uid, key);
        }
        Some(found)
    }

    /// Removes all Matches but those whose keys `keep` accepts.
    pub fn retain(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        let gone: Vec<ObjectKey> = self.held.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| self.remove(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(job_uid: &str) -> Match {
        let root = json!({"id": 0, "kind": "Job", "namespace": "ns", "name": "j", "uid": job_uid, "generation": 1});
        let spec = json!({"attempt": 1, "cycle": {"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1}, "epoch": 0,
            "reserveTimeoutSeconds": 30, "summary": "", "rank": "0", "members": [root]});
        let written = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": {}, "spec": spec});
        serde_json::from_value(written).unwrap()
    }

    #[test]
    fn they_are_found_by_their_job_as_long_as_they_are_there() {
        let mut all = Matches::default();
        let key = |name: &str| ObjectKey::new("ns", name);
        for (name, job) in [("a", "u"), ("b", "u"), ("c", "other")] {
            all.insert(key(name), found(job));
        }
        let names = |all: &Matches, job: &str| all.of_root(job).map(|(key, _)| key.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&all, "u"), ["a", "b"]);
        all.insert(key("a"), found("other"));
        assert_eq!((names(&all, "u"), names(&all, "other")), (vec!["b".into()], vec!["a".into(), "c".into()]));
        all.remove(&key("b"));
        all.retain(|key| key.name != "a");
        assert_eq!((names(&all, "u"), names(&all, "other"), all.len()), (vec![], vec!["c".into()], 1));
    }
}
