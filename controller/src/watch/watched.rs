//! The kinds that are watched, and where each is kept in the cache.

use std::fmt::Debug;
use std::sync::Arc;

use crds::{Job, LABEL_AD, LABEL_MATCH_UID, License, Machine, MachineClass, Match, WorkKind};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::Api;
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use pool::{JobSet, NodeFacts, ObjectKey, Objects, Sent, WorkObject, Works};
use serde::de::DeserializeOwned;

/// Where it is watched: in one namespace, or in all.
pub(crate) type Area = Option<String>;

/// The requests about a kind that belongs to namespaces.
pub(crate) fn requests<T>(client: &Client, area: &Area) -> Api<T>
where
    T: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let client = client.clone();
    area.as_deref().map_or_else(|| Api::all(client.clone()), |namespace| Api::namespaced(client.clone(), namespace))
}

/// A kind that is watched and cached.
pub(crate) trait Watched: Send + 'static {
    type Kind: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static;
    /// Only those with this label are watched.
    const ONLY: Option<&'static str> = None;

    /// The requests about it, in an area.
    fn api<T>(client: &Client, _area: &Area) -> Api<T>
    where
        T: Resource<DynamicType = (), Scope = <Self::Kind as Resource>::Scope>,
    {
        Api::all(client.clone())
    }

    /// Takes it in; whether anything that counts is new.
    fn put(object: Self::Kind, objects: &mut Objects) -> bool;
    fn remove(objects: &mut Objects, key: &ObjectKey);
    fn delete(object: &Self::Kind, objects: &mut Objects) {
        Self::remove(objects, &ObjectKey::of(object));
    }
    fn retain(objects: &mut Objects, keep: &dyn Fn(&ObjectKey) -> bool);
}

/// The three kinds of ads are kept alike, each on its store.
macro_rules! kept_on {
    ($kind:ty, $store:ident) => {
        impl Watched for $kind {
            type Kind = Sent<$kind>;

            fn put(object: Sent<$kind>, objects: &mut Objects) -> bool {
                objects.$store.take_in(object.0)
            }

            fn remove(objects: &mut Objects, key: &ObjectKey) {
                objects.$store.remove(key);
            }

            fn delete(object: &Sent<$kind>, objects: &mut Objects) {
                objects.$store.delete(&object.0);
            }

            fn retain(objects: &mut Objects, keep: &dyn Fn(&ObjectKey) -> bool) {
                objects.$store.retain(keep);
            }
        }
    };
}

kept_on!(Job, jobs);
kept_on!(Machine, machines);
kept_on!(License, licenses);

impl Watched for Match {
    type Kind = Sent<Match>;

    fn put(object: Sent<Match>, objects: &mut Objects) -> bool {
        objects.take_in_match(object.0)
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.matches.remove(key);
    }

    fn delete(object: &Sent<Match>, objects: &mut Objects) {
        objects.bury_match(&object.0);
    }

    fn retain(objects: &mut Objects, keep: &dyn Fn(&ObjectKey) -> bool) {
        objects.matches.retain(keep);
    }
}

impl Watched for Namespace {
    type Kind = Sent<Namespace>;

    fn put(object: Sent<Namespace>, objects: &mut Objects) -> bool {
        objects.take_in_namespace(&object.name_any(), Some(object.labels().clone()))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.take_in_namespace(&key.name, None);
    }

    fn retain(objects: &mut Objects, keep: &dyn Fn(&ObjectKey) -> bool) {
        let gone = |name: &&String| !keep(&ObjectKey::new("", name));
        let gone: Vec<String> = objects.namespaces.keys().filter(gone).cloned().collect();
        for name in gone {
            objects.take_in_namespace(&name, None);
        }
    }
}

impl Watched for Node {
    type Kind = Sent<Node>;

    fn put(object: Sent<Node>, objects: &mut Objects) -> bool {
        objects.put_node(NodeFacts::of(&object.0))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.remove_node(&key.name);
    }

    fn retain(objects: &mut Objects, keep: &dyn Fn(&ObjectKey) -> bool) {
        objects.retain_nodes(|name| keep(&ObjectKey::new("", name)));
    }
}

impl Watched for MachineClass {
    type Kind = Sent<MachineClass>;

    fn put(object: Sent<MachineClass>, objects: &mut Objects) -> bool {
        objects.classes.insert(object.name_any(), Arc::new(object.0));
        true
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.classes.remove(&key.name);
    }

    fn retain(objects: &mut Objects, keep: &dyn Fn(&ObjectKey) -> bool) {
        objects.classes.retain(|name, _| keep(&ObjectKey::new("", name)));
    }
}

/// Of workloads and pods only what counts is kept; they are watched area by area.
macro_rules! kept_in_works {
    ($kept:ty as $kind:ty, $only:expr, $put:expr, $remove:expr, $retain:expr) => {
        impl Watched for $kept {
            type Kind = Sent<$kind>;

            const ONLY: Option<&'static str> = $only;

            fn api<T>(client: &Client, area: &Area) -> Api<T>
            where
                T: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
            {
                requests(client, area)
            }

            fn put(object: Sent<$kind>, objects: &mut Objects) -> bool {
                let put: fn(&mut Works, &$kind) -> bool = $put;
                put(&mut objects.works, &object.0)
            }

            fn remove(objects: &mut Objects, key: &ObjectKey) {
                let remove: fn(&mut Works, &ObjectKey) = $remove;
                remove(&mut objects.works, key);
            }

            fn retain(objects: &mut Objects, keep: &dyn Fn(&ObjectKey) -> bool) {
                let retain: fn(&mut Works, &dyn Fn(&ObjectKey) -> bool) = $retain;
                retain(&mut objects.works, keep);
            }
        }
    };
}

kept_in_works!(
    Batch as Batch,
    None,
    |works, object| works.put(WorkObject::of_batch(object)),
    |works, key| works.remove(WorkKind::Job, key),
    |works, keep| works.retain(WorkKind::Job, keep)
);
kept_in_works!(
    JobSet as JobSet,
    None,
    |works, object| works.put(WorkObject::of_job_set(object)),
    |works, key| works.remove(WorkKind::JobSet, key),
    |works, keep| {
        works.job_sets = true;
        works.retain(WorkKind::JobSet, keep);
    }
);
kept_in_works!(
    Pod as Pod,
    Some(LABEL_MATCH_UID),
    |works, object| works.put_pod(object),
    |works, key| works.remove_pod(key),
    |works, keep| works.retain_pods(keep)
);

/// Pods that name an ad: an API server selects by one label or by another, and not by either.
pub(crate) struct AskingPod;

kept_in_works!(
    AskingPod as Pod,
    Some(LABEL_AD),
    |works, object| works.put(WorkObject::of_pod(object)),
    |works, key| works.remove_asking_pod(key),
    |works, keep| works.retain_asking_pods(keep)
);
