//! What an ad takes of memory, counted at the allocator: the ads themselves, and what the engine keeps between cycles.
//!
//! `cargo run -q --release --example footprint -- FILE [--prefer best|first-fit]`; FILE is one for the example
//! `bench`, which keeps no count: counting costs time.

#[path = "../bench_gangs/load.rs"]
#[expect(dead_code, reason = "nothing is replaced here")]
mod load;

use std::error::Error;
use std::io::Write;

use gangindex::Indexed;
use matchmaker::Config;
use peak_alloc::PeakAlloc;
use serde_json::json;

use load::{Prefer, Workload};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which FILE? One for the example `bench`")?;
    let prefer = arguments.nth(1).map_or(Ok(Prefer::Best), |prefer| prefer.parse())?;
    let workload = Workload::read(&file, prefer)?;
    let config = Config::product();
    let before = MEMORY.current_usage();
    let snapshot = workload.snapshot()?;
    let with_ads = MEMORY.current_usage();
    let mut index = Indexed::new();
    drop(index.gangs(&snapshot, &config, 0));
    let with_engine = MEMORY.current_usage();
    let an_ad = |bytes: usize| (bytes as f64 / workload.ads.len().max(1) as f64).round();
    let line = json!({ "ad_bytes": an_ad(with_ads - before), "engine_bytes": an_ad(with_engine - with_ads) });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
