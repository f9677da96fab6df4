//! The demonstration on a real API server: the chart is installed, and the controller has the chart's rights.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use testbed::cluster::Choice;
use testbed::{Cluster, Options, product, repository, until};

use super::{CLAIMED_MAX, EXAMPLE, claimed_on, stay};
use crate::output::{line, noisy_step, step};
use crate::plane;

/// Starts a control plane of local processes, or takes the kind cluster, and shows the product on it.
pub(crate) fn run(choice: &Choice, keep: bool) -> Result<()> {
    if *choice == Choice::Processes {
        plane::build()?;
    }
    let executable =
        noisy_step("controller's executable", "2 minutes", || repository::program("gangmatch-controller"))?;
    let plugin = match keep {
        true => Some(noisy_step("plugin's executable", "2 minutes", || repository::program("kubectl-gangmatch"))?),
        false => None,
    };
    let cluster = step("starting the cluster", || Cluster::of(choice, &Options { kwok: true, ..Options::default() }))?;
    if cluster.control_plane().is_some() {
        step("creating a Node that kwok plays", || product::create_fake_node(&cluster, "foo"))?;
    }
    step("helm install gangmatch charts/gangmatch", || product::install_chart(&cluster, &[]))?;
    let controller = step("starting the controller with the chart's rights", || {
        let kubeconfig = product::controller_kubeconfig(&cluster)?;
        let controller = product::spawn_executable(&cluster, &executable, &kubeconfig, &[])?;
        controller.wait_until_ready()?;
        Ok(controller)
    })?;
    let start = Instant::now();
    step(&format!("kubectl apply -f {EXAMPLE}"), || {
        let folder = repository::root().join(EXAMPLE).display().to_string();
        cluster.kubectl_text(&["apply", "-f", &folder], None)
    })?;
    let claimed = step("waiting for a claimed job", || {
        until("a job with phase Claimed", CLAIMED_MAX.saturating_sub(start.elapsed()), || claimed_on(&cluster))
    });
    let table = cluster.kubectl_text(&["get", "gmj,gmatch", "--all-namespaces"], None)?;
    line(format_args!("\n{}", table.trim_end()));
    let members = claimed.with_context(|| format!("the end of the controller's log:\n{}", controller.log_tail()))?;
    line(format_args!("\nclaimed {:.2} s after the apply began: {members}", start.elapsed().as_secs_f32()));
    if let Some(plugin) = plugin {
        stay(cluster.kubeconfig(), &plugin, || match controller.is_running() {
            true => Ok(()),
            false => bail!("the controller ended by itself; the end of its log:\n{}", controller.log_tail()),
        })?;
    }
    drop(controller);
    if cluster.control_plane().is_none() {
        line("the kind cluster stays, with the chart and the example; `cargo xtask down` deletes it");
    }
    step("taking everything down", || {
        drop(cluster);
        Ok(())
    })
}
