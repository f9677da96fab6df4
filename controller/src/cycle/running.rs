//! A cycle that runs beside the loop, and the watchdog that ends it when it takes too long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gangindex::Engine;
use matchmaker::{Cycle, Snapshot, Stop};
use pool::Provenance;
use tokio::task::{AbortHandle, JoinHandle};

use crate::cycle::placing::Placed;
use crate::nominations::NominationsFound;
use crate::status::Finding;

/// What a cycle came to.
pub(super) struct Done {
    pub(super) pool: Snapshot,
    pub(super) cycle: Cycle,
    /// If its jobs were placed together.
    pub(super) placed: Option<Placed>,
    pub(super) findings: BTreeMap<String, Arc<Finding>>,
    pub(super) provenance: Provenance,
    pub(super) engine: Engine,
    /// No offer was closed only because it is not verified yet.
    pub(super) sees_all: bool,
    /// The uids of jobs that were to be found a gang only to keep others from it.
    pub(super) returning: BTreeSet<String>,
    pub(super) nominations: NominationsFound,
    pub(super) preemption_engine: Engine,
    pub(super) took: Duration,
    /// The part of it for accounts and nominations, and what was done for them before it began.
    pub(super) policy_took: Duration,
}

/// A cycle that runs beside the loop.
pub(super) struct Running {
    cycle: JoinHandle<Done>,
    stop: Stop,
    /// Ends it when it takes too long.
    watchdog: AbortHandle,
}

impl Running {
    pub(super) fn begin(cycle: JoinHandle<Done>, stop: Stop, limit: Duration) -> Running {
        let late = stop.clone();
        let watchdog = tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            late.set();
        });
        Running { cycle, stop, watchdog: watchdog.abort_handle() }
    }
}

impl Drop for Running {
    /// Nothing waits for it any more: this term is over, or it has ended.
    fn drop(&mut self) {
        self.stop.set();
        self.watchdog.abort();
    }
}

/// The end of the running cycle; never, if none is running.
pub(super) async fn finished(running: &mut Option<Running>) -> Option<Done> {
    match running {
        Some(Running { cycle, .. }) => {
            let done = cycle.await.ok();
            *running = None;
            done
        }
        None => std::future::pending().await,
    }
}
