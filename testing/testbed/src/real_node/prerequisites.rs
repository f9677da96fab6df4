//! Turns this machine into the list of what it lacks to run containers.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::namespaces::{COVER, UNSHARE};
use super::programs::{program, run};
use super::{cgroups, images};

/// The programs that are needed, and the packages of Debian that they are in.
const PROGRAMS: [(&str, &str); 9] = [
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("runc", "runc"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("readelf", "binutils"),
];
/// The network plugins that are needed, and where distributions put them.
const PLUGINS: [&str; 3] = ["ptp", "host-local", "loopback"];
const PLUGIN_FOLDERS: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];
/// What this machine lacks for a node with containers, each with what to do about it; nothing if it can run one.
#[must_use]
pub fn missing() -> Vec<String> {
    if !cfg!(target_os = "linux") {
        return vec!["Linux".to_owned()];
    }
    let mut missing = Vec::new();
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        missing.push("root".to_owned());
    }
    let programs = PROGRAMS.iter().filter(|(name, _)| program(name).is_none());
    missing.extend(programs.map(|(name, package)| format!("{name} (Debian's package {package})")));
    if plugins().is_none() {
        missing.push(format!("{} (Debian's package containernetworking-plugins)", PLUGINS.join(", ")));
    }
    if images::static_busybox().is_none() {
        missing.push("a static busybox (Debian's package busybox-static)".to_owned());
    }
    if is_root && missing.is_empty() {
        missing.extend(refused().err().map(|error| format!("rights of root that this machine refuses: {error:#}")));
    }
    missing
}

/// Tries what only root may do, and a container often may not: cgroups, namespaces and mounts.
fn refused() -> anyhow::Result<()> {
    anyhow::ensure!(!cgroups::hierarchies().is_empty(), "no cgroups are mounted");
    let name = format!("gangmatch-try-{}", std::process::id());
    let created = cgroups::create(&name);
    Command::new("sh").args(["-c", &cgroups::removal(&name)]).stdin(Stdio::null()).status()?;
    created?;
    run(&UNSHARE.into_iter().chain(["sh", "-c", COVER]).collect::<Vec<_>>()).map(drop)
}

/// The folder with the network plugins.
pub(crate) fn plugins() -> Option<PathBuf> {
    let is_complete = |folder: &PathBuf| PLUGINS.iter().all(|plugin| folder.join(plugin).is_file());
    PLUGIN_FOLDERS.into_iter().map(PathBuf::from).find(is_complete)
}
