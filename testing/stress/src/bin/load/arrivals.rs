//! Jobs into the cluster: all at once, at a steady rate, in bursts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use crds::Job;
use futures::{StreamExt, TryStreamExt};
use kube::api::PostParams;

use crate::Pattern;
use crate::ads;
use crate::stage::{LoadStage, WORKERS};

pub(crate) fn name(number: usize) -> String {
    format!("j{number}")
}

/// All of them, as fast as the server takes them.
pub(crate) async fn all(stage: &LoadStage, jobs: usize) -> Result<()> {
    futures::stream::iter((0..jobs).map(|number| ads::job(&name(number))))
        .try_for_each_concurrent(WORKERS, |job| async move {
            stage.api::<Job>().create(&PostParams::default(), &job).await?;
            Ok(())
        })
        .await
}

/// As a clock says, whether or not earlier ones have been claimed; when the server had each.
pub(crate) async fn paced(
    stage: &LoadStage,
    jobs: usize,
    pattern: Pattern,
    rate: usize,
) -> Result<BTreeMap<String, Instant>> {
    let (begun, rate) = (Instant::now(), rate.max(1));
    let due = move |number: usize| match pattern {
        Pattern::Bursts => Duration::from_secs(u64::try_from(number / rate).unwrap_or(0)),
        Pattern::AtOnce | Pattern::Steady => Duration::from_secs(1).mul_f64(precise(number) / precise(rate)),
    };
    let create = |number: usize| async move {
        tokio::time::sleep_until((begun + due(number)).into()).await;
        stage.api::<Job>().create(&PostParams::default(), &ads::job(&name(number))?).await?;
        Ok::<_, anyhow::Error>((name(number), Instant::now()))
    };
    futures::stream::iter(0..jobs).map(create).buffered(rate.max(WORKERS)).try_collect().await
}

/// A count as a real.
fn precise(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
