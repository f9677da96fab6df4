//! Turns a node's folder into kubelet's configuration and arguments.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::containerd::SOCKET;
use super::namespaces::Namespaces;
use super::network::Network;

/// Writes the configuration and returns kubelet's arguments. `authority` is the file of the certificate that clients of kubelet are
/// checked against.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn arguments(
    namespaces: &Namespaces,
    network: Network,
    node: &str,
    kubeconfig: &Path,
    authority: &Path,
) -> Result<Vec<String>> {
    let folder = namespaces.folder();
    let names = folder.join("resolv.conf");
    fs::write(&names, "# A node of tests has no DNS.\n")?;
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": format!("unix://{SOCKET}"),
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": authority},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", namespaces.cgroup()),
        "enforceNodeAllocatable": [],
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        "makeIPTablesUtilChains": false,
        "resolvConf": names,
        // The disk is that of a developer: it may be nearly full, and no image is here twice.
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "100Mi", "imagefs.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
    });
    let path = folder.join("kubelet.json");
    fs::write(&path, serde_json::to_vec_pretty(&config)?)?;
    Ok(vec![
        format!("--config={}", path.display()),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--hostname-override={node}"),
        format!("--node-ip={}", network.node()),
        format!("--root-dir={}", folder.join("kubelet").display()),
        format!("--cert-dir={}", folder.join("kubelet-pki").display()),
    ])
}
