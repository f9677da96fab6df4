//! Before all others: the Match written.

use std::sync::Arc;

use claiming::Event;
use crds::Match;

use crate::claims::stalls::Retry;
use crate::claims::step::{Step, StepResult};
use crate::claims::view::View;
use crate::cycle::backoff::retry_of;
use crate::cycle::job_backoff::Cause;
use crate::write::answer::Answer;
use kube::runtime::events::EventType;

impl Step<'_> {
    /// Writes the Match. If one of that name is there already, a later run goes on with that one as it is stored.
    pub(super) async fn create_match(&mut self) -> StepResult {
        let Some(found) = self.view.found.clone() else { return Err(self.failed("there is no Match to write")) };
        match self.context.cluster.create(found.as_ref()).await {
            Answer::Done(written) => {
                tracing::info!(r#match = %self.view.key, members = written.spec.summary, "gang found");
                let attempt = if written.spec.attempt <= 1 { "first" } else { "again" };
                self.context.metrics.claims.attempted(attempt);
                let root = &self.view.root.uid;
                self.claims.job_backoff.lock().forget(root, Cause::Unwritten);
                self.claims.stalls().written(root);
                self.context.cache.update(|all| all.matches.put(written.clone()));
                self.learned.written = Some(Arc::new(View::of(written)));
                Ok(Event::MatchCreated)
            }
            Answer::Denied(refused) => {
                self.context.metrics.claims.matches_not_taken.inc();
                self.back_off(&refused.message);
                Err(self.waits(refused.message, Retry::OfJob))
            }
            Answer::Exists => match self.context.cluster.get::<Match>(&self.view.key).await {
                Answer::Done(stored) => {
                    self.context.cache.update(|all| all.matches.put(stored));
                    Err(self.failed("a Match of this name exists already"))
                }
                answer => Err(self.lost(&answer)),
            },
            answer => Err(self.lost(&answer)),
        }
    }

    /// Lets the job pause, since the server refuses its Match, and reports that. The offers are free again at once: nothing was
    /// reserved.
    fn back_off(&self, message: &str) {
        let Some(job) = self.job() else { return };
        let about = (self.view.root.uid.as_str(), self.view.root.generation);
        let note = format!("its Match cannot be written: {message}");
        let now_ms = self.context.now_ms();
        let mut job_backoff = self.claims.job_backoff.lock();
        let pause_ms = job_backoff.remember(about, Cause::Unwritten, &note, &retry_of(&job), now_ms);
        drop(job_backoff);
        tracing::warn!(r#match = %self.view.key, message, pause_ms, "the Match was refused; its job pauses");
        self.context.events.tell(&job, EventType::Warning, "FailedCreate", message);
    }
}
