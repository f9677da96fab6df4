//! The one who makes a claim's writes: executes each action, tells the claim what came of it, until there is no next one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use claiming::{Action, Claim, Event, Hold, Record, step};
use crds::{Decision, Job, Match};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use matchmaker::{AdKey, Config as Engine};
use pool::{Objects, OwnerTrust};
use tokio::time::Instant;

use crate::api::{Answer, Cluster};
use crate::claims::group::Groups;
use crate::claims::leave::leave;
use crate::claims::view::{Leg, View};
use crate::claims::work::Read;
use crate::clock::Clock;
use crate::events::Events;
use crate::flights::{Flights, UnderWay};
use crate::holdoffs::{Cause, HoldOffs};
use crate::metrics;
use crate::proofs::Proofs;
use crate::refusals::Refusals;
use crate::world::World;

/// Everything that driving a claim needs.
pub(crate) struct Driver {
    pub(crate) cluster: Cluster,
    pub(crate) world: Arc<World>,
    pub(crate) flights: Arc<Flights>,
    /// Who wants to reserve which offer now.
    pub(crate) groups: Groups,
    pub(crate) refusals: Mutex<Refusals>,
    pub(crate) holdoffs: Mutex<HoldOffs>,
    pub(crate) proofs: Mutex<Proofs>,
    pub(crate) events: Events,
    pub(crate) engine: Engine,
    pub(crate) owners: OwnerTrust,
    pub(crate) clock: Clock,
}

/// How long a claim rests after an action came to nothing.
pub(super) const REST: Duration = Duration::from_millis(500);

/// What one drive has learned beside the claim's state.
#[derive(Default)]
pub(super) struct Notes {
    /// The members as the reserves returned them: the second look is made on these.
    pub(super) members: Objects,
    /// Why it was called off, for people.
    pub(super) message: String,
    /// Who said no.
    pub(super) refusals: Vec<crds::Refusal>,
    /// The legs whose offers were read without an entry of this claim.
    pub(super) freed: BTreeSet<usize>,
    /// What the claim knows that it has of each leg.
    pub(super) holds: Vec<Hold>,
    /// The server would not take the Match: there is nothing to rest for.
    pub(super) unwritten: bool,
    /// The ballot of each leg as it was read when the claim learned of its vote: a commit names this one.
    pub(super) ballots: Vec<String>,
    /// The server has said that the Match has ended, or is gone.
    pub(super) ended: bool,
    /// The batch Job as it was read last: what is started is this one.
    pub(super) work: Read,
}

impl Driver {
    pub(crate) fn now_ms(&self) -> u64 {
        self.world.now_ms()
    }

    /// The claim of a Match that is to be written.
    pub(crate) fn view(&self, found: Match) -> View {
        View::of(found)
    }

    /// Drives a claim as far as it goes. It is under way until this returns.
    pub(crate) async fn drive(self: Arc<Self>, view: View, under_way: UnderWay) {
        let begun = Instant::now();
        let mut view = Arc::new(view);
        let deadline = self.deadline(&view);
        let (mut claim, ballots, work) = {
            let objects = self.world.look();
            let claim = view.claim(&objects, deadline, self.cluster.leadership.epoch());
            (claim, view.ballots(&objects), Read::of(&view, &objects))
        };
        let notes = Mutex::new(Notes { members: Objects::new(self.owners), ballots, work, ..Notes::default() });
        let (mut running, mut event, mut failed) = (FuturesUnordered::new(), Event::Woke, false);
        loop {
            failed |= matches!(event, Event::Failed(_));
            if event == Event::Decided(Record::Committed) {
                self.cluster.metrics.took(&metrics::COMMIT_SECONDS, &[], begun.elapsed());
            }
            self.note_ballot(&view, &event, &notes);
            let mut actions = self.take_in(&mut claim, &view, event);
            if let Some(place) = actions.iter().position(|action| *action == Action::Record) {
                actions.remove(place);
                event = match self.record(&view, &notes).await {
                    Ok(written) => {
                        view = Arc::new(View::of(written));
                        Event::Recorded
                    }
                    Err(event) => event,
                };
                continue;
            }
            noted(&notes, |notes| notes.holds = claim.holds());
            for action in actions {
                running.push(self.execute(view.clone(), action, &notes));
            }
            event = match running.next().await {
                Some(event) => event,
                None => break,
            };
        }
        if failed && !noted(&notes, |notes| notes.unwritten) {
            tokio::time::sleep(REST).await;
        }
        drop(under_way);
        self.world.ring();
    }

    /// One event into the claim, and before it the wish of a party to leave: for one that leaves nothing more is reserved.
    fn take_in(&self, claim: &mut Claim, view: &View, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        let newest = view.newest(&self.world.look());
        if claim.epoch > 0 && newest > claim.newest {
            *claim = step(claim.clone(), Event::Epoch(newest), self.now_ms()).0;
        }
        if claim.leaving.is_none()
            && let Some(reason) = leave(view, &self.world.look(), self.clock.now().as_second())
        {
            (*claim, actions) = step(claim.clone(), Event::Leave(reason), self.now_ms());
        }
        let (next, more) = step(claim.clone(), event, self.now_ms());
        *claim = next;
        actions.extend(more);
        actions
    }

    /// When an undecided claim is called off, counted from when this process saw it first.
    pub(crate) fn deadline(&self, view: &View) -> u64 {
        let timeout = view.found.as_ref().map_or(30, |found| found.spec.reserve_timeout_seconds);
        let timeout = u64::try_from(timeout).unwrap_or(30).saturating_mul(1000);
        let age = if view.uid.is_empty() { 0 } else { self.flights.age_ms(&view.uid) };
        self.now_ms().saturating_add(timeout).saturating_sub(age)
    }

    /// Writes the Match. One of that name that is there already is gone on with later, as it stands.
    async fn record(&self, view: &View, notes: &Mutex<Notes>) -> Result<Match, Event> {
        let failed = Event::Failed(Action::Record);
        let Some(found) = &view.found else { return Err(failed) };
        match self.cluster.create(found.as_ref()).await {
            Answer::Done(written) => {
                tracing::info!(r#match = %view.key, members = written.spec.summary, "gang found");
                let attempt = if written.spec.attempt <= 1 { "first" } else { "again" };
                self.cluster.metrics.count(&metrics::ATTEMPTS, &[attempt]);
                self.holdoffs.lock().unwrap_or_else(PoisonError::into_inner).forget(&view.root.uid, Cause::Unwritten);
                self.world.learn(|all| all.put_match(written.clone()));
                Ok(written)
            }
            Answer::Refused(refused) => {
                noted(notes, |notes| notes.unwritten = true);
                self.cluster.metrics.count(&metrics::UNWRITTEN, &[]);
                self.unwritten(view, &refused.message).await;
                Err(failed)
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
            Action::Abort(reason) => self.abort(&view, reason, notes).await,
            Action::Release(reason) => self.release(&view, reason, notes).await,
            Action::TellRoot => self.tell_root(&view).await,
            Action::Confirm => self.confirm(&view).await,
            Action::Free(number) => self.free(&view, number, notes).await,
            Action::LookForEntries => self.look_for_entries(&view, notes).await,
            Action::FreeRoot => self.free_root(&view, notes).await,
            Action::Ask(number) => self.ask(&view, number).await,
            Action::TellAgent(number) => self.tell_agent(&view, number, notes).await,
            Action::StopAgent(number) => self.stop_agent(&view, number, notes).await,
            Action::MarkLost(number) => self.mark_lost(&view, number).await,
            Action::MakeWork | Action::ClearWork | Action::StartWork | Action::StopWork | Action::LookForWork => {
                self.do_work(&view, action, notes).await
            }
        }
    }

    pub(super) fn job(&self, view: &View) -> Option<Arc<Job>> {
        self.world.look().jobs.get(&view.root.key).map(|held| held.object.clone())
    }

    pub(super) fn lost<K>(&self, view: &View, action: Action, answer: &Answer<K>) -> Event {
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

pub(super) fn noted<T>(notes: &Mutex<Notes>, look: impl FnOnce(&mut Notes) -> T) -> T {
    look(&mut notes.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(super) fn ad_key(leg: &Leg) -> AdKey {
    AdKey { kind: leg.kind.clone(), namespace: leg.key.namespace.clone(), name: leg.key.name.clone() }
}
