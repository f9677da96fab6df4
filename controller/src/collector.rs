//! Watch events into the picture of the world.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crds::{Job, LABEL_MATCH_UID, License, Machine, MachineClass, Match};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use pool::{BatchJob, NodeFacts, ObjectKey, Objects, is_lease_of_agent};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::world::World;

/// The pauses between attempts to watch. The longest is short: with it begins what everybody waits for when the API server is
/// back, and there are few watches.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The next pause.
struct Pauses(Duration);

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.0;
        self.0 = pause.saturating_mul(2).min(PAUSE_MAX);
        Some(pause)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.0 = PAUSE_MIN;
    }
}

/// A kind that is kept in the picture.
trait Kept: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static {
    /// Only those with this label are watched.
    const ONLY: Option<&'static str> = None;

    /// Takes it in; whether anything that counts is new.
    fn put(self, objects: &mut Objects) -> bool;
    fn remove(objects: &mut Objects, key: &ObjectKey);
    fn bury(&self, objects: &mut Objects);
    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>);
}

/// The three kinds of ads are kept alike, each on its shelf.
macro_rules! kept_on {
    ($kind:ty, $shelf:ident) => {
        impl Kept for $kind {
            fn put(self, objects: &mut Objects) -> bool {
                objects.$shelf.take_in(self)
            }

            fn remove(objects: &mut Objects, key: &ObjectKey) {
                objects.$shelf.remove(key);
            }

            fn bury(&self, objects: &mut Objects) {
                objects.$shelf.bury(self);
            }

            fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
                objects.$shelf.retain(|key| seen.contains(key));
            }
        }
    };
}

kept_on!(Job, jobs);
kept_on!(Machine, machines);
kept_on!(License, licenses);

impl Kept for Match {
    fn put(self, objects: &mut Objects) -> bool {
        objects.take_in_match(self)
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.matches.remove(key);
    }

    fn bury(&self, objects: &mut Objects) {
        objects.bury_match(self);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.matches.retain(|key| seen.contains(key));
    }
}

impl Kept for Namespace {
    fn put(self, objects: &mut Objects) -> bool {
        objects.take_in_namespace(&self.name_any(), Some(self.labels().clone()))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.take_in_namespace(&key.name, None);
    }

    fn bury(&self, objects: &mut Objects) {
        objects.take_in_namespace(&self.name_any(), None);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        let gone = |name: &&String| !seen.contains(&ObjectKey::new("", name));
        let gone: Vec<String> = objects.namespaces.keys().filter(gone).cloned().collect();
        for name in gone {
            objects.take_in_namespace(&name, None);
        }
    }
}

impl Kept for Node {
    fn put(self, objects: &mut Objects) -> bool {
        objects.put_node(NodeFacts::of(&self))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.remove_node(&key.name);
    }

    fn bury(&self, objects: &mut Objects) {
        objects.remove_node(&self.name_any());
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.retain_nodes(&seen.iter().map(|key| key.name.clone()).collect());
    }
}

impl Kept for MachineClass {
    fn put(self, objects: &mut Objects) -> bool {
        objects.classes.insert(self.name_any(), Arc::new(self));
        true
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.classes.remove(&key.name);
    }

    fn bury(&self, objects: &mut Objects) {
        objects.classes.remove(&self.name_any());
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.classes.retain(|name, _| seen.contains(&ObjectKey::new("", name)));
    }
}

/// Of batch Jobs and pods only what counts is kept.
impl Kept for Batch {
    fn put(self, objects: &mut Objects) -> bool {
        objects.works.put(BatchJob::of(&self))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.works.remove(key);
    }

    fn bury(&self, objects: &mut Objects) {
        objects.works.remove(&ObjectKey::of(self));
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.works.retain(|key| seen.contains(key));
    }
}

impl Kept for Pod {
    const ONLY: Option<&'static str> = Some(LABEL_MATCH_UID);

    fn put(self, objects: &mut Objects) -> bool {
        objects.works.put_pod(&self)
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.works.remove_pod(key);
    }

    fn bury(&self, objects: &mut Objects) {
        objects.works.remove_pod(&ObjectKey::of(self));
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.works.retain_pods(|key| seen.contains(key));
    }
}

/// Watches all kinds for ever; returns once each has been listed.
pub(crate) async fn start(client: &Client, world: &Arc<World>) {
    let (listed, mut each_listed) = mpsc::channel(16);
    spawn::<Job>(client, world, &listed);
    spawn::<Machine>(client, world, &listed);
    spawn::<License>(client, world, &listed);
    spawn::<Match>(client, world, &listed);
    spawn::<Namespace>(client, world, &listed);
    spawn::<Node>(client, world, &listed);
    spawn::<MachineClass>(client, world, &listed);
    spawn::<Batch>(client, world, &listed);
    spawn::<Pod>(client, world, &listed);
    tokio::spawn(watch_leases(Api::all(client.clone()), world.clone(), listed.clone()));
    drop(listed);
    let mut kinds = 0;
    while kinds < 10 && each_listed.recv().await.is_some() {
        kinds += 1;
    }
}

fn spawn<K: Kept>(client: &Client, world: &Arc<World>, listed: &mpsc::Sender<()>) {
    tokio::spawn(watch::<K>(client.clone(), world.clone(), listed.clone()));
}

/// Watches a kind for ever. To read each object so that one which cannot be read does not keep back the others costs three
/// times as much: that is done from when there is such a one.
async fn watch<K: Kept>(client: Client, world: Arc<World>, listed: mpsc::Sender<()>) {
    let mut listed = Some(listed);
    follow::<K, K>(Api::all(client.clone()), &world, &mut listed, Ok, Unreadable::EndsIt).await;
    tracing::error!(kind = %K::kind(&()), "an object cannot be read; from now on each is read by itself");
    let one_by_one = |guarded: DeserializeGuard<K>| guarded.0;
    follow::<K, _>(Api::all(client), &world, &mut listed, one_by_one, Unreadable::IsLeftOut).await;
}

/// What becomes of a watch in which an object cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    EndsIt,
    IsLeftOut,
}

async fn follow<K: Kept, T>(
    api: Api<T>,
    world: &World,
    listed: &mut Option<mpsc::Sender<()>>,
    read: impl Fn(T) -> Result<K, InvalidObject>,
    unreadable: Unreadable,
) where
    T: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let name = K::kind(&()).into_owned();
    let config = watcher::Config::default().timeout(60);
    let config = K::ONLY.into_iter().fold(config, watcher::Config::labels);
    let events = watcher(api, config).backoff(Pauses(PAUSE_MIN)).into_stream();
    let mut events = std::pin::pin!(events);
    let mut seen = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => seen.clear(),
            Ok(watcher::Event::InitApply(object)) => {
                seen.insert(ObjectKey::of(&object));
                take_in(world, read(object), &name);
            }
            Ok(watcher::Event::InitDone) => {
                world.learn(|all| K::retain(all, &seen));
                if let Some(listed) = listed.take() {
                    // Whoever waits for this has gone only if the process ends.
                    let _ = listed.try_send(());
                }
            }
            Ok(watcher::Event::Apply(object)) => take_in(world, read(object), &name),
            Ok(watcher::Event::Delete(object)) => {
                let key = ObjectKey::of(&object);
                world.learn(|all| match read(object) {
                    Ok(gone) => gone.bury(all),
                    Err(_) => K::remove(all, &key),
                });
            }
            Err(error) if unreadable == Unreadable::EndsIt && is_unreadable(&error) => return,
            Err(error) => tracing::warn!(kind = name, %error, "watch interrupted; it starts again"),
        }
    }
}

/// Whether a watch has ended because what was sent is no object of its kind.
fn is_unreadable(error: &watcher::Error) -> bool {
    matches!(
        error,
        watcher::Error::InitialListFailed(kube::Error::SerdeError(_))
            | watcher::Error::WatchFailed(kube::Error::SerdeError(_))
    )
}

/// Watches the Leases of agents for ever. Those by which nodes show that they are alive are left out: they are many.
async fn watch_leases(api: Api<Lease>, world: Arc<World>, listed: mpsc::Sender<()>) {
    let config = watcher::Config::default().timeout(60).fields("metadata.namespace!=kube-node-lease");
    let mut events = std::pin::pin!(watcher(api, config).backoff(Pauses(PAUSE_MIN)).into_stream());
    let mut seen = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => seen.clear(),
            Ok(watcher::Event::InitApply(lease)) if is_lease_of_agent(&lease.name_any()) => {
                seen.insert(ObjectKey::of(&lease));
                world.saw_lease(ObjectKey::of(&lease), lease.spec);
            }
            Ok(watcher::Event::InitDone) => {
                world.listed_leases(&seen);
                let _ = listed.try_send(());
            }
            Ok(watcher::Event::Apply(lease)) if is_lease_of_agent(&lease.name_any()) => {
                world.saw_lease(ObjectKey::of(&lease), lease.spec);
            }
            Ok(watcher::Event::Delete(lease)) => world.saw_lease(ObjectKey::of(&lease), None),
            Ok(watcher::Event::InitApply(_) | watcher::Event::Apply(_)) => {}
            Err(error) => tracing::warn!(kind = "Lease", %error, "watch interrupted; it starts again"),
        }
    }
}

/// An object that cannot be read is taken out: what it was before must not be matched any more.
fn take_in<K: Kept>(world: &World, object: Result<K, InvalidObject>, name: &str) {
    match object {
        Ok(object) => world.learn_if_new(|all| object.put(all)),
        Err(invalid) => {
            let key = ObjectKey::new(
                invalid.metadata.namespace.as_deref().unwrap_or(""),
                invalid.metadata.name.as_deref().unwrap_or(""),
            );
            tracing::error!(kind = name, object = %key, error = invalid.error, "object cannot be read; it takes no part");
            world.learn(|all| K::remove(all, &key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_never_pauses_for_long() {
        let mut pauses = Pauses(PAUSE_MIN);
        assert!(pauses.by_ref().take(100).all(|pause| pause <= PAUSE_MAX));
        pauses.reset();
        assert_eq!(pauses.next(), Some(PAUSE_MIN));
    }
}
