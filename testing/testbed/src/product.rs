//! Turns a bare cluster into one with gangmatch: the chart installed, the controller running as a process with the
//! chart's rights.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::control_plane::processes::{Processes, Signal};
use crate::control_plane::{Access, free_port};
use crate::embedded::EmbeddedServer;
use crate::polling::until;
use crate::repository;

/// Where the chart is installed.
pub const NAMESPACE: &str = "gangmatch-system";
/// The name of the release, and of the controller's ServiceAccount.
pub const RELEASE: &str = "gangmatch";
/// How long the controller, or a policy, may take until it is ready, in a debug build on a busy machine.
const READY_MAX: Duration = Duration::from_secs(60);

/// Installs the chart of this checkout, or upgrades to it: CRDs, policies, rights and a Deployment; waits until the
/// policy that stamps owners is in force. `values` are `key=value` for `helm --set`. The Deployment's pods run the image on
/// a [`crate::RealNode`] only: elsewhere kwok plays them, or nobody does.
///
/// # Errors
/// When helm or the API server refuses it.
pub fn install_chart(access: &Access, values: &[&str]) -> Result<()> {
    install_chart_of(access, &repository::root(), values)
}

/// The same with the chart of another checkout.
///
/// # Errors
/// When helm or the API server refuses it.
pub fn install_chart_of(access: &Access, checkout: &Path, values: &[&str]) -> Result<()> {
    let chart = checkout.join("charts/gangmatch").display().to_string();
    let mut arguments = vec!["upgrade", "--install", RELEASE, &chart, "--namespace", NAMESPACE, "--create-namespace"];
    arguments.extend(values.iter().flat_map(|value| ["--set", *value]));
    access.helm(&arguments)?;
    wait_for_stamps(access)
}

/// A policy takes effect a moment after its creation, and the API server keeps the first ad waiting for that moment.
fn wait_for_stamps(access: &Access) -> Result<()> {
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
    let selector = format!("labelSelector=app.kubernetes.io/instance={RELEASE}");
    match access.requests()?.list(&format!("{path}?{selector}")) {
        // The values leave it out, or the API server is too old for it.
        Ok(policies) if policies.is_empty() => return Ok(()),
        Err(refusal) if refusal.code == 404 => return Ok(()),
        other => drop(other?),
    }
    let machine = serde_json::json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine",
        "metadata": {"name": "stamped", "namespace": "default"}, "spec": {}});
    until("the policy that stamps owners", READY_MAX, || {
        let made =
            access.requests()?.create("/apis/gangmatch.dev/v1alpha1/namespaces/default/machines?dryRun=All", &machine);
        Ok(made.ok().filter(|made| made.pointer("/spec/owner").is_some()).map(drop))
    })
}

/// A kubeconfig with exactly the rights that the chart gives the controller.
///
/// # Errors
/// When the chart is not installed.
pub fn controller_kubeconfig(access: &Access) -> Result<PathBuf> {
    access.service_account(NAMESPACE, RELEASE)
}

/// Creates a Node on which kwok runs pods: 32 CPUs, 256 GiB, never any container.
///
/// # Errors
/// When the API server refuses it.
pub fn create_fake_node(access: &Access, name: &str) -> Result<()> {
    let resources = serde_json::json!({"cpu": "32", "memory": "256Gi", "pods": "110"});
    let node = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"capacity": resources, "allocatable": resources},
    });
    access.requests()?.apply(&format!("/api/v1/nodes/{name}"), &node)?;
    Ok(())
}

/// The controller as a local process. It is killed when this is dropped, and with the cluster's other processes at the
/// latest.
#[derive(Debug)]
pub struct Controller<'a> {
    processes: &'a Processes,
    name: String,
    address: String,
}

/// Starts the controller of this checkout (built if need be) with the arguments of the chart's Deployment, and waits
/// until it says that it is ready. `flags` are `--name=value` and win over others of the same name; `RUST_LOG` is
/// passed on.
///
/// # Errors
/// When it does not compile, or ends, or does not become ready; the error has the end of its log.
pub fn start_controller<'a>(access: &'a Access, kubeconfig: &Path, flags: &[&str]) -> Result<Controller<'a>> {
    let controller = spawn_controller(access, kubeconfig, flags)?;
    controller.wait_until_ready()?;
    Ok(controller)
}

/// What `kubectl gangmatch` prints with this kubeconfig, found the way kubectl finds its plugins.
///
/// # Errors
/// When it does not compile or start.
pub fn plugin(access: &Access, kubeconfig: &Path, arguments: &[&str]) -> Result<Output> {
    let plugin = repository::program("kubectl-gangmatch")?;
    let folder = plugin.parent().context("it is in no folder")?;
    let mut command = Command::new(&access.tools().kubectl);
    command.arg("gangmatch").args(arguments).current_dir(repository::root());
    command.env("PATH", access.path_with(&[folder])?).env("KUBECONFIG", kubeconfig);
    Ok(command.output()?)
}

/// The same without kubectl, which would only pass the arguments on.
///
/// # Errors
/// When it does not compile or start.
pub fn plugin_alone(access: &Access, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(repository::program("kubectl-gangmatch")?);
    command.args(arguments).current_dir(repository::root());
    command.env("PATH", access.path_with(&[])?).env("KUBECONFIG", access.kubeconfig());
    Ok(command.output()?)
}

/// The same without the wait, for a second replica, which is ready in its own time.
///
/// # Errors
/// When it does not compile or start.
pub fn spawn_controller<'a>(access: &'a Access, kubeconfig: &Path, flags: &[&str]) -> Result<Controller<'a>> {
    spawn_executable(access, &repository::program("gangmatch-controller")?, kubeconfig, flags)
}

/// The same of another build of it.
///
/// # Errors
/// When it does not start.
pub fn spawn_executable<'a>(
    access: &'a Access,
    executable: &Path,
    kubeconfig: &Path,
    flags: &[&str],
) -> Result<Controller<'a>> {
    spawn(access.processes(), executable, kubeconfig, chart_flags(access)?, flags)
}

/// Starts an executable of the controller on the embedded API server, and waits until it says that it is ready.
///
/// # Errors
/// When it ends, or does not become ready; the error has the end of its log.
pub fn start_on_embedded<'a>(server: &'a EmbeddedServer, executable: &Path) -> Result<Controller<'a>> {
    let controller = spawn(server.processes(), executable, &server.controller_kubeconfig(), Vec::new(), &[])?;
    controller.wait_until_ready()?;
    Ok(controller)
}

fn spawn<'a>(
    processes: &'a Processes,
    executable: &Path,
    kubeconfig: &Path,
    defaults: Vec<String>,
    flags: &[&str],
) -> Result<Controller<'a>> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("gangmatch-controller-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let address = format!("127.0.0.1:{}", free_port()?);
    let own = [format!("--kubeconfig={}", kubeconfig.display()), format!("--listen={address}")];
    let asked = flags.iter().map(|&flag| flag.to_owned());
    let all = defaults.into_iter().chain(own).chain(asked);
    let mut command = vec![executable.display().to_string()];
    command.extend(last_of_each(all));
    let log_level = std::env::var("RUST_LOG").ok();
    let mut environment = vec![("POD_NAME", name.as_str()), ("POD_NAMESPACE", NAMESPACE)];
    environment.extend(log_level.iter().map(|level| ("RUST_LOG", level.as_str())));
    processes.start(&name, &command, &environment)?;
    Ok(Controller { processes, name, address })
}

/// The arguments in the chart's Deployment; none when the chart is not installed.
fn chart_flags(access: &Access) -> Result<Vec<String>> {
    match access.requests()?.get(&format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{RELEASE}")) {
        Ok(deployment) => {
            let flags = deployment.pointer("/spec/template/spec/containers/0/args").cloned();
            Ok(serde_json::from_value(flags.unwrap_or_else(|| serde_json::json!([])))?)
        }
        Err(refusal) if refusal.code == 404 => Ok(Vec::new()),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Of the flags with one name, the last.
fn last_of_each(flags: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let name = |flag: &str| flag.split('=').next().unwrap_or_default().to_owned();
    for flag in flags {
        kept.retain(|earlier| name(earlier) != name(&flag));
        kept.push(flag);
    }
    kept
}

impl Controller<'_> {
    /// The name of its pod, with which its identity in the Lease begins.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it listens on, `127.0.0.1:PORT`: `/livez` and `/readyz`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The id of its process.
    ///
    /// # Errors
    /// When it does not run.
    pub fn id(&self) -> Result<u32> {
        self.processes.id(&self.name)
    }

    /// The file with its log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.processes.log(&self.name)
    }

    /// The last lines of that file.
    #[must_use]
    pub fn log_tail(&self) -> String {
        self.processes.log_tail(&self.name)
    }

    /// Whether it has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.processes.is_running(&self.name)
    }

    /// Waits until `/readyz` answers 200.
    ///
    /// # Errors
    /// When it ends or takes too long; the error has the end of its log.
    pub fn wait_until_ready(&self) -> Result<()> {
        let ready = until("the controller", READY_MAX, || {
            if !self.processes.is_running(&self.name) {
                bail!("the controller ended by itself");
            }
            Ok(get(&self.address, "/readyz").ok().filter(|&(status, _)| status == 200))
        });
        ready.with_context(|| format!("the end of its log:\n{}", self.log_tail()))?;
        Ok(())
    }

    /// Sends it a signal: [`Signal::Stop`] and [`Signal::Continue`] make a leader that does not know it was replaced.
    ///
    /// # Errors
    /// When it does not run.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.processes.signal(&self.name, signal)
    }

    /// Ends it by SIGKILL or SIGTERM and waits until it has ended.
    ///
    /// # Errors
    /// When it does not run or does not end.
    pub fn end(&self, signal: Signal) -> Result<()> {
        self.processes.end(&self.name, signal)
    }

    /// Starts it again with the same command line and waits until it is ready.
    ///
    /// # Errors
    /// When it runs, or does not become ready.
    pub fn restart(&self) -> Result<()> {
        self.spawn_again()?;
        self.wait_until_ready()
    }

    /// The same without the wait.
    ///
    /// # Errors
    /// When it runs, or does not start.
    pub fn spawn_again(&self) -> Result<()> {
        self.processes.restart(&self.name)
    }
}

impl Drop for Controller<'_> {
    fn drop(&mut self) {
        self.processes.end(&self.name, Signal::Kill).ok();
    }
}

/// The status and the body of a plain HTTP answer, such as the controller's `/readyz`.
///
/// # Errors
/// When nobody answers, or not in HTTP.
pub fn get(address: &str, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split_whitespace().nth(1).and_then(|word| word.parse().ok()).context("no HTTP answer")?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok((status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::last_of_each;

    #[test]
    fn the_last_flag_of_a_name_wins() {
        let flags = ["--a=1", "--b", "--a=2", "--c=3"].map(String::from);
        assert_eq!(last_of_each(flags.into_iter()), ["--b", "--a=2", "--c=3"]);
    }
}
