//! The decision: commit, abort or release, the refusals that lead to it, and the job notified.

use claiming::{Event, Reason};
use crds::conditions::{self, types};
use crds::{AskWhen, ClaimEntry, Decision, Job, Match, StopPolicy, Vote, VoteRetry};
use pool::Objects;

use crate::claims::refusal::OfferRefusal;
use crate::claims::step::{Step, StepResult};
use crate::claims::view::{Leg, View, decision_of};
use crate::claims::{registers, writes};
use crate::write::answer::Answer;
use kube::runtime::events::EventType;

/// The offers that have refused a claim which is aborted for this reason, with what their agents say if they say anything.
fn refusing_offers<'v>(view: &'v View, objects: &Objects, reason: Reason) -> Vec<OfferRefusal<'v>> {
    let no = |leg: &'v Leg| {
        let found = view.offer(leg, objects).and_then(|offer| offer.entry(&view.uid));
        let (message, for_good) = match (reason, found) {
            (Reason::Rejected, Some(entry)) => rejection(entry)?,
            (Reason::ReserveTimedOut, None) => ("not reserved within reserveTimeoutSeconds".to_owned(), false),
            (Reason::ReserveTimedOut, Some(entry)) => (no_vote(leg, entry, objects)?, false),
            _ => return None,
        };
        Some(OfferRefusal { leg, message, for_good })
    };
    view.legs.iter().filter_map(no).collect()
}

/// What has happened to the offers for which a claim ends; nothing, if the reason is not about offers.
fn what_happened(view: &View, reason: Reason, objects: &Objects) -> String {
    let said = |leg: &Leg| {
        let offer = objects.offer(leg.kind, &leg.key);
        let what = match (reason, offer) {
            (Reason::MemberLost | Reason::MemberGone, None) => "was deleted",
            (Reason::MemberLost | Reason::MemberGone, Some(offer)) if offer.uid() != leg.uid => {
                "was deleted and created again"
            }
            (Reason::MemberLost, Some(offer)) if leg.agent && offer.entry(&view.uid).is_none() => {
                "has lost the entry of this claim: its status was overwritten"
            }
            (Reason::Evicted, Some(offer)) if offer.fields.stop_policy == StopPolicy::HoldAndDrain => {
                "is being vacated: its owner has set spec.stopPolicy to HoldAndDrain"
            }
            _ => return None,
        };
        Some(format!("{} {} {what}", leg.kind, leg.key))
    };
    view.legs.iter().filter_map(said).collect::<Vec<_>>().join("; ")
}

/// The refusal of an agent; for good, if it says so.
fn rejection(entry: &ClaimEntry) -> Option<(String, bool)> {
    let words = if entry.vote_reason.is_empty() { "its agent voted no" } else { entry.vote_reason.as_str() };
    (entry.vote == Vote::Rejected).then(|| (crds::ad::line(words), entry.retry == Some(VoteRetry::Reject)))
}

/// Why there is no vote of an agent that was asked.
fn no_vote(leg: &Leg, entry: &ClaimEntry, objects: &Objects) -> Option<String> {
    if !leg.agent {
        return None;
    }
    let silent = objects.agent(leg.kind, &leg.key).is_silent();
    match (silent, entry.vote == Vote::Pending && entry.ask_when == AskWhen::Now) {
        (true, _) => Some("its agent is silent".to_owned()),
        (false, true) => Some("its agent did not vote within reserveTimeoutSeconds".to_owned()),
        (false, false) => None,
    }
}

impl Step<'_> {
    /// Commits the claim.
    pub(super) async fn commit(&mut self) -> StepResult {
        self.decide(Decision::Committed, None).await
    }

    /// Aborts the claim. An offer that has not answered in time has refused as well: else it would be tried again at once.
    pub(super) async fn abort(&mut self, reason: Reason) -> StepResult {
        let view = self.view.clone();
        let refusing = refusing_offers(&view, &self.context.cache.lock(), reason);
        if let Some(OfferRefusal { leg, message, .. }) = refusing.first() {
            self.learned.message = format!("{} {}: {message}", leg.kind, leg.key);
        }
        let event = self.decide(Decision::Aborted, Some(reason)).await?;
        if event == Event::Decided(claiming::Decision::Aborted) {
            refusing.iter().for_each(|no| self.note_refusal(no, reason));
        }
        Ok(event)
    }

    /// Ends a committed claim.
    pub(super) async fn release(&mut self, reason: Reason) -> StepResult {
        match reason {
            Reason::AgentLost => self.name_lost_agents(),
            Reason::StartTimedOut => self.start_timed_out().await,
            Reason::Preempted => {
                let preemptor = self.context.cache.lock().preempted.get(&self.view.uid).cloned();
                self.learned.message = preemptor.map(|preemptor| preemptor.message).unwrap_or_default();
            }
            _ => {}
        }
        self.decide(Decision::Released, Some(reason)).await
    }

    fn name_lost_agents(&mut self) {
        let objects = self.context.cache.lock();
        let is_silent = |leg: &&Leg| {
            leg.agent && (objects.agent(leg.kind, &leg.key).is_silent() || self.view.is_lost(leg, &objects))
        };
        let legs = self.view.legs.iter().filter(is_silent);
        let lost: Vec<String> = legs.map(|leg| format!("{} {}", leg.kind, leg.key)).collect();
        self.learned.message = format!("silent for too long: the agent of {}", lost.join(", "));
    }

    /// Turns the decision, or finds out how it was turned otherwise.
    async fn decide(&mut self, to: Decision, reason: Option<Reason>) -> StepResult {
        let Some(found) = &self.view.found else { return Ok(Event::Decided(claiming::Decision::Gone)) };
        let patch = {
            let objects = self.context.cache.lock();
            if let Some(reason) = reason.filter(|_| self.message().is_empty()) {
                self.learned.message = what_happened(&self.view, reason, &objects);
            }
            let latest = objects.matches.get(&self.view.key).unwrap_or(found);
            let votes = if to == Decision::Released { Vec::new() } else { registers::votes(&self.view, &objects) };
            let outcome = writes::Decided { to, reason, message: self.message(), votes };
            writes::decide(&self.view, latest, outcome, self.context.clock.now())
        };
        let stored = match self.context.cluster.patch_status::<Match>(&self.view.key, &patch).await {
            Answer::Done(stored) => {
                let reason = reason.map(Reason::as_str);
                tracing::info!(r#match = %self.view.key, decision = ?to, reason, "the Match is decided");
                self.count_decision(to, reason);
                stored
            }
            Answer::Missing => return Ok(self.match_is_gone(found)),
            Answer::Denied(_) => match self.context.cluster.get::<Match>(&self.view.key).await {
                Answer::Done(stored) => stored,
                Answer::Missing => return Ok(self.match_is_gone(found)),
                answer => return Err(self.lost(&answer)),
            },
            answer => return Err(self.lost(&answer)),
        };
        if stored.metadata.uid.as_deref() != Some(self.view.uid.as_str()) {
            return Ok(self.match_is_gone(found));
        }
        let decision = decision_of(&stored);
        let is_as_before = stored.decision() == writes::decides_from(to);
        self.context.cache.update(|all| all.matches.put(stored));
        match is_as_before {
            // refused by something outside the protocol: tried again later, not at once
            true => Err(self.failed("the server does not take the decision")),
            false => Ok(Event::Decided(decision)),
        }
    }

    /// The server has said so. The watch may show it later: until then the claim must not begin anew.
    fn match_is_gone(&self, found: &Match) -> Event {
        self.context.cache.update(|all| all.matches.delete(found));
        Event::Decided(claiming::Decision::Gone)
    }

    fn count_decision(&self, to: Decision, reason: Option<&'static str>) {
        let decision = match to {
            Decision::Pending => "Pending",
            Decision::Committed => "Committed",
            Decision::Aborted => "Aborted",
            Decision::Released => "Released",
        };
        let metrics = &self.context.metrics.claims;
        metrics.decided(decision, reason.unwrap_or("AllReserved"));
        // From its first claim on, a job says whether its work has started.
        let was_claimed = |job: &Job| {
            job.status.as_ref().is_some_and(|status| conditions::find(&status.conditions, types::STARTED).is_some())
        };
        let created =
            self.job().filter(|job| !was_claimed(job)).and_then(|job| job.metadata.creation_timestamp.clone());
        if let (Decision::Committed, Some(created)) = (to, created) {
            let waited = self.context.clock.now().duration_since(created.0);
            metrics.wait_duration.observe(waited.as_secs_f64().max(0.0));
        }
    }

    /// Notifies the job that its claim is committed.
    pub(super) async fn notify_job(&mut self) -> StepResult {
        let key = &self.view.root.key;
        let held = self.context.cache.lock().jobs.get(key).cloned();
        let (Some(held), Some(found)) = (held, &self.view.found) else { return Ok(Event::JobNotified) };
        let is_claimed = held.object.claim().is_some();
        // Either the claim was taken out of the job's status, or it is over and the Match is seen as it was before: the server knows.
        if !is_claimed && !self.context.is_committed(&self.view).await {
            return Err(self.failed("the server does not say that the claim is committed"));
        }
        let patch = writes::notify_job(&self.view, found, &held, self.context.clock.now());
        match self.context.patch_status::<Job>(key, &patch).await {
            Answer::Done(job) => {
                self.context.events.tell(&job, EventType::Normal, "Claimed", &found.spec.summary);
                Ok(Event::JobNotified)
            }
            Answer::Missing => Ok(Event::JobNotified),
            answer => {
                self.context.read::<Job>(key).await;
                Err(self.lost(&answer))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claims::view::view;
    use crate::testing::fixtures::{MATCH_UID, entry as entry_of, key, machine, world};

    #[test]
    fn m6_the_offer_for_which_a_claim_ends_is_named_and_what_happened_to_it() {
        let mut objects = world(&json!({"decision": "Committed"}));
        let view = view(MATCH_UID, &objects).unwrap();
        assert_eq!(what_happened(&view, Reason::MemberLost, &objects), "");
        objects.machines.put(machine(&json!({"stopPolicy": "HoldAndDrain"}), &entry_of("slots")));
        let evicted = "Machine ns/machine is being vacated: its owner has set spec.stopPolicy to HoldAndDrain";
        assert_eq!(what_happened(&view, Reason::Evicted, &objects), evicted);
        assert_eq!(what_happened(&view, Reason::Done, &objects), "");
        let mut again = machine(&json!({}), &json!({}));
        again.metadata.uid = Some("u-another".to_owned());
        again.metadata.resource_version = Some("9".to_owned());
        objects.machines.put(again);
        objects.licenses.remove(&key("license"));
        let lost = "Machine ns/machine was deleted and created again; License ns/license was deleted";
        assert_eq!(what_happened(&view, Reason::MemberLost, &objects), lost);
    }

    #[test]
    fn what_an_agent_says_is_one_plain_line() {
        let no = json!({"vote": "Rejected", "voteReason": "busy\u{1b}[2J\n\u{202e}until noon"});
        let said = rejection(&serde_json::from_value(no).unwrap());
        assert_eq!(said, Some(("busy\\u{1b}[2J\\n\\u{202e}until noon".to_owned(), false)));
    }
}
