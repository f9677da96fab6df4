//! One coordinator: what it has seen, which claims it drives, and whether it leads. The pure parts are those of the product.

mod cycle;
pub mod preempting;
mod preemption_pool;
pub mod shell;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use claiming::{Action, Claim, Event, Reason, step};

use crate::coordinator::preempting::Preempting;
use crate::coordinator::shell::{ActionStage, Desk, Next};
use crate::coordinator::view::{Seen, View, is_recreated_under_live_claims, views};
use crate::objects::{Body, ObjectName, Stored, Uid};
use crate::planted::Planted;
use crate::server::{ModelRequest, Patch, ServerAnswer};

/// How long an undecided claim may take.
const RESERVE_MS: u64 = 5_000;
/// How long a claim rests after an action came to nothing.
const REST_MS: u64 = 500;
/// A leader renews its lease this often, steps down this long after the last renewal, and is followed after this long.
pub const RENEW_MS: u64 = 2_000;
const STEP_DOWN_MS: u64 = 5_000;
const FOLLOW_MS: u64 = 8_000;
/// An agent whose lease was not seen renewed for this long is silent.
pub const SILENT_MS: u64 = 6_000;
/// How long an offer that refused a job is left out.
const BACK_OFF_MS: u64 = 2_000;

/// A coordinator.
pub struct Coordinator {
    /// Its number.
    pub number: u8,
    /// Everything it has seen.
    pub seen: Seen,
    /// The epoch under which it leads.
    pub leads: Option<u64>,
    /// It leads whatever the lease says.
    pub ignores_lease: bool,
    /// A mistake that was put in.
    pub planted: Planted,
    /// By how much its time of day is wrong.
    pub skew_s: i64,
    /// What it knows of preemption, if there is any.
    pub preempting: Option<Preempting>,
    drives: BTreeMap<ObjectName, Drive>,
    calls: BTreeMap<u64, (ObjectName, Option<Action>, ActionStage)>,
    lease: LeaderLease,
    noted: NotedObjects,
    token: u64,
}

/// What a coordinator knows of the lease.
#[derive(Default)]
struct LeaderLease {
    /// When the calls about it were sent: an answer counts from then on, however late it is read.
    calls: BTreeMap<u64, u64>,
    /// Its version, and since when that was seen.
    seen: (u64, u64),
    renewed_ms: u64,
}

/// What a coordinator notes of objects beside what they say.
#[derive(Default)]
struct NotedObjects {
    /// When each claim was first seen.
    first_seen: BTreeMap<Uid, u64>,
    /// By offer: how often its agent has shown that it is alive, and when that was last seen.
    alive: BTreeMap<u8, (u64, u64)>,
    /// Until when a job is not matched with an offer that has refused it.
    refusals: BTreeMap<(Uid, u8), u64>,
    /// Offers that were seen to have no work left from an earlier offer of the same name.
    proven: BTreeSet<Uid>,
    /// The versions at which objects were deleted.
    deleted: BTreeMap<ObjectName, u64>,
}

/// One claim under way.
struct Drive {
    claim: Claim,
    view: View,
    waiting: u32,
    failed: bool,
    rests_until_ms: u64,
}

/// A request, and by which number its answer is known.
pub type Request = (u64, ModelRequest);

impl Coordinator {
    /// One that has seen this and drives nothing.
    pub fn new(number: u8, seen: Seen, ignores_lease: bool, planted: Planted) -> Coordinator {
        Coordinator {
            number,
            seen,
            leads: None,
            ignores_lease,
            planted,
            skew_s: 0,
            preempting: None,
            drives: BTreeMap::new(),
            calls: BTreeMap::new(),
            lease: LeaderLease::default(),
            noted: NotedObjects::default(),
            token: 0,
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.drives.is_empty()
    }

    /// Takes in an object that was read or watched; an older state never replaces a newer one.
    pub fn learn(&mut self, stored: &Rc<Stored>, now_ms: u64) {
        let newer = |known: u64| known >= stored.version;
        let is_known = self.seen.get(&stored.key).is_some_and(|known| newer(known.version));
        if is_known || self.noted.deleted.get(&stored.key).copied().is_some_and(newer) {
            return;
        }
        if let (ObjectName::Alive(offer), Body::Lease(_, renewals)) = (stored.key, &stored.body) {
            self.noted.alive.insert(offer, (*renewals, now_ms));
        }
        self.seen.insert(stored.key, stored.clone());
    }

    /// Takes in that an object was deleted. An answer that was under way may still show it: that does not bring it back.
    pub fn forget(&mut self, key: ObjectName, version: u64) {
        if self.planted != Planted::Resurrects {
            self.noted.deleted.insert(key, version);
        }
        if self.seen.get(&key).is_some_and(|known| known.version < version) {
            self.seen.remove(&key);
        }
    }

    /// What is due now: the lease, claims that have a next step, new gangs.
    pub fn round(&mut self, now_ms: u64, lead: bool) -> Vec<Request> {
        let mut requests = Vec::new();
        if lead {
            requests.extend(self.keep_lead(now_ms));
        }
        if self.ignores_lease && self.leads.is_none() {
            self.leads = Some(0);
        }
        if self.leads.is_some() {
            requests.extend(self.prove());
            requests.extend(self.take_seats());
            self.drive_due(now_ms, &mut requests);
            match self.preempting.take() {
                None => self.find_gangs(now_ms, &mut requests),
                Some(preempting) => self.find_gangs_with_preemption(preempting, now_ms, &mut requests),
            }
        }
        requests
    }

    fn keep_lead(&mut self, now_ms: u64) -> Option<Request> {
        if self.ignores_lease {
            return None;
        }
        if self.leads.is_some() && now_ms.saturating_sub(self.lease.renewed_ms) > STEP_DOWN_MS {
            self.step_down();
        }
        let verb = match self.leads {
            Some(_) => ModelRequest::Patch(
                ObjectName::Leader,
                Patch::Renew { version: self.lease.seen.0, holder: self.number },
            ),
            None => ModelRequest::Get(ObjectName::Leader),
        };
        Some(self.lease_call(verb, now_ms))
    }

    fn lease_call(&mut self, verb: ModelRequest, now_ms: u64) -> Request {
        let request = self.call(ObjectName::Leader, None, ActionStage::Write, verb);
        self.lease.calls.insert(request.0, now_ms);
        request
    }

    fn step_down(&mut self) {
        self.leads = None;
        self.drives.clear();
        if let Some(own) = &mut self.preempting {
            own.steps_down();
        }
        // what they have asked for is answered to nobody
        self.calls.retain(|_, (_, action, _)| action.is_none());
    }

    fn lease_answered(&mut self, sent_ms: u64, answer: &ServerAnswer, now_ms: u64) -> Option<Request> {
        let ServerAnswer::Done(stored) = answer else {
            if self.leads.is_some() && matches!(answer, ServerAnswer::Refused(_)) {
                self.step_down();
            }
            return None;
        };
        let Body::Lease(holder, _) = stored.body else { return None };
        if holder == self.number {
            // a write of its own that has won, whatever became of its answer
            if now_ms.saturating_sub(sent_ms) <= STEP_DOWN_MS && stored.version >= self.lease.seen.0 {
                self.leads.get_or_insert(stored.version);
                (self.lease.seen, self.lease.renewed_ms) = ((stored.version, now_ms), sent_ms);
            }
            return None;
        }
        if stored.version != self.lease.seen.0 {
            self.lease.seen = (stored.version, now_ms);
        }
        let free = holder == u8::MAX || now_ms.saturating_sub(self.lease.seen.1) > FOLLOW_MS;
        free.then(|| {
            let verb = ModelRequest::Patch(
                ObjectName::Leader,
                Patch::Renew { version: self.lease.seen.0, holder: self.number },
            );
            self.lease_call(verb, now_ms)
        })
    }

    /// An offer is open once it was seen, after it was read, to have no work left from an earlier offer of the same name.
    fn prove(&mut self) -> Option<Request> {
        let asked = self.calls.values().any(|(key, _, _)| matches!(key, ObjectName::Offer(_)));
        let unverified = self.seen.values().find(|one| one.offer().is_some() && !self.noted.proven.contains(&one.uid));
        let key = unverified.filter(|_| !asked)?.key;
        Some(self.call(key, None, ActionStage::List, ModelRequest::List))
    }

    /// Shared seats on which nobody sits: those who left last may each have seen the other one.
    fn take_seats(&mut self) -> Option<Request> {
        let mut offers = self.seen.values().filter_map(|stored| Some((stored.key, stored.offer()?)));
        let (key, share) = offers.find_map(|(key, offer)| {
            let used = |share: &String| offer.claims.values().any(|entry| entry.share.as_ref() == Some(share));
            Some((key, offer.shared.keys().find(|share| !used(share))?.clone()))
        })?;
        Some(self.call(key, None, ActionStage::Write, ModelRequest::Patch(key, Patch::TakeSeat { share })))
    }

    fn drive_due(&mut self, now_ms: u64, requests: &mut Vec<Request>) {
        self.drives.retain(|_, drive| drive.waiting > 0 || drive.rests_until_ms > now_ms);
        for (uid, view) in views(&self.seen) {
            if self.planted == Planted::NoSweeper && view.found.is_none() || self.drives.contains_key(&view.key) {
                continue;
            }
            let claim = self.claim(&view, uid, now_ms);
            let event = self.leaving(&view).map_or(Event::Tick, Event::Exit);
            if !step(claim.clone(), event, now_ms).1.is_empty() {
                self.begin(view, claim, event, now_ms, requests);
            }
        }
    }

    /// Why a claim is to end.
    fn leaving(&self, view: &View) -> Option<Reason> {
        let preempted = || self.preempting.as_ref().is_some_and(|own| own.preempted.contains(&view.uid));
        let is_committed = view.record() == claiming::Decision::Committed;
        view.leaving(&self.seen).or_else(|| (is_committed && preempted()).then_some(Reason::Preempted))
    }

    fn claim(&mut self, view: &View, uid: Uid, now_ms: u64) -> Claim {
        let first = if uid == 0 { now_ms } else { *self.noted.first_seen.entry(uid).or_insert(now_ms) };
        let silent = |offer: u8| {
            let since = self.noted.alive.get(&offer).map_or(now_ms, |(_, since)| *since);
            now_ms.saturating_sub(since) > SILENT_MS || self.planted == Planted::LosesAlive
        };
        let mut claim = view.claim(&self.seen, first.saturating_add(RESERVE_MS), silent);
        if self.planted == Planted::BelievesAbsence && view.found.is_none() {
            claim.decision = claiming::Decision::Missing;
        }
        claim.epochs.own = self.leads.unwrap_or(0);
        claim.epochs.newest = view.found.as_ref().map_or(0, |found| found.epoch);
        claim
    }

    fn begin(&mut self, view: View, claim: Claim, event: Event, now_ms: u64, requests: &mut Vec<Request>) {
        let key = view.key;
        self.drives.insert(key, Drive { claim, view, waiting: 0, failed: false, rests_until_ms: 0 });
        self.take_in(key, event, now_ms, requests);
    }

    /// One event into a claim; the requests of the actions that it asks for.
    fn take_in(&mut self, key: ObjectName, event: Event, now_ms: u64, requests: &mut Vec<Request>) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let Some(drive) = self.drives.get_mut(&key) else { return };
            drive.failed |= matches!(event, Event::Failed(_));
            let (claim, mut actions) = step(drive.claim.clone(), event, now_ms);
            drive.claim = claim;
            let undisturbed = self.drives.get(&key).filter(|drive| drive.claim.exit.is_none());
            if let Some(reason) = undisturbed.and_then(|drive| self.leaving(&drive.view))
                && let Some(drive) = self.drives.get_mut(&key)
            {
                let (claim, more) = step(drive.claim.clone(), Event::Exit(reason), now_ms);
                drive.claim = claim;
                actions.extend(more);
            }
            for action in actions {
                self.note_refusal(key, action, now_ms);
                let Some(desk) = self.desk(key, now_ms) else { return };
                match desk.begin(action) {
                    Next::Ask(verb, stage) => requests.push(self.call(key, Some(action), stage, verb)),
                    Next::Done(event) => events.push(event),
                }
            }
        }
        if let Some(drive) = self.drives.get_mut(&key).filter(|drive| drive.waiting == 0) {
            match drive.failed {
                true => drive.rests_until_ms = now_ms.saturating_add(REST_MS),
                false => drop(self.drives.remove(&key)),
            }
        }
    }

    /// After a no the job is not matched with these offers for a while.
    fn note_refusal(&mut self, key: ObjectName, action: Action, now_ms: u64) {
        let Action::Abort(reason) = action else { return };
        let Some(drive) = self.drives.get(&key) else { return };
        if matches!(reason, Reason::CapacityTaken | Reason::StaleAd | Reason::Rejected | Reason::ReserveTimedOut) {
            let pairs = drive.view.legs.iter().map(|leg| (drive.view.root.1, leg.offer));
            let until = now_ms.saturating_add(BACK_OFF_MS);
            self.noted.refusals.extend(pairs.collect::<Vec<_>>().into_iter().map(|pair| (pair, until)));
        }
    }

    fn desk(&self, key: ObjectName, now_ms: u64) -> Option<Desk<'_>> {
        let drive = self.drives.get(&key)?;
        Some(Desk {
            view: &drive.view,
            seen: &self.seen,
            holds: drive.claim.holds(),
            alive: &self.noted.alive,
            now_ms,
            clock_s: self.clock_s(now_ms),
            epoch: self.leads.unwrap_or(0),
            planted: self.planted,
        })
    }

    /// The time of day, by its own clock, in seconds.
    fn clock_s(&self, now_ms: u64) -> i64 {
        1_000_000 + i64::try_from(now_ms / 1000).unwrap_or(0) + self.skew_s
    }

    fn call(&mut self, key: ObjectName, action: Option<Action>, stage: ActionStage, verb: ModelRequest) -> Request {
        self.token += 1;
        self.calls.insert(self.token, (key, action, stage));
        if action.is_some()
            && let Some(drive) = self.drives.get_mut(&key)
        {
            drive.waiting += 1;
        }
        (self.token, verb)
    }

    /// An answer; what it leads to.
    pub fn answered(&mut self, token: u64, answer: &ServerAnswer, now_ms: u64) -> Vec<Request> {
        let Some((key, action, stage)) = self.calls.remove(&token) else { return Vec::new() };
        match answer {
            ServerAnswer::Done(stored) => self.learn(stored, now_ms),
            ServerAnswer::Listed(all) => all.iter().for_each(|stored| self.learn(stored, now_ms)),
            _ => {}
        }
        let Some(action) = action else {
            if key == ObjectName::Leader {
                let sent_ms = self.lease.calls.remove(&token).unwrap_or(0);
                return self.lease_answered(sent_ms, answer, now_ms).into_iter().collect();
            }
            if let (ObjectName::Job(_), Some(own)) = (key, &mut self.preempting) {
                return own
                    .answered(key, answer)
                    .map(|verb| self.call(key, None, ActionStage::Write, verb))
                    .into_iter()
                    .collect();
            }
            if let ServerAnswer::Listed(all) = answer {
                let offers = all.iter().filter_map(|one| Some((one, one.offer()?)));
                let clean =
                    offers.filter(|(one, _)| matches!(one.key, ObjectName::Offer(name) if !is_recreated_under_live_claims(name, one.uid, all)));
                let clean: Vec<Uid> =
                    clean.map(|(one, _)| one.uid).filter(|uid| self.seen.values().any(|one| one.uid == *uid)).collect();
                self.noted.proven.extend(clean);
            }
            return Vec::new();
        };
        if matches!(answer, ServerAnswer::Refused("epoch")) {
            // somebody has led since: to go on under the old epoch would be refused for ever
            self.step_down();
        }
        let mut requests = Vec::new();
        let Some(drive) = self.drives.get_mut(&key) else { return requests };
        drive.waiting = drive.waiting.saturating_sub(1);
        if let (Action::CreateMatch, ServerAnswer::Done(stored)) = (action, answer)
            && let (true, Some(found)) = (matches!(stage, ActionStage::Write), stored.found())
        {
            drive.view = View::of(stored.uid, key, found);
            self.noted.first_seen.insert(stored.uid, now_ms);
        }
        if matches!(answer, ServerAnswer::Missing) {
            self.gone(key, action, &stage);
        }
        let Some(desk) = self.desk(key, now_ms) else { return requests };
        match desk.go_on(action, stage, answer) {
            Next::Ask(verb, stage) => requests.push(self.call(key, Some(action), stage, verb)),
            Next::Done(event) => self.take_in(key, event, now_ms, &mut requests),
        }
        requests
    }

    /// The server says that what was asked for is not there: so it is forgotten, without waiting for the watch.
    fn gone(&mut self, key: ObjectName, action: Action, stage: &ActionStage) {
        let Some(drive) = self.drives.get(&key) else { return };
        let keys = match (action, stage) {
            (Action::ReadDecision | Action::Commit | Action::Abort(_) | Action::Release(_), ActionStage::Write) => {
                vec![key]
            }
            (Action::StopWork | Action::ClearWork | Action::StartWork(_), _) => vec![drive.view.batch_key()],
            _ => Vec::new(),
        };
        for key in keys {
            self.seen.remove(&key);
        }
    }
}
