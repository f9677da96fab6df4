//! The loop: the offer watched, signals and the end of work heard, and after each the agent given its turn.

use crds::{License, Machine};
use futures::StreamExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::agent::Agent;
use crate::cluster::{AgentOffer, Cluster};
use crate::config::{Config, Kind};

/// Runs the agent until a signal ends it.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    if config.name.is_empty() {
        anyhow::bail!("--name is missing: write the name of the {:?}", config.kind);
    }
    match config.kind {
        Kind::Machine => act::<Machine>(config).await,
        Kind::License => act::<License>(config).await,
    }
}

async fn act<K: AgentOffer>(config: Config) -> anyhow::Result<()> {
    let cluster = Cluster::<K>::connect(&config).await?;
    let only = watcher::Config::default().timeout(60).fields(&format!("metadata.name={}", config.name));
    let mut events = std::pin::pin!(watcher(cluster.offers.clone(), only).default_backoff());
    let (done, mut ended) = mpsc::unbounded_channel();
    let mut agent = Agent::new(config, cluster, done);
    let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut listed = false;
    loop {
        let pause = agent.pause();
        tokio::select! {
            Some(event) = events.next() => match event {
                Ok(watcher::Event::Init) => listed = false,
                Ok(watcher::Event::InitApply(found)) => {
                    listed = true;
                    agent.see(found.0);
                }
                Ok(watcher::Event::InitDone) if !listed => agent.gone(),
                Ok(watcher::Event::InitDone) => {}
                Ok(watcher::Event::Apply(found)) => agent.see(found.0),
                Ok(watcher::Event::Delete(_)) => agent.gone(),
                Err(error) => tracing::warn!(%error, "watch interrupted; restarting it"),
            },
            Some(claim) = ended.recv() => agent.work_ended(&claim),
            () = agent.measured() => {}
            () = tokio::time::sleep(pause) => {}
            _ = terminated.recv() => break,
            _ = interrupted.recv() => break,
        }
        agent.turn().await;
    }
    agent.shutdown().await;
    Ok(())
}
