//! A workload and one of the paper's orders into figures: gangs, probes and the time of a cycle.

use std::error::Error;

use matchmaker::{Config, paper};
use serde_json::{Value, json};

use crate::ROUNDS;
use crate::load::Workload;
use crate::measure::{median_ms, peak_rss_mb, scalar_pair_ns};

/// The same line as the engine's, as far as the paper's algorithms have something to say.
pub(crate) fn figures(workload: &Workload, config: &Config, order: paper::Order) -> Result<Value, Box<dyn Error>> {
    let ingest_ms = median_ms(ROUNDS, || workload.snapshot().map(drop))?;
    let snapshot = workload.snapshot()?;
    let mut outcome = paper::Outcome::default();
    let cycle_ms = median_ms(ROUNDS, || {
        outcome = paper::negotiate(&snapshot, config, order, 0)?;
        Ok(())
    })?;
    Ok(json!({
        "workload": workload.name, "ads": workload.ads.len(), "bytes": workload.bytes(), "roots": snapshot.roots.len(),
        "prefer": "FirstFit", "order": order.to_string(), "matched": outcome.gangs.len(), "ingest_ms": ingest_ms,
        "cycle_ms": cycle_ms, "scalar_pair_ns": scalar_pair_ns(&snapshot, config)?, "probes": outcome.probes,
        "backtracks": outcome.backtracks, "peak_rss_mb": peak_rss_mb(),
    }))
}
