//! The operator as a program: its flags, its log, its threads.

use clap::Parser;
use controller::Config;
use tokio::runtime::Runtime;

/// Objects come and go by the thousands, each of hundreds of small pieces. The system's own allocator takes a fifth of the processor's
/// time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let config = Config::parse();
    controller::start_log(&config);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    finish(runtime, controller::run(config))
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
