//! How fast a queue drains, by its length. It must not matter: who waits costs nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crds::Job;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::timeout;

use crate::audit::Audited;
use crate::commits::Commits;
use crate::report::kinds;
use crate::stage::{LoadStage, NAMESPACE};
use crate::{arrivals, audit, line, process, raw};

/// Room for so many gangs at once.
const ROOM: usize = 100;
/// So many commits are let pass, and so many are measured.
const WARM_UP: usize = 150;
const MEASURED: usize = 400;
/// How long one commit may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Drains a queue of each length, on a control plane of its own, and compares. A length that comes several times counts with the
/// mean of its rates: machines are fast and slow by turns.
pub(crate) async fn run(depths: &[usize], flags: &[String]) -> Result<()> {
    let (mut rates, mut shares) = (BTreeMap::new(), BTreeMap::new());
    for depth in depths {
        let Drained { alone, rate, cpu, audited } = one(*depth, flags).await?;
        line(&format!(
            "{depth} jobs waiting: {rate:.1} gangs a second, {cpu:.2} ms of the controller's processor time each"
        ));
        line(&format!("{depth} jobs waiting: written meanwhile: {}", kinds(&audited)));
        line(&format!("{depth} jobs waiting: the API server alone takes {alone:.0} guarded status patches a second"));
        rates.entry(*depth).or_insert_with(Vec::new).push(rate);
        shares.entry(*depth).or_insert_with(Vec::new).push(rate / alone);
    }
    if let (Some(rates), Some(shares)) = (apart(&rates), apart(&shares)) {
        line(&format!("the fastest is {rates:.2} times the slowest (wanted: 1.3 or less)"));
        line(&format!("beside what the API server takes with as many jobs in it: {shares:.2} times"));
    }
    Ok(())
}

/// How many times the least the most is, of the mean of each length.
fn apart(all: &BTreeMap<usize, Vec<f64>>) -> Option<f64> {
    let mean = |some: &Vec<f64>| some.iter().sum::<f64>() / some.len() as f64;
    let means: Vec<f64> = all.values().map(mean).collect();
    Some(means.iter().copied().reduce(f64::max)? / means.iter().copied().reduce(f64::min)?)
}

/// What came of one queue.
struct Drained {
    /// What the API server takes with so many jobs in it and nobody else at work, in patches a second: before and after, because
    /// machines are fast and slow by turns.
    alone: f64,
    /// Gangs a second.
    rate: f64,
    /// Of the controller's processor time for each, in milliseconds.
    cpu: f64,
    /// What the controller wrote meanwhile.
    audited: Audited,
}

async fn one(depth: usize, flags: &[String]) -> Result<Drained> {
    let stage = LoadStage::start().await?;
    stage.offers(ROOM, ROOM / 10, ROOM / 20).await?;
    let controller = stage.controller(flags).await?;
    stage.settle().await?;
    process::stand_still(&controller)?;
    arrivals::all(&stage, depth).await?;
    let before = raw::rate(&stage).await?;
    let mut commits = Commits::follow(&stage);
    process::go_on(&controller)?;
    let (mut begun, mut ticks, mut logged) = (Instant::now(), 0, 0);
    for number in 0..WARM_UP + MEASURED {
        if number == WARM_UP {
            (begun, ticks, logged) = (Instant::now(), process::milliseconds(&controller)?, audit::length(&stage)?);
        }
        let job = timeout(LIMIT, commits.next()).await.context("nothing is committed any more")?;
        let job = job.context("the watch has ended")?;
        // Its work is over at once: there is room for the next.
        let api = stage.api::<Job>();
        tokio::spawn(async move {
            let patch = Patch::Merge(json!({"spec": {"done": true}}));
            api.patch(&job, &PatchParams::default(), &patch).await.map(drop)
        });
    }
    let measured = f64::from(u32::try_from(MEASURED)?);
    let cpu = f64::from(u32::try_from(process::milliseconds(&controller)?.saturating_sub(ticks))?);
    let rate = measured / begun.elapsed().as_secs_f64();
    let audited = audit::since(&stage, NAMESPACE, logged)?;
    process::end(controller)?;
    let after = raw::rate(&stage).await?;
    tokio::task::spawn_blocking(move || stage.take_down()).await??;
    Ok(Drained { alone: f64::midpoint(before, after), rate, cpu: cpu / measured, audited })
}
