//! Turns chance into loopback ports that nobody listens on right now.

use std::net::TcpListener;

use anyhow::{Context, Result, bail};

/// Where ports are looked for: below the ports that Linux and macOS hand to outgoing connections, so that a component
/// which is killed and restarted finds its port still free.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;
/// How many ports are tried before giving up.
const TRIES_MAX: u16 = 200;

/// A port on which a listener could be opened a moment ago. It is probed, not reserved: whoever uses it must be ready
/// to come back for another one.
///
/// # Errors
/// When none is found.
pub fn free() -> Result<u16> {
    for _ in 0..TRIES_MAX {
        let port = FIRST + u16::try_from(random()? % u64::from(COUNT))?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free loopback port in {FIRST}..{} after {TRIES_MAX} tries", FIRST + COUNT)
}

/// A random number of the operating system.
pub(crate) fn random() -> Result<u64> {
    getrandom::u64().context("the operating system has no random numbers")
}
