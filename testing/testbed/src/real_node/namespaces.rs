//! Turns this machine into one more machine for the processes of a node: Linux namespaces of their own for mounts, processes, networks,
//! messages and host names.
//!
//! All of the node hangs on one process: when that is killed, the kernel kills every process in its namespaces, and with the last of them
//! go its mounts and network devices. Nothing of it can be left behind, however this program ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use sha2::{Digest as _, Sha256};

use super::cgroups;
use super::programs::{path, run};
use crate::control_plane::hexadecimal;
use crate::control_plane::processes::{Afterwards, Place, Processes};
use crate::polling::until;

/// The process that the namespaces hang on, and its log.
const KEEPER: &str = "namespaces";
/// A file that is there when the namespaces are ready.
const READY: &str = "namespaces-ready";
/// How long that may take.
const READY_MAX: Duration = Duration::from_secs(30);
/// Folders whose content outside is not changed by what is written inside.
pub(crate) const COVERED: [&str; 3] = ["/run", "/var/lib", "/var/log"];

/// The arguments of `unshare`, before the program that is the first of the new namespaces.
pub(crate) const UNSHARE: [&str; 9] =
    ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"];

/// Gives the folders that containerd, kubelet and network plugins write to by habit a layer in memory, so that nothing is left in them.
pub(crate) const COVER: &str = "\
set -e
mount -t tmpfs tmpfs /run
for folder in lib log; do
  mkdir -p /run/covers/$folder/upper /run/covers/$folder/work
  mount -t overlay overlay -o lowerdir=/var/$folder,upperdir=/run/covers/$folder/upper,workdir=/run/covers/$folder/work /var/$folder
done
";

/// Namespaces with processes in them. They end with this value, or with this program.
#[derive(Debug)]
pub(crate) struct Namespaces {
    processes: Processes,
}

impl Namespaces {
    /// Makes empty ones, with a folder and cgroups.
    ///
    /// # Errors
    /// When the system refuses them.
    pub(crate) fn create(place: &Place, afterwards: Afterwards) -> Result<Self> {
        let processes = Processes::create(place, afterwards)?;
        let folder = processes.folder().to_path_buf();
        if let Some(covered) = COVERED.iter().find(|covered| folder.starts_with(covered)) {
            bail!("{} is in {covered}, which a node sees a copy of: set TMPDIR to another folder", folder.display());
        }
        let namespaces = Self { processes };
        fs::write(folder.join("after"), cgroups::removal(&namespaces.cgroup()))?;
        cgroups::create(&namespaces.cgroup())?;
        let ready = folder.join(READY);
        // The shell's child is waited for, and with it the shell collects every process that has lost its parent.
        let script = format!("{COVER}: >'{}'\nwhile :; do sleep 3600; done\n", ready.display());
        let init = folder.join("init");
        fs::write(&init, script)?;
        let command = UNSHARE.into_iter().chain(["sh"]).map(str::to_owned).chain([init.display().to_string()]);
        namespaces.processes.start(KEEPER, &command.collect::<Vec<_>>(), &[("PATH", &path())])?;
        until("the namespaces of a node", READY_MAX, || {
            if !namespaces.processes.is_running(KEEPER) {
                bail!("they cannot be made:\n{}", namespaces.processes.log_tail(KEEPER));
            }
            Ok(ready.exists().then_some(()))
        })?;
        Ok(namespaces)
    }

    /// Those of a folder in which another program made and detached them.
    ///
    /// # Errors
    /// When there are none.
    pub(crate) fn attach(folder: &Path) -> Result<Self> {
        let namespaces = Self { processes: Processes::attach(folder)? };
        namespaces.id()?;
        Ok(namespaces)
    }

    /// The folder with everything that belongs to them.
    pub(crate) fn folder(&self) -> &Path {
        self.processes.folder()
    }

    /// The processes, by which their logs are found.
    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    /// The name of the cgroup below which everything in containers is, derived from the folder.
    pub(crate) fn cgroup(&self) -> String {
        let mut digest = hexadecimal(&Sha256::digest(self.folder().as_os_str().as_encoded_bytes()));
        digest.truncate(16);
        format!("gangmatch-node-{digest}")
    }

    /// The id of the process that the namespaces hang on.
    pub(crate) fn id(&self) -> Result<u32> {
        self.processes.id(KEEPER)
    }

    /// The namespace of the processes inside, as `/proc/ID/ns/pid` of each of them links to it.
    pub(crate) fn process_namespace(&self) -> Result<PathBuf> {
        Ok(fs::read_link(format!("/proc/{}/ns/pid_for_children", self.id()?))?)
    }

    /// The words of a command line that run what follows them inside.
    pub(crate) fn entrance(&self) -> Result<Vec<String>> {
        let id = self.id()?;
        let words = ["nsenter", "--mount", "--net", "--ipc", "--uts", "--target"].map(str::to_owned);
        // The keeper itself is outside of the namespace of processes that it has made.
        Ok(words.into_iter().chain([id.to_string(), format!("--pid=/proc/{id}/ns/pid_for_children")]).collect())
    }

    /// Starts a process inside. Its command line must name the folder.
    pub(crate) fn start(&self, name: &str, command: Vec<String>) -> Result<()> {
        let command: Vec<String> = self.entrance()?.into_iter().chain(command).collect();
        self.processes.start(name, &command, &[("PATH", &path())])
    }

    /// What a command that is run inside prints.
    ///
    /// # Errors
    /// When it does not succeed; the error has its words.
    pub(crate) fn run(&self, command: &[&str]) -> Result<String> {
        let entrance = self.entrance()?;
        run(&entrance.iter().map(String::as_str).chain(command.iter().copied()).collect::<Vec<_>>())
    }

    /// Lets all of it outlive this program.
    pub(crate) fn detach(self) -> Result<()> {
        self.processes.detach().map(drop)
    }
}
