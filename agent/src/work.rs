//! The work for one claim: a command under guard, or no command, where another program works.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::guard::STOP;

/// Work under way.
#[derive(Debug)]
pub(crate) struct Job {
    /// Dropped, it kills the work and waits for nothing.
    stop: mpsc::Sender<Duration>,
    ended: tokio::task::JoinHandle<()>,
}

impl Job {
    /// Begins it. `done` hears the claim's name when the command has ended by itself. Without a command there is nothing to be
    /// run: the work goes on until it is stopped.
    ///
    /// # Errors
    /// This program cannot be started once more.
    pub(crate) fn begin(
        command: Option<&str>,
        environment: Vec<(String, String)>,
        claim: &str,
        done: mpsc::UnboundedSender<String>,
    ) -> std::io::Result<Job> {
        let (stop, stopped) = mpsc::channel(2);
        let ended = match command {
            None => tokio::spawn(async move {
                let mut stopped = stopped;
                stopped.recv().await;
            }),
            Some(command) => {
                let guard = Command::new(std::env::current_exe()?)
                    .args(["guard", command])
                    .envs(environment)
                    .stdin(Stdio::piped())
                    .spawn()?;
                tokio::spawn(watch(guard, stopped, claim.to_owned(), done))
            }
        };
        Ok(Job { stop, ended })
    }

    /// What makes the work end at once that is being stopped.
    pub(crate) fn hurry(&self) -> mpsc::Sender<Duration> {
        self.stop.clone()
    }

    /// Stops it; when this returns, it has ended.
    pub(crate) async fn end(self, grace: Duration) {
        self.stop.send(grace).await.ok();
        self.ended.await.ok();
    }
}

async fn watch(
    mut guard: Child,
    mut stopped: mpsc::Receiver<Duration>,
    claim: String,
    done: mpsc::UnboundedSender<String>,
) {
    // held here: waiting for a child closes what is left in it
    let mut input = guard.stdin.take();
    tokio::select! {
        status = guard.wait() => {
            tracing::info!(claim, status = ?status.ok().and_then(|status| status.code()), "the work has ended");
            done.send(claim).ok();
        }
        grace = stopped.recv() => {
            if let (Some(input), Some(grace)) = (&mut input, grace)
                && input.write_all(&[STOP]).await.is_ok()
            {
                tokio::select! {
                    _ = timeout(grace, guard.wait()) => {}
                    // it is to end at once
                    _ = stopped.recv() => {}
                }
            }
            // the end of its input: now it kills
            drop(input);
            guard.wait().await.ok();
        }
    }
}
