//! Two API servers on one etcd, one of which lags behind: a controller that reads from this one, and writes to the other.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use crds::{Job, JobPhase, Machine};
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::json;
use stress::{ChaosStage, Gate, Scene};
use testbed::control_plane::processes::Signal;
use tokio::task::block_in_place;

use crate::play::{play, scene};

const JOBS: usize = 3;
/// How long anything may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until an API server shows so many jobs from its own cache.
async fn shows(server: &Client, here: &Scene, jobs: usize) -> Result<()> {
    let api: Api<Job> = Api::namespaced(server.clone(), &here.name);
    let begun = Instant::now();
    while api.list(&ListParams::default().match_any()).await?.items.len() < jobs {
        ensure!(begun.elapsed() < LIMIT, "the other API server does not show the jobs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// One whole life, so that whoever looks on knows the offers.
async fn rehearse(here: &Scene) -> Result<()> {
    here.offers(JOBS).await?;
    here.create(&stress::job("first")).await?;
    here.wait("first", JobPhase::Claimed, &mut []).await?;
    here.merge::<Job>("first", json!({"done": true})).await?;
    here.wait("first", JobPhase::Succeeded, &mut []).await
}

/// While the one that lags sees nothing, gangs are claimed and given back, and a member is made again under its name.
async fn go_on(here: &Scene) -> Result<()> {
    for number in 0..JOBS {
        here.wait(&format!("j{number}"), JobPhase::Claimed, &mut []).await?;
    }
    here.merge::<Job>("j0", json!({"done": true})).await?;
    here.wait("j0", JobPhase::Succeeded, &mut []).await?;
    let begun = Instant::now();
    while here.matches().await?.len() > JOBS {
        // Nothing is left of the first one: its name could be taken again.
        ensure!(begun.elapsed() < LIMIT, "the Match of j0 is kept");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    here.create(&stress::job("next")).await?;
    here.wait("next", JobPhase::Claimed, &mut []).await?;
    here.delete::<Machine>("m0").await?;
    here.create(&stress::machine("m0")).await.map(drop)
}

async fn lags(stage: &ChaosStage, gate: &Gate, behind: &str) -> Result<()> {
    let alone: &[&str] = &["--leader-elect=false"];
    let stale = stage.replica_reading(behind, alone, 1).await?;
    let fresh = stage.replica(alone, 2).await?;
    let here = scene(stage, "behind").await;
    rehearse(&here).await?;
    stage.rest().await?;
    stale.signal(Signal::Stop)?;
    fresh.signal(Signal::Stop)?;
    for number in 0..JOBS {
        here.create(&stress::job(&format!("j{number}"))).await?;
        here.merge::<Job>(&format!("j{number}"), json!({"matchHistoryLimit": 0})).await?;
    }
    shows(&stage.client_of(behind).await?, &here, JOBS + 1).await?;
    gate.shut(true);
    fresh.signal(Signal::Continue)?;
    go_on(&here).await?;
    let before = stale.proxy.plan().writes(&here.name);
    stale.signal(Signal::Continue)?;
    let begun = Instant::now();
    let tried = loop {
        let tried = stale.proxy.plan().writes(&here.name).saturating_sub(before);
        if tried > 0 && begun.elapsed() > Duration::from_secs(2) {
            break tried;
        }
        ensure!(begun.elapsed() < LIMIT, "it has tried nothing: {}", stale.log_tail());
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    gate.shut(false);
    let rest = stage.rest().await?;
    println!("behind: {tried} writes by who saw the world of long ago, at rest {} ms after", rest.as_millis());
    Ok(())
}

#[test]
fn a_controller_may_read_from_a_server_that_lags_behind() {
    play(async |stage| {
        let gate = Gate::start(&stage.plane.etcd()?).await?;
        let behind = block_in_place(|| stage.plane.another_apiserver(gate.url()))?;
        let played = lags(stage, &gate, &behind).await;
        gate.shut(false);
        block_in_place(|| stage.plane.processes().end("kube-apiserver-another", Signal::Kill))?;
        played
    });
}
