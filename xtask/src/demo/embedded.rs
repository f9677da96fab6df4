//! The demonstration on the embedded API server: without Go, without containers, with or without kubectl.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testbed::cluster::in_path;
use testbed::repository::Demonstration;
use testbed::{EmbeddedServer, product, repository, until};

use super::{EXAMPLE, claimed, manifests, stay};
use crate::output::{line, noisy_step, step};

/// How long a claim may take on a machine that is busy with other work.
const CLAIMED_MAX: Duration = Duration::from_secs(60);
const JOBS: &str = "/apis/gangmatch.dev/v1alpha1/jobs";

/// What is not as on a cluster.
const STAND_IN: &str = "\
This is not Kubernetes: an embedded API server stands in for it, one process that stores nothing on disk. It serves
the kinds of gangmatch as kube-apiserver does, which tests compare, with their schemas, defaults and rules. The
controller is the one that is shipped. Not checked here: the rights of users (every user may do everything), the
chart's admission policies (owners of ads are set, and labelled workloads are held, but nothing is refused), and the
fields of Kubernetes' own kinds. Nothing runs pods: a workload is let go, but does not start. Its claim ends when it is cancelled,
suspended, or released, or after startTimeoutSeconds.
`cargo xtask demo --cluster local` shows the same on a real control plane.";

/// Shows it.
pub(crate) fn run(keep: bool) -> Result<()> {
    let what = if keep { "controller, embedded API server and plugin" } else { "controller and embedded API server" };
    let Demonstration { controller, server, plugin } =
        noisy_step(what, "2 to 4 minutes on 2 cores", || repository::demonstration(keep))?;
    line(format_args!("\n{STAND_IN}\n"));
    let server = step("starting the embedded API server", || EmbeddedServer::start(&server))?;
    let controller = step("starting the controller", || product::start_on_embedded(&server, &controller))?;
    let kubectl = in_path("kubectl");
    if kubectl.is_none() {
        line("kubectl is not on PATH: the demonstration makes the requests itself");
    }
    let start = Instant::now();
    let folder = repository::root().join(EXAMPLE);
    match &kubectl {
        Some(kubectl) => step(&format!("kubectl apply -f {EXAMPLE}"), || {
            run_kubectl(kubectl, &server, &["apply", "-f", &folder.display().to_string()])
        })?,
        None => step(&format!("creating {EXAMPLE}"), || create(&server, &folder))?,
    };
    let members = step("waiting for a claimed job", || {
        until("a job with phase Claimed", CLAIMED_MAX, || {
            let (_, jobs) = server.request("GET", JOBS, None)?;
            Ok(claimed(&serde_json::from_str(&jobs)?))
        })
    });
    let seconds = start.elapsed().as_secs_f32();
    if let Some(kubectl) = &kubectl {
        let table = run_kubectl(kubectl, &server, &["get", "gmj,gmatch", "--all-namespaces"])?;
        line(format_args!("\n{}", table.trim_end()));
    }
    let members = members.with_context(|| format!("the end of the controller's log:\n{}", controller.log_tail()))?;
    line(format_args!("\nclaimed {seconds:.2} s after the apply began: {members}"));
    if let Some(plugin) = plugin {
        stay(&server.kubeconfig(), &plugin, || match (server.is_running(), controller.is_running()) {
            (true, true) => Ok(()),
            (false, _) => bail!("the embedded API server ended by itself"),
            _ => bail!("the controller ended by itself; the end of its log:\n{}", controller.log_tail()),
        })?;
    }
    drop(controller);
    step("taking everything down", || {
        drop(server);
        Ok(())
    })?;
    if !keep {
        line("`cargo xtask demo --keep` leaves it running, and prints what to try");
    }
    Ok(())
}

/// What kubectl prints.
fn run_kubectl(kubectl: &Path, server: &EmbeddedServer, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(kubectl);
    command
        .args(arguments)
        .env("KUBECONFIG", server.kubeconfig())
        .env("KUBECACHEDIR", server.processes().folder().join("cache"));
    let output = command.output().with_context(|| format!("{} does not start", kubectl.display()))?;
    if !output.status.success() {
        bail!("`kubectl {}`: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Creates the objects of a folder.
fn create(server: &EmbeddedServer, folder: &Path) -> Result<String> {
    for (path, object) in manifests::read(folder)? {
        let (status, answer) = server.request("POST", &path, Some(&object))?;
        if status != 201 {
            let said: Value = serde_json::from_str(&answer).unwrap_or_default();
            let message = said.get("message").and_then(Value::as_str).unwrap_or(&answer);
            bail!("creating an object of {}: {status} {message}", folder.display());
        }
    }
    Ok(String::new())
}
