//! A workload and one of the paper's orders into figures: gangs, probes and the time of a cycle.

use std::error::Error;

use baselines::orders;
use gangindex::Indexed;
use matchmaker::Config;
use serde_json::{Value, json};

use crate::load::Workload;
use crate::measure::{median_ms, peak_rss_mb, scalar_pair_ns};

/// How often each measurement is repeated.
const ROUNDS: usize = 5;

/// The same line as the engine's, as far as the paper's algorithms have something to say.
pub(crate) fn figures(workload: &Workload, config: &Config, order: orders::Order) -> Result<Value, Box<dyn Error>> {
    let ingest_ms = median_ms(ROUNDS, || workload.snapshot().map(drop))?;
    let snapshot = workload.snapshot()?;
    let mut outcome = orders::Outcome::default();
    let cycle_ms = median_ms(ROUNDS, || {
        outcome = orders::negotiate(&snapshot, config, order, 0)?;
        Ok(())
    })?;
    Ok(json!({
        "workload": workload.name, "ads": workload.ads.len(), "bytes": workload.bytes(), "roots": snapshot.roots.len(),
        "prefer": "FirstFit", "order": order.to_string(), "matched": outcome.gangs.len(), "ingest_ms": ingest_ms,
        "cycle_ms": cycle_ms, "scalar_pair_ns": scalar_pair_ns(&snapshot, config)?, "probes": outcome.probes,
        "backtracks": outcome.backtracks, "peak_rss_mb": peak_rss_mb(),
    }))
}

/// What the plain search costs, which has no index and looks at one ad after the other for each root's first gang; once, since it may
/// take long.
pub(crate) fn naive(workload: &Workload, config: &Config) -> Result<Value, Box<dyn Error>> {
    let snapshot = workload.snapshot()?;
    let mut matched = 0;
    let cycle_ms = median_ms(1, || {
        matched = orders::naive(&snapshot, config, 0).len();
        Ok(())
    })?;
    Ok(json!({ "workload": workload.name, "ads": workload.ads.len(), "matched": matched, "cycle_ms": cycle_ms }))
}

/// What each of the orders asks, and what the engine asks for the first fit; no times.
pub(crate) fn counts(workload: &Workload, config: &Config) -> Result<Value, Box<dyn Error>> {
    use orders::Order;
    let snapshot = workload.snapshot()?;
    let (mut probes, mut matched) = (serde_json::Map::new(), serde_json::Map::new());
    for (name, order) in [("ltr", Order::LeftToRight), ("rtl", Order::RightToLeft), ("dynamic", Order::Dynamic)] {
        let outcome = orders::negotiate(&snapshot, config, order, 0)?;
        probes.insert(name.to_owned(), outcome.probes.into());
        matched.insert(name.to_owned(), outcome.gangs.len().into());
    }
    let mut engine = Indexed::new();
    let cycle = engine.gangs(&snapshot, config, 0);
    matched.insert("engine".to_owned(), cycle.gangs.len().into());
    Ok(json!({
        "workload": workload.name, "probes": probes, "matched": matched, "questions": engine.stats.questions,
        "classes": engine.stats.classes,
    }))
}
