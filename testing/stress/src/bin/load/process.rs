//! A process into the processor time that it has used; and stopped, and going on.

use anyhow::{Context, Result};
use testbed::control_plane::processes::Signal;
use testbed::product::Controller;

/// Linux counts processor time in hundredths of a second.
const TICK_MS: u64 = 10;

/// User and system time so far.
pub(crate) fn milliseconds(controller: &Controller<'_>) -> Result<u64> {
    milliseconds_of(controller.id()?)
}

/// The same of the process with this id.
pub(crate) fn milliseconds_of(id: u32) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).context("processor time is read from /proc")?;
    // The name, in brackets, may have blanks; what follows does not.
    let rest = text.rsplit(") ").next().unwrap_or_default();
    let field = |number: usize| rest.split(' ').nth(number - 3).and_then(|word| word.parse::<u64>().ok());
    let (user, system) = (field(14), field(15));
    Ok((user.context("utime")? + system.context("stime")?) * TICK_MS)
}

/// The memory that the process with this id has resident now.
pub(crate) fn resident_bytes(id: u32) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).context("memory is read from /proc")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

pub(crate) fn stand_still(controller: &Controller<'_>) -> Result<()> {
    controller.signal(Signal::Stop)
}

pub(crate) fn go_on(controller: &Controller<'_>) -> Result<()> {
    controller.signal(Signal::Continue)
}

pub(crate) fn end(controller: Controller<'_>) -> Result<()> {
    controller.end(Signal::Terminate)
}
