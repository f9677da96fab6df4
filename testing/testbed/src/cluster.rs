//! Turns the environment into a cluster to test on: processes of our own, kind, or whatever a kubeconfig names.
//!
//! `GANGMATCH_KUBECONFIG=FILE` takes an existing cluster; else `GANGMATCH_CLUSTER` is `process` (the default) or
//! `kind`.

use std::env;
use std::fs::OpenOptions;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::control_plane::binaries::Binaries;
use crate::control_plane::processes::{Afterwards, Place, Processes};
use crate::control_plane::{Access, ControlPlane, Options, Tools};
use crate::repository;

/// The name of the kind cluster; it is made once and stays until `cargo xtask down`.
const KIND: &str = "gangmatch";

/// A cluster, and all that [`Access`] offers for it.
#[derive(Debug)]
pub enum Cluster {
    /// Processes of our own, which end with this value.
    Processes(ControlPlane),
    /// A cluster that was there before and stays.
    Given(Access),
}

/// Which cluster somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Processes of our own.
    Processes,
    /// Containers on this machine, by Docker and kind.
    Kind,
    /// The current context of this kubeconfig.
    Kubeconfig(PathBuf),
}

impl Choice {
    /// What the environment asks for.
    ///
    /// # Errors
    /// When `GANGMATCH_CLUSTER` is neither `process` nor `kind`.
    pub fn from_env() -> Result<Self> {
        if let Some(path) = env::var_os("GANGMATCH_KUBECONFIG").filter(|path| !path.is_empty()) {
            return Ok(Self::Kubeconfig(path.into()));
        }
        match env::var("GANGMATCH_CLUSTER").as_deref() {
            Err(_) | Ok("" | "process") => Ok(Self::Processes),
            Ok("kind") => Ok(Self::Kind),
            Ok(other) => bail!("GANGMATCH_CLUSTER is `{other}`; it can be `process` or `kind`"),
        }
    }
}

impl Cluster {
    /// The cluster that the environment asks for; `options` say what a control plane of our own has.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn from_env(options: &Options) -> Result<Self> {
        Self::of(&Choice::from_env()?, options)
    }

    /// The cluster of a choice.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn of(choice: &Choice, options: &Options) -> Result<Self> {
        match choice {
            Choice::Processes => ControlPlane::start(options).map(Self::Processes),
            Choice::Kind => kind().map(Self::Given),
            Choice::Kubeconfig(path) => given(path).map(Self::Given),
        }
    }

    /// The processes behind the API, for tests that kill them; none on a cluster that is not ours.
    #[must_use]
    pub fn control_plane(&self) -> Option<&ControlPlane> {
        match self {
            Self::Processes(plane) => Some(plane),
            Self::Given(_) => None,
        }
    }
}

impl Deref for Cluster {
    type Target = Access;

    fn deref(&self) -> &Access {
        match self {
            Self::Processes(plane) => plane,
            Self::Given(access) => access,
        }
    }
}

/// Deletes the kind cluster, if there is one.
///
/// # Errors
/// When Docker or kind cannot be used.
pub fn delete_kind() -> Result<()> {
    kind_command(&["delete", "cluster", "--name", KIND])?;
    Ok(())
}

fn kind() -> Result<Access> {
    let docker =
        Command::new("docker").arg("info").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !docker.is_ok_and(|status| status.success()) {
        bail!("kind needs Docker, and `docker info` fails; without Docker choose `process`");
    }
    // Several test programs may want the cluster at once; one makes it.
    let lock = OpenOptions::new().create(true).append(true).open(env::temp_dir().join("gangmatch-kind.lock"))?;
    lock.lock()?;
    if !kind_command(&["get", "clusters"])?.lines().any(|line| line == KIND) {
        let config = repository::root().join("testing/testbed/kind.yaml").display().to_string();
        kind_command(&["create", "cluster", "--name", KIND, "--config", &config, "--wait", "3m"])?;
    }
    let processes = Processes::create(&Place::Temporary, Afterwards::Remove)?;
    let path = processes.folder().join("kind.kubeconfig");
    crate::control_plane::write_private(&path, &kind_command(&["get", "kubeconfig", "--name", KIND])?)?;
    access(path, processes)
}

fn kind_command(arguments: &[&str]) -> Result<String> {
    let output = Command::new("kind").args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.context("`kind` is not in PATH; it can be had from https://kind.sigs.k8s.io")?;
    if !output.status.success() {
        bail!("`kind {}` failed", arguments.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn given(kubeconfig: &Path) -> Result<Access> {
    let kubeconfig = kubeconfig.canonicalize().with_context(|| format!("no kubeconfig at {}", kubeconfig.display()))?;
    access(kubeconfig, Processes::create(&Place::Temporary, Afterwards::Remove)?)
}

fn access(kubeconfig: PathBuf, processes: Processes) -> Result<Access> {
    let access = Access::foreign(kubeconfig, tools()?, processes);
    access
        .kubectl_text(&["get", "--raw=/readyz", "--request-timeout=20s"], None)
        .context("the cluster does not answer")?;
    Ok(access)
}

/// Whoever has a cluster has kubectl and helm, most likely; else they are built.
fn tools() -> Result<Tools> {
    match (in_path("kubectl"), in_path("helm")) {
        (Some(kubectl), Some(helm)) => Ok(Tools { kubectl, helm }),
        _ => Ok(Tools::from(&Binaries::ready()?)),
    }
}

/// Where a program is, if it is on PATH.
#[must_use]
pub fn in_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}
