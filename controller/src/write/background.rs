//! Writes that go on beside the main loop, and the pause after some of them failed.

use tokio::task::JoinHandle;

use crate::context::Context;
use crate::cycle::backoff::{Backoff, Pause};
use crate::write::answer::Answer;

/// The writes of one part of the controller.
#[derive(Debug, Default)]
pub(crate) struct Background {
    /// They answer with why some of them failed.
    running: Option<JoinHandle<Vec<String>>>,
    pause: Pause,
}

impl Background {
    /// Whether some are under way.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Until when nothing is written, because some have failed.
    pub(crate) fn pause_until_ms(&self, now_ms: u64) -> Option<u64> {
        self.pause.ends_ms(now_ms)
    }

    /// Begins some; they answer with why some of them failed.
    pub(crate) fn begin(&mut self, writes: impl Future<Output = Vec<String>> + Send + 'static) {
        self.running = Some(tokio::spawn(writes));
    }

    /// Waits until what was begun is written; for ever, if nothing was. After a failure, which is logged, a pause begins.
    pub(crate) async fn written(&mut self, what: &str, pauses: &Backoff, context: &Context) {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let failed = running.await.unwrap_or_default();
        self.running = None;
        let Some(first) = failed.first() else {
            self.pause = Pause::default();
            return;
        };
        tracing::warn!(writes = failed.len(), first, "{what} could not be written; retrying");
        self.pause.begin(pauses.pause_ms(self.pause.times(), 0), context.now_ms());
    }
}

/// Why a write failed; none if it was made, or if its object has changed: the change comes by watch.
pub(crate) fn failure(answer: Answer<()>) -> Option<String> {
    match answer {
        Answer::Denied(refused) if !refused.message.is_empty() => Some(refused.message),
        Answer::Unknown(unknown) => Some(unknown.to_string()),
        Answer::Done(()) | Answer::Denied(_) | Answer::Missing | Answer::Exists => None,
    }
}
