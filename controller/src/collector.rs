//! Watch events into the picture of the world.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crds::{Job, LABEL_AD, LABEL_MATCH_UID, License, Machine, MachineClass, Match, WorkKind};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{Api, ListParams};
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use pool::{JobSet, NodeFacts, ObjectKey, Objects, WorkObject, is_lease_of_agent};
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

/// What is watched and kept in the picture.
trait Kept: Send + 'static {
    type Kind: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static;
    /// Only those with this label are watched.
    const ONLY: Option<&'static str> = None;

    /// Takes it in; whether anything that counts is new.
    fn put(object: Self::Kind, objects: &mut Objects) -> bool;
    fn remove(objects: &mut Objects, key: &ObjectKey);
    fn bury(object: &Self::Kind, objects: &mut Objects) {
        Self::remove(objects, &ObjectKey::of(object));
    }
    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>);
}

/// The three kinds of ads are kept alike, each on its shelf.
macro_rules! kept_on {
    ($kind:ty, $shelf:ident) => {
        impl Kept for $kind {
            type Kind = $kind;

            fn put(object: $kind, objects: &mut Objects) -> bool {
                objects.$shelf.take_in(object)
            }

            fn remove(objects: &mut Objects, key: &ObjectKey) {
                objects.$shelf.remove(key);
            }

            fn bury(object: &$kind, objects: &mut Objects) {
                objects.$shelf.bury(object);
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
    type Kind = Match;

    fn put(object: Match, objects: &mut Objects) -> bool {
        objects.take_in_match(object)
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.matches.remove(key);
    }

    fn bury(object: &Match, objects: &mut Objects) {
        objects.bury_match(object);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.matches.retain(|key| seen.contains(key));
    }
}

impl Kept for Namespace {
    type Kind = Namespace;

    fn put(object: Namespace, objects: &mut Objects) -> bool {
        objects.take_in_namespace(&object.name_any(), Some(object.labels().clone()))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.take_in_namespace(&key.name, None);
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
    type Kind = Node;

    fn put(object: Node, objects: &mut Objects) -> bool {
        objects.put_node(NodeFacts::of(&object))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.remove_node(&key.name);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.retain_nodes(&seen.iter().map(|key| key.name.clone()).collect());
    }
}

impl Kept for MachineClass {
    type Kind = MachineClass;

    fn put(object: MachineClass, objects: &mut Objects) -> bool {
        objects.classes.insert(object.name_any(), Arc::new(object));
        true
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.classes.remove(&key.name);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.classes.retain(|name, _| seen.contains(&ObjectKey::new("", name)));
    }
}

/// Of workloads and pods only what counts is kept.
impl Kept for Batch {
    type Kind = Batch;

    fn put(object: Batch, objects: &mut Objects) -> bool {
        objects.works.put(WorkObject::of_batch(&object))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.works.remove(WorkKind::Job, key);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.works.retain(WorkKind::Job, |key| seen.contains(key));
    }
}

impl Kept for JobSet {
    type Kind = JobSet;

    fn put(object: JobSet, objects: &mut Objects) -> bool {
        objects.works.put(WorkObject::of_job_set(&object))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.works.remove(WorkKind::JobSet, key);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.works.job_sets = true;
        objects.works.retain(WorkKind::JobSet, |key| seen.contains(key));
    }
}

impl Kept for Pod {
    type Kind = Pod;

    const ONLY: Option<&'static str> = Some(LABEL_MATCH_UID);

    fn put(object: Pod, objects: &mut Objects) -> bool {
        objects.works.put_pod(&object)
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.works.remove_pod(key);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.works.retain_pods(|key| seen.contains(key));
    }
}

/// Pods that name an ad: an API server selects by one label or by another, and not by either.
struct AskingPod;

impl Kept for AskingPod {
    type Kind = Pod;

    const ONLY: Option<&'static str> = Some(LABEL_AD);

    fn put(object: Pod, objects: &mut Objects) -> bool {
        objects.works.put(WorkObject::of_pod(&object))
    }

    fn remove(objects: &mut Objects, key: &ObjectKey) {
        objects.works.remove_asking_pod(key);
    }

    fn retain(objects: &mut Objects, seen: &BTreeSet<ObjectKey>) {
        objects.works.retain_asking_pods(|key| seen.contains(key));
    }
}

/// How many watches there are.
const KINDS: usize = 12;
/// How often it is asked whether JobSets have come to be served.
const JOB_SETS_EVERY: Duration = Duration::from_secs(10);

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
    spawn::<AskingPod>(client, world, &listed);
    tokio::spawn(watch_job_sets(client.clone(), world.clone(), listed.clone()));
    tokio::spawn(watch_leases(Api::all(client.clone()), world.clone(), listed.clone()));
    drop(listed);
    let mut kinds = 0;
    while kinds < KINDS && each_listed.recv().await.is_some() {
        kinds += 1;
    }
}

fn spawn<K: Kept>(client: &Client, world: &Arc<World>, listed: &mpsc::Sender<()>) {
    tokio::spawn(watch::<K>(client.clone(), world.clone(), listed.clone(), false));
}

/// JobSets are watched as long as their kind is there; where it is not, it is asked for now and then. Nobody waits for them.
async fn watch_job_sets(client: Client, world: Arc<World>, listed: mpsc::Sender<()>) {
    let api: Api<JobSet> = Api::all(client.clone());
    loop {
        match api.list_metadata(&ListParams::default().limit(1)).await {
            Ok(_) => watch::<JobSet>(client.clone(), world.clone(), listed.clone(), true).await,
            Err(kube::Error::Api(status)) if [403, 404].contains(&status.code) => {
                if world.look().works.job_sets {
                    world.learn(|all| {
                        JobSet::retain(all, &BTreeSet::new());
                        all.works.job_sets = false;
                    });
                }
                let _ = listed.try_send(());
            }
            Err(error) => tracing::warn!(%error, "it could not be asked whether there are JobSets"),
        }
        tokio::time::sleep(JOB_SETS_EVERY).await;
    }
}

/// For ever; a kind that `may_go` until it is not served any more. To read each object so that one which cannot be read does not
/// keep back the others costs three times as much: that is done from when there is such a one.
async fn watch<K: Kept>(client: Client, world: Arc<World>, listed: mpsc::Sender<()>, may_go: bool) {
    let ends = |error: &watcher::Error| is_unreadable(error) || may_go && is_not_served(error);
    let ended = follow::<K, K::Kind>(Api::all(client.clone()), &world, &listed, Ok, ends).await;
    if ended.is_some_and(|error| is_unreadable(&error)) {
        tracing::error!(kind = %K::Kind::kind(&()), "an object cannot be read; from now on each is read by itself");
        let one_by_one = |guarded: DeserializeGuard<K::Kind>| guarded.0.map_err(Box::new);
        let ends = |error: &watcher::Error| may_go && is_not_served(error);
        follow::<K, _>(Api::all(client), &world, &listed, one_by_one, ends).await;
    }
}

/// Takes in what is watched, until it ends with such an error.
async fn follow<K: Kept, T>(
    api: Api<T>,
    world: &World,
    listed: &mpsc::Sender<()>,
    read: impl Fn(T) -> Result<K::Kind, Box<InvalidObject>>,
    ends: impl Fn(&watcher::Error) -> bool,
) -> Option<watcher::Error>
where
    T: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let name = K::Kind::kind(&()).into_owned();
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
                take_in::<K>(world, read(object), &name);
            }
            Ok(watcher::Event::InitDone) => {
                world.learn(|all| K::retain(all, &seen));
                // Nobody listens any more after the first time round.
                let _ = listed.try_send(());
            }
            Ok(watcher::Event::Apply(object)) => take_in::<K>(world, read(object), &name),
            Ok(watcher::Event::Delete(object)) => {
                let key = ObjectKey::of(&object);
                world.learn(|all| match read(object) {
                    Ok(gone) => K::bury(&gone, all),
                    Err(_) => K::remove(all, &key),
                });
            }
            Err(error) if ends(&error) => return Some(error),
            Err(error) => tracing::warn!(kind = name, %error, "watch interrupted; it starts again"),
        }
    }
    None
}

/// Whether a watch has ended because what was sent is no object of its kind.
fn is_unreadable(error: &watcher::Error) -> bool {
    matches!(
        error,
        watcher::Error::InitialListFailed(kube::Error::SerdeError(_))
            | watcher::Error::WatchFailed(kube::Error::SerdeError(_))
    )
}

fn is_not_served(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
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
fn take_in<K: Kept>(world: &World, object: Result<K::Kind, Box<InvalidObject>>, name: &str) {
    match object {
        Ok(object) => world.learn_if_new(|all| K::put(object, all)),
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
