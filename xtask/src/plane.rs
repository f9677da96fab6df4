//! Turns `up` into a control plane that outlives the command, and `down` into its end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testbed::cluster::{self, Choice};
use testbed::control_plane::binaries::Binaries;
use testbed::control_plane::processes::Place;
use testbed::{Access, Cluster, ControlPlane, Options, RealNode, repository};

use crate::output::{line, noisy_step, step};

/// Builds the control plane's executables if this has not been done yet.
pub(crate) fn build() -> Result<Binaries> {
    noisy_step("control plane's executables", "5 to 10 minutes on 2 cores", Binaries::ready)
}

/// Starts processes, or finds the ones of an earlier `up`.
pub(crate) fn up_processes() -> Result<()> {
    let folder = state("plane");
    if is_up(&folder) {
        return Ok(());
    }
    build()?;
    // What an earlier one left, after a restart of the machine for example.
    RealNode::end(&folder)?;
    let plane = step("starting the control plane", || {
        ControlPlane::start(&Options { kwok: true, place: Place::At(folder.clone()), ..Options::default() })
    })?;
    say_how(&plane, plane.kubeconfig());
    plane.detach()?;
    Ok(())
}

/// Whether a control plane runs in this folder; then it says how to use it.
pub(crate) fn is_up(folder: &Path) -> bool {
    let Ok(plane) = ControlPlane::attach(folder) else { return false };
    let nodes = if RealNode::runs_beside(folder) { "a real node" } else { "simulated nodes" };
    line(format_args!("a control plane with {nodes} is up already; `cargo xtask down` ends it"));
    say_how(&plane, plane.kubeconfig());
    true
}

/// Makes the kind cluster, or finds it.
pub(crate) fn up_kind() -> Result<()> {
    let cluster = noisy_step("kind cluster", "2 minutes, with the download of its image", || {
        Cluster::of(&Choice::Kind, &Options::default())
    })?;
    let kubeconfig = kind_kubeconfig();
    fs::create_dir_all(state(""))?;
    fs::copy(cluster.kubeconfig(), &kubeconfig)?;
    say_how(&cluster, &kubeconfig);
    Ok(())
}

/// Checks that a cluster of the user's answers.
pub(crate) fn use_existing(kubeconfig: &Path) -> Result<()> {
    let choice = Choice::Kubeconfig(kubeconfig.to_path_buf());
    let cluster = step("asking the cluster", || Cluster::of(&choice, &Options::default()))?;
    say_how(&cluster, cluster.kubeconfig());
    Ok(())
}

/// Ends whatever `up` started; nothing there is fine.
pub(crate) fn down() -> Result<()> {
    step("taking the control plane down", || RealNode::end(&state("plane")))?;
    if kind_kubeconfig().exists() {
        step("deleting the kind cluster", cluster::delete_kind)?;
        fs::remove_file(kind_kubeconfig()).context("cannot remove the kind cluster's kubeconfig")?;
    }
    Ok(())
}

/// Prints how to use an API server.
pub(crate) fn say_how(access: &Access, kubeconfig: &Path) {
    for setting in settings(kubeconfig, [&access.tools().kubectl, &access.tools().helm]) {
        line(setting);
    }
}

/// What is pasted into a shell to make the commands of the documents work.
fn settings(kubeconfig: &Path, tools: [&Path; 2]) -> [String; 2] {
    let mut folders: Vec<_> = tools.into_iter().filter_map(Path::parent).collect();
    folders.dedup();
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    [format!("export KUBECONFIG={}", kubeconfig.display()), format!("export PATH={}:$PATH", folders.join(":"))]
}

fn kind_kubeconfig() -> PathBuf {
    state("kind.kubeconfig")
}

/// A path in the folder that git ignores.
pub(crate) fn state(name: &str) -> PathBuf {
    repository::root().join(".work").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m13_what_is_pasted_makes_kubectl_and_helm_known() {
        let pasted = |tools: [&str; 2]| settings(Path::new("/w/admin.kubeconfig"), tools.map(Path::new)).join("\n");
        let (one, two) = (["/c/bin/kubectl", "/c/bin/helm"], ["/usr/bin/kubectl", "/c/bin/helm"]);
        assert_eq!(pasted(one), "export KUBECONFIG=/w/admin.kubeconfig\nexport PATH=/c/bin:$PATH");
        assert_eq!(pasted(two), "export KUBECONFIG=/w/admin.kubeconfig\nexport PATH=/usr/bin:/c/bin:$PATH");
    }
}
