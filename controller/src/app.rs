//! The wiring, in the order in which things happen: connect, serve probes, list and watch, stand for election; negotiate while
//! elected; stop.

use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use kube::Client;
use matchmaker::Config as EngineConfig;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch as signals};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::cache::Cache;
use crate::claims::{Claims, newest_epoch};
use crate::clock::Clock;
use crate::config::Config;
use crate::context::Context;
use crate::cycle::Negotiator;
use crate::leader::{Elector, Leadership};
use crate::metrics::Metrics;
use crate::page::{self, Source};
use crate::probes::{self, Health};
use crate::watch;
use crate::write::events::Events;
use crate::write::layers::read_only;
use crate::write::requests::{Cluster, connect};

/// How long the process waits for claims under way when it is told to stop. The next leader finds what is left of them, and is kept
/// waiting by this.
const GRACE: Duration = Duration::from_secs(1);
/// How long a leader that stops takes at most to come to rest and to store what accounts have used.
const FINISH_TIMEOUT: Duration = Duration::from_secs(3);
/// How long giving the lease back may take; else it runs out by itself.
const LEASE_RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// The offers of one namespace may cost others so small a part of a cycle.
const OWNERS_SHARE: u64 = 12;
/// How often a process that does not lead says that it is alive.
const BEAT: Duration = Duration::from_secs(5);

/// Runs the operator as a process, until a signal ends it.
///
/// # Errors
/// When it cannot connect, or cannot serve its probes.
pub async fn run(config: Config) -> anyhow::Result<()> {
    let identity = config.identity(std::process::id(), Timestamp::now());
    let client = connect(config.kubeconfig.as_deref(), &identity).await?;
    let page =
        config.serving.page.map(|address| TcpListener::bind(address).with_context(|| format!("--page={address}")));
    let page = page.transpose()?;
    let operator = Operator { page, ..Operator::new(client, &identity, Clock::system(), config) };
    let (health, metrics, listen) = (operator.health.clone(), operator.metrics.clone(), operator.config.serving.listen);
    let mut probes = tokio::task::spawn_blocking(move || probes::run(health, metrics, listen));
    let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut outcome = Ok(());
    let stop = async {
        tokio::select! {
            ended = &mut probes => outcome = ended.map_err(anyhow::Error::from).flatten(),
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    };
    operator.operate(stop).await;
    outcome
}

/// The operator, without the process around it.
pub struct Operator {
    client: Client,
    identity: String,
    clock: Clock,
    config: Config,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    /// Where the page is served, if it is.
    page: Option<TcpListener>,
}

impl Operator {
    /// One that operates on the API that `client` leads to, and is called `identity` in the Lease. Of the configuration
    /// everything counts but what is about the process: kubeconfig, probes, log.
    #[must_use]
    pub fn new(client: Client, identity: &str, clock: Clock, config: Config) -> Operator {
        let (health, metrics) = (Health::new(), Arc::default());
        Operator { client, identity: identity.to_owned(), clock, config, health, metrics, page: None }
    }

    /// Operates until `stop` comes; then comes to rest and gives the Lease back.
    pub async fn operate(self, stop: impl Future<Output = ()>) {
        let Operator { client, identity, clock, config, health, metrics, page } = self;
        let leadership = if config.election.leader_elect { Leadership::standby() } else { Leadership::alone() };
        let owners = config.owner_trust.into();
        let cache = Arc::new(Cache::new(owners, config.workload_scope()));
        let context = Arc::new(Context {
            cluster: Cluster::new(&client, leadership.clone(), metrics.clone(), health.rights.clone()),
            cache: cache.clone(),
            clock,
            metrics,
            events: Events::new(&identity, clock),
        });
        let engine = EngineConfig {
            cycle_steps_max: config.cycle.cycle_steps_max,
            owner_steps_max: config.cycle.cycle_steps_max / OWNERS_SHARE,
            ..EngineConfig::product()
        };
        let claims = Arc::new(Claims::new(context, engine, owners, config.stop_timeout_ms()));
        let (shutdown, stopped) = oneshot::channel();
        let mut elector = None;
        let looking = tokio::spawn(health.rights.clone().look_after(client.clone(), config.workload_scope()));
        if let Some(listener) = page {
            let (cache, health, kubeconfig) = (cache.clone(), health.clone(), config.kubeconfig.clone());
            serve_page(Source { cache, health, clock, kubeconfig, identity: identity.clone() }, listener);
        }
        let (stopping, is_stopping) = signals::channel(false);
        let is_leader = leadership.clone();
        let operator = async {
            watch::start(&read_only(&client), &cache, &config.workload_scope(), &health.rights).await;
            health.set_ready();
            tracing::info!(identity, "caches of all kinds are synced");
            if config.election.leader_elect {
                elector = Some(stand(&client, &config, &identity, &leadership, clock, stopped));
            }
            negotiate(&claims, &config, &health, &leadership, is_stopping).await;
        };
        let has_finished = {
            let mut operator = pin!(operator);
            tokio::select! {
                () = &mut operator => true,
                () = stop => {
                    stopping.send_replace(true);
                    is_leader.current().is_some() && timeout(FINISH_TIMEOUT, operator).await.is_ok()
                }
            }
        };
        looking.abort();
        if !has_finished {
            claims.in_flight.drained(GRACE).await;
        }
        leadership.end();
        drop(shutdown);
        if let Some(elector) = elector {
            timeout(LEASE_RELEASE_TIMEOUT, elector).await.ok();
        }
        tracing::info!("stopped");
    }
}

/// Serves the page on a thread of its own. Claims do not end because it does.
fn serve_page(source: Source, listener: TcpListener) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = page::run(source, listener) {
            tracing::error!(%error, "the page is not served any more");
        }
    });
}

/// Stands for election until `stopped` comes.
fn stand(
    client: &Client,
    config: &Config,
    identity: &str,
    leadership: &Leadership,
    clock: Clock,
    stopped: oneshot::Receiver<()>,
) -> JoinHandle<()> {
    let namespace = config.election.lease_namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
    let elector = Elector::new(client.clone(), &namespace, identity, config.lease(), leadership.clone(), clock);
    tokio::spawn(elector.run(async {
        stopped.await.ok();
    }))
}

/// Negotiates in each term anew, until `stopping` is set in a term. In between nothing is written; what is known is kept up to date all the
/// time.
async fn negotiate(
    claims: &Arc<Claims>,
    config: &Config,
    health: &Arc<Health>,
    leadership: &Leadership,
    stopping: signals::Receiver<bool>,
) {
    loop {
        let term = loop {
            health.beat();
            claims.context.metrics.stand_by();
            // A new leader looks at everything first.
            claims.context.cache.lock().take_changes();
            if let Ok(term) = timeout(BEAT, leadership.gained()).await {
                break term;
            }
        };
        leadership.at_least(newest_epoch(&claims.context.cache.lock()));
        let epoch = leadership.epoch().unwrap_or(0);
        claims.context.metrics.leader.set(1);
        let negotiator = Negotiator::new(claims.clone(), config.clone(), health.clone(), epoch);
        tokio::select! {
            () = negotiator.run(stopping.clone(), GRACE) => return,
            () = claims.context.events.write(&claims.context.cluster) => {}
            () = leadership.over(term) => {}
        }
    }
}
