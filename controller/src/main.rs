//! The operator: turns watch events into ads, gangs into claims, and claims into API writes, until it is told to stop.

mod adopter;
mod alarm;
mod api;
mod app;
mod backoff;
#[cfg(test)]
mod churn;
mod claims;
mod collector;
mod config;
mod events;
#[cfg(test)]
mod fixtures;
mod flights;
mod holdoffs;
mod leader;
mod metrics;
mod negotiator;
mod nodes;
mod patch;
mod probes;
mod proofs;
mod pulses;
mod refusals;
mod status;
mod statuses;
mod telemetry;
mod work_api;
mod workloads;
mod world;

use clap::Parser;
use tokio::runtime::Runtime;

/// Objects come and go by the thousands, each of hundreds of small pieces. The system's own allocator takes a fifth of the processor's
/// time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let config = config::Config::parse();
    telemetry::start(&config);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    finish(runtime, app::run(config))
}

/// Runs it to its end, and waits for nothing else: a cycle that is still searching is abandoned with its threads.
fn finish<T>(runtime: Runtime, run: impl Future<Output = T>) -> T {
    let result = runtime.block_on(run);
    runtime.shutdown_background();
    result
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[test]
    fn a_cycle_that_is_still_searching_does_not_keep_the_process() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (begun, (hold, held)) = (Instant::now(), mpsc::channel::<()>());
        super::finish(runtime, async {
            let (searches, searching) = mpsc::channel();
            tokio::task::spawn_blocking(move || {
                searches.send(()).unwrap();
                held.recv_timeout(Duration::from_secs(60)).ok();
            });
            searching.recv().unwrap();
        });
        assert!(begun.elapsed() < Duration::from_secs(30));
        drop(hold);
    }
}
