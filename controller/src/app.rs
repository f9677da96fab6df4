//! The wiring, in the order in which things happen: connect, serve probes, list and watch, negotiate, stop.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use matchmaker::Config as Engine;
use tokio::signal::unix::{SignalKind, signal};

use crate::api::Cluster;
use crate::claims::Driver;
use crate::collector;
use crate::config::Config;
use crate::events::Events;
use crate::flights::Flights;
use crate::negotiator::Negotiator;
use crate::probes::{self, Health};
use crate::refusals::Refusals;
use crate::world::World;

/// How long claims under way are given to come to rest when the process is told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Runs the operator until a signal ends it.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    let cluster = Cluster::connect(config.kubeconfig.as_deref()).await?;
    let client = cluster.client.clone();
    let owners = config.owner_trust.into();
    let world = Arc::new(World::new(owners));
    let flights = Arc::<Flights>::default();
    let health = Health::new();
    let probes = tokio::spawn(probes::serve(health.clone(), config.listen));
    let driver = Arc::new(Driver {
        cluster,
        world: world.clone(),
        flights: flights.clone(),
        refusals: Mutex::new(Refusals::default()),
        events: Events::new(client.clone()),
        engine: Engine::product(),
        owners,
        started: Instant::now(),
    });
    let operator = async {
        collector::start(&client, &world).await;
        health.set_ready();
        tracing::info!("all kinds are listed; negotiating");
        Negotiator::new(driver, config, health.clone()).run().await;
    };
    let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        () = operator => {}
        ended = probes => ended??,
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    rest(&flights).await;
    tracing::info!("stopped");
    Ok(())
}

/// Waits for claims under way; what is left of them is found again by whoever starts next.
async fn rest(flights: &Flights) {
    let begun = Instant::now();
    while flights.len() > 0 && begun.elapsed() < GRACE {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
