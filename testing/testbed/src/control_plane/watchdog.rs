//! Turns the end of this program, however it comes, into the end of every process that a folder records.
//!
//! A small `sh` reads a pipe whose other end only we hold. When it closes, by our own hand, by a panic or by SIGKILL,
//! `sh` takes the folder away, kills what is recorded in its `pid/` and removes it. One way down for all cases, so that
//! it is the tested one.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// What becomes of the folder when its processes have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Afterwards {
    /// It is removed.
    Remove,
    /// It stays, with its logs.
    Keep,
}

/// `$1` is the folder, `$2` is `remove` or `keep`.
///
/// A file `after` in the folder is a script that runs when the processes have ended: it removes what is not in the folder.
///
/// The folder is renamed first: a process that starts at this very moment cannot record itself any more, and then does
/// not start (see `processes.rs`). What stands in its place when all have ended was made by one that was not killed yet. A
/// recorded id counts only while its command line names the folder: ids are used again, and a zombie has no command line.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
while read -r word; do
  if [ "$word" = release ]; then exit 0; fi
done
away="$1.ending.$$"
mv "$1" "$away" 2>/dev/null || exit 0
ours() {
  if [ -r /proc/self/cmdline ]; then tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null
  else ps -o command= -p "$1" 2>/dev/null
  fi | grep -qF "$folder/"
}
folder=$1
after=$2
for file in "$away"/pid/*; do
  [ -f "$file" ] || continue
  read -r id <"$file"
  if ours "$id"; then kill -9 "$id" 2>/dev/null; fi
done
for file in "$away"/pid/*; do
  [ -f "$file" ] || continue
  read -r id <"$file"
  tries=0
  while ours "$id" && [ "$tries" -lt 500 ]; do
    tries=$((tries + 1))
    sleep 0.02
  done
done
if [ -f "$away/after" ]; then sh "$away/after"; fi
rm -rf "$folder"
if [ "$after" = keep ]; then
  rm -f "$away"/pid/*
  mv "$away" "$folder"
else
  rm -rf "$away"
fi
"#;

/// The waiting `sh`.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Child,
}

impl Watchdog {
    /// Watches over the folder from now on.
    pub(crate) fn arm(folder: &Path, afterwards: Afterwards) -> Result<Self> {
        Ok(Self { child: run(folder, afterwards, Stdio::piped())? })
    }

    /// Ends the folder's processes and waits until they have ended.
    pub(crate) fn bite(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().context("the watchdog is gone")?;
        Ok(())
    }

    /// Lets the folder's processes outlive this program.
    pub(crate) fn release(mut self) -> Result<()> {
        if let Some(mut pipe) = self.child.stdin.take() {
            pipe.write_all(b"release\n")?;
        }
        self.child.wait().context("the watchdog is gone")?;
        Ok(())
    }
}

/// Ends the processes of a folder that nobody watches over, and removes it; waits until that is done.
pub(crate) fn end(folder: &Path) -> Result<()> {
    run(folder, Afterwards::Remove, Stdio::null())?.wait().context("the watchdog is gone")?;
    Ok(())
}

fn run(folder: &Path, afterwards: Afterwards, stdin: Stdio) -> Result<Child> {
    let afterwards = match afterwards {
        Afterwards::Remove => "remove",
        Afterwards::Keep => "keep",
    };
    Command::new("sh")
        .args(["-c", SCRIPT, "gangmatch-watchdog"])
        .arg(folder)
        .arg(afterwards)
        .current_dir("/")
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Its own process group: a Ctrl-C that ends us does not end it.
        .process_group(0)
        .spawn()
        .context("`sh` does not start")
}
