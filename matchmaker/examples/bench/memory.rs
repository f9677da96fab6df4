//! What an ad takes of memory, counted at the allocator: the ads themselves, and what the engine keeps between cycles.

use std::error::Error;

use matchmaker::{Config, Engine};
use peak_alloc::PeakAlloc;

use crate::load::Workload;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes an ad.
pub(crate) struct Bytes {
    /// The ads as trees, with their ports taken apart and the owners' terms.
    pub(crate) ads: f64,
    /// What the engine knows after a first cycle.
    pub(crate) engine: f64,
}

/// What the ads of a workload take, and an engine that has seen them.
pub(crate) fn bytes(workload: &Workload, config: &Config) -> Result<Bytes, Box<dyn Error>> {
    let count = workload.ads.len().max(1) as f64;
    let before = MEMORY.current_usage();
    let snapshot = workload.snapshot()?;
    let with_ads = MEMORY.current_usage();
    let mut engine = Engine::new();
    drop(engine.gangs(&snapshot, config, 0));
    let with_engine = MEMORY.current_usage();
    let an_ad = |bytes: usize| (bytes as f64 / count).round();
    Ok(Bytes { ads: an_ad(with_ads - before), engine: an_ad(with_engine - with_ads) })
}
