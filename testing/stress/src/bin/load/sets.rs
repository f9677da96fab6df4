//! How long a gang of many machines and one license takes from apply to commit, one after the other.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use crds::{Job, License};
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::time::timeout;

use crate::commits::Commits;
use crate::report::quantile;
use crate::stage::LoadStage;
use crate::{ads, line, process, raw};

/// Machines beyond those that a gang needs.
const SPARE: usize = 8;
/// How many seats a gang takes for each machine.
const SEATS: usize = 16;
/// How long one commit may take.
const LIMIT: Duration = Duration::from_secs(60);
/// What is wanted of the 99th percentile.
const WANTED_MS: u128 = 2000;

/// Measures so many gangs of this size.
pub(crate) async fn run(samples: usize, size: usize, flags: &[String]) -> Result<()> {
    let stage = LoadStage::start().await?;
    let params = PostParams::default();
    stage.offers(1, size + SPARE, 0).await?;
    stage.api::<License>().create(&params, &ads::license(0, SEATS * size)?).await?;
    let controller = stage.controller(flags).await?;
    stage.settle().await?;
    let before = raw::rate(&stage).await?;
    stage.settle().await?;
    let mut commits = Commits::follow(&stage);
    let (mut latencies, ticks) = (Vec::with_capacity(samples), process::milliseconds(&controller)?);
    for number in 0..samples {
        let job = ads::job_of_a_set(&format!("s{number}"), size, SEATS)?;
        let begun = Instant::now();
        let name = kube::ResourceExt::name_any(&stage.api::<Job>().create(&params, &job).await?);
        let committed = timeout(LIMIT, commits.next()).await.context("the gang is not committed")?;
        latencies.push(begun.elapsed());
        ensure!(committed.as_ref() == Some(&name), "{committed:?} was committed, and not {name}");
        let done = Patch::Merge(json!({"spec": {"done": true}}));
        stage.api::<Job>().patch(&name, &PatchParams::default(), &done).await?;
        is_free(&stage).await?;
    }
    let spent = process::milliseconds(&controller)?.saturating_sub(ticks) / u64::try_from(samples.max(1))?;
    process::end(controller)?;
    let [half, most, longest] = [0.5, 0.99, 1.0].map(|part| quantile(&latencies, part).as_millis());
    line(&format!("{samples} gangs of {size} machines and a license of {} seats, one after the other", SEATS * size));
    line(&format!("the API server alone: {before:.0} guarded status patches a second"));
    line(&format!(
        "from apply to commit: p50 {half} ms, p99 {most} ms, longest {longest} ms (wanted: p99 {WANTED_MS} ms or less)"
    ));
    line(&format!("the controller's processor time: {spent} ms a gang, release included"));
    ensure!(most <= WANTED_MS, "that is too long");
    Ok(())
}

/// Waits until everything of the last gang is given back.
async fn is_free(stage: &LoadStage) -> Result<()> {
    let begun = Instant::now();
    loop {
        let machines = stage.api::<crds::Machine>().list(&kube::api::ListParams::default()).await?;
        let license = stage.api::<License>().get("l0").await?;
        let held =
            machines.iter().filter_map(|machine| machine.status.as_ref()).any(|status| !status.claims.is_empty());
        if !held && license.status.is_none_or(|status| status.claims.is_empty()) {
            return Ok(());
        }
        ensure!(begun.elapsed() < LIMIT, "the gang is not given back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
