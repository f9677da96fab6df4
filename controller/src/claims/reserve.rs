//! First phase: the job and its offers reserved, each by one guarded patch.

use claiming::{Event, Reason};
use crds::Job;

use crate::claims::batcher::LedgerOp;
use crate::claims::offers::Member;
use crate::claims::refusal::{self, OfferRefusal};
use crate::claims::step::{Step, StepResult};
use crate::claims::view::{Leg, View};
use crate::claims::writes;
use crate::write::answer::{Answer, Rule};

/// How often a job's reserve is made again because the job was written in the meantime.
const TRIES: usize = 3;

impl Step<'_> {
    /// Reserves the job. If it was written while the patch was on its way, the patch is made again for what it says by now.
    pub(super) async fn reserve_root(&mut self) -> StepResult {
        for _ in 0..TRIES {
            if let Some(outcome) = self.try_root().await {
                return outcome;
            }
        }
        Err(self.failed("the job was written again and again in the meantime"))
    }

    /// `None`: the job is free, and was written in the meantime.
    async fn try_root(&mut self) -> Option<StepResult> {
        let key = &self.view.root.key;
        let held = self.context.cache.lock().jobs.get(key).cloned();
        let (Some(held), Some(found)) = (held, &self.view.found) else {
            return Some(Ok(Event::RootRefused(Reason::JobDeleted)));
        };
        let patch = writes::reserve_root(&self.view, found, &held, self.context.clock.now());
        match self.context.patch_status::<Job>(key, &patch).await {
            Answer::Done(job) => {
                self.learned.members.push(Member::Job(Box::new(job)));
                Some(Ok(Event::RootReserved))
            }
            Answer::Denied(refused) => {
                let answer = self.context.read::<Job>(key).await;
                let job = self.job();
                if job.as_ref().is_some_and(|job| is_claimed_by(job, &self.view)) {
                    return Some(Ok(Event::RootReserved));
                }
                if refused.is_by_test() && job.is_some_and(|job| is_as_matched(&job, &self.view)) {
                    return matches!(answer, Answer::Unknown(_)).then(|| Err(self.lost(&answer)));
                }
                self.learned.message = format!("job {key}: {}", refusal::first(&refused));
                Some(Ok(Event::RootRefused(refusal::of_job(&refused))))
            }
            Answer::Missing => Some(Ok(Event::RootRefused(Reason::JobDeleted))),
            answer => Some(Err(self.lost(&answer))),
        }
    }

    /// Reserves an offer.
    pub(super) async fn reserve(&mut self, number: usize) -> StepResult {
        let view = self.view.clone();
        let Some(leg) = view.legs.get(number) else { return Err(self.failed("no such offer")) };
        match self.claims.batcher.submit(&view, number, LedgerOp::Enter(leg.generation)).await {
            Answer::Done(offer) => {
                self.learned.members.push(offer);
                Ok(Event::Reserved(number))
            }
            Answer::Denied(refused) if refused.breaks(Rule::Epoch) => {
                // the offer is read as it is, and with it the epoch of the present leader
                self.context.read_offer(leg.kind, &leg.key).await;
                Err(self.failed(refused.message))
            }
            Answer::Denied(refused) => {
                self.context.read_offer(leg.kind, &leg.key).await;
                if self.is_entered(leg) {
                    return Ok(Event::Reserved(number));
                }
                let reason = refusal::of_offer(&refused);
                self.note_refusal(&OfferRefusal { leg, message: refusal::first(&refused), for_good: false }, reason);
                Ok(Event::Refused(number, reason))
            }
            Answer::Missing => Ok(Event::Refused(number, Reason::MemberGone)),
            answer => Err(self.lost(&answer)),
        }
    }

    /// Whether the offer has the claim's entry: an earlier write, whose answer was lost, has made it.
    fn is_entered(&self, leg: &Leg) -> bool {
        let objects = self.context.cache.lock();
        self.view.offer(leg, &objects).is_some_and(|offer| offer.entry(&self.view.uid).is_some())
    }
}

/// Whether the job shows this claim: an earlier write, whose answer was lost, has made it.
fn is_claimed_by(job: &Job, view: &View) -> bool {
    let is_same = job.metadata.uid.as_deref() == Some(view.root.uid.as_str());
    is_same && job.claim().is_some_and(|claim| claim.uid == view.uid)
}

/// Whether a job is the one that was matched, in the same generation, and free.
fn is_as_matched(job: &Job, view: &View) -> bool {
    let is_same = job.metadata.uid.as_deref() == Some(view.root.uid.as_str());
    is_same && job.claim().is_none() && job.metadata.generation.unwrap_or(0) == view.root.generation
}
