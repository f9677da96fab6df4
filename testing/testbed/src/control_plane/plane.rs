//! Turns options into a running control plane: etcd and the API server first, the rest when the API answers.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::access::{Access, Authority, Tools};
use super::binaries::Binaries;
use super::components::{CommandInputs, Component, Options, Ports, Release, STAGES, User, audit_policy};
use super::kubeconfig;
use super::pki::{self, Pki};
use super::ports;
use super::processes::{self, Place, Processes, Signal};
use super::stages::with_ends;
use crate::polling::until;

/// How long a component may take until it answers, on a busy machine.
const READY_MAX: Duration = Duration::from_secs(120);
/// How often a start is repeated because somebody took a probed port first.
const STARTS_MAX: usize = 5;
/// The admin's kubeconfig in the control plane's folder.
const ADMIN: &str = "admin.kubeconfig";

/// A running control plane, and all that [`Access`] offers for it. When it is dropped, or this program dies, it is
/// taken down; not so after [`ControlPlane::detach`], nor if it was only [attached](ControlPlane::attach).
#[derive(Debug)]
pub struct ControlPlane {
    access: Access,
}

impl Deref for ControlPlane {
    type Target = Access;

    fn deref(&self) -> &Access {
        &self.access
    }
}

impl ControlPlane {
    /// Starts a control plane and waits until pods and ServiceAccounts can be created. The first time on a machine, its
    /// executables are built, which takes minutes; afterwards a start takes seconds.
    ///
    /// # Errors
    /// When Go is missing, or a component does not come up; the error has the end of its log.
    pub fn start(options: &Options) -> Result<Self> {
        let binaries = Binaries::ready()?;
        let kubernetes = match options.release {
            Release::Newest => binaries.clone(),
            Release::Oldest => Binaries::of_oldest()?,
        };
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::start_once(options, &binaries, &kubernetes) {
                Err(error) if error.is::<PortTaken>() && tries < STARTS_MAX => {
                    if let Place::At(folder) = &options.place {
                        // Kept, perhaps, but there is nothing to learn from it, and it is in the way.
                        fs::remove_dir_all(folder).ok();
                    }
                }
                other => return other,
            }
        }
    }

    /// The control plane of a folder in which another program started and detached it.
    ///
    /// # Errors
    /// When there is none, or its API does not answer.
    pub fn attach(folder: &Path) -> Result<Self> {
        let processes = Processes::attach(folder)?;
        let folder = processes.folder().to_path_buf();
        let authority = Authority::Own { pki: Pki::open(&folder.join("pki")), declared: Vec::new() };
        let tools = Tools::from(&Binaries::ready()?);
        let plane = Self { access: Access::new(folder.join(ADMIN), tools, authority, processes) };
        plane.kubectl_text(&["get", "--raw=/readyz", "--request-timeout=10s"], None)?;
        Ok(plane)
    }

    /// Takes down what [`ControlPlane::detach`] left running in a folder, and removes the folder. Nothing there is no
    /// error.
    ///
    /// # Errors
    /// When `sh` cannot be started.
    pub fn end(folder: &Path) -> Result<()> {
        processes::end_all(folder)
    }

    /// Lets the control plane outlive this program.
    ///
    /// # Errors
    /// When the watchdog does not answer.
    pub fn detach(self) -> Result<PathBuf> {
        self.access.into_processes().detach()
    }

    /// Kills a component by SIGKILL.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&self, component: Component) -> Result<()> {
        self.processes().end(component.name(), Signal::Kill)
    }

    /// Starts a killed component again, on its old data and ports, and waits until the API answers.
    ///
    /// # Errors
    /// When it runs already, or does not come up.
    pub fn restart(&self, component: Component) -> Result<()> {
        self.processes().restart(component.name())?;
        self.wait_for_api(&[component])
    }

    /// Sends a component a signal: [`Signal::Stop`] makes it hang without breaking its connections.
    ///
    /// # Errors
    /// When it does not run.
    pub fn signal(&self, component: Component, signal: Signal) -> Result<()> {
        self.processes().signal(component.name(), signal)
    }

    /// The file with the certificate of the authority that has signed those of all its users.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        Pki::open(&self.processes().folder().join("pki")).file("ca.crt")
    }

    /// The API server's audit log: one JSON object a line.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.processes().log("audit")
    }

    /// Starts one more API server, which reaches etcd at this address, and waits until it answers at the address that is returned. Its
    /// process is called `kube-apiserver-another`.
    ///
    /// # Errors
    /// When there is one already, or it does not come up.
    pub fn another_apiserver(&self, etcd: &str) -> Result<String> {
        let (processes, first) = (self.processes(), Component::Apiserver.name());
        let another = format!("{first}-another");
        let script = fs::read_to_string(processes.folder().join("cmd").join(first))?;
        let port = script.split_once("--secure-port=").and_then(|(_, rest)| rest.split(['\'', ' ']).next());
        let port = port.with_context(|| format!("`{first}` was started without a port"))?;
        let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let script = script
            .replace(&format!("--secure-port={port}"), &format!("--secure-port={free}"))
            .replace(&format!("--etcd-servers={}", self.etcd()?), &format!("--etcd-servers={etcd}"))
            .replace("/log/audit.log", "/log/audit-another.log")
            .replace(&format!("/pid/{first}"), &format!("/pid/{another}"));
        fs::write(processes.folder().join("cmd").join(&another), script)?;
        processes.restart(&another)?;
        let server = format!("https://127.0.0.1:{free}");
        let ask = ["--server", &server, "get", "--raw=/readyz", "--request-timeout=5s"];
        until("the other API server", READY_MAX, || Ok(self.kubectl_text(&ask, None).ok()))
            .with_context(|| processes.log_tail(&another))?;
        Ok(server)
    }

    /// Where etcd answers, as `http://127.0.0.1:PORT`: it keeps every revision, which the API server does not show.
    ///
    /// # Errors
    /// When it was never started.
    pub fn etcd(&self) -> Result<String> {
        let command = fs::read_to_string(self.processes().folder().join("cmd").join(Component::Etcd.name()))?;
        let address = command.split_once("--listen-client-urls=").map(|(_, rest)| rest);
        let address = address.and_then(|rest| rest.split(['\'', ' ']).next());
        Ok(address.context("etcd's command line does not say where it listens")?.to_owned())
    }

    fn start_once(options: &Options, binaries: &Binaries, kubernetes: &Binaries) -> Result<Self> {
        let processes = Processes::create(&options.place, options.afterwards)?;
        let folder = processes.folder().to_path_buf();
        let ports = Ports { etcd: ports::free()?, etcd_peer: ports::free()?, apiserver: ports::free()? };
        let pki = Pki::create(&folder.join("pki"), options.address)?;
        let plan = CommandInputs { options, binaries, kubernetes, folder: &folder, pki: &pki, ports };
        let declared = write_files(&plan)?;

        let authority = Authority::Own { pki: pki.clone(), declared };
        let plane = Self { access: Access::new(folder.join(ADMIN), Tools::from(binaries), authority, processes) };
        let start = |component: Component| {
            let environment = options.environment();
            plane.processes().start(component.name(), &plan.command(component), environment).map(|()| component)
        };
        let first = [start(Component::Etcd)?, start(Component::Apiserver)?];
        plane.wait_for_port((options.address, ports.apiserver), &first)?;
        plane.wait_for_api(&first)?;
        let rest: Vec<Component> = options.clients().into_iter().map(start).collect::<Result<_>>()?;
        plane.wait_for_service_account(&rest)?;
        Ok(plane)
    }

    fn wait_for_port(&self, server: (Ipv4Addr, u16), components: &[Component]) -> Result<()> {
        until("the port of kube-apiserver", READY_MAX, || {
            self.check_running(components)?;
            Ok(TcpStream::connect(server).ok())
        })?;
        Ok(())
    }

    fn wait_for_api(&self, components: &[Component]) -> Result<()> {
        until("the API", READY_MAX, || {
            self.check_running(components)?;
            Ok(self.requests()?.get("/readyz").ok().map(drop))
        })
    }

    /// Pods are refused until the controller manager has made their namespace's ServiceAccount.
    fn wait_for_service_account(&self, components: &[Component]) -> Result<()> {
        until("the ServiceAccount `default`", READY_MAX, || {
            self.check_running(components)?;
            Ok(self.requests()?.get("/api/v1/namespaces/default/serviceaccounts/default").ok().map(drop))
        })
    }

    fn check_running(&self, components: &[Component]) -> Result<()> {
        for component in components {
            let name = component.name();
            if !self.processes().is_running(name) {
                let log = fs::read(self.processes().log(name)).unwrap_or_default();
                if String::from_utf8_lossy(&log).contains("address already in use") {
                    return Err(PortTaken.into());
                }
                bail!("{name} ended by itself; the end of its log:\n{}", self.processes().log_tail(name));
            }
        }
        Ok(())
    }
}

/// Somebody listens on a port that was free when it was probed.
#[derive(Debug)]
struct PortTaken;

impl std::fmt::Display for PortTaken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a port was taken between its probing and its use")
    }
}

impl std::error::Error for PortTaken {}

/// Writes what the components read when they start; answers the declared users' kubeconfigs.
fn write_files(plan: &CommandInputs<'_>) -> Result<Vec<(User, PathBuf)>> {
    let cluster = kubeconfig::cluster((plan.options.address, plan.ports.apiserver), &plan.pki.file("ca.crt"))?;
    let write = |file: &str, user: &str, groups: &[&str]| {
        let identity = plan.pki.client(user, groups)?;
        kubeconfig::write(&plan.folder.join(file), &cluster, &kubeconfig::by_certificate(&identity))
    };
    write(ADMIN, "admin", &["system:masters"])?;
    for component in plan.options.clients() {
        let (user, groups) = component.identity();
        write(&format!("{}.kubeconfig", component.name()), user, groups)?;
    }
    fs::write(plan.folder.join("audit-policy.json"), audit_policy()?)?;
    fs::write(plan.folder.join(STAGES), with_ends(&fs::read_to_string(plan.binaries.path(STAGES))?))?;
    declare(&plan.options.users, plan.folder, &cluster)
}

/// Gives each declared user a token, in the file that the API server reads once when it starts.
fn declare(users: &[User], folder: &Path, cluster: &serde_json::Value) -> Result<Vec<(User, PathBuf)>> {
    let mut lines = String::new();
    let mut declared = Vec::new();
    for (number, user) in users.iter().enumerate() {
        let words = std::iter::once(&user.name).chain(&user.groups);
        if words.into_iter().any(|word| word.contains(['"', ',', '\n'])) {
            bail!("a declared user's name and groups have no quotes, commas or line breaks: `{}`", user.name);
        }
        let token = pki::token()?;
        lines.push_str(&format!("{token},{},{number},\"{}\"\n", user.name, user.groups.join(",")));
        let path = folder.join(format!("declared-{number}.kubeconfig"));
        kubeconfig::write(&path, cluster, &kubeconfig::by_token(&token))?;
        declared.push((user.clone(), path));
    }
    pki::write_private(&folder.join("tokens.csv"), &lines).context("cannot write the users' tokens")?;
    Ok(declared)
}
