//! Watch events into the picture of the world.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use crds::{Job, License, Machine, Match};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use pool::{ObjectKey, Objects};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::config::OwnerTrust;
use crate::world::World;

/// How a kind is kept in the picture.
struct Kind<K> {
    put: fn(&mut Objects, K),
    remove: fn(&mut Objects, &ObjectKey),
    retain: fn(&mut Objects, &BTreeSet<ObjectKey>),
}

/// Watches all kinds for ever; returns once each has been listed.
pub(crate) async fn start(client: &Client, world: &Arc<World>, trust: OwnerTrust) {
    let (listed, mut each_listed) = mpsc::channel(8);
    let jobs: fn(&mut Objects, Job) = match trust {
        OwnerTrust::Stamped => |all, object| all.jobs.put(object),
        OwnerTrust::None => |all, mut object| {
            object.spec.ad.owner = None;
            all.jobs.put(object);
        },
    };
    let machines: fn(&mut Objects, Machine) = match trust {
        OwnerTrust::Stamped => |all, object| all.machines.put(object),
        OwnerTrust::None => |all, mut object| {
            object.spec.ad.owner = None;
            all.machines.put(object);
        },
    };
    let licenses: fn(&mut Objects, License) = match trust {
        OwnerTrust::Stamped => |all, object| all.licenses.put(object),
        OwnerTrust::None => |all, mut object| {
            object.spec.ad.owner = None;
            all.licenses.put(object);
        },
    };
    spawn(client, world, &listed, Kind {
        put: jobs,
        remove: |all, key| all.jobs.remove(key),
        retain: |all, keep| all.jobs.retain(|key| keep.contains(key)),
    });
    spawn(client, world, &listed, Kind {
        put: machines,
        remove: |all, key| all.machines.remove(key),
        retain: |all, keep| all.machines.retain(|key| keep.contains(key)),
    });
    spawn(client, world, &listed, Kind {
        put: licenses,
        remove: |all, key| all.licenses.remove(key),
        retain: |all, keep| all.licenses.retain(|key| keep.contains(key)),
    });
    spawn(client, world, &listed, Kind::<Match> {
        put: |all, object| all.put_match(object),
        remove: |all, key| drop(all.matches.remove(key)),
        retain: |all, keep| all.matches.retain(|key, _| keep.contains(key)),
    });
    spawn(client, world, &listed, Kind::<Namespace> {
        put: |all, object| drop(all.namespaces.insert(object.name_any(), object.labels().clone())),
        remove: |all, key| drop(all.namespaces.remove(&key.name)),
        retain: |all, keep| all.namespaces.retain(|name, _| keep.iter().any(|key| key.name == *name)),
    });
    drop(listed);
    let mut kinds = 0;
    while kinds < 5 && each_listed.recv().await.is_some() {
        kinds += 1;
    }
}

fn spawn<K>(client: &Client, world: &Arc<World>, listed: &mpsc::Sender<()>, kind: Kind<K>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let api: Api<DeserializeGuard<K>> = Api::all(client.clone());
    tokio::spawn(watch(api, world.clone(), listed.clone(), kind));
}

async fn watch<K>(api: Api<DeserializeGuard<K>>, world: Arc<World>, listed: mpsc::Sender<()>, kind: Kind<K>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let name = K::kind(&()).into_owned();
    let events = watcher(api, watcher::Config::default().timeout(60)).default_backoff().into_stream();
    let mut events = std::pin::pin!(events);
    let mut seen = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => seen.clear(),
            Ok(watcher::Event::InitApply(object)) => {
                seen.insert(ObjectKey::of(&object));
                take_in(&world, object, &kind, &name);
            }
            Ok(watcher::Event::InitDone) => {
                world.learn(|all| (kind.retain)(all, &seen));
                // Nobody listens any more after the first time round.
                let _ = listed.try_send(());
            }
            Ok(watcher::Event::Apply(object)) => take_in(&world, object, &kind, &name),
            Ok(watcher::Event::Delete(object)) => world.learn(|all| (kind.remove)(all, &ObjectKey::of(&object))),
            Err(error) => tracing::warn!(kind = name, %error, "watch interrupted; it starts again"),
        }
    }
}

/// An object that cannot be read is taken out: what it was before must not be matched any more.
fn take_in<K: Resource>(world: &World, object: DeserializeGuard<K>, kind: &Kind<K>, name: &str) {
    match object.0 {
        Ok(object) => world.learn(|all| (kind.put)(all, object)),
        Err(invalid) => {
            let key = ObjectKey::new(
                invalid.metadata.namespace.as_deref().unwrap_or(""),
                invalid.metadata.name.as_deref().unwrap_or(""),
            );
            tracing::error!(kind = name, object = %key, error = invalid.error, "object cannot be read; it takes no part");
            world.learn(|all| (kind.remove)(all, &key));
        }
    }
}
