//! The kinds that are watched, and where the objects of each are cached.

use crds::{Account, LABEL_AD, LABEL_MATCH_UID, MachineClass, Match, POOL_POLICY, PoolPolicy, WorkKind};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::Api;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Client, Resource, ResourceExt};
use pool::{JobSet, NodeFacts, ObjectKey, Objects, Stored, WorkloadObject};

/// Where a kind is watched: in one namespace, or in all.
pub(crate) type Area = Option<String>;

/// The scope of a kind: whether its objects are in namespaces.
pub(crate) trait Scope: Sized {
    /// The requests about a kind of this scope, in an area.
    fn requests<T: Resource<DynamicType = (), Scope = Self>>(client: &Client, area: &Area) -> Api<T>;
}

impl Scope for NamespaceResourceScope {
    fn requests<T: Resource<DynamicType = (), Scope = Self>>(client: &Client, area: &Area) -> Api<T> {
        let client = client.clone();
        area.as_deref().map_or_else(|| Api::all(client.clone()), |namespace| Api::namespaced(client.clone(), namespace))
    }
}

impl Scope for ClusterResourceScope {
    fn requests<T: Resource<DynamicType = (), Scope = Self>>(client: &Client, _: &Area) -> Api<T> {
        Api::all(client.clone())
    }
}

/// Removes all objects but those whose keys are accepted.
type Retain = fn(&mut Objects, &dyn Fn(&ObjectKey) -> bool);

/// How the objects of a kind are cached.
pub(crate) struct WatchedKind<K> {
    /// Only objects with this label are watched.
    pub(crate) label: Option<&'static str>,
    /// Caches an object; returns whether that changed anything that counts.
    pub(crate) put: fn(&mut Objects, K) -> bool,
    /// Removes an object that was deleted; `None`: as `remove` does.
    pub(crate) delete: Option<fn(&mut Objects, &K)>,
    /// Removes an object, whatever has become of it.
    pub(crate) remove: fn(&mut Objects, &ObjectKey),
    /// Removes all objects but those whose keys are accepted.
    pub(crate) retain: Retain,
}

// By hand, since derives would ask the same of `K`.
impl<K> Clone for WatchedKind<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for WatchedKind<K> {}

/// Jobs, Machines and Licenses.
pub(crate) fn ads<K: Stored>() -> WatchedKind<K> {
    WatchedKind {
        label: None,
        put: |all, object| K::store_mut(all).apply(object),
        delete: Some(|all, object| K::store_mut(all).delete(object)),
        remove: |all, key| K::store_mut(all).remove(key),
        retain: |all, keep| K::store_mut(all).retain(keep),
    }
}

pub(crate) const MATCHES: WatchedKind<Match> = WatchedKind {
    label: None,
    put: |all, object| all.matches.apply(object),
    delete: Some(|all, object| all.matches.delete(object)),
    remove: |all, key| all.matches.remove(key),
    retain: |all, keep| all.matches.retain(keep),
};

pub(crate) const NAMESPACES: WatchedKind<Namespace> = WatchedKind {
    label: None,
    put: |all, object| all.namespaces.apply(&object.name_any(), object.labels().clone()),
    delete: None,
    remove: |all, key| all.namespaces.remove(&key.name),
    retain: |all, keep| all.namespaces.retain(|name| keep(&ObjectKey::new("", name))),
};

pub(crate) const NODES: WatchedKind<Node> = WatchedKind {
    label: None,
    put: |all, object| all.put_node(NodeFacts::of(&object)),
    delete: None,
    remove: |all, key| all.remove_node(&key.name),
    retain: |all, keep| all.retain_nodes(|name| keep(&ObjectKey::new("", name))),
};

pub(crate) const CLASSES: WatchedKind<MachineClass> = WatchedKind {
    label: None,
    put: |all, object| all.put_class(object),
    delete: None,
    remove: |all, key| drop(all.classes.remove(&key.name)),
    retain: |all, keep| all.classes.retain(|name, _| keep(&ObjectKey::new("", name))),
};

pub(crate) const ACCOUNTS: WatchedKind<Account> = WatchedKind {
    label: None,
    put: |all, object| all.accounts.apply(object),
    delete: Some(|all, object| all.accounts.delete(object)),
    remove: |all, key| all.accounts.remove(&key.name),
    retain: |all, keep| all.accounts.retain(|name| keep(&ObjectKey::new("", name))),
};

pub(crate) const POOL_POLICIES: WatchedKind<PoolPolicy> = WatchedKind {
    label: None,
    put: |all, object| all.accounts.apply_policy(object),
    delete: None,
    remove: |all, key| {
        if key.name == POOL_POLICY {
            all.accounts.remove_policy();
        }
    },
    retain: |all, keep| {
        if !keep(&ObjectKey::new("", POOL_POLICY)) {
            all.accounts.remove_policy();
        }
    },
};

pub(crate) const BATCH_JOBS: WatchedKind<Batch> = WatchedKind {
    label: None,
    put: |all, object| all.workloads.put(WorkloadObject::of_batch(&object)),
    delete: None,
    remove: |all, key| all.workloads.remove(WorkKind::Job, key),
    retain: |all, keep| all.workloads.retain(WorkKind::Job, keep),
};

pub(crate) const JOB_SETS: WatchedKind<JobSet> = WatchedKind {
    label: None,
    put: |all, object| all.workloads.put(WorkloadObject::of_job_set(&object)),
    delete: None,
    remove: |all, key| all.workloads.remove(WorkKind::JobSet, key),
    retain: |all, keep| {
        all.workloads.job_sets = true;
        all.workloads.retain(WorkKind::JobSet, keep);
    },
};

/// Pods that work for a claim.
pub(crate) const PODS: WatchedKind<Pod> = WatchedKind {
    label: Some(LABEL_MATCH_UID),
    put: |all, object| all.workloads.put_pod(&object),
    delete: None,
    remove: |all, key| all.workloads.remove_pod(key),
    retain: |all, keep| all.workloads.retain_pods(keep),
};

/// Pods that ask for a gang: an API server selects by one label or by another, and not by either of them.
pub(crate) const ASKING_PODS: WatchedKind<Pod> = WatchedKind {
    label: Some(LABEL_AD),
    put: |all, object| all.workloads.put(WorkloadObject::of_pod(&object)),
    delete: None,
    remove: |all, key| all.workloads.remove_asking_pod(key),
    retain: |all, keep| all.workloads.retain_asking_pods(keep),
};
