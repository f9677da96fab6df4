//! Turns a kubeconfig into answers: of kubectl, of helm, and for any user.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::components::User;
use super::kubeconfig;
use super::pki::Pki;
use super::processes::Processes;
use crate::requests::Requests;

/// The executables that talk to an API server.
#[derive(Debug, Clone)]
pub struct Tools {
    /// kubectl, of the control plane's own version or any near it.
    pub kubectl: PathBuf,
    /// helm 3 or 4.
    pub helm: PathBuf,
}

impl From<&Binaries> for Tools {
    fn from(binaries: &Binaries) -> Self {
        Self { kubectl: binaries.path("kubectl"), helm: binaries.path("helm") }
    }
}

/// How somebody else's credentials come about.
#[derive(Debug)]
pub(crate) enum Authority {
    /// We hold the cluster's authority: a certificate, or the token of a user who was declared at the start.
    Own { pki: Pki, declared: Vec<(User, PathBuf)> },
    /// We do not: the admin impersonates.
    Foreign,
}

/// An API server, as its admin: the kubeconfig, the tools, and a folder for processes that belong to it, such as the
/// controller's.
#[derive(Debug)]
pub struct Access {
    kubeconfig: PathBuf,
    tools: Tools,
    authority: Authority,
    processes: Processes,
    files: AtomicUsize,
    requests: OnceLock<Requests>,
}

impl Access {
    pub(crate) fn new(kubeconfig: PathBuf, tools: Tools, authority: Authority, processes: Processes) -> Self {
        Self { kubeconfig, tools, authority, processes, files: AtomicUsize::new(0), requests: OnceLock::new() }
    }

    /// The path of the admin's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The tools used here, for use by hand.
    #[must_use]
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The processes that end with this.
    #[must_use]
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// An API server of somebody else.
    pub(crate) fn foreign(kubeconfig: PathBuf, tools: Tools, processes: Processes) -> Self {
        Self::new(kubeconfig, tools, Authority::Foreign, processes)
    }

    pub(crate) fn into_processes(self) -> Processes {
        self.processes
    }

    /// The same API server without kubectl, as the admin.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read.
    pub fn requests(&self) -> Result<&Requests> {
        if let Some(known) = self.requests.get() {
            return Ok(known);
        }
        let made = Requests::of(&self.kubeconfig)?;
        Ok(self.requests.get_or_init(|| made))
    }

    /// Runs kubectl as the admin, or as whoever `--kubeconfig` says; the exit status is part of the answer.
    ///
    /// # Errors
    /// When kubectl cannot be started.
    pub fn kubectl(&self, arguments: &[&str], stdin: Option<&str>) -> Result<Output> {
        self.run(&self.tools.kubectl, arguments, stdin)
    }

    /// What kubectl printed.
    ///
    /// # Errors
    /// When it did not succeed; the error has its words.
    pub fn kubectl_text(&self, arguments: &[&str], stdin: Option<&str>) -> Result<String> {
        text("kubectl", arguments, self.kubectl(arguments, stdin)?)
    }

    /// What kubectl printed with `-o json`.
    ///
    /// # Errors
    /// When it did not succeed, or printed something else.
    pub fn kubectl_json(&self, arguments: &[&str]) -> Result<Value> {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["-o", "json"]).collect();
        Ok(serde_json::from_str(&self.kubectl_text(&arguments, None)?)?)
    }

    /// `PATH` for a program that runs kubectl: first these folders, then that of kubectl, then what it is now.
    ///
    /// # Errors
    /// When a folder's name cannot stand in it.
    pub fn path_with(&self, folders: &[&Path]) -> Result<OsString> {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let own = self.tools.kubectl.parent().map(Path::to_owned);
        let folders = folders.iter().map(|folder| (*folder).to_owned()).chain(own);
        Ok(std::env::join_paths(folders.chain(std::env::split_paths(&before)))?)
    }

    /// Applies a manifest.
    ///
    /// # Errors
    /// When the API server refuses it; the error has its words.
    pub fn apply(&self, manifest: &str) -> Result<String> {
        self.kubectl_text(&["apply", "-f", "-"], Some(manifest))
    }

    /// What helm printed, run as the admin.
    ///
    /// # Errors
    /// When it did not succeed; the error has its words.
    pub fn helm(&self, arguments: &[&str]) -> Result<String> {
        text("helm", arguments, self.run(&self.tools.helm, arguments, None)?)
    }

    /// A kubeconfig for somebody without any rights but those that RBAC gives to this name and these groups.
    ///
    /// On a control plane of ours these are real credentials: the token of a user declared in `Options::users`, or a
    /// certificate (two groups at most). On another cluster the admin impersonates, which kubectl and helm honour, and
    /// `kube` does not.
    ///
    /// # Errors
    /// When there are too many groups, or the file cannot be written.
    pub fn user(&self, name: &str, groups: &[&str]) -> Result<PathBuf> {
        let Authority::Own { pki, declared } = &self.authority else {
            let (cluster, mut user) = self.cluster_and_user()?;
            if let Some(fields) = user.as_object_mut() {
                fields.insert("as".to_owned(), json!(name));
                fields.insert("as-groups".to_owned(), json!(groups));
            }
            return self.write_kubeconfig(name, &cluster, &user);
        };
        if let Some((_, path)) = declared.iter().find(|(user, _)| user.name == name && user.groups == groups) {
            return Ok(path.clone());
        }
        let (cluster, _) = self.cluster_and_user()?;
        self.write_kubeconfig(name, &cluster, &kubeconfig::by_certificate(&pki.client(name, groups)?))
    }

    /// A kubeconfig for a ServiceAccount, by a token of the API server's that is good for an hour.
    ///
    /// # Errors
    /// When there is no such ServiceAccount.
    pub fn service_account(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}});
        let answer = self.requests()?.create(&path, &asked)?;
        let token = answer.pointer("/status/token").and_then(Value::as_str).context("the answer has no token")?;
        let (cluster, _) = self.cluster_and_user()?;
        self.write_kubeconfig(&format!("{namespace}-{name}"), &cluster, &kubeconfig::by_token(token))
    }

    fn write_kubeconfig(&self, name: &str, cluster: &Value, user: &Value) -> Result<PathBuf> {
        let name: String =
            name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.processes.folder().join(format!("{name}-{number}.kubeconfig"));
        kubeconfig::write(&path, cluster, user)?;
        Ok(path)
    }

    /// The current context's cluster and user, with every file that they name read in.
    fn cluster_and_user(&self) -> Result<(Value, Value)> {
        // Those of our own control planes are JSON with one context, and name no files.
        let own = std::fs::read(&self.kubeconfig).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let config = match own {
            Some(config) if matches!(self.authority, Authority::Own { .. }) => config,
            _ => self.kubectl_json(&["config", "view", "--raw", "--minify", "--flatten"])?,
        };
        let part = |path: &str| config.pointer(path).cloned().with_context(|| format!("the kubeconfig has no {path}"));
        Ok((part("/clusters/0/cluster")?, part("/users/0/user")?))
    }

    fn run(&self, program: &Path, arguments: &[&str], stdin: Option<&str>) -> Result<Output> {
        let cache = self.processes.folder().join("cache");
        let mut child = Command::new(program)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            // They end before a collection would pay: a quarter of what they take.
            .env("GOGC", "off")
            // Nothing of the user's own settings and caches comes in, nothing of ours goes out.
            .env("KUBERC", "off")
            .env("KUBECACHEDIR", cache.join("kube"))
            .env("HELM_CACHE_HOME", cache.join("helm"))
            .env("HELM_CONFIG_HOME", cache.join("helm"))
            .env("HELM_DATA_HOME", cache.join("helm"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let pipe = child.stdin.take();
        // Written beside the reading of its answer: either pipe may fill up.
        std::thread::scope(|scope| {
            scope.spawn(move || {
                if let (Some(mut pipe), Some(words)) = (pipe, stdin) {
                    pipe.write_all(words.as_bytes()).ok();
                }
            });
            child.wait_with_output().with_context(|| format!("{} is gone", program.display()))
        })
    }
}

fn text(program: &str, arguments: &[&str], output: Output) -> Result<String> {
    if !output.status.success() {
        bail!("`{program} {}`: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
