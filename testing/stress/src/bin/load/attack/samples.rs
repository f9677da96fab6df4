//! Objects of another tenant's into how long each took from apply to Claimed, by this process's clock.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crds::Job;
use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job as Batch;
use kube::api::{Api, DeleteParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How long one may take; after so many in a row that took longer, no more are tried.
const SAMPLE_MAX: Duration = Duration::from_secs(10);
const MISSES_MAX: usize = 3;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sampled {
    /// Jobs of ours, until they are Claimed.
    Jobs,
    /// Batch Jobs that name an ad by a label, until they are started.
    Labelled,
}

/// An object that shows for itself when it has got what it asks for.
pub(crate) trait Served {
    fn is_served(&self) -> bool;
}

impl Served for Job {
    fn is_served(&self) -> bool {
        let conditions = self.status.as_ref().map_or(&[][..], |status| &status.conditions);
        crds::conditions::find(conditions, crds::conditions::types::CLAIMED).is_some_and(|found| found.status == "True")
    }
}

impl Served for Batch {
    fn is_served(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.suspend == Some(false))
    }
}

/// Creates one object after the other, and measures each; none for those that took too long.
pub(crate) async fn measure<K>(
    api: &Api<K>,
    count: usize,
    make: impl Fn(&str) -> Result<K>,
) -> Result<Vec<Option<Duration>>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Served,
    K: Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static,
{
    let mut events = Events::follow(api.clone());
    let prefix = jiff::Timestamp::now().as_millisecond();
    let (mut all, mut misses) = (Vec::new(), 0);
    while all.len() < count && misses < MISSES_MAX {
        let name = format!("s{prefix}-{}", all.len());
        let object = make(&name)?;
        let begun = Instant::now();
        api.create(&PostParams::default(), &object).await.with_context(|| format!("creating {name}"))?;
        let served = tokio::time::timeout(SAMPLE_MAX, events.wait_for(&name)).await;
        misses = if served.is_ok() { 0 } else { misses + 1 };
        all.push(served.ok().flatten().map(|at| at.saturating_duration_since(begun)));
        api.delete(&name, &DeleteParams::background()).await.ok();
    }
    Ok(all)
}

/// When each object was first seen to be served.
struct Events {
    news: mpsc::UnboundedReceiver<(String, Instant)>,
    seen: BTreeMap<String, Instant>,
    _watch: JoinSet<()>,
}

impl Events {
    fn follow<K>(api: Api<K>) -> Events
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Served,
        K: Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let (tell, news) = mpsc::unbounded_channel();
        let mut watch = JoinSet::new();
        watch.spawn(async move {
            let events = watcher(api, watcher::Config::default()).default_backoff().applied_objects();
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                let Ok(object) = event else { continue };
                if object.is_served() && tell.send((object.name_any(), Instant::now())).is_err() {
                    return;
                }
            }
        });
        Events { news, seen: BTreeMap::new(), _watch: watch }
    }

    async fn wait_for(&mut self, name: &str) -> Option<Instant> {
        loop {
            if let Some(at) = self.seen.get(name) {
                return Some(*at);
            }
            let (served, at) = self.news.recv().await?;
            self.seen.entry(served).or_insert(at);
        }
    }
}
