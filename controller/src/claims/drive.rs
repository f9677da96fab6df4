//! The one who makes a claim's writes: executes each action, tells the claim what came of it, until there is no next one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use claiming::{Action, Claim, Event, Reason, Record, step};
use crds::{Decision, Job, License, Machine, Match};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::runtime::events::EventType;
use matchmaker::{AdKey, Config as Engine, Disagreement, verify};
use pool::{Objects, gang_of};

use crate::api::{Answer, Cluster, Refused};
use crate::claims::leave::leave;
use crate::claims::view::{Leg, View};
use crate::claims::{refusal, writes};
use crate::events::Events;
use crate::flights::{Flights, UnderWay};
use crate::refusals::{Refusals, retry_of};
use crate::status::Ended;
use crate::world::World;

/// Everything that driving a claim needs.
pub(crate) struct Driver {
    pub(crate) cluster: Cluster,
    pub(crate) world: Arc<World>,
    pub(crate) flights: Arc<Flights>,
    pub(crate) refusals: Mutex<Refusals>,
    pub(crate) events: Events,
    pub(crate) engine: Engine,
    pub(crate) started: Instant,
}

/// How long a claim rests after an action came to nothing.
const REST: Duration = Duration::from_millis(500);

/// What one drive has learned beside the claim's state.
#[derive(Default)]
struct Notes {
    /// The members as the reserves returned them: the second look is made on these.
    members: Objects,
    /// Why it was called off, for people.
    message: String,
    /// Who said no.
    refusals: Vec<crds::Refusal>,
}

impl Driver {
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The claim of a Match that is to be written.
    pub(crate) fn view(&self, found: Match) -> View {
        View::of(found)
    }

    /// Drives a claim as far as it goes. It is under way until this returns.
    pub(crate) async fn drive(self: Arc<Self>, view: View, under_way: UnderWay) {
        let mut view = Arc::new(view);
        let deadline = self.deadline(&view);
        let mut claim = view.claim(&self.world.look(), deadline);
        let notes = Mutex::new(Notes::default());
        let (mut running, mut event, mut failed) = (FuturesUnordered::new(), Event::Woke, false);
        loop {
            failed |= matches!(event, Event::Failed(_));
            let mut actions = self.take_in(&mut claim, &view, event);
            if let Some(place) = actions.iter().position(|action| *action == Action::Record) {
                actions.remove(place);
                event = match self.record(&view).await {
                    Ok(written) => {
                        view = Arc::new(View::of(written));
                        Event::Recorded
                    }
                    Err(event) => event,
                };
                continue;
            }
            for action in actions {
                running.push(self.execute(view.clone(), action, &notes));
            }
            event = match running.next().await {
                Some(event) => event,
                None => break,
            };
        }
        if failed {
            tokio::time::sleep(REST).await;
        }
        drop(under_way);
        self.world.ring();
    }

    /// One event into the claim, and with it the wish of a party to leave.
    fn take_in(&self, claim: &mut Claim, view: &View, event: Event) -> Vec<Action> {
        let (next, mut actions) = step(claim.clone(), event, self.now_ms());
        *claim = next;
        if claim.leaving.is_none()
            && let Some(reason) = leave(view, &self.world.look(), Timestamp::now().as_second())
        {
            let (next, more) = step(claim.clone(), Event::Leave(reason), self.now_ms());
            *claim = next;
            actions.extend(more);
        }
        actions
    }

    fn deadline(&self, view: &View) -> u64 {
        let timeout = view.found.as_ref().map_or(30, |found| found.spec.reserve_timeout_seconds);
        let timeout = u64::try_from(timeout).unwrap_or(30).saturating_mul(1000);
        let age = if view.uid.is_empty() { 0 } else { self.flights.age_ms(&view.uid) };
        self.now_ms().saturating_add(timeout).saturating_sub(age)
    }

    /// Writes the Match. One of that name that is there already is gone on with later, as it stands.
    async fn record(&self, view: &View) -> Result<Match, Event> {
        let failed = Event::Failed(Action::Record);
        let Some(found) = &view.found else { return Err(failed) };
        match self.cluster.create(found.as_ref()).await {
            Answer::Done(written) => {
                tracing::info!(r#match = %view.key, members = written.spec.summary, "gang found");
                self.world.learn(|all| all.put_match(written.clone()));
                Ok(written)
            }
            Answer::Exists => match self.cluster.get::<Match>(&view.key).await {
                Answer::Done(stored) => {
                    self.world.learn(|all| all.put_match(stored));
                    Err(failed)
                }
                answer => Err(self.lost(view, Action::Record, &answer)),
            },
            answer => Err(self.lost(view, Action::Record, &answer)),
        }
    }

    async fn execute(&self, view: Arc<View>, action: Action, notes: &Mutex<Notes>) -> Event {
        match action {
            Action::Record => Event::Failed(action),
            Action::ReserveRoot => self.reserve_root(&view, notes).await,
            Action::Reserve(number) => self.reserve(&view, number, notes).await,
            Action::Check => self.check(&view, notes).await,
            Action::Commit => self.decide(&view, action, Decision::Committed, None, notes).await,
            Action::Abort(reason) => self.decide(&view, action, Decision::Aborted, Some(reason), notes).await,
            Action::Release(reason) => self.decide(&view, action, Decision::Released, Some(reason), notes).await,
            Action::TellRoot => self.tell_root(&view).await,
            Action::Free(number) => self.free(&view, number).await,
            Action::FreeRoot => self.free_root(&view, notes).await,
        }
    }

    async fn reserve_root(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let held = self.world.look().jobs.get(&view.root.key).cloned();
        let (Some(held), Some(found)) = (held, &view.found) else {
            return Event::RootRefused(Reason::JobDeleted);
        };
        let patch = writes::reserve_root(view, found, &held, Timestamp::now());
        match self.cluster.patch_status::<Job>(&view.root.key, &patch).await {
            Answer::Done(job) => {
                noted(notes, |notes| notes.members.jobs.put(job.clone()));
                self.world.learn(|all| all.jobs.put(job));
                Event::RootReserved
            }
            Answer::Refused(refused) => {
                let reason = refusal::of_job(&refused);
                noted(notes, |notes| notes.message = format!("job {}: {}", view.root.key, first(&refused)));
                self.look_again::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await;
                Event::RootRefused(reason)
            }
            Answer::Missing => Event::RootRefused(Reason::JobDeleted),
            answer => self.lost(view, Action::ReserveRoot, &answer),
        }
    }

    async fn reserve(&self, view: &View, number: usize, notes: &Mutex<Notes>) -> Event {
        let Some(leg) = view.legs.get(number) else { return Event::Failed(Action::Reserve(number)) };
        let patch = {
            let objects = self.world.look();
            objects
                .offer(&leg.kind, &leg.key)
                .map(|offer| writes::reserve(view, leg, offer, &objects, Timestamp::now()))
        };
        let Some(patch) = patch else { return Event::Refused(number, Reason::MemberGone) };
        let answer = self.patch_offer(leg, &patch, notes).await;
        match answer {
            Answer::Done(()) => Event::Reserved(number),
            Answer::Refused(refused) => {
                let reason = refusal::of_offer(&refused);
                self.refused(view, leg, reason, &first(&refused), notes);
                self.refresh(leg).await;
                Event::Refused(number, reason)
            }
            Answer::Missing => Event::Refused(number, Reason::MemberGone),
            answer => self.lost(view, Action::Reserve(number), &answer),
        }
    }

    /// Patches an offer of either kind and takes in what came back.
    async fn patch_offer(&self, leg: &Leg, patch: &crate::api::Change, notes: &Mutex<Notes>) -> Answer<()> {
        if leg.kind == <Machine as pool::Advertises>::KIND {
            let answer = self.cluster.patch_status::<Machine>(&leg.key, patch).await;
            take(answer, |machine| {
                noted(notes, |notes| notes.members.machines.put(machine.clone()));
                self.world.learn(|all| all.machines.put(machine));
            })
        } else {
            let answer = self.cluster.patch_status::<License>(&leg.key, patch).await;
            take(answer, |license| {
                noted(notes, |notes| notes.members.licenses.put(license.clone()));
                self.world.learn(|all| all.licenses.put(license));
            })
        }
    }

    /// Reads an offer anew, since it was not what it was thought to be.
    async fn refresh(&self, leg: &Leg) {
        if leg.kind == <Machine as pool::Advertises>::KIND {
            self.look_again::<Machine>(&leg.key, |all, found| all.machines.put(found)).await;
        } else {
            self.look_again::<License>(&leg.key, |all, found| all.licenses.put(found)).await;
        }
    }

    async fn look_again<K>(&self, key: &pool::ObjectKey, put: impl FnOnce(&mut Objects, K))
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        if let Answer::Done(found) = self.cluster.get::<K>(key).await {
            self.world.learn(|all| put(all, found));
        }
    }

    /// The second look: the gang on the members as their reserves returned them, read anew where this process did not
    /// reserve them itself.
    async fn check(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let mut members = noted(notes, |notes| notes.members.clone());
        members.namespaces = self.world.look().namespaces.clone();
        if members.jobs.get(&view.root.key).is_none() {
            match self.cluster.get::<Job>(&view.root.key).await {
                Answer::Done(job) => members.jobs.put(job),
                Answer::Missing => return Event::Disagreed(Reason::JobDeleted),
                answer => return self.lost(view, Action::Check, &answer),
            }
        }
        for leg in view.legs.iter().filter(|leg| members.offer(&leg.kind, &leg.key).is_none()).collect::<Vec<_>>() {
            let answer = if leg.kind == <Machine as pool::Advertises>::KIND {
                let answer = self.cluster.get::<Machine>(&leg.key).await;
                take(answer, |machine| members.machines.put(machine))
            } else {
                let answer = self.cluster.get::<License>(&leg.key).await;
                take(answer, |license| members.licenses.put(license))
            };
            match answer {
                Answer::Done(()) => {}
                Answer::Missing => return Event::Disagreed(Reason::MemberGone),
                answer => return self.lost(view, Action::Check, &answer),
            }
        }
        self.agree(view, &members, notes)
    }

    fn agree(&self, view: &View, members: &Objects, notes: &Mutex<Notes>) -> Event {
        let Some(found) = &view.found else { return Event::Disagreed(Reason::StaleAd) };
        let Some(recalled) = gang_of(found, members) else { return Event::Disagreed(Reason::StaleAd) };
        let cycle = &found.spec.cycle;
        let engine = Engine { seed: u64::try_from(cycle.seed).unwrap_or(0), ..self.engine.clone() };
        let Err(disagreement) = verify(&recalled.snapshot, &recalled.gang, &engine, Timestamp::now().as_second()) else {
            return Event::Agreed;
        };
        let (reason, key) = match &disagreement {
            Disagreement::ParentRefuses(key) | Disagreement::ChildRefuses(key) => (Reason::RequirementsChanged, Some(key)),
            Disagreement::NoRoom(key) => (Reason::CapacityTaken, Some(key)),
            Disagreement::NotAllowed(key) => (Reason::NotAllowed, Some(key)),
            Disagreement::TermsChanged(key) => (Reason::StaleAd, Some(key)),
            Disagreement::Malformed => (Reason::StaleAd, None),
        };
        let at_fault = |leg: &&Leg| key.is_some_and(|key| ad_key(leg) == *key);
        match view.legs.iter().find(at_fault) {
            Some(leg) => self.refused(view, leg, reason, &disagreement.to_string(), notes),
            None => noted(notes, |notes| notes.message = disagreement.to_string()),
        }
        Event::Disagreed(reason)
    }

    /// Turns the register, or finds out who has turned it.
    async fn decide(
        &self,
        view: &View,
        action: Action,
        to: Decision,
        reason: Option<Reason>,
        notes: &Mutex<Notes>,
    ) -> Event {
        let Some(found) = &view.found else { return Event::Decided(Record::Gone) };
        let message = noted(notes, |notes| notes.message.clone());
        let latest = self.world.look().matches.get(&view.key).cloned().unwrap_or_else(|| found.clone());
        let patch = writes::decide(view, &latest, to, reason, &message, Timestamp::now());
        let stored = match self.cluster.patch_status::<Match>(&view.key, &patch).await {
            Answer::Done(stored) => {
                tracing::info!(r#match = %view.key, decision = ?to, reason = reason.map_or("", Reason::as_str), "decided");
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
        Event::Decided(writes::record(decision))
    }

    async fn tell_root(&self, view: &View) -> Event {
        let (Some(job), Some(found)) = (self.job(view), &view.found) else { return Event::Told };
        let patch = writes::tell_root(view, found, &job, Timestamp::now());
        match self.cluster.patch_status::<Job>(&view.root.key, &patch).await {
            Answer::Done(job) => {
                self.events.tell(&job, EventType::Normal, "Claimed", &found.spec.summary).await;
                self.world.learn(|all| all.jobs.put(job));
                Event::Told
            }
            Answer::Missing => Event::Told,
            answer => {
                self.look_again::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await;
                self.lost(view, Action::TellRoot, &answer)
            }
        }
    }

    /// Gives an offer back, once the Match is read as ended or gone: by the server, not by what was seen of it.
    async fn free(&self, view: &View, number: usize) -> Event {
        let failed = Event::Failed(Action::Free(number));
        let Some(leg) = view.legs.get(number) else { return failed };
        if !self.has_ended(view).await {
            return failed;
        }
        for with_seat in [true, false] {
            let patch = {
                let objects = self.world.look();
                let Some(offer) = objects.offer(&leg.kind, &leg.key) else { return Event::Freed(number) };
                let alone = writes::sits_alone(view, offer.status());
                writes::free(view, offer, with_seat && alone, &objects, Timestamp::now())
            };
            match self.patch_offer(leg, &patch, &Mutex::default()).await {
                Answer::Done(()) | Answer::Missing => return Event::Freed(number),
                // Somebody has sat down beside it in the meantime: the seat stays.
                Answer::Refused(_) if with_seat => {}
                answer => return self.lost(view, Action::Free(number), &answer),
            }
        }
        failed
    }

    async fn has_ended(&self, view: &View) -> bool {
        match self.cluster.get::<Match>(&view.key).await {
            Answer::Missing => true,
            Answer::Done(found) => {
                let other = found.metadata.uid.as_deref() != Some(view.uid.as_str());
                other || found.status.is_some_and(|status| status.decision.is_terminal())
            }
            _ => false,
        }
    }

    async fn free_root(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::FreeRoot);
        let Some(job) = self.job(view) else { return Event::RootFreed };
        if !self.has_ended(view).await {
            return failed;
        }
        let ended = self.ended(view, notes);
        let patch = writes::free_root(view, &job, &ended, Timestamp::now());
        match self.cluster.patch_status::<Job>(&view.root.key, &patch).await {
            Answer::Done(job) => {
                let aborted = view_decision(&self.world.look(), view) == Some(Decision::Aborted);
                let type_ = if aborted { EventType::Warning } else { EventType::Normal };
                self.events.tell(&job, type_, ended.reason.as_str(), &ended.message).await;
                self.world.learn(|all| all.jobs.put(job));
                Event::RootFreed
            }
            Answer::Missing => Event::RootFreed,
            answer => {
                self.look_again::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await;
                self.lost(view, Action::FreeRoot, &answer)
            }
        }
    }

    /// Why the claim ended, from what is stored.
    fn ended(&self, view: &View, notes: &Mutex<Notes>) -> Ended {
        let stored = self.world.look().matches.get(&view.key).cloned().and_then(|found| found.status.clone());
        let reason = match &stored {
            Some(status) => status.reason.as_deref().and_then(Reason::of).unwrap_or(Reason::MatchDeleted),
            None => Reason::MatchDeleted,
        };
        let (message, refusals) = noted(notes, |notes| (notes.message.clone(), notes.refusals.clone()));
        let message = match (message.is_empty(), reason) {
            (false, _) => message,
            (true, Reason::Done) => "spec.done is true".to_owned(),
            (true, Reason::Suspended) => "spec.suspend is true".to_owned(),
            (true, Reason::ClaimExpired) => "claimSeconds are over".to_owned(),
            (true, _) => stored.and_then(|status| status.message).unwrap_or_default(),
        };
        Ended { reason, message, refusals }
    }

    /// Remembers that an offer said no: in the process, for the next cycle, and in the job's status, for people.
    fn refused(&self, view: &View, leg: &Leg, reason: Reason, message: &str, notes: &Mutex<Notes>) {
        tracing::info!(r#match = %view.key, offer = %leg.key, kind = leg.kind, %reason, message, "refused");
        let text = format!("{} {}: {message}", leg.kind, leg.key);
        noted(notes, |notes| {
            notes.message = text;
            notes.refusals.push(crds::Refusal {
                kind: leg.kind.clone(),
                namespace: leg.key.namespace.clone(),
                name: leg.key.name.clone(),
                reason: reason.as_str().to_owned(),
                message: message.chars().take(256).collect(),
                time: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::now())),
            });
        });
        let Some(job) = self.job(view) else { return };
        let refused =
            crate::refusals::Refused { offer: ad_key(leg), about: (view.root.generation, leg.generation) };
        let jitter = view.uid.bytes().fold(0u8, u8::wrapping_add);
        let mut memory = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        memory.remember(&view.root.uid, &refused, &retry_of(&job), self.now_ms(), jitter);
    }

    fn job(&self, view: &View) -> Option<Arc<Job>> {
        self.world.look().jobs.get(&view.root.key).map(|held| held.object.clone())
    }

    fn lost<K>(&self, view: &View, action: Action, answer: &Answer<K>) -> Event {
        let why = match answer {
            Answer::Lost(why) => why.as_str(),
            Answer::Refused(refused) => refused.message.as_str(),
            Answer::Missing => "no such object",
            Answer::Exists => "exists already",
            Answer::Done(_) => "",
        };
        tracing::warn!(r#match = %view.key, ?action, why, "no answer that counts; the claim is looked at again");
        Event::Failed(action)
    }
}

fn noted<T>(notes: &Mutex<Notes>, look: impl FnOnce(&mut Notes) -> T) -> T {
    look(&mut notes.lock().unwrap_or_else(PoisonError::into_inner))
}

fn take<K>(answer: Answer<K>, keep: impl FnOnce(K)) -> Answer<()> {
    match answer {
        Answer::Done(object) => {
            keep(object);
            Answer::Done(())
        }
        Answer::Refused(refused) => Answer::Refused(refused),
        Answer::Missing => Answer::Missing,
        Answer::Exists => Answer::Exists,
        Answer::Lost(why) => Answer::Lost(why),
    }
}

fn first(refused: &Refused) -> String {
    refused.rules.first().cloned().unwrap_or_else(|| "it is not the object that was matched any more".to_owned())
}

fn ad_key(leg: &Leg) -> AdKey {
    AdKey { kind: leg.kind.clone(), namespace: leg.key.namespace.clone(), name: leg.key.name.clone() }
}

fn view_decision(objects: &Objects, view: &View) -> Option<Decision> {
    objects.matches.get(&view.key)?.status.as_ref().map(|status| status.decision)
}
