//! What an ad takes of memory: the pool, the engine's columns and what is kept between cycles.

use std::error::Error;

use matchmaker::{Config, Engine};

use crate::load::Workload;

/// Bytes an ad after a first cycle; to be asked before anything else was allocated and given back.
pub(crate) fn ad_bytes(workload: &Workload, config: &Config) -> Result<f64, Box<dyn Error>> {
    let before = resident();
    let snapshot = workload.snapshot()?;
    let mut engine = Engine::new();
    let cycle = engine.gangs(&snapshot, config, 0);
    let bytes = resident() - before;
    drop((engine, cycle, snapshot));
    Ok((bytes / workload.ads.len().max(1) as f64).round())
}

fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib * 1024.0)
}
