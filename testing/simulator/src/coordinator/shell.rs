//! An action of a claim into the requests that carry it out, one after the other, and their answers into an event.

use std::collections::BTreeMap;

use claiming::{Action, Agent, Digest, Event, Hold, Reason, Vote, Work};

use crate::coordinator::SILENT_MS;
use crate::coordinator::view::{Seen, View, from};
use crate::objects::{Batch, Body, Decision, HeldClaim, ObjectName, Stored};
use crate::planted::Planted;
use crate::server::{ModelRequest, Patch, ServerAnswer};

/// What comes next of an action.
pub enum Next {
    /// This request, and then on to this stage.
    Ask(ModelRequest, ActionStage),
    /// It is done.
    Done(Event),
}

/// How far an action has come.
#[derive(Clone, Debug)]
pub enum ActionStage {
    /// The one write it consists of was sent.
    Write,
    /// The write was refused; the object is read, so that it is known.
    Reread(Event),
    /// These objects are still to be read, then it goes on.
    Reads(Vec<ObjectName>),
    /// What is listed decides.
    List,
    /// The batch Job was told to stop; it is read until it has.
    Stopping(u32),
    /// The lease of an agent that seems silent is read.
    Lease,
}

/// What a coordinator knows while it carries out an action.
pub struct Desk<'d> {
    /// The claim.
    pub view: &'d View,
    /// What was seen of everything; answers are in it.
    pub seen: &'d Seen,
    /// What the claim has of each leg.
    pub holds: Vec<Hold>,
    /// Which renewal of each agent's lease was seen last, and since when.
    pub alive: &'d BTreeMap<u8, (u64, u64)>,
    /// What time it is.
    pub now_ms: u64,
    /// The time of day, by its own clock, in seconds.
    pub clock_s: i64,
    /// Under which epoch it writes.
    pub epoch: u64,
    /// A mistake that was put in.
    pub planted: Planted,
}

impl Desk<'_> {
    /// The first request of an action.
    pub fn begin(&self, action: Action) -> Next {
        let claim = self.view.uid;
        let root = ObjectName::Job(self.view.root.0);
        let write = |key: ObjectName, patch: Patch| Next::Ask(ModelRequest::Patch(key, patch), ActionStage::Write);
        match action {
            Action::CreateMatch => match &self.view.found {
                Some(found) => {
                    Next::Ask(ModelRequest::Create(self.view.key, Body::Match(found.clone())), ActionStage::Write)
                }
                None => Next::Done(Event::Failed(action)),
            },
            Action::ReserveRoot => {
                let (_, uid, generation) = self.view.root;
                write(root, Patch::ReserveRoot { uid, generation, claim: (self.view.key, claim) })
            }
            Action::NotifyJob => write(root, Patch::TellRoot { claim }),
            Action::FreeRoot => {
                let preempted = self.reason() == Some(Reason::Preempted);
                write(root, Patch::FreeRoot { claim, finished: self.is_finished(), preempted })
            }
            Action::Reserve(leg) => self.reserve(leg),
            Action::RequestVote(leg) => self.to_leg(action, leg, Patch::Ask { claim }),
            Action::NotifyAgent(leg, ballot) => self.to_leg(action, leg, Patch::TellAgent { claim, ballot: ballot.0 }),
            Action::StopAgent(leg) => self.to_leg(action, leg, Patch::StopAgent { claim }),
            Action::MarkLost(leg) => match self.view.legs.get(leg) {
                Some(member) => Next::Ask(ModelRequest::Get(ObjectName::Alive(member.offer)), ActionStage::Lease),
                None => Next::Done(Event::Failed(action)),
            },
            Action::Free(leg) => self.to_leg(action, leg, Patch::Free { claim, with_seat: self.sits_alone(leg) }),
            Action::Verify => self.reads((0..self.view.legs.len()).collect(), action),
            Action::Commit => self.decide(Decision::Committed, None),
            Action::ConfirmExit(reason) if self.needs_proof(reason) => {
                self.reads((0..self.view.legs.len()).collect(), action)
            }
            Action::ConfirmExit(reason) => Next::Done(Event::ExitConfirmed(reason)),
            Action::Abort(reason) => self.decide(Decision::Aborted, Some(reason)),
            Action::Release(reason) => self.decide(Decision::Released, Some(reason)),
            // it has committed, so it must stand
            Action::ReadDecision if self.planted == Planted::ConfirmsFromCache && self.view.found.is_some() => {
                Next::Done(Event::DecisionRead(claiming::Decision::Committed))
            }
            Action::ReadDecision if self.planted == Planted::BelievesAbsence && self.view.found.is_none() => {
                Next::Done(Event::DecisionRead(claiming::Decision::Gone))
            }
            Action::ReadDecision => Next::Ask(ModelRequest::Get(self.view.key), ActionStage::Write),
            Action::ListEntries if self.planted == Planted::LooksForNoEntries => Next::Done(Event::NoEntries),
            Action::ListEntries if self.view.found.is_none() => Next::Ask(ModelRequest::List, ActionStage::List),
            Action::ListEntries => {
                let unknown = |leg: &usize| self.holds.get(*leg) != Some(&Hold::Held);
                self.reads((0..self.view.legs.len()).filter(unknown).collect(), action)
            }
            Action::ListWork if self.planted == Planted::LooksForNoWork => Next::Done(Event::NoWork),
            Action::ListWork => Next::Ask(ModelRequest::ListWork(claim), ActionStage::List),
            Action::MakeWork => {
                let members = self.view.legs.iter().map(|leg| (leg.offer, leg.uid)).collect();
                let started = self.planted == Planted::StartsAtOnce;
                let batch = Batch { of: claim, members, suspended: !started, runs: started, finished: false };
                Next::Ask(ModelRequest::Create(self.view.batch_key(), Body::Batch(batch)), ActionStage::Write)
            }
            Action::ClearWork => Next::Ask(ModelRequest::Get(self.view.batch_key()), ActionStage::Write),
            Action::StartWork(uid) => write(self.view.batch_key(), Patch::Start { uid: uid.0 }),
            Action::StopWork => Next::Ask(ModelRequest::Get(self.view.batch_key()), ActionStage::Write),
        }
    }

    /// What follows from an answer, which is in `seen` already.
    pub fn go_on(&self, action: Action, stage: ActionStage, answer: &ServerAnswer) -> Next {
        let failed = Next::Done(Event::Failed(action));
        if let ServerAnswer::Lost = answer {
            return failed;
        }
        match stage {
            ActionStage::Reread(Event::DecisionRead(_)) => Next::Done(Event::Decided(self.register_of(answer))),
            ActionStage::Reread(event) => Next::Done(event),
            ActionStage::Reads(mut left) => match left.pop() {
                Some(key) => Next::Ask(ModelRequest::Get(key), ActionStage::Reads(left)),
                None => self.read_all(action),
            },
            ActionStage::List => self.listed(action, answer),
            ActionStage::Stopping(tries) => self.stopping(tries, answer),
            ActionStage::Lease => self.lose(action, answer),
            ActionStage::Write => self.written(action, answer),
        }
    }

    fn written(&self, action: Action, answer: &ServerAnswer) -> Next {
        let failed = Event::Failed(action);
        let reread = |key: ObjectName, event: Event| Next::Ask(ModelRequest::Get(key), ActionStage::Reread(event));
        let root = ObjectName::Job(self.view.root.0);
        let event = match (action, answer) {
            (Action::CreateMatch, ServerAnswer::Done(_)) => Event::MatchCreated,
            (Action::CreateMatch, _) => return reread(self.view.key, failed),
            (Action::ReserveRoot, ServerAnswer::Done(_)) => Event::RootReserved,
            (Action::ReserveRoot, ServerAnswer::Missing) => Event::RootRefused(Reason::JobDeleted),
            (Action::ReserveRoot, ServerAnswer::Refused(rule)) => {
                let reason = if rule.starts_with('J') { Reason::JobTaken } else { Reason::StaleAd };
                return reread(root, Event::RootRefused(reason));
            }
            (Action::NotifyJob, ServerAnswer::Done(_) | ServerAnswer::Missing) => Event::JobNotified,
            (Action::FreeRoot, ServerAnswer::Done(_) | ServerAnswer::Missing) => Event::RootFreed,
            (Action::NotifyJob | Action::FreeRoot, _) => return reread(root, failed),
            (Action::Reserve(leg), ServerAnswer::Done(_)) => Event::Reserved(leg),
            (Action::Reserve(leg), ServerAnswer::Missing) => Event::Refused(leg, Reason::MemberGone),
            (Action::Reserve(leg), ServerAnswer::Refused("epoch")) => return self.reread_leg(leg, failed),
            (Action::Reserve(leg), ServerAnswer::Refused(rule)) => {
                let reason = if rule.starts_with('C') { Reason::CapacityTaken } else { Reason::StaleAd };
                return self.reread_leg(leg, Event::Refused(leg, reason));
            }
            (Action::Free(leg), ServerAnswer::Done(_) | ServerAnswer::Missing) => Event::Freed(leg),
            (Action::Free(leg), ServerAnswer::Refused("C4")) => {
                return self.to_leg(action, leg, Patch::Free { claim: self.view.uid, with_seat: false });
            }
            (
                Action::RequestVote(leg) | Action::NotifyAgent(leg, _) | Action::StopAgent(leg) | Action::MarkLost(leg),
                ServerAnswer::Done(_),
            ) => self.entry(leg).map_or(failed, |agent| Event::Entry(leg, agent)),
            (
                Action::RequestVote(leg)
                | Action::NotifyAgent(leg, _)
                | Action::StopAgent(leg)
                | Action::MarkLost(leg)
                | Action::Free(leg),
                _,
            ) => return self.reread_leg(leg, failed),
            (Action::Commit | Action::Abort(_) | Action::Release(_), ServerAnswer::Done(stored)) => {
                Event::Decided(self.register_in(stored))
            }
            (Action::Commit | Action::Abort(_) | Action::Release(_), ServerAnswer::Missing) => {
                Event::Decided(claiming::Decision::Gone)
            }
            (Action::Commit | Action::Abort(_) | Action::Release(_), _) => {
                return reread(self.view.key, Event::DecisionRead(claiming::Decision::Missing));
            }
            (Action::ReadDecision, answer) => Event::DecisionRead(self.register_of(answer)),
            (Action::MakeWork, ServerAnswer::Done(_)) => Event::Work(self.work()),
            (
                Action::MakeWork | Action::StartWork(_),
                ServerAnswer::Exists | ServerAnswer::Refused(_) | ServerAnswer::Missing,
            ) => {
                return reread(self.view.batch_key(), failed);
            }
            (Action::StartWork(_), ServerAnswer::Done(_)) => Event::Work(Work::Started),
            (Action::ClearWork, answer) => return self.clear(answer),
            (Action::StopWork, answer) => return self.stop(answer),
            _ => failed,
        };
        Next::Done(event)
    }

    fn reserve(&self, number: usize) -> Next {
        let Some(leg) = self.view.legs.get(number) else {
            return Next::Done(Event::Failed(Action::Reserve(number)));
        };
        let below = |other: &&crate::objects::Member| other.parent == Some(number) && other.agent;
        let asked = !self.view.legs.iter().any(|other| below(&other));
        let agent = leg.agent.then_some(Agent { asked, vote: Vote::Pending, ..Agent::default() });
        let entry = HeldClaim { of: self.view.key, takes: leg.takes, share: leg.share.clone(), agent, ballot: 0 };
        let (uid, generation, claim, epoch) = (leg.uid, leg.generation, self.view.uid, self.epoch);
        let patch = Patch::Reserve { uid, generation, claim, entry, epoch };
        Next::Ask(ModelRequest::Patch(ObjectName::Offer(leg.offer), patch), ActionStage::Write)
    }

    fn to_leg(&self, action: Action, number: usize, patch: Patch) -> Next {
        match self.view.legs.get(number) {
            Some(leg) => Next::Ask(ModelRequest::Patch(ObjectName::Offer(leg.offer), patch), ActionStage::Write),
            None => Next::Done(Event::Failed(action)),
        }
    }

    fn reread_leg(&self, number: usize, event: Event) -> Next {
        match self.view.legs.get(number) {
            Some(leg) => Next::Ask(ModelRequest::Get(ObjectName::Offer(leg.offer)), ActionStage::Reread(event)),
            None => Next::Done(event),
        }
    }

    /// Reads the job and these legs as they are now, and goes on from there.
    fn reads(&self, legs: Vec<usize>, action: Action) -> Next {
        let offers = legs.iter().filter_map(|leg| self.view.legs.get(*leg)).map(|leg| ObjectName::Offer(leg.offer));
        let mut left: Vec<ObjectName> = offers.collect();
        if action != Action::ListEntries {
            left.push(ObjectName::Job(self.view.root.0));
        }
        match left.pop() {
            Some(key) => Next::Ask(ModelRequest::Get(key), ActionStage::Reads(left)),
            None => self.read_all(action),
        }
    }

    fn read_all(&self, action: Action) -> Next {
        Next::Done(match action {
            Action::Verify => self.check(),
            Action::ConfirmExit(reason) if self.is_proven(reason) => Event::ExitConfirmed(reason),
            Action::ListEntries => {
                let mut legs = (0..self.view.legs.len()).filter(|leg| self.holds.get(*leg) != Some(&Hold::Held));
                legs.find(|leg| self.has_entry(*leg)).map_or(Event::NoEntries, Event::Reserved)
            }
            _ => Event::Failed(action),
        })
    }

    /// The verification: everybody is who he was, and still takes part.
    fn check(&self) -> Event {
        let job = self.view.job(self.seen);
        if job.is_none_or(|stored| stored.generation != self.view.root.2) {
            return Event::NotVerified(Reason::StaleAd);
        }
        for leg in &self.view.legs {
            let Some(stored) = self.seen.get(&ObjectName::Offer(leg.offer)) else {
                return Event::NotVerified(Reason::MemberGone);
            };
            if (stored.uid, stored.generation) != (leg.uid, leg.generation) {
                return Event::NotVerified(Reason::StaleAd);
            }
            if stored.offer().is_none_or(|offer| !offer.open) {
                return Event::NotVerified(Reason::NotAllowed);
            }
        }
        Event::Verified
    }

    fn listed(&self, action: Action, answer: &ServerAnswer) -> Next {
        let ServerAnswer::Listed(all) = answer else { return Next::Done(Event::Failed(action)) };
        let event = if action == Action::ListWork {
            let batches = all.iter().filter_map(|stored| stored.batch());
            let unfinished = batches.into_iter().find(|batch| !batch.finished || batch.runs);
            unfinished.map_or(Event::NoWork, |batch| {
                Event::Work(if batch.suspended { Work::Suspended(self.batch()) } else { Work::Started })
            })
        } else {
            let known = |key: ObjectName| self.view.legs.iter().any(|leg| ObjectName::Offer(leg.offer) == key);
            let holds = |stored: &Stored| stored.offer().is_some_and(|offer| offer.claims.contains_key(&self.view.uid));
            match all.iter().any(|stored| holds(stored) && !known(stored.key)) {
                true => Event::Failed(action),
                false => Event::NoEntries,
            }
        };
        Next::Done(event)
    }

    /// A batch Job of the name that is another Match's goes once that Match has ended.
    fn clear(&self, answer: &ServerAnswer) -> Next {
        match answer {
            ServerAnswer::Done(stored) => {
                let of = stored.batch().map_or(0, |batch| batch.of);
                let ended = self.seen.values().find(|other| other.uid == of && other.found().is_some());
                let over = ended.and_then(|other| other.found()).is_none_or(|found| found.decision.is_over());
                match of != self.view.uid && over {
                    true => Next::Ask(
                        ModelRequest::Delete(stored.key, stored.uid),
                        ActionStage::Reread(Event::Work(Work::Absent)),
                    ),
                    false => Next::Done(Event::Failed(Action::ClearWork)),
                }
            }
            ServerAnswer::Missing => Next::Done(Event::Work(Work::Absent)),
            _ => Next::Done(Event::Failed(Action::ClearWork)),
        }
    }

    fn stop(&self, answer: &ServerAnswer) -> Next {
        match answer {
            ServerAnswer::Done(stored) => match stored.batch() {
                Some(batch) if batch.of == self.view.uid && !batch.finished => Next::Ask(
                    ModelRequest::Patch(stored.key, Patch::Suspend { uid: stored.uid }),
                    ActionStage::Stopping(0),
                ),
                _ => Next::Done(Event::Work(Work::Absent)),
            },
            ServerAnswer::Missing => Next::Done(Event::Work(Work::Absent)),
            _ => Next::Done(Event::Failed(Action::StopWork)),
        }
    }

    /// Deleted only once no pod runs any more.
    fn stopping(&self, tries: u32, answer: &ServerAnswer) -> Next {
        match answer {
            ServerAnswer::Done(stored) => match stored.batch() {
                Some(batch) if batch.finished => Next::Done(Event::Work(Work::Finished(true))),
                Some(batch) if !batch.runs => Next::Ask(
                    ModelRequest::Delete(stored.key, stored.uid),
                    ActionStage::Reread(Event::Work(Work::Absent)),
                ),
                _ if tries < 20 => Next::Ask(ModelRequest::Get(stored.key), ActionStage::Stopping(tries + 1)),
                _ => Next::Done(Event::Failed(Action::StopWork)),
            },
            ServerAnswer::Missing => Next::Done(Event::Work(Work::Absent)),
            _ => Next::Done(Event::Failed(Action::StopWork)),
        }
    }

    /// Whoever was asleep himself takes others for silent: the lease must be what it was all the time.
    fn lose(&self, action: Action, answer: &ServerAnswer) -> Next {
        let Action::MarkLost(leg) = action else { return Next::Done(Event::Failed(action)) };
        let offer = self.view.legs.get(leg).map_or(u8::MAX, |leg| leg.offer);
        // what was just read is known by now: a new renewal counts from now on
        let since = self.alive.get(&offer).map_or(self.now_ms, |(_, since)| *since);
        let read = matches!(answer, ServerAnswer::Done(_));
        let silent = self.now_ms.saturating_sub(since) > SILENT_MS;
        match (read && silent) || self.planted == Planted::LosesAlive {
            true => self.to_leg(action, leg, Patch::MarkLost { claim: self.view.uid }),
            false => Next::Done(Event::Failed(action)),
        }
    }

    fn decide(&self, to: Decision, reason: Option<Reason>) -> Next {
        let patch = Patch::Decide { uid: self.view.uid, from: from(to), to, reason, at_s: self.clock_s };
        Next::Ask(ModelRequest::Patch(self.view.key, patch), ActionStage::Write)
    }

    /// That somebody is gone is believed from the server only.
    fn needs_proof(&self, reason: Reason) -> bool {
        matches!(reason, Reason::JobDeleted | Reason::MemberGone | Reason::MemberLost)
    }

    fn is_proven(&self, reason: Reason) -> bool {
        let is_gone = |leg: &crate::objects::Member| {
            self.seen.get(&ObjectName::Offer(leg.offer)).is_none_or(|stored| stored.uid != leg.uid)
        };
        match reason {
            Reason::JobDeleted => self.view.job(self.seen).is_none(),
            _ => self.view.legs.iter().any(is_gone),
        }
    }

    fn has_entry(&self, leg: usize) -> bool {
        let offer = self.view.legs.get(leg).and_then(|leg| self.seen.get(&ObjectName::Offer(leg.offer))?.offer());
        offer.is_some_and(|offer| offer.claims.contains_key(&self.view.uid))
    }

    fn entry(&self, leg: usize) -> Option<Agent> {
        let offer = self.seen.get(&ObjectName::Offer(self.view.legs.get(leg)?.offer))?.offer()?;
        let entry = offer.claims.get(&self.view.uid)?;
        Some(Agent { ballot: Digest(entry.ballot), ..entry.agent? })
    }

    fn sits_alone(&self, leg: usize) -> bool {
        let offer = self.view.legs.get(leg).and_then(|leg| self.seen.get(&ObjectName::Offer(leg.offer))?.offer());
        let Some(offer) = offer else { return false };
        let Some(share) = offer.claims.get(&self.view.uid).and_then(|entry| entry.share.as_ref()) else { return false };
        !offer.claims.iter().any(|(uid, entry)| *uid != self.view.uid && entry.share.as_ref() == Some(share))
    }

    fn register_in(&self, stored: &Stored) -> claiming::Decision {
        match stored.found() {
            Some(found) if stored.uid == self.view.uid => found.decision.record(),
            _ => claiming::Decision::Gone,
        }
    }

    fn register_of(&self, answer: &ServerAnswer) -> claiming::Decision {
        if let ServerAnswer::Done(stored) = answer { self.register_in(stored) } else { claiming::Decision::Gone }
    }

    fn batch(&self) -> Digest {
        Digest(self.seen.get(&self.view.batch_key()).map_or(0, |stored| stored.uid))
    }

    fn work(&self) -> Work {
        match self.seen.get(&self.view.batch_key()).and_then(|stored| stored.batch()) {
            Some(batch) if batch.of == self.view.uid && batch.suspended => Work::Suspended(self.batch()),
            Some(_) => Work::Started,
            None => Work::Absent,
        }
    }

    /// Why the claim has ended.
    fn reason(&self) -> Option<Reason> {
        self.seen.get(&self.view.key).and_then(|stored| stored.found()?.reason)
    }

    /// Whether the job is over with this claim.
    fn is_finished(&self) -> bool {
        let job = self.view.job(self.seen).and_then(|stored| stored.job());
        let completed = matches!(self.reason(), Some(Reason::Completed | Reason::Done | Reason::ClaimExpired));
        job.is_some_and(|job| job.done) || completed
    }
}
