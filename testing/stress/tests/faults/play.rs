//! One control plane for all plays, one play at a time.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use crds::{Job, JobPhase};
use serde_json::json;
use stress::{ChaosStage, Ends, Replica, Scene};
use testbed::Options;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap());
static STAGE: OnceCell<Mutex<ChaosStage>> = OnceCell::const_new();

async fn stage() -> MutexGuard<'static, ChaosStage> {
    let start = || async { Mutex::new(ChaosStage::start(Options { kwok: true, ..Options::default() }).await.unwrap()) };
    STAGE.get_or_init(start).await.lock().await
}

/// Plays on the stage; at the end everything has come to rest and nothing was broken.
pub(crate) fn play(act: impl AsyncFnOnce(&ChaosStage) -> Result<()>) {
    RUNTIME.block_on(async {
        let stage = stage().await;
        act(&stage).await.unwrap();
        stage.follower.catch_up().await.unwrap();
        stage.verdict().unwrap();
    });
}

/// A namespace that no other play has.
pub(crate) async fn scene(stage: &ChaosStage, name: &str) -> Scene {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Scene::new(stage, &format!("{name}-{number}")).await.unwrap()
}

/// The whole life of one gang: applied, claimed, done, given back.
pub(crate) async fn life(scene: &Scene, replicas: &mut [Replica]) -> Result<()> {
    scene.offers(1).await?;
    scene.create(&stress::job("j")).await?;
    scene.wait("j", JobPhase::Claimed, replicas).await?;
    scene.merge::<Job>("j", json!({"done": true})).await?;
    scene.wait("j", JobPhase::Succeeded, replicas).await
}

/// The whole life of a gang with a set of machines: applied, claimed, done, given back.
pub(crate) async fn life_of_a_set(scene: &Scene, count: usize, replicas: &mut [Replica]) -> Result<()> {
    for number in 0..count {
        scene.create(&stress::machine(&format!("m{number}"))).await?;
    }
    scene.create(&stress::license("l", count as u64)).await?;
    scene.create(&stress::job_of_a_set("j", count)).await?;
    scene.wait("j", JobPhase::Claimed, replicas).await?;
    scene.merge::<Job>("j", json!({"done": true})).await?;
    scene.wait("j", JobPhase::Succeeded, replicas).await
}

/// The whole life of a gang with pods: applied, claimed, at work; ended by itself, or stopped by its user; given back.
pub(crate) async fn working_life(scene: &Scene, ends: Ends, replicas: &mut [Replica]) -> Result<()> {
    scene.nodes(1).await?;
    scene.create(&stress::working_job("j", ends)).await?;
    if ends == Ends::Never {
        scene.wait("j", JobPhase::Running, replicas).await?;
        scene.merge::<Job>("j", json!({"done": true})).await?;
        return scene.wait("j", JobPhase::Cancelled, replicas).await;
    }
    scene.wait("j", JobPhase::Succeeded, replicas).await
}
