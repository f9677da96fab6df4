//! The state of the operator into answers to /livez, /readyz and /metrics.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::connections::Brief;
use crate::metrics::Metrics;
use crate::rights::Rights;

/// What the text of the metrics is in.
const TEXT_FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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

    /// Whether all kinds have been listed once.
    pub(crate) fn is_synced(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Whether it can do its work, or take over; else why not.
    fn readiness(&self) -> Result<(), String> {
        if !self.is_synced() {
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

/// How long a connection may last: a client that asks too much, or sends or reads nothing, is cut off.
const CONNECTION: Duration = Duration::from_secs(10);
/// How old the text of the metrics may be.
const TEXT_AGE: Duration = Duration::from_secs(1);

/// Serves the probes, and what is counted, until the process ends; on the calling thread, which does nothing else: however
/// many ask, no claim waits for them.
///
/// # Errors
/// When the address cannot be had.
pub(crate) fn run(health: Arc<Health>, metrics: Arc<Metrics>, listen: SocketAddr) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(health, metrics, listen))
}

/// The text of the metrics, made once a second at most.
struct Text {
    metrics: Arc<Metrics>,
    last: Mutex<Option<(Instant, String)>>,
}

impl Text {
    fn now(&self) -> String {
        let mut last = self.last.lock();
        match last.as_ref().filter(|(made, _)| made.elapsed() < TEXT_AGE) {
            Some((_, text)) => text.clone(),
            None => {
                let text = self.metrics.text();
                *last = Some((Instant::now(), text.clone()));
                text
            }
        }
    }
}

async fn serve(health: Arc<Health>, metrics: Arc<Metrics>, listen: SocketAddr) -> anyhow::Result<()> {
    let alive = health.clone();
    let text = Arc::new(Text { metrics, last: Mutex::new(None) });
    let say = |trouble: Option<&'static str>| match trouble {
        None => (StatusCode::OK, "ok"),
        Some(trouble) => (StatusCode::SERVICE_UNAVAILABLE, trouble),
    };
    let router = Router::new()
        .route("/livez", get(move || async move { say(alive.trouble()) }))
        .route("/readyz", get(move || async move { answer(health.readiness()) }))
        .route("/metrics", get(move || async move { ([(CONTENT_TYPE, TEXT_FORMAT)], text.now()) }));
    let listener = TcpListener::bind(listen).await?;
    tracing::info!(address = %listener.local_addr()?, "serving probes");
    Ok(axum::serve(Brief::new(listener, CONNECTION), router).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

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

    #[test]
    fn e10_probes_are_answered_by_a_thread_of_their_own_and_idle_connections_are_cut_off() {
        let (health, metrics) = (Health::new(), Arc::new(Metrics::default()));
        health.beat();
        let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let free = std::net::TcpListener::bind(listen).unwrap().local_addr().unwrap();
        std::thread::spawn(move || run(health, metrics, free));
        let connect = || loop {
            match std::net::TcpStream::connect(free) {
                Ok(stream) => return stream,
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let mut idle = connect();
        let mut asks = connect();
        write!(asks, "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut said = String::new();
        asks.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("ok"), "{said}");
        idle.set_read_timeout(Some(CONNECTION * 6)).unwrap();
        assert_eq!(idle.read(&mut [0; 8]).unwrap(), 0, "it is closed");
    }
}
