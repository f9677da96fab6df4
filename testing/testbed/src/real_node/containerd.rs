//! Turns a node's folder into a containerd that shares nothing with one of the system: own state, own socket, own images.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::images::PAUSE;
use super::namespaces::Namespaces;
use super::prerequisites;
use crate::polling::until;

/// Its process.
const NAME: &str = "containerd";
/// Its socket, in the node's own `/run`.
pub(crate) const SOCKET: &str = "/run/containerd/containerd.sock";
/// The namespace of containerd in which kubelet looks for images and containers.
const NAMESPACE: &str = "k8s.io";
/// How long it may take until it answers.
const READY_MAX: Duration = Duration::from_secs(60);

/// Starts it and waits until it answers.
///
/// # Errors
/// When it does not come up; the error has the end of its log.
pub(crate) fn start(namespaces: &Namespaces) -> Result<()> {
    let config = namespaces.folder().join("containerd.toml");
    fs::write(&config, configuration(namespaces.folder())?)?;
    namespaces.start(NAME, vec![NAME.to_owned(), "--config".to_owned(), config.display().to_string()])?;
    until("containerd", READY_MAX, || {
        if !namespaces.processes().is_running(NAME) {
            bail!("containerd ended by itself");
        }
        Ok(namespaces.run(&["ctr", "--address", SOCKET, "version"]).ok())
    })
    .with_context(|| format!("the end of its log:\n{}", namespaces.processes().log_tail(NAME)))?;
    Ok(())
}

/// Puts the images of an archive among its images, under their names.
///
/// # Errors
/// When it is no archive of images.
pub(crate) fn import(namespaces: &Namespaces, archive: &Path) -> Result<()> {
    let archive = archive.canonicalize().with_context(|| format!("no archive at {}", archive.display()))?;
    let archive = archive.display().to_string();
    namespaces.run(&["ctr", "--address", SOCKET, "--namespace", NAMESPACE, "images", "import", &archive])?;
    Ok(())
}

/// The configuration. `restrict_oom_score_adj`: without CAP_SYS_RESOURCE runc may not lower that score, and dies.
fn configuration(folder: &Path) -> Result<String> {
    let plugins = prerequisites::plugins().context("there are no network plugins")?;
    // A JSON string is a string of TOML, too.
    let text = |value: &Path| json!(value).to_string();
    Ok(format!(
        r#"version = 2
root = {root}
state = "/run/containerd/state"
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = {plugins}
    conf_dir = {networks}
"#,
        root = text(&folder.join("containerd")),
        plugins = text(&plugins),
        networks = text(&folder.join("cni/net.d")),
    ))
}
