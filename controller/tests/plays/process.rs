//! A controller as if it were a process: threads, timers and clock of its own, which end, or stand still, all at once.

use std::pin::Pin;
use std::time::Duration;

use clap::Parser;
use controller::{Clock, Config, Operator};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::time::{Instant, advance, sleep_until};

use crate::wire::Wire;

/// When every play begins.
pub(crate) fn beginning() -> Timestamp {
    Timestamp::from_second(1_795_000_000).unwrap()
}

/// A controller.
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) wire: Wire,
    /// Does not run: its timers stand still.
    pub(crate) frozen: bool,
    runtime: Option<Runtime>,
    /// What it does; `None` once it has stopped.
    operation: Option<Pin<Box<dyn Future<Output = ()>>>>,
    born: Instant,
    born_ms: i64,
    stop: Option<oneshot::Sender<()>>,
}

impl Process {
    /// Starts one at this time of the play.
    pub(crate) fn start(name: &str, wire: Wire, now_ms: i64, flags: &[&str]) -> Process {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let config = Config::try_parse_from(["gangmatch-controller"].iter().chain(flags)).unwrap();
        let (born, operation) = runtime.block_on(async {
            let client = Client::new(wire.clone(), "gangmatch-system");
            let clock = Clock::counted_from(beginning() + SignedDuration::from_millis(now_ms));
            let operator = Operator::new(client, name, clock, config);
            let stopped = async {
                stopped.await.ok();
            };
            (Instant::now(), operator.operate(stopped))
        });
        Process {
            name: name.to_owned(),
            wire,
            frozen: false,
            runtime: Some(runtime),
            operation: Some(Box::pin(operation)),
            born,
            born_ms: now_ms,
            stop: Some(stop),
        }
    }

    /// Runs until this time of the play. What waits for time passes it at once.
    pub(crate) fn run_until(&mut self, now_ms: i64) {
        let until = self.at(now_ms);
        let (Some(runtime), Some(operation), false) = (&self.runtime, &mut self.operation, self.frozen) else { return };
        let stopped = runtime.block_on(async {
            tokio::select! {
                biased;
                () = operation => true,
                () = sleep_until(until) => false,
            }
        });
        if stopped {
            self.operation = None;
        }
    }

    /// Goes on after it stood still: for it, all that time passes in one moment.
    pub(crate) fn thaw(&mut self, now_ms: i64) {
        let until = self.at(now_ms);
        if let Some(runtime) = &self.runtime {
            runtime.block_on(async { advance(until.saturating_duration_since(Instant::now())).await });
        }
        self.frozen = false;
    }

    /// Is told to stop, as by SIGTERM.
    pub(crate) fn stop(&mut self) {
        self.stop.take();
    }

    fn at(&self, now_ms: i64) -> Instant {
        self.born + Duration::from_millis(u64::try_from(now_ms - self.born_ms).unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
