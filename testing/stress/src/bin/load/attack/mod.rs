//! Attacks of one tenant into what the others notice: latency from apply to Claimed without and with each, and what the controller uses.

mod ground;
mod rows;
mod samples;
mod table;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::attack::ground::AttackStage;
pub(crate) use crate::attack::rows::Row;
use crate::attack::table::{Compared, Used};
use crate::line;

/// How long an attack may take until it is in place; what is not there by then stays away.
const PLACED_MAX: Duration = Duration::from_secs(300);
/// How many latencies are not counted: until each machine has ended a claim, a controller has less to do than later.
const UNCOUNTED: usize = 100;

/// What is asked for.
pub(crate) struct AttackOptions {
    /// Which attacks; all if there are none.
    pub(crate) only: Vec<Row>,
    /// How many latencies are measured without each attack, and with it.
    pub(crate) samples: usize,
    /// How many objects an attack is made of, in percent of the full number.
    pub(crate) scale: usize,
}

/// Carries out one attack after the other on one control plane, each against a new controller.
pub(crate) async fn run(wish: &AttackOptions, flags: &[String]) -> Result<()> {
    let ground = AttackStage::start().await?;
    let rows = if wish.only.is_empty() { Row::all() } else { wish.only.clone() };
    let mut all = Vec::new();
    for row in rows {
        let measured = one(&ground, row, wish, flags).await?;
        line(&measured.sentence());
        all.push(measured);
        ground.clear().await?;
    }
    line("");
    table::lines(&all).iter().for_each(|text| line(text));
    let failed: Vec<&str> = all.iter().filter(|one| !one.faults().is_empty()).map(|one| one.row).collect();
    ensure!(failed.is_empty(), "not within the limits: {}", failed.join(", "));
    Ok(())
}

async fn one(ground: &AttackStage, row: Row, wish: &AttackOptions, flags: &[String]) -> Result<Compared> {
    let defence = ground.defence(flags).await?;
    ground.samples(row.sampled(), UNCOUNTED).await?;
    let without = ground.samples(row.sampled(), wish.samples).await?;
    let meter = defence.meter()?;
    let begun = Instant::now();
    let placed = tokio::time::timeout(PLACED_MAX, rows::place(ground, row, wish.scale)).await;
    let note = placed.unwrap_or_else(|_| Ok(format!("not all in place after {PLACED_MAX:?}")))?;
    let with = ground.samples(row.sampled(), wish.samples).await?;
    let after = rows::outcome(ground, row).await?;
    let Used { cores, bytes } = meter.read(begun.elapsed())?;
    defence.end().await?;
    let note = [note, after].iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("; ");
    Ok(Compared { row: row.name(), what: row.what(), without, with, used: Used { cores, bytes }, note })
}
