//! Turns command lines into processes that live in a folder: `cmd/NAME` starts one, `pid/NAME` records it,
//! `log/NAME.log` has its words.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use parking_lot::{Mutex, MutexGuard};

use super::watchdog::{self, Watchdog};
use crate::polling::until;

pub use super::watchdog::Afterwards;

/// How long a process may take to end after it was told to.
const ENDING_MAX: Duration = Duration::from_secs(30);
/// How many lines of a log an error quotes.
const TAIL_LINES: usize = 12;

/// What a process can be told without its cooperation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// End at once: SIGKILL.
    Kill,
    /// Please end: SIGTERM.
    Terminate,
    /// Stand still: SIGSTOP.
    Stop,
    /// Go on: SIGCONT.
    Continue,
}

/// Where processes run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Place {
    /// A new folder in the system's folder for temporary files.
    #[default]
    Temporary,
    /// This folder, which must not exist yet.
    At(PathBuf),
}

/// The processes of one folder. When it is dropped, or this program dies, they are killed and the folder goes; not so
/// after [`Processes::detach`], nor for a folder that was only [attached](Processes::attach).
#[derive(Debug)]
pub struct Processes {
    folder: PathBuf,
    children: Mutex<BTreeMap<String, Child>>,
    watchdog: Mutex<Option<Watchdog>>,
}

impl Processes {
    /// An empty folder, watched over.
    ///
    /// # Errors
    /// When the folder exists already or cannot be made.
    pub fn create(place: &Place, afterwards: Afterwards) -> Result<Self> {
        let folder = match place {
            Place::Temporary => tempfile::Builder::new().prefix("gangmatch-").tempdir()?.keep(),
            Place::At(folder) => {
                if let Some(parent) = folder.parent() {
                    fs::create_dir_all(parent)?;
                }
                let made = DirBuilder::new().mode(0o700).create(folder);
                made.with_context(|| format!("cannot create {}", folder.display()))?;
                folder.clone()
            }
        };
        let folder = folder.canonicalize()?;
        let watchdog = Watchdog::arm(&folder, afterwards)?;
        let processes = Self { folder, children: Mutex::default(), watchdog: Mutex::new(Some(watchdog)) };
        for part in ["cmd", "pid", "log"] {
            fs::create_dir(processes.folder.join(part))?;
        }
        Ok(processes)
    }

    /// The folder of processes that somebody else started and detached.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn attach(folder: &Path) -> Result<Self> {
        let folder = folder.canonicalize().with_context(|| format!("nothing runs in {}", folder.display()))?;
        Ok(Self { folder, children: Mutex::default(), watchdog: Mutex::default() })
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with everything that the process wrote to stdout and stderr.
    #[must_use]
    pub fn log(&self, name: &str) -> PathBuf {
        self.folder.join("log").join(format!("{name}.log"))
    }

    /// The last lines of that file.
    #[must_use]
    pub fn log_tail(&self, name: &str) -> String {
        let text = fs::read(self.log(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
    }

    /// Starts a process. Its command line must name the folder somewhere, by which the watchdog recognises it.
    ///
    /// # Errors
    /// When the command line does not name the folder, or the process cannot be started.
    pub fn start(&self, name: &str, command: &[String], environment: &[(&str, &str)]) -> Result<()> {
        let inside = format!("{}/", self.folder.display());
        if !command.iter().any(|word| word.contains(&inside)) {
            bail!("the command line of `{name}` does not name {}", self.folder.display());
        }
        let mut script = String::from("#!/bin/sh\n");
        for (key, value) in environment {
            script.push_str(&format!("export {key}={}\n", quoted(value)));
        }
        let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        // The id is recorded before there is anything to kill; if the folder is gone by then, nothing starts.
        let record = quoted(&self.folder.join("pid").join(name).display().to_string());
        script.push_str(&format!("echo $$ >{record} && exec {}\n", words.join(" ")));
        fs::write(self.folder.join("cmd").join(name), script)?;
        self.restart(name)
    }

    /// Starts a process that has ended once more, with the same command line.
    ///
    /// # Errors
    /// When it was never started, or still runs.
    pub fn restart(&self, name: &str) -> Result<()> {
        if self.is_running(name) {
            bail!("`{name}` runs already");
        }
        let script = self.folder.join("cmd").join(name);
        if !script.exists() {
            bail!("`{name}` was never started in {}", self.folder.display());
        }
        let log: File = OpenOptions::new().create(true).append(true).open(self.log(name))?;
        let child = Command::new("sh")
            .arg(script)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .context("`sh` does not start")?;
        self.children().insert(name.to_owned(), child);
        Ok(())
    }

    /// Whether the process has not ended yet.
    #[must_use]
    pub fn is_running(&self, name: &str) -> bool {
        if let Some(child) = self.children().get_mut(name) {
            return matches!(child.try_wait(), Ok(None));
        }
        self.recorded(name).is_some_and(|id| self.is_ours(id))
    }

    /// The id of a process.
    ///
    /// # Errors
    /// When it does not run.
    pub fn id(&self, name: &str) -> Result<u32> {
        let own = self.children().get(name).map(Child::id);
        let id = own.or_else(|| self.recorded(name)).filter(|_| self.is_running(name));
        id.with_context(|| format!("`{name}` does not run"))
    }

    /// Sends a signal and does not wait for its effect.
    ///
    /// # Errors
    /// When the process does not run.
    pub fn signal(&self, name: &str, signal: Signal) -> Result<()> {
        let id = self.id(name)?;
        let word = match signal {
            Signal::Kill => "KILL",
            Signal::Terminate => "TERM",
            Signal::Stop => "STOP",
            Signal::Continue => "CONT",
        };
        let status =
            Command::new("sh").args(["-c", "kill -s \"$1\" \"$2\"", "kill", word, &id.to_string()]).status()?;
        if !status.success() {
            bail!("cannot send {word} to `{name}`");
        }
        Ok(())
    }

    /// Ends a process by SIGKILL or SIGTERM and waits until it has ended. It can be [restarted](Processes::restart).
    ///
    /// # Errors
    /// When it does not run, or does not end in half a minute.
    pub fn end(&self, name: &str, signal: Signal) -> Result<()> {
        self.signal(name, signal)?;
        until(&format!("the end of `{name}`"), ENDING_MAX, || Ok((!self.is_running(name)).then_some(())))?;
        self.children().remove(name);
        fs::remove_file(self.folder.join("pid").join(name)).ok();
        Ok(())
    }

    /// Lets the processes outlive this program; answers their folder, for [`Processes::attach`] and [`end_all`].
    ///
    /// # Errors
    /// When the watchdog does not answer.
    pub fn detach(self) -> Result<PathBuf> {
        if let Some(watchdog) = self.take_watchdog() {
            watchdog.release()?;
        }
        Ok(self.folder.clone())
    }

    fn children(&self) -> MutexGuard<'_, BTreeMap<String, Child>> {
        self.children.lock()
    }

    fn take_watchdog(&self) -> Option<Watchdog> {
        self.watchdog.lock().take()
    }

    fn recorded(&self, name: &str) -> Option<u32> {
        fs::read_to_string(self.folder.join("pid").join(name)).ok()?.trim().parse().ok()
    }

    /// Whether the process with this id is one of the folder's, as in the watchdog's script.
    fn is_ours(&self, id: u32) -> bool {
        let line = if Path::new("/proc/self/cmdline").exists() {
            fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default()
        } else {
            let id = id.to_string();
            Command::new("ps")
                .args(["-o", "command=", "-p", &id])
                .output()
                .map(|output| output.stdout)
                .unwrap_or_default()
        };
        String::from_utf8_lossy(&line).contains(&format!("{}/", self.folder.display()))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        if let Some(watchdog) = self.take_watchdog() {
            watchdog.bite().ok();
            for child in self.children().values_mut() {
                child.wait().ok();
            }
        }
    }
}

/// Ends all processes of a detached folder and removes the folder.
///
/// # Errors
/// When `sh` cannot be started.
pub fn end_all(folder: &Path) -> Result<()> {
    match folder.canonicalize() {
        Ok(folder) => watchdog::end(&folder),
        Err(_) => Ok(()),
    }
}

/// One word for `sh`, whatever is in it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
