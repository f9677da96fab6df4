//! Second phase: the register turned, and the job told.

use std::sync::Mutex;

use claiming::{Action, Event, Reason, Record};
use crds::{Decision, Job, Match};
use jiff::Timestamp;

use crate::api::Answer;
use crate::claims::drive::{Driver, Notes, noted};
use crate::claims::view::{Leg, View};
use crate::claims::writes;
use crate::events::Tone;

/// What is said of an offer that was not reserved in time.
const NO_ANSWER: &str = "not reserved within reserveTimeoutSeconds";

impl Driver {
    /// Calls the claim off. Who has not answered in time has said no as well: else he would be asked again at once.
    pub(super) async fn abort(&self, view: &View, reason: Reason, notes: &Mutex<Notes>) -> Event {
        let late: Vec<&Leg> = match reason {
            Reason::ReserveTimedOut => {
                let objects = self.world.look();
                let held = |leg: &&Leg| {
                    let offer = objects.offer(&leg.kind, &leg.key);
                    offer
                        .is_some_and(|offer| offer.status().is_some_and(|status| status.claims.contains_key(&view.uid)))
                };
                view.legs.iter().filter(|leg| !held(leg)).collect()
            }
            _ => Vec::new(),
        };
        if let Some(leg) = late.first() {
            noted(notes, |notes| notes.message = format!("{} {}: {NO_ANSWER}", leg.kind, leg.key));
        }
        let event = self.decide(view, Action::Abort(reason), Decision::Aborted, Some(reason), notes).await;
        if event == Event::Decided(Record::Aborted) {
            late.iter().for_each(|leg| self.refused(view, leg, reason, NO_ANSWER, notes));
        }
        event
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
        let Some(found) = &view.found else { return Event::Decided(Record::Gone) };
        if let Some(reason) = reason
            && !self.is_gone(view, reason).await
        {
            return Event::Failed(action);
        }
        if reason == Some(Reason::StartTimedOut) {
            self.start_timed_out(view, notes);
        }
        let message = noted(notes, |notes| notes.message.clone());
        let latest = self.world.look().matches.get(&view.key).cloned().unwrap_or_else(|| found.clone());
        let patch = writes::decide(view, &latest, to, reason, &message, Timestamp::now());
        let stored = match self.cluster.patch_status::<Match>(&view.key, &patch).await {
            Answer::Done(stored) => {
                tracing::info!(r#match = %view.key, decision = ?to, reason = reason.map(Reason::as_str), "decided");
                stored
            }
            Answer::Missing => return Event::Decided(Record::Gone),
            Answer::Refused(_) => match self.cluster.get::<Match>(&view.key).await {
                Answer::Done(stored) => stored,
                Answer::Missing => return Event::Decided(Record::Gone),
                answer => return self.lost(view, action, &answer),
            },
            answer => return self.lost(view, action, &answer),
        };
        if stored.metadata.uid.as_deref() != Some(view.uid.as_str()) {
            return Event::Decided(Record::Gone);
        }
        let decision = stored.status.as_ref().map(|status| status.decision).unwrap_or_default();
        self.world.learn(|all| all.put_match(stored));
        match decision == writes::decides_from(to) {
            // refused by somebody who is not of the protocol: asked again later, not at once
            true => Event::Failed(action),
            false => Event::Decided(writes::record(decision)),
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
                            if objects.offer(&leg.kind, &leg.key).is_some_and(|offer| offer.uid() != leg.uid) {
                                return true;
                            }
                        }
                        _ => return false,
                    }
                }
                false
            }
            Reason::WorkloadFailed => self.is_work_gone(view).await,
            _ => true,
        }
    }

    /// Tells the job that its claim stands.
    pub(super) async fn tell_root(&self, view: &View) -> Event {
        let held = self.world.look().jobs.get(&view.root.key).cloned();
        let (Some(held), Some(found)) = (held, &view.found) else { return Event::Told };
        let patch = writes::tell_root(view, found, &held, Timestamp::now());
        match self.cluster.patch_status::<Job>(&view.root.key, &patch).await {
            Answer::Done(job) => {
                self.events.tell(&self.cluster, &job, Tone::Normal, "Claimed", &found.spec.summary).await;
                self.world.learn(|all| all.jobs.put(job));
                Event::Told
            }
            Answer::Missing => Event::Told,
            answer => {
                self.read::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await;
                self.lost(view, Action::TellRoot, &answer)
            }
        }
    }
}
