//! The state of the operator into answers to /livez, /readyz and /metrics.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::time::Instant;

use crate::metrics::Metrics;
use crate::rights::Rights;

/// How Prometheus names its text.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the probes report.
pub(crate) struct Health {
    ready: AtomicBool,
    /// What the API server lets this process do.
    pub(crate) rights: Arc<Rights>,
    started: Instant,
    beat_ms: AtomicU64,
    /// When the cycle that is running began; [`IDLE`], if none is.
    cycle_ms: AtomicU64,
}

/// A loop that has not come round for this long is stuck.
const STUCK: Duration = Duration::from_secs(120);
/// So is a cycle that runs for this long: it was to end long ago.
const CYCLE_STUCK: Duration = Duration::from_secs(180);
/// No cycle is running.
const IDLE: u64 = u64::MAX;

impl Health {
    pub(crate) fn new() -> Arc<Health> {
        Arc::new(Health {
            ready: AtomicBool::new(false),
            rights: Arc::default(),
            started: Instant::now(),
            beat_ms: AtomicU64::new(0),
            cycle_ms: AtomicU64::new(IDLE),
        })
    }

    /// All kinds have been listed once.
    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Whether it can do its work, or take over; else why not.
    fn readiness(&self) -> Result<(), String> {
        if !self.ready.load(Ordering::Relaxed) {
            return Err("not all kinds are listed yet".to_owned());
        }
        self.rights.why_not().map_or(Ok(()), Err)
    }

    /// The main loop has come round.
    pub(crate) fn beat(&self) {
        self.beat_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// A cycle begins.
    pub(crate) fn cycle_begins(&self) {
        self.cycle_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// No cycle is running any more.
    pub(crate) fn cycle_ends(&self) {
        self.cycle_ms.store(IDLE, Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What is stuck, if anything is.
    fn trouble(&self) -> Option<&'static str> {
        let for_ms = |since: &AtomicU64| u128::from(self.now_ms().saturating_sub(since.load(Ordering::Relaxed)));
        if for_ms(&self.beat_ms) >= STUCK.as_millis() {
            return Some("the main loop is stuck");
        }
        (for_ms(&self.cycle_ms) >= CYCLE_STUCK.as_millis()).then_some("a negotiation cycle is stuck")
    }
}

fn answer(good: Result<(), String>) -> (StatusCode, String) {
    match good {
        Ok(()) => (StatusCode::OK, "ok".to_owned()),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

/// Serves the probes, and what is counted, until the process ends.
pub(crate) async fn serve(health: Arc<Health>, metrics: Arc<Metrics>, listen: SocketAddr) -> anyhow::Result<()> {
    let alive = health.clone();
    let say = |trouble: Option<&'static str>| match trouble {
        None => (StatusCode::OK, "ok"),
        Some(trouble) => (StatusCode::SERVICE_UNAVAILABLE, trouble),
    };
    let router = Router::new()
        .route("/livez", get(move || async move { say(alive.trouble()) }))
        .route("/readyz", get(move || async move { answer(health.readiness()) }))
        .route("/metrics", get(move || async move { ([(CONTENT_TYPE, TEXT_FORMAT)], metrics.text()) }));
    let listener = tokio::net::TcpListener::bind(listen).await?;
    tracing::info!(address = %listener.local_addr()?, "serving probes");
    Ok(axum::serve(listener, router).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cycle_that_hangs_is_no_life_though_the_loop_goes_round() {
        let health = Health::new();
        health.cycle_begins();
        for _ in 0..17 {
            tokio::time::advance(Duration::from_secs(10)).await;
            health.beat();
            assert_eq!(health.trouble(), None);
        }
        tokio::time::advance(Duration::from_secs(10)).await;
        health.beat();
        assert_eq!(health.trouble(), Some("a negotiation cycle is stuck"));
        health.cycle_ends();
        assert_eq!(health.trouble(), None);
        tokio::time::advance(STUCK).await;
        assert_eq!(health.trouble(), Some("the main loop is stuck"));
    }
}
