//! An API server and an etcd that die, a server that is too busy, and watches that freeze, break off or are told that it is
//! too late.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use crds::JobPhase;
use stress::{ChaosStage, Fault, Flow, Replica, Scene, Weather};
use testbed::Component;
use tokio::task::block_in_place;

use crate::play::{play, scene};

/// What is promised after the server is back.
const BACK_MAX: Duration = Duration::from_secs(5);

/// Kills a component while gangs are being claimed; how long after its return something is written again.
async fn killed(stage: &ChaosStage, here: &Scene, component: Component, replica: &mut Replica) -> Result<Duration> {
    for number in 0..6 {
        here.create(&stress::job(&format!("{}-{number}", component.name()))).await?;
    }
    block_in_place(|| stage.plane.kill(component))?;
    block_in_place(|| stage.plane.restart(component))?;
    let back = Instant::now();
    let last = format!("{}-last", component.name());
    while here.create(&stress::job(&last)).await.is_err() {
        ensure!(back.elapsed() < Duration::from_secs(60), "no job can be created");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let first = loop {
        let log = replica.proxy.log();
        let done = |one: &&stress::Logged| one.at >= back && one.asked.ordinal > 0 && (200..300).contains(&one.status);
        if let Some(first) = log.iter().find(done) {
            break first.at.duration_since(back);
        }
        ensure!(back.elapsed() < Duration::from_secs(60), "nothing is written: {}", replica.log_tail());
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    for number in 0..6 {
        let name = format!("{}-{number}", component.name());
        here.wait(&name, JobPhase::Claimed, std::slice::from_mut(replica)).await?;
    }
    here.wait(&last, JobPhase::Claimed, std::slice::from_mut(replica)).await?;
    Ok(first)
}

#[test]
fn api_server_and_etcd_may_be_killed() {
    play(async |stage| {
        let mut replica = stage.replica(&[], 1).await?;
        let here = scene(stage, "killed").await;
        here.offers(14).await?;
        for component in [Component::Apiserver, Component::Etcd] {
            let took = killed(stage, &here, component, &mut replica).await?;
            println!("kill -9 of {}: written again {} ms after it was back", component.name(), took.as_millis());
            ensure!(took <= BACK_MAX, "{took:?}");
        }
        stage.rest().await?;
        Ok(())
    });
}

#[test]
fn a_server_that_is_too_busy_is_not_stormed() {
    const STORM: Duration = Duration::from_secs(4);
    play(async |stage| {
        let mut replica = stage.replica(&["--leader-elect=false"], 1).await?;
        let here = scene(stage, "busy").await;
        here.offers(4).await?;
        let storm = Weather { writes: 1000, faults: vec![Fault::Refused(429)], reads: 1000 };
        replica.proxy.plan().set_weather(Some(storm));
        for number in 0..4 {
            here.create(&stress::job(&format!("j{number}"))).await?;
        }
        let begun = Instant::now();
        tokio::time::sleep(STORM).await;
        let refused = replica.proxy.log().iter().filter(|one| one.status == 429).count();
        replica.proxy.plan().set_weather(None);
        let calm = Instant::now();
        for number in 0..4 {
            here.wait(&format!("j{number}"), JobPhase::Claimed, std::slice::from_mut(&mut replica)).await?;
        }
        let again = calm.elapsed();
        let rate = refused as f64 / begun.elapsed().as_secs_f64();
        println!(
            "429: {refused} requests refused in {STORM:?} for 4 gangs; all claimed {} ms after",
            again.as_millis()
        );
        ensure!(rate <= 40.0, "{rate} requests a second against a server that says 429");
        ensure!(again <= Duration::from_secs(10), "{again:?}");
        stage.rest().await?;
        Ok(())
    });
}

/// Things happen that the watches do not show; then they flow again, or are begun anew.
async fn unseen(stage: &ChaosStage, name: &str, meanwhile: Flow) -> Result<()> {
    let mut replica = stage.replica(&["--leader-elect=false"], 1).await?;
    let here = scene(stage, name).await;
    here.offers(2).await?;
    here.create(&stress::job("seen")).await?;
    here.wait("seen", JobPhase::Claimed, std::slice::from_mut(&mut replica)).await?;
    replica.proxy.set_flow(meanwhile);
    here.create(&stress::job("unseen")).await?;
    here.delete::<crds::Machine>("m1").await?;
    here.create(&stress::machine("m1")).await?;
    here.merge::<crds::Job>("seen", serde_json::json!({"done": true})).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    replica.proxy.set_flow(Flow::Open);
    let open = Instant::now();
    here.wait("unseen", JobPhase::Claimed, std::slice::from_mut(&mut replica)).await?;
    here.wait("seen", JobPhase::Succeeded, std::slice::from_mut(&mut replica)).await?;
    println!("{name}: all seen {} ms after the watches were back", open.elapsed().as_millis());
    stage.rest().await?;
    Ok(())
}

#[test]
fn watches_may_freeze() {
    play(async |stage| unseen(stage, "frozen", Flow::Frozen).await);
}

#[test]
fn watches_may_break_off() {
    play(async |stage| unseen(stage, "cut", Flow::Cut).await);
}

#[test]
fn watches_may_be_told_that_it_is_too_late() {
    play(async |stage| unseen(stage, "expired", Flow::Expired).await);
}
