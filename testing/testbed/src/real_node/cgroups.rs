//! Turns a name into one cgroup in each hierarchy, and into the script that removes them with all that kubelet has made in them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Where cgroups are mounted, everywhere.
const MOUNT: &str = "/sys/fs/cgroup";
/// The file that makes a folder a cgroup.
const PROCESSES: &str = "cgroup.procs";

/// The roots of all hierarchies: one of version 2, or several of version 1.
pub(crate) fn hierarchies() -> Vec<PathBuf> {
    let mount = Path::new(MOUNT);
    if mount.join(PROCESSES).exists() {
        return vec![mount.to_path_buf()];
    }
    let folders = fs::read_dir(mount).into_iter().flatten().filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut all: Vec<PathBuf> = folders.filter(|folder| folder.join(PROCESSES).exists()).collect();
    all.sort();
    all
}

/// Makes a cgroup of this name in each hierarchy: kubelet refuses a root that is not there.
///
/// # Errors
/// When the system refuses one.
pub(crate) fn create(name: &str) -> Result<()> {
    for hierarchy in hierarchies() {
        let group = hierarchy.join(name);
        match fs::create_dir(&group) {
            // Two names of one hierarchy: `cpu` and `cpu,cpuacct`.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => other.with_context(|| format!("cannot make the cgroup {}", group.display()))?,
        }
    }
    Ok(())
}

/// Removes the cgroups of this name, from the innermost on, when the last process in them has gone. A script for `sh`, because it also runs
/// after this program was killed.
pub(crate) fn removal(name: &str) -> String {
    format!(
        "for group in {MOUNT}/{name} {MOUNT}/*/{name}; do\n  tries=0\n  \
         while [ -d \"$group\" ] && [ \"$tries\" -lt 500 ]; do\n    \
         find \"$group\" -depth -type d -exec rmdir {{}} \\; 2>/dev/null\n    \
         tries=$((tries + 1))\n    [ -d \"$group\" ] && sleep 0.02\n  done\ndone\n"
    )
}
