//! First phase: the job and its offers reserved, each by one guarded patch; every no remembered.

use std::sync::{Arc, Mutex};

use claiming::{Action, Event, Reason};
use crds::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::claims::drive::{Driver, Notes, ad_key, noted};
use crate::claims::group::Wish;
use crate::claims::view::{Leg, View};
use crate::claims::{refusal, writes};
use crate::cycle::backoff::{jitter, retry_of};
use crate::cycle::job_backoff::Cause;
use crate::write::answer::{Answer, Denial, Rule};
use kube::runtime::events::EventType;

/// How often a job's reserve is made anew because the job was told something in the meantime.
const TRIES: usize = 3;

/// An offer's no to a claim.
pub(super) struct No<'v> {
    pub(super) leg: &'v Leg,
    /// Why, for people.
    pub(super) message: String,
    /// It is not to be asked again as long as neither ad changes.
    pub(super) for_good: bool,
}

impl Driver {
    /// Reserves the job. If it was told something while the write was on its way, the write is made anew for what it says by now.
    pub(super) async fn reserve_root(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        for _ in 0..TRIES {
            if let Some(event) = self.try_root(view, notes).await {
                return event;
            }
        }
        Event::Failed(Action::ReserveRoot)
    }

    /// `None`: the job is free, and was told something in the meantime.
    async fn try_root(&self, view: &View, notes: &Mutex<Notes>) -> Option<Event> {
        let held = self.cache.lock().jobs.get(&view.root.key).cloned();
        let (Some(held), Some(found)) = (held, &view.found) else {
            return Some(Event::RootRefused(Reason::JobDeleted));
        };
        let patch = writes::reserve_root(view, found, &held, self.clock.now());
        match self.cluster.patch_status::<Job>(&view.root.key, &patch).await {
            Answer::Done(job) => {
                noted(notes, |notes| notes.members.jobs.put(job.clone()));
                self.cache.update(|all| all.jobs.put(job));
                Some(Event::RootReserved)
            }
            Answer::Denied(refused) => {
                let is_read = self.read::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await;
                let job = self.job(view);
                if job.as_ref().is_some_and(|job| is_claimed_by(job, view)) {
                    return Some(Event::RootReserved);
                }
                if refused.is_by_test() && job.is_some_and(|job| is_as_matched(&job, view)) {
                    return matches!(is_read, Answer::Unknown(_)).then_some(Event::Failed(Action::ReserveRoot));
                }
                let reason = refusal::of_job(&refused);
                noted(notes, |notes| notes.message = format!("job {}: {}", view.root.key, first(&refused)));
                Some(Event::RootRefused(reason))
            }
            Answer::Missing => Some(Event::RootRefused(Reason::JobDeleted)),
            answer => Some(self.lost(Action::ReserveRoot, &answer, notes)),
        }
    }

    pub(super) async fn reserve(&self, view: &Arc<View>, number: usize, notes: &Mutex<Notes>) -> Event {
        let Some(leg) = view.legs.get(number) else { return Event::Failed(Action::Reserve(number)) };
        match self.together(view, number, Wish::Enter(leg.generation)).await {
            Answer::Done(offer) => {
                noted(notes, |notes| offer.put_into(&mut notes.members));
                Event::Reserved(number)
            }
            Answer::Denied(refused) if refused.breaks(Rule::Epoch) => {
                // the offer comes in as it is, and with it the epoch of whoever leads by now
                self.read_offer(leg).await;
                Event::Failed(Action::Reserve(number))
            }
            Answer::Denied(refused) => {
                self.read_offer(leg).await;
                if self.is_entered(view, leg) {
                    return Event::Reserved(number);
                }
                let reason = refusal::of_offer(&refused);
                self.refused(view, &No { leg, message: first(&refused), for_good: false }, reason, notes);
                Event::Refused(number, reason)
            }
            Answer::Missing => Event::Refused(number, Reason::MemberGone),
            answer => self.lost(Action::Reserve(number), &answer, notes),
        }
    }

    /// Whether the offer has the claim's entry: an earlier write, whose answer was lost, has made it.
    fn is_entered(&self, view: &View, leg: &Leg) -> bool {
        let objects = self.cache.lock();
        let offer = objects.offer(&leg.kind, &leg.key).filter(|offer| offer.uid() == leg.uid);
        offer.is_some_and(|offer| offer.status().is_some_and(|status| status.claims.contains_key(&view.uid)))
    }

    /// Remembers that the server would not take the Match, and tells the job. The offers are free again at once: nothing was
    /// reserved.
    pub(super) async fn unwritten(&self, view: &View, message: &str) {
        let Some(job) = self.job(view) else { return };
        let pause_ms = {
            let mut job_backoff = self.job_backoff.lock();
            let about = (view.root.uid.as_str(), view.root.generation);
            job_backoff.remember(
                about,
                Cause::Unwritten,
                &format!("its Match cannot be written: {message}"),
                &retry_of(&job),
                self.now_ms(),
            )
        };
        tracing::warn!(r#match = %view.key, message, pause_ms, "Match not written; the job pauses");
        self.events.tell(&job, EventType::Warning, "FailedCreate", message);
    }

    /// Remembers that an offer said no: in the process, for the next cycle, and in the job's status, for people.
    pub(super) fn refused(&self, view: &View, no: &No<'_>, reason: Reason, notes: &Mutex<Notes>) {
        let No { leg, message, for_good } = no;
        tracing::info!(r#match = %view.key, offer = %leg.key, kind = leg.kind, %reason, message, "refused");
        self.cluster.metrics.claims.refused(reason.as_str());
        let text = format!("{} {}: {message}", leg.kind, leg.key);
        noted(notes, |notes| {
            notes.message = text;
            notes.refusals.push(crds::Refusal {
                kind: leg.kind.clone(),
                namespace: leg.key.namespace.clone(),
                name: leg.key.name.clone(),
                reason: reason.as_str().to_owned(),
                message: message.chars().take(256).collect(),
                time: Some(Time(self.clock.now())),
            });
        });
        let Some(job) = self.job(view) else { return };
        let refused = crate::cycle::offer_backoff::Refused {
            offer: ad_key(leg),
            about: (view.root.generation, leg.generation),
            for_good: *for_good,
        };
        let jitter = jitter(&view.root.uid, view.found.as_ref().map_or(0, |found| found.spec.attempt));
        let mut memory = self.offer_backoff.lock();
        memory.remember(&view.root.uid, &refused, &retry_of(&job), self.now_ms(), jitter);
    }
}

/// The same of the job.
fn is_claimed_by(job: &Job, view: &View) -> bool {
    let claim = job.status.as_ref().and_then(|status| status.claim.as_ref());
    job.metadata.uid.as_deref() == Some(view.root.uid.as_str()) && claim.is_some_and(|claim| claim.uid == view.uid)
}

/// Whether a job is the one that was matched, in the same generation, and free.
fn is_as_matched(job: &Job, view: &View) -> bool {
    let Job { metadata, status, .. } = job;
    let is_same = metadata.uid.as_deref() == Some(view.root.uid.as_str());
    let is_free = status.as_ref().is_none_or(|status| status.claim.is_none());
    is_same && is_free && metadata.generation.unwrap_or(0) == view.root.generation
}

fn first(denial: &Denial) -> String {
    denial
        .breaches
        .first()
        .map(|breach| breach.message.clone())
        .unwrap_or_else(|| "it is not the object that was matched any more".to_owned())
}
