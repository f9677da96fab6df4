//! What is stored, and every change of it, in one order over all objects: what etcd is to the real one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredKey {
    /// `jobs.gangmatch.dev`, or `pods` of the core group.
    pub resource: String,
    /// Its namespace; empty if it is in none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// One change.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its number: the resourceVersion of what it left.
    pub revision: i64,
    /// Which object.
    pub key: StoredKey,
    /// What it was before; `None` if it was created.
    pub before: Option<Arc<Value>>,
    /// What it is after; `None` if it was deleted.
    pub after: Option<Arc<Value>>,
}

/// All objects, and how they came to be what they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    objects: BTreeMap<StoredKey, Arc<Value>>,
    log: Vec<Event>,
    revision: i64,
    compacted: i64,
    uids: u64,
}

impl Store {
    pub(crate) fn revision(&self) -> i64 {
        self.revision
    }

    /// Watches from before this revision are told that it is too late.
    pub(crate) fn compacted(&self) -> i64 {
        self.compacted
    }

    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
    }

    /// The log from after a revision on. Compaction takes nothing out of it: whoever audits wants all.
    pub(crate) fn since(&self, revision: i64) -> &[Event] {
        let first = self.log.partition_point(|event| event.revision <= revision);
        self.log.get(first..).unwrap_or(&[])
    }

    pub(crate) fn get(&self, key: &StoredKey) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// All objects.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&StoredKey, &Arc<Value>)> {
        self.objects.iter()
    }

    /// All objects of a resource, in a namespace or (empty) in all.
    pub(crate) fn list(&self, resource: &str, namespace: &str) -> Vec<(&StoredKey, &Arc<Value>)> {
        let first = StoredKey { resource: resource.to_owned(), namespace: namespace.to_owned(), name: String::new() };
        let of = self.objects.range(first..).take_while(|(key, _)| key.resource == resource);
        of.filter(|(key, _)| namespace.is_empty() || key.namespace == namespace).collect()
    }

    /// The objects as they were in a revision, for whoever is to be shown an old state.
    pub(crate) fn as_of(&self, revision: i64) -> Store {
        let mut past = Store { revision, compacted: self.compacted, uids: self.uids, ..Store::default() };
        for event in self.log.iter().take_while(|event| event.revision <= revision) {
            match &event.after {
                Some(object) => past.objects.insert(event.key.clone(), object.clone()),
                None => past.objects.remove(&event.key),
            };
        }
        past
    }

    /// A name that no object had before.
    pub(crate) fn new_uid(&mut self) -> String {
        self.uids += 1;
        format!("{:08x}-0000-4000-8000-{:012x}", self.uids, self.uids)
    }

    /// Stores an object under the next revision; answers it as it is stored.
    pub(crate) fn put(&mut self, key: StoredKey, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        stamp(&mut object, self.revision);
        let object = Arc::new(object);
        let before = self.objects.insert(key.clone(), object.clone());
        self.log.push(Event { revision: self.revision, key, before, after: Some(object.clone()) });
        object
    }

    /// Deletes an object under the next revision; answers it as it was, with the revision of its end.
    pub(crate) fn remove(&mut self, key: &StoredKey) -> Option<Value> {
        let before = self.objects.remove(key)?;
        self.revision += 1;
        let mut last = Value::clone(&before);
        stamp(&mut last, self.revision);
        self.log.push(Event { revision: self.revision, key: key.clone(), before: Some(before), after: None });
        Some(last)
    }
}

/// Writes the resourceVersion into an object.
pub(crate) fn stamp(object: &mut Value, revision: i64) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), json!(revision.to_string()));
    }
}

impl Event {
    /// Where etcd keeps such an object.
    #[must_use]
    pub fn path(&self) -> String {
        let (plural, group) = self.key.resource.split_once('.').unwrap_or((&self.key.resource, ""));
        format!("/registry/{group}/{plural}/{}/{}", self.key.namespace, self.key.name)
    }
}
