//! Turns namespaces into a machine that is reached by a cable: one pair of virtual network devices, addresses for pods, and the routes
//! between them and the control plane.
//!
//! Addresses are of 198.18.0.0/15, which RFC 2544 sets aside for laboratories: they are in the way of nobody's network. kube-proxy and the
//! plugins write their rules and devices into the network namespace of the node only.

use std::fs;
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use serde_json::json;

use super::namespaces::Namespaces;
use super::programs::run;
use crate::control_plane::random;

/// How many numbers are tried before giving up: others on this machine may be taken.
const TRIES_MAX: usize = 50;
/// The device inside.
const DEVICE: &str = "eth0";

/// The addresses of one node; nodes of one machine have different numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    number: u8,
}

impl Network {
    /// Connects the namespaces with this machine. The devices go with the namespaces.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(crate) fn connect(namespaces: &Namespaces) -> Result<Self> {
        let id = namespaces.id()?.to_string();
        let mut tries = 0;
        let network = loop {
            tries += 1;
            let network = Self { number: u8::try_from(random()? % 256)? };
            let outside = network.device();
            // The name of the device reserves the number.
            let made =
                run(&["ip", "link", "add", &outside, "type", "veth", "peer", "name", DEVICE, "netns", id.as_str()]);
            match made {
                Err(_) if tries < TRIES_MAX => {}
                made => break made.map(|_| network)?,
            }
        };
        let (host, node) = (network.host().to_string(), network.node().to_string());
        let outside = network.device();
        run(&["ip", "address", "add", &format!("{host}/30"), "dev", &outside])?;
        run(&["ip", "link", "set", &outside, "up"])?;
        namespaces.run(&["ip", "link", "set", "lo", "up"])?;
        namespaces.run(&["ip", "address", "add", &format!("{node}/30"), "dev", DEVICE])?;
        namespaces.run(&["ip", "link", "set", DEVICE, "up"])?;
        namespaces.run(&["ip", "route", "add", "default", "via", &host])?;
        namespaces.run(&["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"])?;
        run(&["ip", "route", "add", &network.pods(), "via", &node])?;
        Ok(network)
    }

    /// The address of the control plane.
    pub(crate) const fn host(self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.number, 1)
    }

    /// The address of the node.
    pub(crate) const fn node(self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.number, 2)
    }

    /// The addresses of its pods.
    pub(crate) fn pods(self) -> String {
        format!("198.19.{}.0/24", self.number)
    }

    /// The name of the device outside: fifteen letters at most.
    pub(crate) fn device(self) -> String {
        format!("gm-node-{}", self.number)
    }

    /// Writes the plugins' configuration: each pod has a cable to the node, and an address of the node's range.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write_plugins(self, namespaces: &Namespaces) -> Result<()> {
        let folder = namespaces.folder().join("cni");
        fs::create_dir_all(folder.join("net.d"))?;
        let addresses = json!({
            "type": "host-local",
            "dataDir": folder.join("addresses"),
            "ranges": [[{"subnet": self.pods()}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        });
        let list = json!({
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [{"type": "ptp", "ipMasq": false, "ipam": addresses}],
        });
        let path = folder.join("net.d/10-pods.conflist");
        fs::write(&path, serde_json::to_vec_pretty(&list)?).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes kube-proxy's configuration and returns its arguments. It leads the addresses of Services to pods, and that of the Service
    /// `kubernetes` to the API server.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn proxy_arguments(self, namespaces: &Namespaces, node: &str, kubeconfig: &str) -> Result<Vec<String>> {
        let config = json!({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clientConnection": {"kubeconfig": kubeconfig},
            "hostnameOverride": node,
            "clusterCIDR": self.pods(),
            "detectLocalMode": "ClusterCIDR",
            // Limits of the whole machine, which are not this node's to set.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
            "metricsBindAddress": "127.0.0.1:10249",
            "healthzBindAddress": "127.0.0.1:10256",
        });
        let path = namespaces.folder().join("kube-proxy.json");
        fs::write(&path, serde_json::to_vec_pretty(&config)?)?;
        Ok(vec![format!("--config={}", path.display())])
    }
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[test]
    fn nodes_share_no_address() {
        let (one, other) = (Network { number: 0 }, Network { number: 255 });
        assert_eq!((one.host().to_string(), one.node().to_string()), ("198.18.0.1".into(), "198.18.0.2".into()));
        assert_eq!((one.pods(), other.pods()), ("198.19.0.0/24".into(), "198.19.255.0/24".into()));
        assert_ne!(one.host(), other.host());
        assert!(other.device().len() <= 15, "{}", other.device());
    }
}
