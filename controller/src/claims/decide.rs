//! Second phase: the register turned, and the job told.

use std::sync::Mutex;
use std::time::Duration;

use claiming::{Action, Event, Reason, Record};
use crds::{Activity, AskWhen, ClaimEntry, Decision, Job, Match, StopPolicy, Vote, VoteRetry};
use pool::Objects;

use crate::api::Answer;
use crate::claims::drive::{Driver, Notes, noted};
use crate::claims::free::is_over;
use crate::claims::reserve::No;
use crate::claims::view::{Leg, View, entry};
use crate::claims::{registers, writes};
use crate::events::Tone;
use crate::metrics;

/// Who is to blame for calling a claim off for this reason, in their own words if they have any.
fn naysayers<'v>(view: &'v View, objects: &Objects, reason: Reason) -> Vec<No<'v>> {
    let no = |leg: &'v Leg| {
        let found = view.offer(leg, objects).and_then(|offer| entry(offer, &view.uid));
        let (message, for_good) = match (reason, found) {
            (Reason::Rejected, Some(entry)) => rejection(entry)?,
            (Reason::ReserveTimedOut, None) => ("not reserved within reserveTimeoutSeconds".to_owned(), false),
            (Reason::ReserveTimedOut, Some(entry)) => (no_vote(leg, entry, objects)?, false),
            _ => return None,
        };
        Some(No { leg, message, for_good })
    };
    view.legs.iter().filter_map(no).collect()
}

/// What has happened to which offers that a claim ends for this reason; nothing, if it is not about offers.
fn account(view: &View, reason: Reason, objects: &Objects) -> String {
    let said = |leg: &Leg| {
        let offer = objects.offer(&leg.kind, &leg.key);
        let what = match (reason, offer) {
            (Reason::MemberLost | Reason::MemberGone, None) => "was deleted",
            (Reason::MemberLost | Reason::MemberGone, Some(offer)) if offer.uid() != leg.uid => {
                "was deleted and created again"
            }
            (Reason::MemberLost, Some(offer)) if leg.agent && entry(offer, &view.uid).is_none() => {
                "has lost the entry of this claim: its status was overwritten"
            }
            (Reason::Evicted, Some(offer)) if offer.fields().stop_policy == StopPolicy::HoldAndDrain => {
                "is being vacated: its owner has set spec.stopPolicy to HoldAndDrain"
            }
            _ => return None,
        };
        Some(format!("{} {} {what}", leg.kind, leg.key))
    };
    view.legs.iter().filter_map(said).collect::<Vec<_>>().join("; ")
}

/// Whether it is written that the work of an offer's agent is lost.
fn is_lost(view: &View, leg: &Leg, objects: &Objects) -> bool {
    let entry = view.offer(leg, objects).and_then(|offer| entry(offer, &view.uid));
    entry.is_some_and(|entry| entry.activity == Activity::Lost)
}

/// An agent's no; for good, if it says so.
fn rejection(entry: &ClaimEntry) -> Option<(String, bool)> {
    let words = if entry.vote_reason.is_empty() { "its agent voted no" } else { entry.vote_reason.as_str() };
    (entry.vote == Vote::Rejected).then(|| (words.to_owned(), entry.retry == Some(VoteRetry::Reject)))
}

/// Why there is no vote of an agent that was asked.
fn no_vote(leg: &Leg, entry: &ClaimEntry, objects: &Objects) -> Option<String> {
    if !leg.agent {
        return None;
    }
    let silent = objects.agent(&leg.kind, &leg.key).is_silent();
    match (silent, entry.vote == Vote::Pending && entry.ask_when == AskWhen::Now) {
        (true, _) => Some("its agent is silent".to_owned()),
        (false, true) => Some("its agent did not vote within reserveTimeoutSeconds".to_owned()),
        (false, false) => None,
    }
}

impl Driver {
    /// Calls the claim off. Who has not answered in time has said no as well: else he would be asked again at once.
    pub(super) async fn abort(&self, view: &View, reason: Reason, notes: &Mutex<Notes>) -> Event {
        let noes = naysayers(view, &self.world.look(), reason);
        if let Some(no) = noes.first() {
            noted(notes, |notes| notes.message = format!("{} {}: {}", no.leg.kind, no.leg.key, no.message));
        }
        let event = self.decide(view, Action::Abort(reason), Decision::Aborted, Some(reason), notes).await;
        if event == Event::Decided(claiming::Decision::Aborted) {
            noes.iter().for_each(|no| self.refused(view, no, reason, notes));
        }
        event
    }

    /// Ends a claim that stands.
    pub(super) async fn release(&self, view: &View, reason: Reason, notes: &Mutex<Notes>) -> Event {
        if reason == Reason::AgentLost {
            let objects = self.world.look();
            let silent = |leg: &&Leg| {
                leg.agent && (objects.agent(&leg.kind, &leg.key).is_silent() || is_lost(view, leg, &objects))
            };
            let lost: Vec<String> =
                view.legs.iter().filter(silent).map(|leg| format!("{} {}", leg.kind, leg.key)).collect();
            noted(notes, |notes| notes.message = format!("silent for too long: the agent of {}", lost.join(", ")));
        }
        self.decide(view, Action::Release(reason), Decision::Released, Some(reason), notes).await
    }

    /// Turns the register, or finds out who has turned it.
    pub(super) async fn decide(
        &self,
        view: &View,
        action: Action,
        to: Decision,
        reason: Option<Reason>,
        notes: &Mutex<Notes>,
    ) -> Event {
        let Some(found) = &view.found else { return Event::Decided(claiming::Decision::Gone) };
        if let Some(reason) = reason
            && !self.is_gone(view, reason).await
        {
            return Event::Failed(action);
        }
        if reason == Some(Reason::StartTimedOut) {
            self.start_timed_out(view, notes);
        }
        let account = reason.map(|reason| account(view, reason, &self.world.look())).unwrap_or_default();
        noted(notes, |notes| {
            if notes.message.is_empty() {
                notes.message = account;
            }
        });
        let message = noted(notes, |notes| notes.message.clone());
        let patch = {
            let objects = self.world.look();
            let latest = objects.matches.get(&view.key).unwrap_or(found);
            let votes = if to == Decision::Released { Vec::new() } else { registers::votes(view, &objects) };
            let verdict = writes::Verdict { to, reason, message: &message, votes };
            writes::decide(view, latest, verdict, self.clock.now())
        };
        let stored = match self.cluster.patch_status::<Match>(&view.key, &patch).await {
            Answer::Done(stored) => {
                tracing::info!(r#match = %view.key, decision = ?to, reason = reason.map(Reason::as_str), "decided");
                self.count_decision(view, to, reason);
                stored
            }
            Answer::Missing => return Event::Decided(claiming::Decision::Gone),
            Answer::Refused(_) => match self.cluster.get::<Match>(&view.key).await {
                Answer::Done(stored) => stored,
                Answer::Missing => return Event::Decided(claiming::Decision::Gone),
                answer => return self.lost(action, &answer, notes),
            },
            answer => return self.lost(action, &answer, notes),
        };
        noted(notes, |notes| notes.ended |= is_over(&stored, &view.uid));
        if stored.metadata.uid.as_deref() != Some(view.uid.as_str()) {
            return Event::Decided(claiming::Decision::Gone);
        }
        let decision = stored.status.as_ref().map(|status| status.decision).unwrap_or_default();
        self.world.learn(|all| all.put_match(stored));
        match decision == writes::decides_from(to) {
            // refused by somebody who is not of the protocol: asked again later, not at once
            true => Event::Failed(action),
            false => Event::Decided(writes::record(decision)),
        }
    }

    fn count_decision(&self, view: &View, to: Decision, reason: Option<Reason>) {
        let decision = match to {
            Decision::Pending => "Pending",
            Decision::Committed => "Committed",
            Decision::Aborted => "Aborted",
            Decision::Released => "Released",
        };
        let metrics = &self.cluster.metrics;
        metrics.count(&metrics::DECISIONS, &[decision, reason.map_or("AllReserved", Reason::as_str)]);
        let first = view.found.as_ref().is_some_and(|found| found.spec.attempt <= 1);
        let created = self.job(view).and_then(|job| job.metadata.creation_timestamp.clone()).filter(|_| first);
        if let (Decision::Committed, Some(created)) = (to, created) {
            let waited = self.clock.now().duration_since(created.0);
            metrics.took(&metrics::WAIT_SECONDS, &[], Duration::try_from(waited).unwrap_or_default());
        }
    }

    /// That somebody is gone is believed from the server only, never because it was not seen. True for every other reason.
    async fn is_gone(&self, view: &View, reason: Reason) -> bool {
        match reason {
            Reason::JobDeleted => {
                let answer = self.read::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await;
                let deleting = |job: &Job| job.metadata.deletion_timestamp.is_some();
                let other = |job: &Job| job.metadata.uid.as_deref() != Some(view.root.uid.as_str());
                match answer {
                    Answer::Missing => true,
                    Answer::Done(()) => self.job(view).is_none_or(|job| other(&job) || deleting(&job)),
                    _ => false,
                }
            }
            Reason::MemberLost | Reason::MemberGone => {
                for leg in &view.legs {
                    match self.read_offer(leg).await {
                        Answer::Missing => return true,
                        Answer::Done(()) => {
                            let objects = self.world.look();
                            let Some(offer) = view.offer(leg, &objects) else { return true };
                            if reason == Reason::MemberLost && leg.agent && entry(offer, &view.uid).is_none() {
                                return true;
                            }
                        }
                        _ => return false,
                    }
                }
                false
            }
            Reason::AgentLost => {
                for leg in view.legs.iter().filter(|leg| leg.agent) {
                    if self.is_silent(leg).await || is_lost(view, leg, &self.world.look()) {
                        return true;
                    }
                }
                false
            }
            Reason::WorkloadFailed => self.is_work_gone(view).await,
            _ => true,
        }
    }

    /// Tells the job that its claim stands.
    pub(super) async fn tell_root(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let held = self.world.look().jobs.get(&view.root.key).cloned();
        let (Some(held), Some(found)) = (held, &view.found) else { return Event::JobNotified };
        let is_claimed = held.object.status.as_ref().is_some_and(|status| status.claim.is_some());
        // Either somebody has taken the claim out, or it is over and the Match is seen as it was before: the server knows.
        if !is_claimed && !self.stands(view).await {
            return Event::Failed(Action::NotifyJob);
        }
        let patch = writes::tell_root(view, found, &held, self.clock.now());
        match self.cluster.patch_status::<Job>(&view.root.key, &patch).await {
            Answer::Done(job) => {
                self.events.tell(&job, Tone::Normal, "Claimed", &found.spec.summary);
                self.world.learn(|all| all.jobs.put(job));
                Event::JobNotified
            }
            Answer::Missing => Event::JobNotified,
            answer => {
                self.read::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await;
                self.lost(Action::NotifyJob, &answer, notes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claims::view::view;
    use crate::fixtures::{MATCH_UID, entry as entry_of, key, machine, world};

    #[test]
    fn m6_the_offer_for_which_a_claim_ends_is_named_and_what_happened_to_it() {
        let mut objects = world(&json!({"decision": "Committed"}));
        let view = view(MATCH_UID, &objects).unwrap();
        assert_eq!(account(&view, Reason::MemberLost, &objects), "");
        objects.machines.put(machine(&json!({"stopPolicy": "HoldAndDrain"}), &entry_of("slots")));
        let evicted = "Machine ns/machine is being vacated: its owner has set spec.stopPolicy to HoldAndDrain";
        assert_eq!(account(&view, Reason::Evicted, &objects), evicted);
        assert_eq!(account(&view, Reason::Done, &objects), "");
        let mut again = machine(&json!({}), &json!({}));
        again.metadata.uid = Some("u-another".to_owned());
        again.metadata.resource_version = Some("9".to_owned());
        objects.machines.put(again);
        objects.licenses.remove(&key("license"));
        let lost = "Machine ns/machine was deleted and created again; License ns/license was deleted";
        assert_eq!(account(&view, Reason::MemberLost, &objects), lost);
    }
}
