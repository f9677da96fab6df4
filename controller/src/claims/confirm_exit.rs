//! Before a claim ends because something is gone: the server is asked whether it is, never only the cache.

use claiming::{Event, Reason};
use crds::Job;
use pool::nomination_of;

use crate::claims::step::{Step, StepResult};
use crate::write::answer::Answer;

impl Step<'_> {
    /// Whether the server says that what the reason is about is gone.
    pub(super) async fn confirm_exit(&mut self, reason: Reason) -> StepResult {
        let is_gone = match reason {
            Reason::JobDeleted => self.is_job_gone().await,
            Reason::MemberLost | Reason::MemberGone => self.is_member_gone(reason).await,
            Reason::AgentLost => self.is_agent_gone().await,
            Reason::WorkloadFailed => self.is_work_gone().await,
            Reason::Preempted => self.is_preempted().await,
            _ => true,
        };
        if is_gone { Ok(Event::ExitConfirmed(reason)) } else { Err(self.failed("the server does not say so")) }
    }

    async fn is_job_gone(&self) -> bool {
        let is_other = |job: &Job| job.metadata.uid.as_deref() != Some(self.view.root.uid.as_str());
        match self.context.read::<Job>(&self.view.root.key).await {
            Answer::Missing => true,
            Answer::Done(()) => {
                self.job().is_none_or(|job| is_other(&job) || job.metadata.deletion_timestamp.is_some())
            }
            _ => false,
        }
    }

    /// Whether a nomination is stored that names this claim.
    async fn is_preempted(&self) -> bool {
        let preemptor = self.context.cache.lock().preempted.get(&self.view.uid).cloned();
        let Some(preemptor) = preemptor else { return false };
        if !matches!(self.context.read::<Job>(&preemptor.job).await, Answer::Done(())) {
            return false;
        }
        let objects = self.context.cache.lock();
        let nomination = objects.jobs.get(&preemptor.job).and_then(|held| nomination_of(&held.object));
        nomination.is_some_and(|nomination| nomination.victims.contains(&self.view.uid))
    }

    async fn is_member_gone(&self, reason: Reason) -> bool {
        if self.view.has_unknown_kind() {
            return true;
        }
        for leg in &self.view.legs {
            match self.context.read_offer(leg.kind, &leg.key).await {
                Answer::Missing => return true,
                Answer::Done(()) => {
                    let objects = self.context.cache.lock();
                    let Some(offer) = self.view.offer(leg, &objects) else { return true };
                    if reason == Reason::MemberLost && leg.agent && offer.entry(&self.view.uid).is_none() {
                        return true;
                    }
                }
                _ => return false,
            }
        }
        false
    }

    async fn is_agent_gone(&self) -> bool {
        for leg in self.view.legs.iter().filter(|leg| leg.agent) {
            if self.is_silent(leg).await || self.view.is_lost(leg, &self.context.cache.lock()) {
                return true;
            }
        }
        false
    }
}
