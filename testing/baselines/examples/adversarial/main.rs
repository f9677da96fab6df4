//! Pools that are hard on an engine of indexes into one JSON line each: what it costs, beside a scalar scan of the same pool.
//!
//! `cargo run -q --release --example adversarial [-- SHARE]`; SHARE makes all pools smaller, for example 0.1.

#[path = "../bench_gangs/measure.rs"]
mod measure;
mod pool;
mod sets;

use std::error::Error;
use std::io::Write;

use gangindex::Indexed;
use matchmaker::Config;
use serde_json::{Value, json};

use measure::{median_ms, peak_rss_mb, scalar_pair_ns};
use sets::{SETS, Set};

fn main() -> Result<(), Box<dyn Error>> {
    let share: f64 = std::env::args().nth(1).map_or(Ok(1.0), |share| share.parse())?;
    for set in &SETS {
        let line = figures(set, share)?;
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}

fn figures(set: &Set, share: f64) -> Result<Value, Box<dyn Error>> {
    // What was the most so far is forgotten, where the system can do that.
    std::fs::write("/proc/self/clear_refs", "5").ok();
    let size = ((set.size as f64 * share) as usize).max(4);
    let pools = (set.make)(size);
    if let Some(fault) = pools.iter().flat_map(|(pool, _)| &pool.faults).next() {
        return Err(format!("{}: {fault}", set.name).into());
    }
    let config = Config::product();
    let mut engine = Indexed::new();
    let (mut cycles, mut cut_short, mut roots, mut offers, mut pair_ns) = (Vec::new(), 0, 0, 0, f64::NAN);
    for (pool, now) in &pools {
        let snapshot = pool.snapshot();
        roots = snapshot.roots.len();
        offers = snapshot.len() - roots;
        pair_ns = scalar_pair_ns(&snapshot, &config)?;
        let mut cycle = None;
        let ms = median_ms(1, || {
            cycle = Some(engine.gangs(&snapshot, &config, *now));
            Ok(())
        })?;
        let cycle = cycle.ok_or("no cycle")?;
        cut_short += cycle.cut_short.len();
        cycles.push(json!({"ms": ms, "matched": cycle.gangs.len(), "disagreements": cycle.disagreements.len()}));
    }
    let last = cycles.last().and_then(|cycle| cycle.get("ms")).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let scan_ms = pair_ns * roots as f64 * offers as f64 / 1e6;
    let stats = engine.stats;
    let way = if stats.guided > 0 { "guided" } else { "star" };
    Ok(json!({
        "set": set.name, "roots": roots, "offers": offers, "cycles": cycles, "scan_ms": scan_ms.round(),
        "of_a_scan": (last / scan_ms * 1e4).round() / 1e4, "way": way, "classes": stats.classes, "guided": stats.guided,
        "questions": stats.questions, "steps": stats.steps, "cut_short": cut_short, "peak_rss_mb": peak_rss_mb(),
    }))
}
