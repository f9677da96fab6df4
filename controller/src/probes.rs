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

/// How Prometheus names its text.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the probes report.
pub(crate) struct Health {
    ready: AtomicBool,
    started: Instant,
    beat_ms: AtomicU64,
}

/// A loop that has not come round for this long is stuck.
const STUCK: Duration = Duration::from_secs(120);

impl Health {
    pub(crate) fn new() -> Arc<Health> {
        Arc::new(Health { ready: AtomicBool::new(false), started: Instant::now(), beat_ms: AtomicU64::new(0) })
    }

    /// All kinds have been listed once.
    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// The main loop has come round.
    pub(crate) fn beat(&self) {
        self.beat_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_alive(&self) -> bool {
        let silent = self.now_ms().saturating_sub(self.beat_ms.load(Ordering::Relaxed));
        u128::from(silent) < STUCK.as_millis()
    }
}

/// Serves the probes, and what is counted, until the process ends.
pub(crate) async fn serve(health: Arc<Health>, metrics: Arc<Metrics>, listen: SocketAddr) -> anyhow::Result<()> {
    let alive = health.clone();
    let say = |good: bool, bad: &'static str| {
        if good { (StatusCode::OK, "ok") } else { (StatusCode::SERVICE_UNAVAILABLE, bad) }
    };
    let router = Router::new()
        .route("/livez", get(move || async move { say(alive.is_alive(), "the main loop is stuck") }))
        .route(
            "/readyz",
            get(move || async move { say(health.ready.load(Ordering::Relaxed), "not all kinds are listed yet") }),
        )
        .route("/metrics", get(move || async move { ([(CONTENT_TYPE, TEXT_FORMAT)], metrics.text()) }));
    let listener = tokio::net::TcpListener::bind(listen).await?;
    tracing::info!(address = %listener.local_addr()?, "serving probes");
    Ok(axum::serve(listener, router).await?)
}
