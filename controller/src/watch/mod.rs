//! Watch events into the cache.

pub(crate) mod rereader;
pub(crate) mod shallow;
#[cfg(test)]
mod tests;
pub(crate) mod watched;

use std::any::type_name;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crds::{Job, License, Machine};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use pool::{
    AgentLease, ObjectKey, Objects, Parsed, ReadTrimmed, Trimmed, Unreadable, WorkloadScope, is_lease_of_agent,
};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::cache::Cache;
use crate::rights::Rights;
use crate::watch::watched::{
    ACCOUNTS, ASKING_PODS, Area, BATCH_JOBS, CLASSES, JOB_SETS, MATCHES, NAMESPACES, NODES, PODS, POOL_POLICIES, Scope,
    WatchedKind, ads,
};
use crate::write::requests::PAGE;

/// The pauses between attempts to watch. The longest is short: when the API server is back, everything else waits for the watches,
/// and there are few of them.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The next pause between attempts.
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

/// The number of watches besides those of workloads; and the number of watches of workloads in each area.
const KINDS: usize = 10;
const KINDS_OF_WORK: usize = 4;
/// How often it is checked whether a kind that may be missing is served.
const SERVED_EVERY: Duration = Duration::from_secs(10);

/// Watches all kinds for ever, workloads in their scope only; returns once each kind has been listed.
pub(crate) async fn start(client: &Client, cache: &Arc<Cache>, scope: &WorkloadScope, rights: &Arc<Rights>) {
    let (listed, mut each_listed) = mpsc::unbounded_channel();
    let everywhere =
        Watcher { client: client.clone(), cache: cache.clone(), rights: rights.clone(), listed, area: None };
    everywhere.spawn(ads::<Job>());
    everywhere.spawn(ads::<Machine>());
    everywhere.spawn(ads::<License>());
    everywhere.spawn(MATCHES);
    everywhere.spawn(NAMESPACES);
    everywhere.spawn(NODES);
    everywhere.spawn(CLASSES);
    // A cluster whose CRDs were not upgraded yet has neither, which is a cluster without a policy.
    tokio::spawn(everywhere.clone().watch_while_served(ACCOUNTS, |_| {}));
    tokio::spawn(everywhere.clone().watch_while_served(POOL_POLICIES, |_| {}));
    tokio::spawn(watch_leases(Api::all(client.clone()), cache.clone(), everywhere.listed.clone()));
    let areas: Vec<Area> = match scope {
        WorkloadScope::Everywhere => vec![None],
        WorkloadScope::In(namespaces) => namespaces.iter().cloned().map(Some).collect(),
    };
    let watches = areas.len().saturating_mul(KINDS_OF_WORK).saturating_add(KINDS);
    for area in areas {
        let there = Watcher { area, ..everywhere.clone() };
        there.spawn(BATCH_JOBS);
        there.spawn(PODS);
        there.spawn(ASKING_PODS);
        tokio::spawn(there.watch_while_served(JOB_SETS, |all| all.workloads.job_sets = false));
    }
    drop(everywhere);
    let mut listed = BTreeSet::new();
    while listed.len() < watches
        && let Some(watch) = each_listed.recv().await
    {
        listed.insert(watch);
    }
}

/// Tells a watch from the others: its type, its label selector and its area.
type WatchId = (&'static str, Option<&'static str>, Area);

/// Watches kinds in one area.
#[derive(Clone)]
struct Watcher {
    client: Client,
    cache: Arc<Cache>,
    rights: Arc<Rights>,
    /// Gets a message each time a kind has been listed.
    listed: mpsc::UnboundedSender<WatchId>,
    area: Area,
}

impl Watcher {
    fn spawn<K: ReadTrimmed<Scope: Scope>>(&self, kind: WatchedKind<K>) {
        let watcher = self.clone();
        tokio::spawn(async move { watcher.watch(kind, false).await });
    }

    /// Watches a kind as long as it is served; where it is not, that is checked now and then, and its objects are gone. Nothing waits for it.
    async fn watch_while_served<K: ReadTrimmed<Scope: Scope>>(self, kind: WatchedKind<K>, gone: fn(&mut Objects)) {
        let api: Api<Trimmed<K>> = <K::Scope as Scope>::requests(&self.client, &self.area);
        let mut was_served = false;
        loop {
            match api.list(&ListParams::default().limit(1)).await {
                Ok(_) => {
                    was_served = true;
                    self.watch(kind, true).await;
                }
                Err(kube::Error::Api(status)) if [403, 404].contains(&status.code) => {
                    if std::mem::take(&mut was_served) {
                        self.cache.update(|all| {
                            (kind.retain)(all, &|_| false);
                            gone(all);
                        });
                    }
                    let _ = self.listed.send((type_name::<K>(), kind.label, self.area.clone()));
                }
                Err(error) => {
                    let kind = K::kind(&());
                    tracing::warn!(%kind, %error, "could not check whether the kind exists");
                }
            }
            tokio::time::sleep(SERVED_EVERY).await;
        }
    }

    /// Watches a kind for ever; one that `may_go`, until it is not served any more. From the first object on that cannot be read, each
    /// object is read by itself, so that it does not keep back the others: that costs three times as much.
    async fn watch<K: ReadTrimmed<Scope: Scope>>(&self, kind: WatchedKind<K>, may_go: bool) {
        let ends = |error: &watcher::Error| is_unreadable(error) || may_go && is_not_served(error);
        let ended = self.follow(kind, |trimmed: Trimmed<K>| Ok(trimmed), ends).await;
        if ended.is_some_and(|error| is_unreadable(&error)) {
            tracing::error!(kind = %K::kind(&()), "an object cannot be parsed; from now on, objects are parsed one by one");
            let ends = |error: &watcher::Error| may_go && is_not_served(error);
            self.follow(kind, |parsed: Parsed<Trimmed<K>>| parsed.0, ends).await;
        }
    }

    /// Caches what is watched, until the watch ends with such an error.
    async fn follow<K, T>(
        &self,
        kind: WatchedKind<K>,
        read: impl Fn(T) -> Result<Trimmed<K>, Box<Unreadable>>,
        ends: impl Fn(&watcher::Error) -> bool,
    ) -> Option<watcher::Error>
    where
        K: ReadTrimmed<Scope: Scope>,
        T: Resource<DynamicType = (), Scope = K::Scope> + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let (cache, name) = (&self.cache, K::kind(&()).into_owned());
        let is_elsewhere = |key: &ObjectKey| self.area.as_ref().is_some_and(|area| *area != key.namespace);
        let config = watcher::Config::default().timeout(60).page_size(PAGE);
        let config = kind.label.into_iter().fold(config, watcher::Config::labels);
        let api: Api<T> = <K::Scope as Scope>::requests(&self.client, &self.area);
        let mut events = std::pin::pin!(watcher(api, config).backoff(Pauses(PAUSE_MIN)).into_stream());
        let mut seen = BTreeSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => seen.clear(),
                Ok(watcher::Event::InitApply(object)) => {
                    seen.insert(ObjectKey::of(&object));
                    take_in(cache, kind, read(object), &name);
                }
                Ok(watcher::Event::InitDone) => {
                    cache.update(|all| (kind.retain)(all, &|key| seen.contains(key) || is_elsewhere(key)));
                    // After the first list nothing receives it any more.
                    let _ = self.listed.send((type_name::<K>(), kind.label, self.area.clone()));
                }
                Ok(watcher::Event::Apply(object)) => take_in(cache, kind, read(object), &name),
                Ok(watcher::Event::Delete(object)) => {
                    let key = ObjectKey::of(&object);
                    cache.update(|all| match (read(object), kind.delete) {
                        (Ok(Trimmed(gone)), Some(delete)) => delete(all, &gone),
                        _ => (kind.remove)(all, &key),
                    });
                }
                Err(error) if ends(&error) => return Some(error),
                Err(error) if has_status(&error, 403) => {
                    self.rights.doubt();
                    tracing::error!(kind = name, %error, "no right to watch; compare the roles with those of the chart; retrying");
                }
                Err(error) => tracing::warn!(kind = name, %error, "watch interrupted; restarting it"),
            }
        }
        None
    }
}

/// Whether a watch has ended because an object could not be read.
fn is_unreadable(error: &watcher::Error) -> bool {
    matches!(
        error,
        watcher::Error::InitialListFailed(kube::Error::SerdeError(_))
            | watcher::Error::WatchFailed(kube::Error::SerdeError(_))
    )
}

fn is_not_served(error: &watcher::Error) -> bool {
    has_status(error, 404)
}

/// Whether the server has answered the start of a watch with this status code.
fn has_status(error: &watcher::Error, code: u16) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == code,
        _ => false,
    }
}

/// Watches the Leases of agents for ever. The Leases of nodes, which are many, are left out.
async fn watch_leases(api: Api<AgentLease>, cache: Arc<Cache>, listed: mpsc::UnboundedSender<WatchId>) {
    let config = watcher::Config::default().timeout(60).page_size(PAGE).fields("metadata.namespace!=kube-node-lease");
    let mut events = std::pin::pin!(watcher(api, config).backoff(Pauses(PAUSE_MIN)).into_stream());
    let mut seen = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => seen.clear(),
            Ok(watcher::Event::InitApply(lease)) if is_lease_of_agent(&lease.name_any()) => {
                seen.insert(ObjectKey::of(&lease));
                cache.saw_lease(ObjectKey::of(&lease), lease.held);
            }
            Ok(watcher::Event::InitDone) => {
                cache.listed_leases(&seen);
                let _ = listed.send((type_name::<AgentLease>(), None, None));
            }
            Ok(watcher::Event::Apply(lease)) if is_lease_of_agent(&lease.name_any()) => {
                cache.saw_lease(ObjectKey::of(&lease), lease.held);
            }
            Ok(watcher::Event::Delete(lease)) => cache.saw_lease(ObjectKey::of(&lease), None),
            Ok(watcher::Event::InitApply(_) | watcher::Event::Apply(_)) => {}
            Err(error) => tracing::warn!(kind = "Lease", %error, "watch interrupted; restarting it"),
        }
    }
}

/// Caches an object. One that cannot be read is removed: what it was before must not be matched any more.
fn take_in<K>(cache: &Cache, kind: WatchedKind<K>, object: Result<Trimmed<K>, Box<Unreadable>>, name: &str) {
    match object {
        Ok(Trimmed(object)) => cache.update_if_new(|all| (kind.put)(all, object)),
        Err(invalid) => {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let ObjectMeta { namespace, name: named, .. } = &invalid.metadata;
            let key = ObjectKey { namespace: text(namespace), name: text(named) };
            tracing::error!(kind = name, object = %key, error = invalid.error, "object cannot be parsed; ignoring it");
            cache.update(|all| (kind.remove)(all, &key));
        }
    }
}
