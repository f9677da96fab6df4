//! The end: offers given back, then the job, once the Match is read as ended.

use std::sync::{Arc, Mutex, PoisonError};

use claiming::{Action, Event, Hold, Reason, Record};
use crds::rules::message;
use crds::{Decision, Job, Match};
use kube::Resource;
use pool::{OfferRef, WorkObject};

use crate::api::Answer;
use crate::claims::drive::{Driver, Notes, noted};
use crate::claims::group::Wish;
use crate::claims::view::View;
use crate::claims::writes;
use crate::events::Tone;
use crate::holdoffs::Cause;
use crate::metrics;
use crate::status::{Ended, count_gave_up};
use crate::workloads::{self, work_of};

impl Driver {
    /// Gives an offer back, once the Match is read as ended or gone: by the server, not by what was seen of it.
    pub(super) async fn free(&self, view: &Arc<View>, number: usize, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::Free(number));
        let Some(leg) = view.legs.get(number) else { return failed };
        if !self.has_ended(view, notes).await {
            return failed;
        }
        if self.world.look().offer(&leg.kind, &leg.key).is_none() {
            return Event::Freed(number);
        }
        // Whether a seat goes with it depends on who else sits there: of those each is on his own.
        let wish = if leg.share.is_none() { Wish::Leave } else { Wish::Singly };
        match self.together(view, number, wish).await {
            // It was entered again, or it was not seen when others were taken out.
            Answer::Done(offer) if offer.has_entry(&view.uid) => failed,
            Answer::Done(_) | Answer::Missing => {
                if view.found.is_none() {
                    self.cluster.metrics.count(&metrics::ORPHANS, &[]);
                }
                noted(notes, |notes| notes.freed.insert(number));
                Event::Freed(number)
            }
            // There is no such entry any more, or no such offer.
            Answer::Refused(refused) if refused.rules.is_empty() => self.freed_by_another(view, number, notes).await,
            // Its agent is still at work.
            Answer::Refused(refused) if refused.says(message::ACTIVE) => {
                self.read_offer(leg).await;
                self.entry_of(view, number).unwrap_or(failed)
            }
            answer => self.lost(Action::Free(number), &answer, notes),
        }
    }

    /// An entry that was to be taken out and is not there: by what the server says now, not by what was seen.
    async fn freed_by_another(&self, view: &View, number: usize, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::Free(number));
        let Some(leg) = view.legs.get(number) else { return failed };
        let is_gone = match self.read_offer(leg).await {
            Answer::Missing => true,
            Answer::Done(()) => {
                let objects = self.world.look();
                let offer = objects.offer(&leg.kind, &leg.key).and_then(|offer| offer.status());
                offer.is_none_or(|status| !status.claims.contains_key(&view.uid))
            }
            _ => false,
        };
        if !is_gone {
            return failed;
        }
        noted(notes, |notes| notes.freed.insert(number));
        Event::Freed(number)
    }

    /// Whether the server has said that the Match has ended or is gone. It says so once and for all: it is not asked again.
    pub(super) async fn has_ended(&self, view: &View, notes: &Mutex<Notes>) -> bool {
        if noted(notes, |notes| notes.ended) {
            return true;
        }
        let ended = match self.cluster.get::<Match>(&view.key).await {
            Answer::Missing => true,
            Answer::Done(found) => is_over(&found, &view.uid),
            _ => false,
        };
        noted(notes, |notes| notes.ended |= ended);
        ended
    }

    /// What the server says of the register now.
    pub(super) async fn confirm(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        match self.cluster.get::<Match>(&view.key).await {
            Answer::Missing => Event::DecisionRead(claiming::Decision::Gone),
            Answer::Done(found) if found.metadata.uid.as_deref() != Some(view.uid.as_str()) => {
                Event::DecisionRead(claiming::Decision::Gone)
            }
            Answer::Done(found) => {
                let decision = found.status.as_ref().map(|status| status.decision).unwrap_or_default();
                self.world.learn(|all| all.put_match(found));
                Event::DecisionRead(writes::record(decision))
            }
            answer => self.lost(Action::ReadDecision, &answer, notes),
        }
    }

    /// Looks for entries of this claim where none is known: at its own offers; at all, if the Match is gone and nobody knows
    /// its members. One that is found is in the picture of the world then: the claim begins again from it.
    pub(super) async fn look_for_entries(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::ListEntries);
        let (freed, holds) = noted(notes, |notes| (notes.freed.clone(), notes.holds.clone()));
        let is_held = |number: usize| holds.get(number) == Some(&Hold::Held);
        if view.found.is_none() {
            if !matches!(self.list_offers().await, Answer::Done(())) {
                return failed;
            }
        } else {
            for (_, leg) in
                view.legs.iter().enumerate().filter(|(number, _)| !is_held(*number) && !freed.contains(number))
            {
                if !matches!(self.read_offer(leg).await, Answer::Done(()) | Answer::Missing) {
                    return failed;
                }
            }
        }
        let objects = self.world.look();
        let has_entry = |offer: &OfferRef<'_>| offer.status().is_some_and(|all| all.claims.contains_key(&view.uid));
        let is_known = |offer: &OfferRef<'_>| {
            let place = view.legs.iter().position(|leg| leg.kind == offer.kind() && leg.key == offer.key());
            place.is_some_and(is_held)
        };
        let found = match view.found {
            None => objects.offers().any(|offer| has_entry(&offer) && !is_known(&offer)),
            Some(_) => {
                let offers = view.legs.iter().filter_map(|leg| objects.offer(&leg.kind, &leg.key));
                offers.into_iter().any(|offer| has_entry(&offer) && !is_known(&offer))
            }
        };
        if found { failed } else { Event::NoEntries }
    }

    /// Gives the job back. Before, every offer was read without an entry of this claim.
    pub(super) async fn free_root(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::FreeRoot);
        let Some(job) = self.job(view) else { return Event::RootFreed };
        if !self.has_ended(view, notes).await {
            return failed;
        }
        let ended = self.ended(view, notes);
        if ended.reason != Reason::StartTimedOut {
            self.holdoffs.lock().unwrap_or_else(PoisonError::into_inner).forget(&view.root.uid, Cause::Start);
        }
        let patch = writes::free_root(view, &job, &ended, self.clock.now());
        match self.cluster.patch_status::<Job>(&view.root.key, &patch).await {
            Answer::Done(job) => {
                self.tell_end(&job, &ended);
                count_gave_up(&self.cluster.metrics, &job);
                self.world.learn(|all| all.jobs.put(job));
                Event::RootFreed
            }
            Answer::Missing => Event::RootFreed,
            answer => {
                self.read::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await;
                self.lost(Action::FreeRoot, &answer, notes)
            }
        }
    }

    /// One that was called off is tried again and again: of those, people are warned now and then.
    fn tell_end(&self, job: &Job, ended: &Ended) {
        let Ended { reason, message, .. } = ended;
        if ended.aborted {
            self.events.tell(job, Tone::Warning, reason.as_str(), message);
        } else {
            self.events.tell_about(job.object_ref(&()), tone(*reason), reason.as_str(), message);
        }
    }

    /// Why the claim ended, from what is stored.
    fn ended(&self, view: &View, notes: &Mutex<Notes>) -> Ended {
        let stored = self.world.look().matches.get(&view.key).cloned().and_then(|found| found.status.clone());
        let aborted = stored.as_ref().is_some_and(|status| status.decision == Decision::Aborted);
        let reason = match &stored {
            Some(status) => status.reason.as_deref().and_then(Reason::of).unwrap_or(Reason::MatchDeleted),
            None => Reason::MatchDeleted,
        };
        let (message, refusals) = noted(notes, |notes| (notes.message.clone(), notes.refusals.clone()));
        let (batch, asked_for) = {
            let objects = self.world.look();
            let batch = work_of(view.whose(&objects), &objects).map(|batch| WorkObject::clone(batch));
            (batch, workloads::asked_for(view.whose(&objects), &objects).cloned())
        };
        let message = match (message.is_empty(), reason) {
            (false, _) => message,
            (true, Reason::Done) => "spec.done is true".to_owned(),
            (true, Reason::Suspended) => "spec.suspend is true".to_owned(),
            (true, Reason::Completed) => "the work has ended".to_owned(),
            (true, Reason::ClaimExpired) => "activeDeadlineSeconds are over".to_owned(),
            (true, Reason::WorkloadFailed) => failure(batch.as_ref().or(asked_for.as_deref())),
            (true, _) => stored.and_then(|status| status.message).unwrap_or_default(),
        };
        Ended { reason, message, refusals, aborted, batch }
    }
}

/// Whether the claim of this uid is over, by what the server answered for its Match.
pub(super) fn is_over(stored: &Match, uid: &str) -> bool {
    let decision = stored.status.as_ref().map(|status| status.decision).unwrap_or_default();
    stored.metadata.uid.as_deref() != Some(uid) || decision.is_terminal()
}

/// How serious it is that a claim which stood has ended: whether that was the wish of the job, or its work is done.
fn tone(reason: Reason) -> Tone {
    match reason {
        Reason::MemberLost | Reason::Evicted | Reason::AgentLost | Reason::StartTimedOut | Reason::WorkloadFailed => {
            Tone::Warning
        }
        _ => Tone::Normal,
    }
}

/// Why the work has failed, in its own words.
fn failure(work: Option<&WorkObject>) -> String {
    match work {
        Some(work) => format!("{} {}: {}", work.noun(), work.key.name, work.message),
        None => "the workload is not there any more".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m6_what_the_job_did_not_ask_for_is_a_warning() {
        let warned = Reason::ALL.into_iter().filter(|reason| tone(*reason) == Tone::Warning).map(Reason::as_str);
        let expected = ["AgentLost", "Evicted", "MemberLost", "StartTimedOut", "WorkloadFailed"];
        assert_eq!(warned.collect::<std::collections::BTreeSet<_>>(), expected.into());
    }
}
