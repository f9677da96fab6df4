//! Turns a control plane of local processes into a cluster with a real node: kubelet, kube-proxy and containerd, which run the images of
//! pods in containers.
//!
//! In order: [`missing`] says what the machine lacks; `namespaces` and `cgroups` are a machine of its own for the node; a `network`
//! connects it with the control plane; `containerd` and `kubelet` run there, with `images` built here.

mod cgroups;
mod containerd;
mod images;
mod kubelet;
mod namespaces;
mod network;
mod prerequisites;
mod programs;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub use self::images::{BUSYBOX, architecture, is_static};
pub use self::prerequisites::missing;

use self::namespaces::Namespaces;
use self::network::Network;
use crate::control_plane::binaries::Binaries;
use crate::control_plane::processes::{self, Place};
use crate::control_plane::{ControlPlane, Options};
use crate::polling::until;

/// The name of the node.
pub const NODE: &str = "real-node";
/// How long the node may take until it is ready.
const READY_MAX: Duration = Duration::from_secs(120);
/// The folder of the node beside that of its control plane.
const BESIDE: &str = "node";

/// A control plane with one node, and all that [`ControlPlane`] offers. When it is dropped, or this program dies, both are taken down, the
/// node first; not so after [`RealNode::detach`].
#[derive(Debug)]
pub struct RealNode {
    // Dropped in this order.
    namespaces: Namespaces,
    plane: ControlPlane,
    network: Network,
}

/// What of a node is visible on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// The network device that leads to the node.
    pub device: String,
    /// The name of the cgroup of all its containers, in each hierarchy.
    pub cgroup: String,
    /// The namespace of its processes, as `/proc/ID/ns/pid` links to it.
    pub process_namespace: PathBuf,
}

impl Deref for RealNode {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.plane
    }
}

impl RealNode {
    /// Starts a control plane and a node, and waits until the node is ready. The first time, executables are built, which takes minutes.
    ///
    /// # Errors
    /// When the machine lacks something ([`missing`]), or a process does not come up; the error has the end of its log.
    pub fn start(options: &Options) -> Result<Self> {
        let missing = missing();
        if !missing.is_empty() {
            bail!("a node with containers cannot run here, for lack of: {}", missing.join("; "));
        }
        let binaries = Binaries::of_node()?;
        let namespaces = Namespaces::create(&place_beside(&options.place), options.afterwards)?;
        let network = Network::connect(&namespaces)?;
        let plane = ControlPlane::start(&Options { address: network.host(), scheduler: true, ..options.clone() })?;
        let node = Self { namespaces, plane, network };
        node.start_containerd()?;
        node.start_clients(&binaries)?;
        node.wait_until_ready()?;
        Ok(node)
    }

    /// Puts the images of an archive, such as `cargo xtask image` writes, among the node's images.
    ///
    /// # Errors
    /// When containerd does not take it.
    pub fn import(&self, archive: &Path) -> Result<()> {
        containerd::import(&self.namespaces, archive)
    }

    /// The folder of the node: its configurations, logs and images.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.namespaces.folder()
    }

    /// What of the node is visible on this machine; all of it ends with the node.
    ///
    /// # Errors
    /// When the node does not run.
    pub fn traces(&self) -> Result<Traces> {
        Ok(Traces {
            device: self.network.device(),
            cgroup: self.namespaces.cgroup(),
            process_namespace: self.namespaces.process_namespace()?,
        })
    }

    /// The words of a command line that run what follows them on the node, as root: `ip`, `iptables`, `ctr`.
    ///
    /// # Errors
    /// When the node does not run.
    pub fn entrance(&self) -> Result<String> {
        Ok(self.namespaces.entrance()?.join(" "))
    }

    /// Lets control plane and node outlive this program.
    ///
    /// # Errors
    /// When a watchdog does not answer.
    pub fn detach(self) -> Result<()> {
        self.namespaces.detach()?;
        self.plane.detach().map(drop)
    }

    /// Takes down what [`RealNode::detach`] left running beside the control plane of this folder; nothing there is no error.
    ///
    /// # Errors
    /// When `sh` cannot be started.
    pub fn end(plane: &Path) -> Result<()> {
        processes::end_all(&folder_beside(plane))?;
        ControlPlane::end(plane)
    }

    /// Whether a node that was detached runs beside the control plane of this folder.
    #[must_use]
    pub fn runs_beside(plane: &Path) -> bool {
        Namespaces::attach(&folder_beside(plane)).is_ok()
    }

    fn start_containerd(&self) -> Result<()> {
        self.network.write_plugins(&self.namespaces)?;
        containerd::start(&self.namespaces)?;
        for layout in images::layouts()? {
            let archive = self.folder().join("image.tar");
            layout.write_archive(&archive)?;
            self.import(&archive)?;
        }
        Ok(())
    }

    /// Starts the two clients of the API server that make a machine a node.
    fn start_clients(&self, binaries: &Binaries) -> Result<()> {
        let (namespaces, network) = (&self.namespaces, self.network);
        let start = |name: &str, arguments: Vec<String>| {
            let program = binaries.path(name).display().to_string();
            namespaces.start(name, std::iter::once(program).chain(arguments).collect())
        };
        let kubeconfig = self.plane.user("system:kube-proxy", &[])?.display().to_string();
        start("kube-proxy", network.proxy_arguments(namespaces, NODE, &kubeconfig)?)?;
        let kubeconfig = self.plane.user(&format!("system:node:{NODE}"), &["system:nodes"])?;
        start("kubelet", kubelet::arguments(namespaces, network, NODE, &kubeconfig, &self.plane.authority())?)
    }

    fn wait_until_ready(&self) -> Result<()> {
        let ready = until("the node to be ready", READY_MAX, || {
            for name in ["containerd", "kubelet", "kube-proxy"] {
                if !self.namespaces.processes().is_running(name) {
                    bail!(
                        "{name} ended by itself; the end of its log:\n{}",
                        self.namespaces.processes().log_tail(name)
                    );
                }
            }
            let node = ["get", "node", NODE, "--ignore-not-found", "-o", "json"];
            let node: Value = serde_json::from_str(&self.plane.kubectl_text(&node, None)?).unwrap_or_default();
            let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
            let is_ready = |condition: &Value| {
                condition.get("type").is_some_and(|kind| kind == "Ready")
                    && condition.get("status").is_some_and(|status| status == "True")
            };
            Ok(conditions.is_some_and(|all| all.iter().any(is_ready)).then_some(()))
        });
        ready.with_context(|| format!("kubelet says:\n{}", self.namespaces.processes().log_tail("kubelet")))
    }
}

fn place_beside(plane: &Place) -> Place {
    match plane {
        Place::Temporary => Place::Temporary,
        Place::At(folder) => Place::At(folder_beside(folder)),
    }
}

fn folder_beside(plane: &Path) -> PathBuf {
    plane.with_file_name(BESIDE)
}
