//! Watch events of Matches into when each job was committed first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use crds::{Decision, Match};
use futures::StreamExt;
use kube::runtime::{WatchStreamExt, watcher};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::stage::LoadStage;

/// Somebody who watches.
pub(crate) struct Commits {
    at: Arc<Mutex<BTreeMap<String, Instant>>>,
    news: mpsc::UnboundedReceiver<String>,
    /// Ends with this value: who goes on asking a server that is gone takes the processor from the next one.
    _watch: JoinSet<()>,
}

impl Commits {
    pub(crate) fn follow(stage: &LoadStage) -> Commits {
        let at = Arc::<Mutex<BTreeMap<String, Instant>>>::default();
        let (tell, news) = mpsc::unbounded_channel();
        let events = watcher(stage.api::<Match>(), watcher::Config::default()).default_backoff();
        let (known, mut watch) = (at.clone(), JoinSet::new());
        watch.spawn(async move {
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                let found = match event {
                    Ok(watcher::Event::Apply(found) | watcher::Event::InitApply(found)) => found,
                    _ => continue,
                };
                let committed = found.status.as_ref().is_some_and(|status| status.decision == Decision::Committed);
                let Some(root) = found.spec.members.first().filter(|_| committed) else { continue };
                let mut known = known.lock();
                if known.insert(root.name.clone(), Instant::now()).is_none() {
                    tell.send(root.name.clone()).ok();
                }
            }
        });
        Commits { at, news, _watch: watch }
    }

    /// The next job that was committed.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.news.recv().await
    }

    /// Waits until so many were; when each was.
    pub(crate) async fn wait_for(&self, jobs: usize, limit: Duration) -> Result<BTreeMap<String, Instant>> {
        let begun = Instant::now();
        loop {
            let now = self.at.lock().clone();
            if now.len() >= jobs {
                return Ok(now);
            }
            ensure!(begun.elapsed() < limit, "{} of {jobs} jobs were committed in {limit:?}", now.len());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
