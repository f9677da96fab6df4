//! The wiring, in the order in which things happen: connect, serve probes, list and watch, stand for election; negotiate while
//! elected; stop.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::Client;
use matchmaker::Config as Engine;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::api::Cluster;
use crate::claims::{Driver, Groups, newest_epoch};
use crate::collector;
use crate::config::Config;
use crate::events::Events;
use crate::flights::Flights;
use crate::holdoffs::HoldOffs;
use crate::leader::{Campaign, Leadership};
use crate::metrics;
use crate::negotiator::Negotiator;
use crate::probes::{self, Health};
use crate::refusals::Refusals;
use crate::world::World;

/// How long claims under way are given to come to rest when the process is told to stop. What is left of them is found by
/// whoever leads next, who is kept waiting by this.
const GRACE: Duration = Duration::from_secs(1);
/// How long giving the lease back may take; else it runs out by itself.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often a process that does not lead says that it is alive.
const BEAT: Duration = Duration::from_secs(5);

/// Runs the operator until a signal ends it.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    let identity = config.identity(std::process::id(), Timestamp::now());
    let leadership = if config.leader_elect { Leadership::standby() } else { Leadership::alone() };
    let cluster = Cluster::connect(config.kubeconfig.as_deref(), &identity, leadership.clone()).await?;
    let client = cluster.client.clone();
    let owners = config.owner_trust.into();
    let world = Arc::new(World::new(owners));
    let flights = Arc::<Flights>::default();
    let health = Health::new();
    let metrics = cluster.metrics.clone();
    let probes = tokio::spawn(probes::serve(health.clone(), metrics, config.listen));
    let driver = Arc::new(Driver {
        cluster,
        world: world.clone(),
        flights: flights.clone(),
        groups: Groups::default(),
        refusals: Mutex::new(Refusals::default()),
        holdoffs: Mutex::new(HoldOffs::default()),
        proofs: Mutex::default(),
        events: Events::new(&identity),
        engine: Engine { search: config.search.into(), ..Engine::product() },
        owners,
    });
    let (stop, stopped) = oneshot::channel();
    let mut campaign = None;
    let operator = async {
        collector::start(&client, &world).await;
        health.set_ready();
        tracing::info!(identity, "all kinds are listed");
        campaign = config.leader_elect.then(|| stand(&client, &config, &identity, &leadership, stopped));
        operate(&driver, &config, &health, &leadership).await;
    };
    let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        () = operator => {}
        ended = probes => ended??,
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    rest(&flights).await;
    leadership.end();
    drop(stop);
    if let Some(campaign) = campaign {
        timeout(FAREWELL, campaign).await.ok();
    }
    tracing::info!("stopped");
    Ok(())
}

/// Stands for election until `stopped` comes.
fn stand(
    client: &Client,
    config: &Config,
    identity: &str,
    leadership: &Leadership,
    stopped: oneshot::Receiver<()>,
) -> JoinHandle<()> {
    let namespace = config.lease_namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
    let campaign = Campaign::new(client.clone(), &namespace, identity, config.lease(), leadership.clone());
    tokio::spawn(campaign.run(async {
        stopped.await.ok();
    }))
}

/// Negotiates in each term anew. In between nothing is written; what is known is kept up to date all the time.
async fn operate(driver: &Arc<Driver>, config: &Config, health: &Arc<Health>, leadership: &Leadership) {
    loop {
        let term = loop {
            health.beat();
            driver.cluster.metrics.set(&metrics::LEADER, &[], 0);
            // Whoever leads next looks at everything first.
            driver.world.look().take_changes();
            if let Ok(term) = timeout(BEAT, leadership.gained()).await {
                break term;
            }
        };
        leadership.at_least(newest_epoch(&driver.world.look()));
        let epoch = leadership.epoch().unwrap_or(0);
        driver.cluster.metrics.set(&metrics::LEADER, &[], 1);
        let negotiator = Negotiator::new(driver.clone(), config.clone(), health.clone(), epoch);
        tokio::select! {
            () = negotiator.run() => {}
            () = leadership.over(term) => {}
        }
    }
}

/// Waits for claims under way; what is left of them is found again by whoever starts next.
async fn rest(flights: &Flights) {
    let begun = Instant::now();
    while flights.len() > 0 && begun.elapsed() < GRACE {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
