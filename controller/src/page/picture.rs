//! A copy of what the cache holds, for pages: made in a moment under the cache's lock, and read without it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crds::{Job, License, Machine, Match};
use jiff::Timestamp;
use kube::ResourceExt;
use pool::Objects;

use super::history::History;
use super::sight::Kind;

/// The objects of the kinds that pages show, each in the order of namespace and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    pub(crate) jobs: Vec<Arc<Job>>,
    pub(crate) machines: Vec<Arc<Machine>>,
    pub(crate) licenses: Vec<Arc<License>>,
    pub(crate) matches: Vec<Arc<Match>>,
    /// The seats of Licenses over the last hours.
    pub(crate) history: Arc<History>,
    /// When it was made.
    pub(crate) taken_at: Timestamp,
}

impl Picture {
    /// Copies the pointers to the objects, not the objects.
    pub(crate) fn of(objects: &Objects, history: Arc<History>, taken_at: Timestamp) -> Picture {
        Picture {
            jobs: objects.jobs.iter().map(|(_, held)| held.object.clone()).collect(),
            machines: objects.machines.iter().map(|(_, held)| held.object.clone()).collect(),
            licenses: objects.licenses.iter().map(|(_, held)| held.object.clone()).collect(),
            matches: objects.matches.values().cloned().collect(),
            history,
            taken_at,
        }
    }

    /// The namespaces in which there are objects of a kind.
    pub(crate) fn namespaces(&self, kind: Kind) -> BTreeSet<String> {
        match kind {
            Kind::Job => namespaces(&self.jobs),
            Kind::Machine => namespaces(&self.machines),
            Kind::License => namespaces(&self.licenses),
            Kind::Match => namespaces(&self.matches),
        }
    }
}

/// Objects come by namespace: each is looked up once.
fn namespaces<K: ResourceExt>(objects: &[Arc<K>]) -> BTreeSet<String> {
    let mut all: Vec<&str> = objects.iter().filter_map(|object| object.meta().namespace.as_deref()).collect();
    all.dedup();
    all.into_iter().map(str::to_owned).collect()
}

/// The object of this namespace and name.
pub(crate) fn find<'p, K: ResourceExt>(objects: &'p [Arc<K>], namespace: &str, name: &str) -> Option<&'p K> {
    let found = objects.binary_search_by(|object| {
        let meta = object.meta();
        let key = (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default());
        key.cmp(&(namespace, name))
    });
    objects.get(found.ok()?).map(Arc::as_ref)
}
