//! A stretch of network between one controller and the API server, on which anything can happen to a request.

mod flow;
mod forward;
mod plan;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use axum::Router;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

pub use flow::Flow;
pub use plan::{Fault, FaultPlan, RequestFacts, Weather};

/// One request that came through.
#[derive(Clone, Debug)]
pub struct Logged {
    /// When it came.
    pub at: Instant,
    /// What was asked for.
    pub asked: RequestFacts,
    /// What befell it.
    pub fault: Option<Fault>,
    /// The server's answer; 0 if there was none.
    pub status: u16,
}

/// The proxy of one controller.
#[derive(Clone)]
pub struct Proxy {
    shared: Arc<Shared>,
}

struct Shared {
    address: String,
    upstream: Client,
    /// Where reads and watches go, if elsewhere.
    readers: Option<Client>,
    plan: Mutex<FaultPlan>,
    log: Mutex<Vec<Logged>>,
    flow: watch::Sender<Flow>,
    /// Whether held writes may go.
    let_go: watch::Sender<bool>,
    /// Nothing comes through: the controller is dead, or as good as dead.
    severed: watch::Sender<bool>,
    /// Rings when a fault kills the controller.
    deaths: watch::Sender<usize>,
}

impl Proxy {
    /// Starts a proxy to the API server of a kubeconfig. Whoever comes through keeps his own credentials. What he reads comes from
    /// the server at `reads`, if there is one.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read, or there is no port.
    pub async fn start(kubeconfig: &Path, reads: Option<&str>, seed: u64) -> Result<Proxy> {
        let file = Kubeconfig::read_from(kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        config.auth_info = kube::config::AuthInfo::default();
        config.default_retry = false;
        let readers = match reads {
            Some(server) => {
                let mut config = config.clone();
                config.cluster_url = server.parse()?;
                Some(Client::try_from(config)?)
            }
            None => None,
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let shared = Arc::new(Shared {
            address: listener.local_addr()?.to_string(),
            upstream: Client::try_from(config)?,
            readers,
            plan: Mutex::new(FaultPlan::new(seed)),
            log: Mutex::default(),
            flow: watch::Sender::new(Flow::Open),
            let_go: watch::Sender::new(false),
            severed: watch::Sender::new(false),
            deaths: watch::Sender::new(0),
        });
        let router = Router::new().fallback(forward::forward).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Proxy { shared })
    }

    /// Writes a kubeconfig that leads through here.
    ///
    /// # Errors
    /// When the other one cannot be read.
    pub fn kubeconfig(&self, of: &Path) -> Result<std::path::PathBuf> {
        let mut config: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(of)?)?;
        let cluster = config.pointer_mut("/clusters/0/cluster").context("the kubeconfig names no cluster")?;
        *cluster = serde_json::json!({"server": format!("http://{}", self.shared.address)});
        let port = self.shared.address.rsplit(':').next().unwrap_or_default();
        let path = of.with_extension(format!("{port}.kubeconfig"));
        std::fs::write(&path, config.to_string())?;
        Ok(path)
    }

    /// What becomes of which request, to be read and changed.
    pub fn plan(&self) -> MutexGuard<'_, FaultPlan> {
        self.shared.plan.lock()
    }

    /// Everything that came through so far.
    #[must_use]
    pub fn log(&self) -> Vec<Logged> {
        self.shared.log.lock().clone()
    }

    /// How often each fault befell somebody.
    #[must_use]
    pub fn faults(&self) -> BTreeMap<Fault, usize> {
        let mut all = BTreeMap::new();
        for fault in self.log().iter().filter_map(|logged| logged.fault) {
            *all.entry(fault).or_default() += 1;
        }
        all
    }

    /// What becomes of watches from now on.
    pub fn set_flow(&self, flow: Flow) {
        self.shared.flow.send_replace(flow);
    }

    /// Lets all held writes go, and those that would be held from now on.
    pub fn release(&self) {
        self.shared.let_go.send_replace(true);
    }

    /// Cuts every connection and lets nothing through, or lets things through again.
    pub fn sever(&self, severed: bool) {
        self.shared.severed.send_replace(severed);
    }

    /// How often a fault has asked for the controller's death.
    #[must_use]
    pub fn deaths(&self) -> watch::Receiver<usize> {
        self.shared.deaths.subscribe()
    }
}
