//! A command that does not outlive the agent that started it: this process stands between, and ends it when its own standard input
//! ends. So the work of an agent that was killed is killed too.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// What is written to standard input to ask the command to stop.
pub(crate) const STOP: u8 = b's';

/// Runs it to its end. Standard input: a [`STOP`] asks it to stop, the end of it kills it.
///
/// # Errors
/// The command cannot be started.
pub(crate) fn run(command: &str) -> anyhow::Result<()> {
    let mut child = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).process_group(0).spawn()?;
    // its own process group has its number
    let group = Pid::from_child(&child);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut word = [0];
        while matches!(input.read(&mut word), Ok(1)) {
            if word == [STOP] {
                kill_process_group(group, Signal::TERM).ok();
            }
        }
        kill_process_group(group, Signal::KILL).ok();
    });
    let status = child.wait()?;
    // what it has left behind
    kill_process_group(group, Signal::KILL).ok();
    std::process::exit(status.code().unwrap_or(1));
}
