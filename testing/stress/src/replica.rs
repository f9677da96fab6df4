//! A controller behind a proxy: killed, frozen, cut off, and started again.

use std::path::Path;

use anyhow::Result;
use testbed::Access;
use testbed::control_plane::processes::Signal;
use testbed::product::{self, Controller};
use tokio::sync::watch;
use tokio::task::block_in_place;

use crate::Proxy;

/// One controller.
pub struct Replica {
    /// What it talks through.
    pub proxy: Proxy,
    controller: Controller<'static>,
    deaths: watch::Receiver<usize>,
    /// How often it was killed.
    pub killed: usize,
}

impl Replica {
    pub(crate) async fn start(
        access: &'static Access,
        kubeconfig: &Path,
        reads: Option<&str>,
        flags: &[&str],
        seed: u64,
    ) -> Result<Replica> {
        let proxy = Proxy::start(kubeconfig, reads, seed).await?;
        let through = proxy.kubeconfig(kubeconfig)?;
        let controller = block_in_place(|| product::start_controller(access, &through, flags))?;
        Ok(Replica { deaths: proxy.deaths(), proxy, controller, killed: 0 })
    }

    /// What it is called in the Lease, as far as its mark.
    #[must_use]
    pub fn name(&self) -> &str {
        self.controller.name()
    }

    /// The end of its log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        self.controller.log_tail()
    }

    /// Freezes it, thaws it, or asks it to end.
    ///
    /// # Errors
    /// When it does not run.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        block_in_place(|| self.controller.signal(signal))
    }

    /// Kills it. Nothing that it has on its way arrives any more, unless it is held.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&mut self) -> Result<()> {
        self.proxy.sever(true);
        self.killed += 1;
        block_in_place(|| self.controller.end(Signal::Kill))
    }

    /// Starts it again and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready.
    pub fn restart(&self) -> Result<()> {
        self.proxy.sever(false);
        block_in_place(|| self.controller.restart())
    }

    /// The same without the wait.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart_without_waiting(&self) -> Result<()> {
        self.proxy.sever(false);
        block_in_place(|| self.controller.spawn_again())
    }

    /// Carries out what a fault has asked for: kills the controller and starts it again. True if there was one.
    ///
    /// # Errors
    /// When it does not start.
    pub fn die_if_struck(&mut self) -> Result<bool> {
        if !self.deaths.has_changed().unwrap_or(false) {
            return Ok(false);
        }
        self.deaths.borrow_and_update();
        self.kill()?;
        // not waited for: it may be struck again before it is ready
        self.restart_without_waiting()?;
        Ok(true)
    }
}
