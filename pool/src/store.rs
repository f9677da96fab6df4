//! The objects of one kind that have ads: each with its ad, or with the reason why it has none; and which of them have changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crds::AdKind;
use crds::ad::NotAccepted;
use crds::conditions::reasons;
use kube::ResourceExt;

use crate::ads::{Advertises, Prepared, prepare};
use crate::budget::{Budget, Granted, weight};
use crate::key::ObjectKey;
use crate::multi_map::MultiMap;
use crate::workload_scope::WorkloadScope;

/// One object with its ad.
#[derive(Clone, Debug)]
pub struct Cached<K> {
    /// The object.
    pub object: Arc<K>,
    /// Its ad, or why it has none.
    pub ad: Result<Arc<Prepared>, NotAccepted>,
}

/// Whether `spec.owner` can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnerTrust {
    /// Yes: the API server sets it.
    #[default]
    Stamped,
    /// No: it is taken out of every object, and `Owner` is undefined.
    None,
}

/// The cached objects of one kind, by key, by uid and by node.
#[derive(Clone, Debug)]
pub struct AdStore<K> {
    held: BTreeMap<ObjectKey, Cached<K>>,
    /// Keys by the name of the node that the object is.
    by_node: MultiMap<String, ObjectKey>,
    by_uid: BTreeMap<String, ObjectKey>,
    /// Those that have changed since [`AdStore::take_changes`].
    changed: BTreeSet<ObjectKey>,
    /// Whether a cycle could come to something else for that.
    changes_cycle: bool,
    deleted: Tombstones,
    pub(crate) owners: OwnerTrust,
    pub(crate) workload_scope: WorkloadScope,
    pub(crate) budget: Budget,
}

impl<K> Default for AdStore<K> {
    fn default() -> Self {
        AdStore {
            held: BTreeMap::new(),
            by_node: MultiMap::default(),
            by_uid: BTreeMap::new(),
            changed: BTreeSet::new(),
            changes_cycle: false,
            deleted: Tombstones::default(),
            owners: OwnerTrust::default(),
            workload_scope: WorkloadScope::default(),
            budget: Budget::default(),
        }
    }
}

/// The message to the author of an ad without an owner.
fn without_owner(kind: AdKind, namespace: &str, name: &str) -> String {
    let kind = kind.to_string().to_lowercase();
    format!(
        "spec.owner: it is not set, so `Owner` is undefined: the object was created before the admission policies; to create it again as \
         yours, write kubectl get {kind}s.gangmatch.dev {name} -n {namespace} -o yaml | kubectl replace --force -f - (this ends its claims)"
    )
}

impl<K> Cached<K> {
    /// Whether only the object's bare bones are kept, since there is no room for the rest.
    pub fn is_stripped(&self) -> bool {
        let reason = self.ad.as_ref().err().map(|problem| problem.reason);
        matches!(reason, Some(reasons::AD_TOO_LARGE | reasons::NAMESPACE_OVER_BUDGET))
    }
}

impl<K: Advertises + Clone> AdStore<K> {
    /// Caches an object as it was seen, unless the cached one is newer.
    pub fn put(&mut self, object: K) {
        self.apply(object);
    }

    /// The same; returns whether that changed anything, for what was written comes back by watch. Its ad is made anew only if
    /// it has changed. `managedFields` are not kept.
    pub fn apply(&mut self, mut object: K) -> bool {
        if self.owners == OwnerTrust::None {
            object.ad_fields_mut().owner = None;
        }
        object.meta_mut().managed_fields = None;
        let key = ObjectKey::of(&object);
        let held = self.held.get(&key);
        let is_same = |held: &Cached<K>| !held.is_stripped() && *held.object == object;
        let known = held.is_some_and(|held| is_newer(held.object.as_ref(), &object) || is_same(held));
        if known || self.deleted.contains(&object) {
            return false;
        }
        let in_report_only = held.is_some_and(|held| held.object.differs_in_report_only(&object));
        let ad = match held.filter(|held| !held.is_stripped() && held.object.same_ad(&object)) {
            Some(held) => held.ad.clone(),
            None => self.admit(&key, &mut object),
        };
        self.changes_cycle |= !in_report_only;
        self.forget(&key);
        if let Some(node) = object.node() {
            self.by_node.insert(node.to_owned(), key.clone());
            self.changed.extend(self.by_node.get(node).cloned());
        }
        if let Some(uid) = object.meta().uid.clone() {
            self.by_uid.insert(uid, key.clone());
        }
        self.changed.insert(key.clone());
        self.held.insert(key, Cached { object: Arc::new(object), ad });
        true
    }

    /// The ad of an object, if there is room for it; else the object loses what takes room.
    fn admit(&mut self, key: &ObjectKey, object: &mut K) -> Result<Arc<Prepared>, NotAccepted> {
        let size = object.size();
        if let Err(problem) = size.check() {
            self.budget.release(key);
            object.strip();
            return Err(problem);
        }
        let born = object.meta().creation_timestamp.as_ref().map_or(i64::MAX, |time| time.0.as_second());
        let Granted { evicted, refusal } = self.budget.request(key, born, weight(size));
        for other in evicted {
            self.evict(&other);
        }
        if let Some(refusal) = refusal {
            object.strip();
            return Err(refusal);
        }
        self.prepare_ad(object)
    }

    /// Takes the ad of an object away, to make room for that of another one.
    fn evict(&mut self, key: &ObjectKey) {
        let Some(held) = self.held.get_mut(key) else { return };
        let message = "spec: this large ad has made room for older ones, or for those of namespaces that have fewer: make it smaller, \
                       or delete some of the others; it is looked at again when there is room";
        Arc::make_mut(&mut held.object).strip();
        held.ad = Err(NotAccepted::new(reasons::NAMESPACE_OVER_BUDGET, message));
        self.touch(key.clone());
    }

    /// The stripped objects for which there is room by now, at most so many: they are to be read from the server again.
    pub fn fitting(&mut self, most: usize) -> Vec<ObjectKey> {
        self.budget.fitting(most)
    }

    /// Whether `spec.owner` can be trusted.
    pub fn owners(&self) -> OwnerTrust {
        self.owners
    }

    /// The ad of an object; refused if it has a workload where none may be started.
    fn prepare_ad(&self, object: &mut K) -> Result<Arc<Prepared>, NotAccepted> {
        let namespace = object.namespace().unwrap_or_default();
        if object.has_workload()
            && let Some(refusal) = self.workload_scope.refusal(&namespace)
        {
            return Err(refusal);
        }
        let mut prepared = prepare(object)?;
        // what has no uid is a manifest: its owner is set when it is created
        if self.owners == OwnerTrust::Stamped && object.uid().is_some() && object.ad_fields_mut().owner.is_none() {
            prepared.warnings.insert(0, without_owner(K::KIND, &namespace, &object.name_any()));
        }
        Ok(Arc::new(prepared))
    }

    /// Takes an object out of the indexes. Other Machines of its node count as changed.
    fn forget(&mut self, key: &ObjectKey) {
        let Some(held) = self.held.get(key) else { return };
        if let Some(uid) = &held.object.meta().uid
            && self.by_uid.get(uid) == Some(key)
        {
            self.by_uid.remove(uid);
        }
        let Some(node) = held.object.node() else { return };
        self.changed.extend(self.by_node.get(node).cloned());
        self.by_node.remove(node, key);
    }

    /// A node has changed: so have the objects that stand for it.
    pub(crate) fn touch_node(&mut self, node: &str) {
        self.changes_cycle = true;
        self.changed.extend(self.by_node.get(node).cloned());
    }

    /// Every object that stands for a node has changed.
    pub(crate) fn touch_all_nodes(&mut self) {
        self.changes_cycle = true;
        self.changed.extend(self.by_node.iter().map(|(_, key)| key.clone()));
    }

    /// Something about this object has changed that is not in it.
    pub(crate) fn touch(&mut self, key: ObjectKey) {
        self.changes_cycle = true;
        self.changed.insert(key);
    }

    /// The same of all objects in a namespace.
    pub(crate) fn touch_namespace(&mut self, namespace: &str) {
        self.changes_cycle = true;
        self.changed.extend(self.held.keys().filter(|key| key.namespace == namespace).cloned());
    }

    /// The keys of the objects that have changed since this was called last, and whether a cycle could come to something else for that.
    pub(crate) fn take_changes(&mut self) -> (BTreeSet<ObjectKey>, bool) {
        (std::mem::take(&mut self.changed), std::mem::take(&mut self.changes_cycle))
    }

    /// The object with this uid.
    pub fn by_uid(&self, uid: &str) -> Option<(&ObjectKey, &Cached<K>)> {
        self.held.get_key_value(self.by_uid.get(uid)?)
    }

    /// The objects that stand for this node.
    pub fn of_node(&self, node: &str) -> impl Iterator<Item = &Cached<K>> {
        self.by_node.get(node).filter_map(|key| self.held.get(key))
    }

    /// Copies an object from another store, if this one does not have it.
    pub(crate) fn copy_missing(&mut self, key: &ObjectKey, from: &AdStore<K>) {
        if let (None, Some(held)) = (self.held.get(key), from.held.get(key)) {
            let held = Cached { object: held.object.clone(), ad: held.ad.clone() };
            self.held.insert(key.clone(), held);
        }
    }

    /// Removes an object.
    pub fn remove(&mut self, key: &ObjectKey) {
        self.forget(key);
        self.budget.release(key);
        if self.held.remove(key).is_some() {
            self.touch(key.clone());
        }
    }

    /// Removes an object that was deleted, and leaves a tombstone: an older state of it that arrives late does not bring it back.
    pub fn delete(&mut self, object: &K) {
        let key = ObjectKey::of(object);
        if self.held.get(&key).is_some_and(|held| held.object.uid() == object.uid()) {
            self.remove(&key);
        }
        self.deleted.add(object);
    }

    /// Removes all objects but those whose keys `keep` accepts.
    pub fn retain(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        let gone: Vec<ObjectKey> = self.held.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| self.remove(key));
    }

    /// The object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<&Cached<K>> {
        self.held.get(key)
    }

    /// All objects, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Cached<K>)> {
        self.held.iter()
    }
}

/// The uids of the objects that were deleted last: of more than can be deleted while an answer of the server is under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tombstones(Arc<Uids>);

#[derive(Clone, Debug, Default)]
struct Uids {
    known: BTreeSet<String>,
    in_order: VecDeque<String>,
}

impl Tombstones {
    const MOST: usize = 4096;

    /// Remembers a deleted object.
    pub(crate) fn add<K: ResourceExt>(&mut self, object: &K) {
        let Some(uid) = object.uid() else { return };
        let all = Arc::make_mut(&mut self.0);
        if all.known.insert(uid.clone()) {
            all.in_order.push_back(uid);
        }
        if all.in_order.len() > Tombstones::MOST
            && let Some(oldest) = all.in_order.pop_front()
        {
            all.known.remove(&oldest);
        }
    }

    /// Whether this very object was deleted.
    pub(crate) fn contains<K: ResourceExt>(&self, object: &K) -> bool {
        !self.0.known.is_empty() && object.uid().is_some_and(|uid| self.0.known.contains(&uid))
    }
}

/// Whether `held` is a later state of an object than `other`. Resource versions of one kind are ordered (KEP-5504).
pub(crate) fn is_newer<K: ResourceExt>(held: &K, other: &K) -> bool {
    let version = |object: &K| object.resource_version().and_then(|version| version.parse::<u64>().ok());
    match (version(held), version(other)) {
        (Some(held), Some(other)) => held > other,
        _ => false,
    }
}
