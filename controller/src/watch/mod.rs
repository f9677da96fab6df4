//! Watch events into the cache.

pub(crate) mod rereader;
pub(crate) mod shallow;
#[cfg(test)]
mod tests;
pub(crate) mod watched;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crds::{Job, License, Machine, MachineClass, Match};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{Api, ListParams};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use pool::{Guarded, Heartbeat, JobSet, ObjectKey, Reach, Sent, Unreadable, is_lease_of_agent};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::cache::Cache;
use crate::rights::Rights;
use crate::watch::watched::{Area, AskingPod, Watched, requests};
use crate::write::requests::PAGE;

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

/// How many watches there are, besides those of workloads; and how many of those in each area.
const KINDS: usize = 8;
const KINDS_OF_WORK: usize = 4;
/// How often it is asked whether JobSets have come to be served.
const JOB_SETS_EVERY: Duration = Duration::from_secs(10);

/// Watches all kinds for ever, workloads where they are started; returns once each has been listed.
pub(crate) async fn start(client: &Client, cache: &Arc<Cache>, reach: &Reach, rights: &Arc<Rights>) {
    let (listed, mut each_listed) = mpsc::channel(16);
    let everywhere =
        Watcher { client: client.clone(), cache: cache.clone(), rights: rights.clone(), listed, area: None };
    everywhere.spawn::<Job>();
    everywhere.spawn::<Machine>();
    everywhere.spawn::<License>();
    everywhere.spawn::<Match>();
    everywhere.spawn::<Namespace>();
    everywhere.spawn::<Node>();
    everywhere.spawn::<MachineClass>();
    tokio::spawn(watch_leases(Api::all(client.clone()), cache.clone(), everywhere.listed.clone()));
    let areas: Vec<Area> = match reach {
        Reach::Everywhere => vec![None],
        Reach::In(namespaces) => namespaces.iter().cloned().map(Some).collect(),
    };
    let watches = areas.len().saturating_mul(KINDS_OF_WORK).saturating_add(KINDS);
    for area in areas {
        let there = Watcher { area, ..everywhere.clone() };
        there.spawn::<Batch>();
        there.spawn::<Pod>();
        there.spawn::<AskingPod>();
        tokio::spawn(there.watch_job_sets());
    }
    drop(everywhere);
    let mut listed = 0;
    while listed < watches && each_listed.recv().await.is_some() {
        listed += 1;
    }
}

/// Who watches, where, and whom it tells when a kind has been listed.
#[derive(Clone)]
struct Watcher {
    client: Client,
    cache: Arc<Cache>,
    rights: Arc<Rights>,
    listed: mpsc::Sender<()>,
    area: Area,
}

impl Watcher {
    fn spawn<K: Watched>(&self) {
        let watcher = self.clone();
        tokio::spawn(async move { watcher.watch::<K>(false).await });
    }

    /// JobSets are watched as long as their kind is there; where it is not, it is asked for now and then. Nobody waits for them.
    async fn watch_job_sets(self) {
        let api: Api<Sent<JobSet>> = requests(&self.client, &self.area);
        loop {
            match api.list(&ListParams::default().limit(1)).await {
                Ok(_) => self.watch::<JobSet>(true).await,
                Err(kube::Error::Api(status)) if [403, 404].contains(&status.code) => {
                    if self.cache.lock().works.job_sets {
                        self.cache.update(|all| {
                            JobSet::retain(all, &|_| false);
                            all.works.job_sets = false;
                        });
                    }
                    let _ = self.listed.try_send(());
                }
                Err(error) => tracing::warn!(%error, "could not check whether the kind JobSet exists"),
            }
            tokio::time::sleep(JOB_SETS_EVERY).await;
        }
    }

    /// For ever; a kind that `may_go` until it is not served any more. To read each object so that one which cannot be read does
    /// not keep back the others costs three times as much: that is done from when there is such a one.
    async fn watch<K: Watched>(&self, may_go: bool) {
        let ends = |error: &watcher::Error| is_unreadable(error) || may_go && is_not_served(error);
        let ended = self.follow::<K, K::Kind>(Ok, ends).await;
        if ended.is_some_and(|error| is_unreadable(&error)) {
            tracing::error!(kind = %K::Kind::kind(&()), "an object cannot be parsed; from now on, objects are parsed one by one");
            let one_by_one = |guarded: Guarded<K::Kind>| guarded.0;
            let ends = |error: &watcher::Error| may_go && is_not_served(error);
            self.follow::<K, _>(one_by_one, ends).await;
        }
    }

    /// Takes in what is watched, until it ends with such an error.
    async fn follow<K: Watched, T>(
        &self,
        read: impl Fn(T) -> Result<K::Kind, Box<Unreadable>>,
        ends: impl Fn(&watcher::Error) -> bool,
    ) -> Option<watcher::Error>
    where
        T: Resource<DynamicType = (), Scope = <K::Kind as Resource>::Scope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        let (cache, name) = (&self.cache, K::Kind::kind(&()).into_owned());
        let is_elsewhere = |key: &ObjectKey| self.area.as_ref().is_some_and(|area| *area != key.namespace);
        let config = watcher::Config::default().timeout(60).page_size(PAGE);
        let config = K::ONLY.into_iter().fold(config, watcher::Config::labels);
        let events = watcher(K::api::<T>(&self.client, &self.area), config).backoff(Pauses(PAUSE_MIN)).into_stream();
        let mut events = std::pin::pin!(events);
        let mut seen = BTreeSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => seen.clear(),
                Ok(watcher::Event::InitApply(object)) => {
                    seen.insert(ObjectKey::of(&object));
                    take_in::<K>(cache, read(object), &name);
                }
                Ok(watcher::Event::InitDone) => {
                    cache.update(|all| K::retain(all, &|key| seen.contains(key) || is_elsewhere(key)));
                    // Nobody listens any more after the first time round.
                    let _ = self.listed.try_send(());
                }
                Ok(watcher::Event::Apply(object)) => take_in::<K>(cache, read(object), &name),
                Ok(watcher::Event::Delete(object)) => {
                    let key = ObjectKey::of(&object);
                    cache.update(|all| match read(object) {
                        Ok(gone) => K::delete(&gone, all),
                        Err(_) => K::remove(all, &key),
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

/// Whether a watch has ended because what was sent is no object of its kind.
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

/// Whether the server has answered so.
fn has_status(error: &watcher::Error, code: u16) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == code,
        _ => false,
    }
}

/// Watches the Leases of agents for ever. Those by which nodes show that they are alive are left out: they are many.
async fn watch_leases(api: Api<Heartbeat>, cache: Arc<Cache>, listed: mpsc::Sender<()>) {
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
                let _ = listed.try_send(());
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

/// An object that cannot be read is taken out: what it was before must not be matched any more.
fn take_in<K: Watched>(cache: &Cache, object: Result<K::Kind, Box<Unreadable>>, name: &str) {
    match object {
        Ok(object) => cache.update_if_new(|all| K::put(object, all)),
        Err(invalid) => {
            let key = ObjectKey::new(
                invalid.metadata.namespace.as_deref().unwrap_or(""),
                invalid.metadata.name.as_deref().unwrap_or(""),
            );
            tracing::error!(kind = name, object = %key, error = invalid.error, "object cannot be parsed; ignoring it");
            cache.update(|all| K::remove(all, &key));
        }
    }
}
