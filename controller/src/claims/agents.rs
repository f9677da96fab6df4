//! The writes to the entries of offers with an agent, and what is read of them.

use claiming::{Digest, Event};
use pool::{OfferRef, lease_key};

use crate::claims::registers;
use crate::claims::step::{Step, StepResult};
use crate::claims::view::{Leg, agent_of_entry as seen, is_stopping};
use crate::write::answer::Answer;
use crate::write::requests::ObjectPatch;

impl Step<'_> {
    /// Requests the vote of an agent.
    pub(super) async fn request_vote(&mut self, number: usize) -> StepResult {
        self.turn(number, &registers::request_vote(&self.view.uid)).await
    }

    /// Notifies an agent that the claim is committed, if it has voted with this ballot.
    pub(super) async fn notify_agent(&mut self, number: usize, ballot: Digest) -> StepResult {
        let text = {
            let objects = self.context.cache.lock();
            let offer = self.view.legs.get(number).and_then(|leg| self.view.offer(leg, &objects));
            let text = offer.and_then(|offer| Some(offer.entry(&self.view.uid)?.ballot.clone()));
            text.filter(|text| Digest::of(&[text]) == ballot)
        };
        let Some(text) = text else { return Err(self.failed("the agent has voted again since its ballot was read")) };
        self.turn(number, &registers::notify(&self.view.uid, &text)).await
    }

    /// Tells an agent to stop.
    pub(super) async fn stop_agent(&mut self, number: usize) -> StepResult {
        self.turn(number, &registers::stop(&self.view.uid, &self.view.key.to_string())).await
    }

    /// Writes that the work of a silent agent is lost. A process that was asleep itself takes others for silent: so the offer is read,
    /// then the agent's Lease, which must not have been renewed.
    pub(super) async fn mark_lost(&mut self, number: usize) -> StepResult {
        let Some(leg) = self.view.legs.get(number) else { return Err(self.failed("no such offer")) };
        self.done(self.context.read_offer(leg.kind, &leg.key).await)?;
        let offer_version = {
            let objects = self.context.cache.lock();
            self.view.offer(leg, &objects).and_then(|offer| offer.metadata.resource_version.clone())
        };
        let Some(version) = offer_version else { return Err(self.failed("the offer is another one of its name")) };
        let is_late = self.is_late(leg);
        if !is_late && !self.is_silent(leg).await {
            return Err(self.failed("the agent is not silent"));
        }
        let why = if is_late { "it has not stopped in time" } else { "it is silent" };
        tracing::warn!(r#match = %self.view.key, offer = %leg.key, kind = leg.kind.as_str(), why, "the work of an agent is lost");
        self.turn(number, &registers::mark_lost(&self.view.uid, &version)).await
    }

    /// Whether an offer's agent was told to stop its work for a claim, and has not done so in its time.
    fn is_late(&self, leg: &Leg) -> bool {
        let is_stopping = {
            let objects = self.context.cache.lock();
            let found = self.view.offer(leg, &objects).and_then(|offer| offer.entry(&self.view.uid));
            found.is_some_and(|found| is_stopping(&seen(Some(found), false)))
        };
        is_stopping && self.context.now_ms() >= self.claims.stop_by_ms(&self.view.uid, &leg.uid)
    }

    /// Whether an offer's agent is silent, with its Lease as the server has it now.
    pub(super) async fn is_silent(&self, leg: &Leg) -> bool {
        let (cache, lease) = (&self.context.cache, lease_key(leg.kind, &leg.key));
        let Answer::Done(found) = self.context.cluster.lease(&lease).await else { return false };
        cache.saw_lease(lease.clone(), found);
        let silence = cache.lock().offer(leg.kind, &leg.key).and_then(OfferRef::silence_seconds);
        // an offer that names no agent any more has none that could work
        silence.is_none_or(|silence| cache.life(&lease, silence).is_silent())
    }

    async fn turn(&self, number: usize, patch: &ObjectPatch) -> StepResult {
        let Some(leg) = self.view.legs.get(number) else { return Err(self.failed("no such offer")) };
        match self.context.patch_offer(leg, patch).await {
            Answer::Done(_) => self.entry_of(number).ok_or_else(|| self.failed("the entry is not there any more")),
            answer => {
                self.context.read_offer(leg.kind, &leg.key).await;
                Err(self.lost(&answer))
            }
        }
    }

    /// The entry of a leg as it is known now, if there is one.
    pub(super) fn entry_of(&self, number: usize) -> Option<Event> {
        let leg = self.view.legs.get(number)?;
        let is_late = self.is_late(leg);
        let objects = self.context.cache.lock();
        let found = self.view.offer(leg, &objects)?.entry(&self.view.uid)?;
        Some(Event::Entry(number, seen(Some(found), is_late || objects.agent(leg.kind, &leg.key).is_silent())))
    }
}
