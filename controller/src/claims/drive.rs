//! The one who makes a claim's writes: executes each action, tells the claim what came of it, until there is no next one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use claiming::{Action, Claim, Event, Hold, Reason, Record, step};
use crds::{Decision, Job, Match};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use matchmaker::{AdKey, Config as Engine};
use pool::{Objects, OwnerTrust, is_foreign};
use tokio::time::Instant;

use crate::api::{Answer, Cluster};
use crate::claims::due::{Moment, next};
use crate::claims::group::Groups;
use crate::claims::leave::leave;
use crate::claims::stalls::{Setback, Stalls, Wait};
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
    /// Claims that cannot go on now.
    pub(crate) stalls: Mutex<Stalls>,
    /// How long the work of a claim that has ended is given to end, in milliseconds.
    pub(crate) stop_timeout_ms: u64,
    pub(crate) events: Events,
    pub(crate) engine: Engine,
    pub(crate) owners: OwnerTrust,
    pub(crate) clock: Clock,
}

/// How often one drive does the same: what goes round in circles is somebody else undoing it, and is tried again later.
const SAME_MAX: usize = 8;

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
    /// Why it came to nothing, if it did; of several reasons the one that is first in order.
    pub(super) setback: Option<Setback>,
    /// What the objects showed of the claim before that.
    pub(super) seen: u64,
}

impl Notes {
    /// An action came to nothing.
    pub(super) fn failed(&mut self, action: Action, why: impl Into<String>) {
        self.set_back(Setback { action, why: why.into(), waits: None });
    }

    /// An action cannot be done before something else happens.
    pub(super) fn waits(&mut self, action: Action, why: impl Into<String>, wait: Wait) {
        self.set_back(Setback { action, why: why.into(), waits: Some(wait) });
    }

    fn set_back(&mut self, setback: Setback) {
        if self.setback.as_ref().is_none_or(|known| setback.action < known.action) {
            self.setback = Some(setback);
        }
    }
}

impl Driver {
    pub(crate) fn now_ms(&self) -> u64 {
        self.world.now_ms()
    }

    /// The claim of a Match that is to be written.
    pub(crate) fn view(&self, found: Match) -> View {
        View::of(found)
    }

    /// Drives a claim as far as it goes. It is under way until this returns; nothing is waited for but answers.
    pub(crate) async fn drive(self: Arc<Self>, view: View, under_way: UnderWay) {
        let begun = Instant::now();
        let mut view = Arc::new(view);
        let deadline = self.deadline(&view);
        let (mut claim, ballots, work, seen) = {
            let objects = self.world.look();
            let mut claim = view.claim(&objects, deadline, self.cluster.leadership.epoch());
            view.overdue(&mut claim, self.now_ms(), &|offer| self.stop_by_ms(&view.uid, offer));
            (claim, view.ballots(&objects), Read::of(&view, &objects), self.seen(&view, &objects))
        };
        let (members, refusals) = (Objects::new(self.owners), self.stalls().refusals(&view.uid));
        let notes = Mutex::new(Notes { members, refusals, ballots, work, seen, ..Notes::default() });
        let (mut running, mut event, mut done) = (FuturesUnordered::new(), first_event(&view, &notes), BTreeMap::new());
        loop {
            if let Event::Failed(action) = event {
                noted(&notes, |notes| notes.failed(action, "it came to nothing"));
            }
            if let Event::Decided(record) = event {
                under_way.decided();
                if record == claiming::Decision::Committed {
                    self.cluster.metrics.took(&metrics::COMMIT_SECONDS, &[], begun.elapsed());
                }
            }
            self.note_ballot(&view, &event, &notes);
            let mut actions = self.take_in(&mut claim, &view, event);
            if let Some(place) = actions.iter().position(|action| *action == Action::CreateMatch) {
                actions.remove(place);
                event = match self.record(&view, &notes).await {
                    Ok(written) => {
                        view = Arc::new(View::of(written));
                        Event::MatchCreated
                    }
                    Err(event) => event,
                };
                continue;
            }
            noted(&notes, |notes| notes.holds = claim.holds());
            for action in actions {
                let times = done.entry(action).or_insert(0_usize);
                *times = times.saturating_add(1);
                running.push(self.execute(view.clone(), action, *times, &notes));
            }
            event = match running.next().await {
                Some(event) => event,
                None => break,
            };
        }
        drop(running);
        if done.contains_key(&Action::StartWork) {
            self.stalls().started(&view.uid, self.now_ms());
        }
        self.came_to(&view, notes.into_inner().unwrap_or_else(PoisonError::into_inner));
        drop(under_way);
        self.world.ring();
    }

    /// What the objects show of a claim now.
    pub(crate) fn seen(&self, view: &View, objects: &Objects) -> u64 {
        if view.uid.is_empty() {
            return 0;
        }
        self.with_moment(0, |moment| next(view, objects, moment)).seen
    }

    /// What counts beside the objects now.
    pub(crate) fn with_moment<T>(&self, places: usize, look: impl FnOnce(&Moment<'_>) -> T) -> T {
        look(&Moment {
            now: self.clock.now(),
            now_ms: self.now_ms(),
            epoch: self.cluster.leadership.epoch(),
            deadline_ms: &|view| self.deadline(view),
            under_way: &|view| self.flights.has(view),
            stop_by_ms: &|view, work| self.stop_by_ms(&view.uid, work),
            starts_at: &|view| self.stalls().starts_at(&view.uid, self.now_ms()),
            rests_until: &|view, seen| self.stalls().rests_until(&view.uid, seen, self.now_ms()),
            places,
        })
    }

    /// Remembers that a claim cannot go on, and says so once; or that it has gone on.
    fn came_to(&self, view: &View, notes: Notes) {
        let Notes { setback, seen, unwritten, refusals, .. } = notes;
        let mut stalls = self.stalls();
        stalls.keep_refusals(&view.uid, refusals);
        match setback {
            None => stalls.went_on(&view.uid),
            Some(_) if unwritten => {}
            Some(Setback { why, .. }) if view.uid.is_empty() => {
                tracing::warn!(r#match = %view.key, why, "Match not written; it is tried again");
                stalls.unwritten(&view.root.uid, self.now_ms());
            }
            Some(setback) => {
                let is_new = stalls.stalled(&view.uid, &setback, seen, self.now_ms());
                let Setback { action, why, waits } = setback;
                match (is_new, waits) {
                    (true, None) => {
                        tracing::warn!(r#match = %view.key, ?action, why, "the claim cannot go on; it is tried again")
                    }
                    (true, Some(_)) => tracing::info!(r#match = %view.key, ?action, why, "the claim waits"),
                    (false, _) => tracing::debug!(r#match = %view.key, ?action, why, "still"),
                }
            }
        }
    }

    /// A term begins: whatever stood in the way of claims, all are looked at.
    pub(crate) fn begin_term(&self) {
        *self.stalls() = Stalls::default();
    }

    pub(crate) fn stalls(&self) -> MutexGuard<'_, Stalls> {
        self.stalls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until when work that is to stop for a claim is given time to end, counted from when this process asked first: the workload of
    /// this uid, the agent of the offer of this uid, or the claim's pods.
    pub(super) fn stop_by_ms(&self, claim: &str, work: &str) -> u64 {
        self.stalls().stopping_since(claim, work, self.now_ms()).saturating_add(self.stop_timeout_ms)
    }

    /// One event into the claim, and before it the wish of a party to leave: for one that leaves nothing more is reserved.
    fn take_in(&self, claim: &mut Claim, view: &View, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        let newest = view.newest(&self.world.look());
        if claim.epoch > 0 && newest > claim.newest_epoch {
            *claim = step(claim.clone(), Event::Epoch(newest), self.now_ms()).0;
        }
        if claim.exit.is_none()
            && let Some(reason) = leave(view, &self.world.look(), self.clock.now().as_second())
        {
            (*claim, actions) = step(claim.clone(), Event::Exit(reason), self.now_ms());
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
        let failed = Event::Failed(Action::CreateMatch);
        let Some(found) = &view.found else { return Err(failed) };
        match self.cluster.create(found.as_ref()).await {
            Answer::Done(written) => {
                tracing::info!(r#match = %view.key, members = written.spec.summary, "gang found");
                let attempt = if written.spec.attempt <= 1 { "first" } else { "again" };
                self.cluster.metrics.count(&metrics::ATTEMPTS, &[attempt]);
                self.holdoffs.lock().unwrap_or_else(PoisonError::into_inner).forget(&view.root.uid, Cause::Unwritten);
                self.stalls().written(&view.root.uid);
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
                answer => Err(self.lost(Action::CreateMatch, &answer, notes)),
            },
            answer => Err(self.lost(Action::CreateMatch, &answer, notes)),
        }
    }

    /// Does what is asked for, `times` times in this drive by then.
    async fn execute(&self, view: Arc<View>, action: Action, times: usize, notes: &Mutex<Notes>) -> Event {
        if times > SAME_MAX {
            noted(notes, |notes| notes.failed(action, "it was done again and again, and something undoes it"));
            return Event::Failed(action);
        }
        match action {
            Action::CreateMatch => Event::Failed(action),
            Action::ReserveRoot => self.reserve_root(&view, notes).await,
            Action::Reserve(number) => self.reserve(&view, number, notes).await,
            Action::Verify => self.check(&view, notes).await,
            Action::Commit => self.decide(&view, action, Decision::Committed, None, notes).await,
            Action::Abort(reason) => self.abort(&view, reason, notes).await,
            Action::Release(reason) => self.release(&view, reason, notes).await,
            Action::NotifyJob => self.tell_root(&view, notes).await,
            Action::ReadDecision => self.confirm(&view, notes).await,
            Action::Free(number) => self.free(&view, number, notes).await,
            Action::ListEntries => self.look_for_entries(&view, notes).await,
            Action::FreeRoot => self.free_root(&view, notes).await,
            Action::RequestVote(number) => self.ask(&view, number, notes).await,
            Action::NotifyAgent(number) => self.tell_agent(&view, number, notes).await,
            Action::StopAgent(number) => self.stop_agent(&view, number, notes).await,
            Action::MarkLost(number) => self.mark_lost(&view, number, notes).await,
            Action::MakeWork | Action::ClearWork | Action::StartWork | Action::StopWork | Action::ListWork => {
                self.do_work(&view, action, notes).await
            }
        }
    }

    pub(super) fn job(&self, view: &View) -> Option<Arc<Job>> {
        self.world.look().jobs.get(&view.root.key).map(|held| held.object.clone())
    }

    /// An action that came to nothing by this answer.
    pub(super) fn lost<K>(&self, action: Action, answer: &Answer<K>, notes: &Mutex<Notes>) -> Event {
        let why = match answer {
            Answer::Lost(why) => why.as_str(),
            Answer::Refused(refused) => refused.message.as_str(),
            Answer::Missing => "no such object",
            Answer::Exists => "exists already",
            Answer::Done(_) => "",
        };
        noted(notes, |notes| notes.failed(action, why));
        Event::Failed(action)
    }
}

/// How a drive begins. A Match that was not recorded here is called off, whoever wrote it.
fn first_event(view: &View, notes: &Mutex<Notes>) -> Event {
    let Some(why) = view.found.as_ref().and_then(|found| is_foreign(found)) else { return Event::Tick };
    tracing::warn!(r#match = %view.key, why, "a Match that was not recorded by gangmatch; it is called off");
    noted(notes, |notes| notes.message = format!("this Match was not recorded by gangmatch: {why}"));
    Event::Exit(Reason::NotAllowed)
}

pub(super) fn noted<T>(notes: &Mutex<Notes>, look: impl FnOnce(&mut Notes) -> T) -> T {
    look(&mut notes.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(super) fn ad_key(leg: &Leg) -> AdKey {
    AdKey { kind: leg.kind.clone(), namespace: leg.key.namespace.clone(), name: leg.key.name.clone() }
}
