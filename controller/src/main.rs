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
    spare_pages();
    finish(runtime()?, controller::run(config))
}

/// All that waits for the network is on one thread: there is little to do at a time, and to wake another one for it takes longer
/// than to do it. Cycles, which take long, have threads of their own.
fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Takes memory in small pages: of large ones 2 MiB are cleared for the first byte that is used.
fn spare_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "memory comes in large pages");
    }
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
        let runtime = super::runtime().unwrap();
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
