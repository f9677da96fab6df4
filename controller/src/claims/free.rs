//! The end: the decision read, offers freed, then the job.

use claiming::{Event, Hold, Reason};
use crds::{Decision, Job, Member, OfferKind};
use kube::Resource;
use pool::{ObjectKey, OfferRef, WorkloadObject, recorded_charges};

use crate::claims::batcher::LedgerOp;
use crate::claims::step::{Step, StepResult};
use crate::claims::view::{Leg, decision_of};
use crate::claims::writes;
use crate::cycle::job_backoff::Cause;
use crate::nominations::preempted_reason;
use crate::status::{Ended, count_gave_up};
use crate::workloads::{self, work_of};
use crate::write::answer::{Answer, Rule};
use kube::runtime::events::EventType;

impl Step<'_> {
    /// Reads the decision.
    pub(super) async fn read_decision(&mut self) -> StepResult {
        let found = self.found(self.context.read_match(&self.view.key).await)?;
        let own = found.filter(|found| found.metadata.uid.as_deref() == Some(self.view.uid.as_str()));
        Ok(Event::DecisionRead(own.map_or(claiming::Decision::Gone, |found| decision_of(&found))))
    }

    /// Frees an offer.
    pub(super) async fn free(&mut self, number: usize) -> StepResult {
        let Some(leg) = self.view.legs.get(number) else { return Err(self.failed("no such offer")) };
        // Whether a seat goes with the entry depends on what else is seen in it: of those each is written alone.
        let op = if leg.share.is_none() { LedgerOp::Leave } else { LedgerOp::Alone };
        match self.claims.batcher.submit(&self.view, number, op).await {
            Answer::Done(offer) if offer.has_entry(&self.view.uid) => {
                Err(self.failed("the entry was written again, or was not seen when others were taken out"))
            }
            Answer::Done(_) => {
                if self.view.found.is_none() {
                    self.context.metrics.claims.orphans_swept.inc();
                }
                Ok(Event::Freed(number))
            }
            // There is no such entry any more, or no such offer.
            Answer::Missing => self.freed_otherwise(number, leg).await,
            Answer::Denied(refused) if refused.is_by_test() => self.freed_otherwise(number, leg).await,
            // Its agent is still at work.
            Answer::Denied(refused) if refused.breaks(Rule::Active) => {
                self.context.read_offer(leg.kind, &leg.key).await;
                self.entry_of(number).ok_or_else(|| self.failed(refused.message))
            }
            answer => Err(self.lost(&answer)),
        }
    }

    /// An entry that was to be taken out and is not there: the server says so, not the cache.
    async fn freed_otherwise(&self, number: usize, leg: &Leg) -> StepResult {
        let is_there = self.found(self.context.read_offer(leg.kind, &leg.key).await)?.is_some();
        let objects = self.context.cache.lock();
        let offer = objects.offer(leg.kind, &leg.key).filter(|_| is_there);
        let is_held = offer.is_some_and(|offer| self.has_entry(&offer));
        if is_held { Err(self.failed("the entry was written again")) } else { Ok(Event::Freed(number)) }
    }

    fn has_entry(&self, offer: &OfferRef<'_>) -> bool {
        offer.entry(&self.view.uid).is_some()
    }

    /// Reads the entries of this claim where none is known: at its own offers; at all offers, if the Match is gone and the list of its
    /// members with it. One that is found is in the cache then: a later run begins from it.
    pub(super) async fn list_entries(&mut self) -> StepResult {
        if self.view.found.is_some() {
            for leg in self.claim.unread_legs().filter_map(|number| self.view.legs.get(number)) {
                self.found(self.context.read_offer(leg.kind, &leg.key).await)?;
            }
        } else if let Some(offers) = self.offers_of_deleted() {
            for (kind, key) in &offers {
                self.found(self.context.read_offer(*kind, key).await)?;
            }
        } else {
            self.done(self.context.list_offers().await)?;
        }
        let objects = self.context.cache.lock();
        let holds = self.claim.holds();
        let is_known = |offer: &OfferRef<'_>| {
            let place = self.view.legs.iter().position(|leg| leg.kind == offer.kind && leg.key == offer.key());
            place.is_some_and(|number| holds.get(number) == Some(&Hold::Held))
        };
        let is_news = |offer: OfferRef<'_>| self.has_entry(&offer) && !is_known(&offer);
        let has_more = match self.view.found {
            None => objects.offers().any(is_news),
            Some(_) => self.view.legs.iter().filter_map(|leg| objects.offer(leg.kind, &leg.key)).any(is_news),
        };
        if has_more { Err(self.failed("another offer has an entry of the claim")) } else { Ok(Event::NoEntries) }
    }

    /// The offers of a Match that was deleted, if it was seen before. The members of a Match cannot be changed.
    fn offers_of_deleted(&self) -> Option<Vec<(OfferKind, ObjectKey)>> {
        let objects = self.context.cache.lock();
        let found = objects.matches.deleted_by_uid(&self.view.uid)?;
        let offer = |member: &Member| {
            Some((OfferKind::try_from(member.kind.as_str()).ok()?, ObjectKey::new(&member.namespace, &member.name)))
        };
        Some(found.spec.members.iter().skip(1).filter_map(offer).collect())
    }

    /// Frees the job. Before, every offer was read without an entry of this claim.
    pub(super) async fn free_root(&mut self) -> StepResult {
        let Some(job) = self.job() else { return Ok(Event::RootFreed) };
        let ended = self.ended();
        let root = &self.view.root;
        if ended.reason != Reason::StartTimedOut {
            self.claims.job_backoff.lock().forget(&root.uid, Cause::Start);
        }
        let patch = writes::free_root(&self.view, &job, &ended, self.context.clock.now());
        match self.context.patch_status::<Job>(&root.key, &patch).await {
            Answer::Done(job) => {
                self.report_end(&job, &ended);
                if ended.reason == Reason::Preempted {
                    let lost = self.charge_seconds();
                    self.context.metrics.accounts.nominations.preempted(preempted_reason(&ended.message).1, lost);
                }
                count_gave_up(&self.context.metrics, &job);
                Ok(Event::RootFreed)
            }
            Answer::Missing => Ok(Event::RootFreed),
            answer => {
                self.context.read::<Job>(&root.key).await;
                Err(self.lost(&answer))
            }
        }
    }

    /// What the claim has cost, multiplied by the seconds since its commit.
    fn charge_seconds(&self) -> u64 {
        let Some(found) = &self.view.found else { return 0 };
        let committed_at = found.status.as_ref().and_then(|status| status.committed_at.as_ref());
        let now = self.context.clock.now().as_second();
        let seconds = committed_at.map_or(0, |at| now.saturating_sub(at.0.as_second()).max(0));
        let micros: policy::Amount = recorded_charges(found).into_iter().sum();
        u64::try_from(micros.saturating_mul(seconds.into()) / 1_000_000).unwrap_or(u64::MAX)
    }

    /// Reports the end on the job. An aborted attempt is repeated, so its Event is limited to one in a while; any other end is always reported.
    fn report_end(&self, job: &Job, ended: &Ended) {
        let (events, Ended { reason, message, .. }) = (&self.context.events, ended);
        if ended.aborted {
            events.tell(job, EventType::Warning, reason.as_str(), message);
        } else {
            events.tell_about(job.object_ref(&()), tone(*reason), reason.as_str(), message);
        }
    }

    /// Why the claim ended, from what is stored.
    fn ended(&self) -> Ended {
        let stored =
            self.context.cache.lock().matches.get(&self.view.key).cloned().and_then(|found| found.status.clone());
        let aborted = stored.as_ref().is_some_and(|status| status.decision == Decision::Aborted);
        let reason = match &stored {
            Some(status) => status.reason.as_deref().and_then(Reason::of).unwrap_or(Reason::MatchDeleted),
            None => Reason::MatchDeleted,
        };
        let refusals = self.facts.refusals.clone();
        let (work, asked_for) = {
            let objects = self.context.cache.lock();
            let work = work_of(self.view.whose(&objects), &objects).map(|work| WorkloadObject::clone(work));
            (work, workloads::asked_for(self.view.whose(&objects), &objects).cloned())
        };
        let stored = stored.and_then(|status| status.message).unwrap_or_default();
        let message = end_message(reason, &stored, self.message(), work.as_ref().or(asked_for.as_deref()));
        Ended { reason, message, refusals, aborted, batch: work }
    }
}

/// How serious it is that a claim which stood has ended: not at all, if the job asked for it or its work is done.
fn tone(reason: Reason) -> EventType {
    match reason {
        Reason::MemberLost
        | Reason::Evicted
        | Reason::Preempted
        | Reason::AgentLost
        | Reason::StartTimedOut
        | Reason::WorkloadFailed => EventType::Warning,
        _ => EventType::Normal,
    }
}

/// The message of an end: what is stored beside the reason, else what was learned in this run, else what the reason means. Several offers
/// may refuse at once, and then the last one learned is not the one for which the decision was turned.
fn end_message(reason: Reason, stored: &str, learned: &str, work: Option<&WorkloadObject>) -> String {
    let said = [stored, learned].into_iter().find(|message| !message.is_empty());
    match (said, reason) {
        (Some(message), _) => message.to_owned(),
        (None, Reason::Done) => "spec.done is true".to_owned(),
        (None, Reason::MatchDeleted) => "the Match was deleted".to_owned(),
        (None, Reason::Suspended) => "spec.suspend is true".to_owned(),
        (None, Reason::Completed) => "the work has ended".to_owned(),
        (None, Reason::ClaimExpired) => "activeDeadlineSeconds are over".to_owned(),
        (None, Reason::WorkloadFailed) => failure(work),
        (None, _) => String::new(),
    }
}

/// Why the work has failed, in its own words.
fn failure(work: Option<&WorkloadObject>) -> String {
    match work {
        Some(work) => format!("{} {}: {}", work.noun(), work.key.name, work.message),
        None => "the workload is not there any more".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::step::Facts;

    #[test]
    fn of_two_refusals_the_job_is_told_the_one_that_the_match_names() {
        let mut facts = Facts::default();
        let [full, edited] = ["Machine ns/a: it is full", "License ns/b: it was edited"];
        facts.extend(Facts { message: full.to_owned(), ..Facts::default() });
        // The abort begins now, and the Match says so. The other reserve is answered while it is under way.
        let stored = facts.message.clone();
        facts.extend(Facts { message: edited.to_owned(), ..Facts::default() });
        assert_eq!(end_message(Reason::CapacityTaken, &stored, &facts.message, None), full);
        assert_eq!(end_message(Reason::StaleAd, "", &facts.message, None), edited);
        assert_eq!(end_message(Reason::Done, "", "", None), "spec.done is true");
    }

    #[test]
    fn m6_what_the_job_did_not_ask_for_is_a_warning() {
        let warned = Reason::ALL.into_iter().filter(|reason| tone(*reason) == EventType::Warning).map(Reason::as_str);
        let expected = ["AgentLost", "Evicted", "MemberLost", "Preempted", "StartTimedOut", "WorkloadFailed"];
        assert_eq!(warned.collect::<std::collections::BTreeSet<_>>(), expected.into());
    }
}
