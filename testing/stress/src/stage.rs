//! A control plane with the product's chart on it, and somebody who reads along.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use testbed::{ControlPlane, Options, product};

use crate::{Follower, Replica};

/// How long the world may take to come to rest after the last fault: orphans are gone in half a minute, and a dead leader's
/// lease has run out before.
pub(crate) const REST_MAX: Duration = Duration::from_secs(60);
/// How often it is asked whether the world has come to rest.
const PAUSE: Duration = Duration::from_millis(50);

/// The ground on which a play is played. The control plane ends with this program.
pub struct ChaosStage {
    /// The processes behind the API.
    pub plane: &'static ControlPlane,
    /// The API server itself, as its admin: nothing happens to these requests.
    pub client: Client,
    /// Whoever reads along.
    pub follower: Follower,
    controller: PathBuf,
}

impl ChaosStage {
    /// Starts it, without any controller.
    ///
    /// # Errors
    /// When something does not start.
    pub async fn start(options: Options) -> Result<ChaosStage> {
        let mut options = options;
        // Every revision is to be read.
        options.apiserver_flags.push("--etcd-compaction-interval=0".to_owned());
        // Also those of pods, which are stored in another form by default.
        options.apiserver_flags.push("--storage-media-type=application/json".to_owned());
        let (plane, controller) = tokio::task::spawn_blocking(move || -> Result<_> {
            let plane: &'static ControlPlane = Box::leak(Box::new(ControlPlane::start(&options)?));
            product::install_chart(plane, &[])?;
            Ok((plane, product::controller_kubeconfig(plane)?))
        })
        .await??;
        let client = client(plane.kubeconfig(), None).await?;
        let follower = Follower::start(&plane.etcd()?)?;
        Ok(ChaosStage { plane, client, follower, controller })
    }

    /// Starts a controller behind a proxy of its own and waits until it is ready. `flags` are `--name=value`.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn replica(&self, flags: &[&str], seed: u64) -> Result<Replica> {
        Replica::start(self.plane, &self.controller, None, flags, seed).await
    }

    /// The same of one that reads from the API server at this address, and writes to the other one.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn replica_reading(&self, server: &str, flags: &[&str], seed: u64) -> Result<Replica> {
        Replica::start(self.plane, &self.controller, Some(server), flags, seed).await
    }

    /// The admin's way to the API server at this address.
    ///
    /// # Errors
    /// When there is no such address.
    pub async fn client_of(&self, server: &str) -> Result<Client> {
        client(self.plane.kubeconfig(), Some(server)).await
    }

    /// Waits until nothing is under way, leaks, or waits in vain; answers how long that took.
    ///
    /// # Errors
    /// When it does not come to rest; the error says what is left.
    pub async fn rest(&self) -> Result<Duration> {
        let begun = Instant::now();
        loop {
            self.follower.catch_up().await?;
            let left = {
                let audit = self.follower.audit();
                auditor::at_rest(audit.world(), audit.revision(), jiff::Timestamp::now().as_second())
            };
            if left.is_empty() {
                return Ok(begun.elapsed());
            }
            if begun.elapsed() > REST_MAX {
                let all: Vec<String> = left.iter().map(ToString::to_string).collect();
                bail!("not at rest after {} s:\n{}", REST_MAX.as_secs(), all.join("\n"));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Everything that was broken so far.
    ///
    /// # Errors
    /// When anything was; the error names it.
    pub fn verdict(&self) -> Result<()> {
        let audit = self.follower.audit();
        if audit.violations().is_empty() {
            return Ok(());
        }
        let all: Vec<String> = audit.violations().iter().take(20).map(ToString::to_string).collect();
        bail!("{} violations:\n{}", audit.violations().len(), all.join("\n"))
    }
}

/// A client with the credentials of a kubeconfig, of the API server that it names or of the one at this address. It tries nothing twice.
///
/// # Errors
/// When the kubeconfig cannot be read.
pub async fn client(kubeconfig: &Path, server: Option<&str>) -> Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    if let Some(server) = server {
        config.cluster_url = server.parse()?;
    }
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
