//! A request into what it changes and what is answered: guarded patches, rules, uids and versions, as the API server does it.

use std::collections::BTreeMap;
use std::rc::Rc;

use claiming::{Activity, Agent, Reason, Vote};

use crate::objects::{Body, Decision, HeldClaim, Nomination, ObjectName, Stored, Uid};
use crate::planted::Planted;
use crate::rules::refuses;

/// What somebody asks of the server.
#[derive(Clone, Debug)]
pub enum ModelRequest {
    /// Read one object as it is now.
    Get(ObjectName),
    /// Read all offers and jobs as they are now.
    List,
    /// Read the batch Jobs of a Match as they are now.
    ListWork(Uid),
    /// Make an object.
    Create(ObjectName, Body),
    /// Change one.
    Patch(ObjectName, Patch),
    /// Delete one, if its uid is this.
    Delete(ObjectName, Uid),
}

/// A guarded change.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is one write of docs/claiming.md, with what it tests")]
pub enum Patch {
    ReserveRoot { uid: Uid, generation: u64, claim: (ObjectName, Uid) },
    TellRoot { claim: Uid },
    FreeRoot { claim: Uid, finished: bool, preempted: bool },
    Nominate { uid: Uid, version: u64, nomination: Nomination },
    DropNomination { uid: Uid, at_s: i64, victims: Vec<Uid> },
    Reserve { uid: Uid, generation: u64, claim: Uid, entry: HeldClaim, epoch: u64 },
    Ask { claim: Uid },
    TellAgent { claim: Uid, ballot: u64 },
    StopAgent { claim: Uid },
    MarkLost { claim: Uid },
    Free { claim: Uid, with_seat: bool },
    TakeSeat { share: String },
    Vote { claim: Uid, vote: Vote, ballot: u64 },
    Act { claim: Uid, activity: Activity },
    Decide { uid: Uid, from: Decision, to: Decision, reason: Option<Reason>, at_s: i64 },
    Start { uid: Uid },
    Suspend { uid: Uid },
    Renew { version: u64, holder: u8 },
}

/// What the server answers.
#[derive(Clone, Debug)]
pub enum ServerAnswer {
    /// Done, or read; and what is there now.
    Done(Rc<Stored>),
    /// What was listed.
    Listed(Vec<Rc<Stored>>),
    /// No object of that name.
    Missing,
    /// One of that name is there.
    Exists,
    /// A test failed, or this rule says no.
    Refused(&'static str),
    /// Nobody knows.
    Lost,
}

/// What the server stores.
#[derive(Clone, Debug, Default)]
pub struct ModelServer {
    /// All objects.
    pub objects: BTreeMap<ObjectName, Rc<Stored>>,
    /// Counts changes.
    pub version: u64,
    /// A mistake that was put in.
    pub planted: Planted,
    /// Counts objects.
    pub uids: Uid,
}

/// A failed test.
const TEST: &str = "test";

impl ModelServer {
    /// Does what is asked; the change, if there is one, is the object before and after.
    pub fn ask(&mut self, verb: &ModelRequest) -> (ServerAnswer, Option<StoredChange>) {
        match verb {
            ModelRequest::Get(key) => {
                (self.objects.get(key).cloned().map_or(ServerAnswer::Missing, ServerAnswer::Done), None)
            }
            ModelRequest::List => (ServerAnswer::Listed(self.objects.values().cloned().collect()), None),
            ModelRequest::ListWork(uid) => {
                let of = |stored: &&Rc<Stored>| stored.batch().is_some_and(|batch| batch.of == *uid);
                (ServerAnswer::Listed(self.objects.values().filter(of).cloned().collect()), None)
            }
            ModelRequest::Create(key, _) if self.objects.contains_key(key) => (ServerAnswer::Exists, None),
            ModelRequest::Create(key, body) => {
                self.uids += 1;
                let change = self.put(*key, self.uids, 1, body.clone());
                (change.after.clone().map_or(ServerAnswer::Missing, ServerAnswer::Done), Some(change))
            }
            ModelRequest::Patch(key, patch) => self.patch(*key, patch),
            ModelRequest::Delete(key, uid) => match self.objects.get(key) {
                Some(stored) if stored.uid == *uid => {
                    let before = self.objects.remove(key);
                    self.version += 1;
                    (
                        ServerAnswer::Missing,
                        Some(StoredChange { key: *key, before, after: None, version: self.version }),
                    )
                }
                Some(_) => (ServerAnswer::Refused(TEST), None),
                None => (ServerAnswer::Missing, None),
            },
        }
    }

    /// What an object's owner does to it: counted as a new generation.
    pub fn edit(&mut self, key: ObjectName, edit: impl FnOnce(&mut Body)) -> Option<StoredChange> {
        let stored = self.objects.get(&key)?.clone();
        let mut body = stored.body.clone();
        edit(&mut body);
        (body != stored.body).then(|| self.put(key, stored.uid, stored.generation + 1, body))
    }

    fn put(&mut self, key: ObjectName, uid: Uid, generation: u64, body: Body) -> StoredChange {
        self.version += 1;
        let after = Rc::new(Stored { key, uid, generation, version: self.version, body });
        let before = self.objects.insert(key, after.clone());
        StoredChange { key, before, after: Some(after), version: self.version }
    }

    fn patch(&mut self, key: ObjectName, patch: &Patch) -> (ServerAnswer, Option<StoredChange>) {
        let Some(stored) = self.objects.get(&key).cloned() else { return (ServerAnswer::Missing, None) };
        let mut body = stored.body.clone();
        if apply(&stored, &mut body, patch, self.planted).is_none() {
            return (ServerAnswer::Refused(TEST), None);
        }
        if let Some(rule) = refuses(Some(&stored.body), &body, self.planted) {
            return (ServerAnswer::Refused(rule), None);
        }
        if body == stored.body {
            return (ServerAnswer::Done(stored), None);
        }
        let change = self.put(key, stored.uid, stored.generation, body);
        (change.after.clone().map_or(ServerAnswer::Missing, ServerAnswer::Done), Some(change))
    }
}

/// An object before and after a write.
#[derive(Clone, Debug)]
pub struct StoredChange {
    /// Which one.
    pub key: ObjectName,
    /// What it was; `None` if it was not there.
    pub before: Option<Rc<Stored>>,
    /// What it is; `None` if it is gone.
    pub after: Option<Rc<Stored>>,
    /// When, in the server's count.
    pub version: u64,
}

/// The patch, done to the body; `None` if a test fails.
fn apply(stored: &Stored, body: &mut Body, patch: &Patch, planted: Planted) -> Option<()> {
    let any_object = planted == Planted::NoUidTest;
    let is_it = |uid: &Uid, generation: &u64| any_object || (stored.uid, stored.generation) == (*uid, *generation);
    match (body, patch) {
        (Body::Job(job), Patch::ReserveRoot { uid, generation, claim }) => {
            is_it(uid, generation).then_some(())?;
            (job.claim, job.nomination) = (Some(*claim), None);
        }
        (Body::Job(job), Patch::TellRoot { claim }) => {
            (job.claim?.1 == *claim).then_some(())?;
            job.told = true;
        }
        (Body::Job(job), Patch::FreeRoot { claim, finished, preempted }) => {
            (job.claim?.1 == *claim).then_some(())?;
            job.preemptions += u32::from(*preempted);
            job.claim = None;
            job.told = false;
            job.finished |= *finished;
        }
        (Body::Job(job), Patch::Nominate { uid, version, nomination }) => {
            (stored.uid == *uid && stored.version == *version).then_some(())?;
            (job.claim.is_none() && job.nomination.is_none()).then_some(())?;
            job.nomination = Some(nomination.clone());
        }
        (Body::Job(job), Patch::DropNomination { uid, at_s, victims }) => {
            let known = job.nomination.as_ref()?;
            (stored.uid == *uid && known.at_s == *at_s && known.victims == *victims).then_some(())?;
            job.nomination = None;
        }
        (Body::Offer(offer), Patch::Reserve { uid, generation, claim, entry, epoch }) => {
            is_it(uid, generation).then_some(())?;
            if let Some(key) = &entry.share {
                offer.shared.entry(key.clone()).or_insert(entry.takes);
            }
            offer.claims.insert(*claim, entry.clone());
            offer.epoch = *epoch;
        }
        (Body::Offer(offer), Patch::Free { claim, with_seat }) => {
            let entry = offer.claims.remove(claim);
            if let Some(share) = entry.and_then(|entry| entry.share).filter(|_| *with_seat) {
                offer.shared.remove(&share);
            }
        }
        (Body::Offer(offer), Patch::TakeSeat { share }) => {
            offer.shared.remove(share);
        }
        (Body::Offer(offer), patch) => registers(offer.claims.get_mut(&patch.claim()?)?, patch)?,
        (Body::Match(found), Patch::Decide { uid, from, to, reason, at_s }) => {
            (stored.uid == *uid).then_some(())?;
            (found.decision == *from || planted == Planted::DecidesTwice).then_some(())?;
            found.decision = *to;
            found.reason = *reason;
            if *to == Decision::Committed {
                found.committed_s = *at_s;
            }
        }
        (Body::Batch(batch), Patch::Start { uid } | Patch::Suspend { uid }) => {
            (stored.uid == *uid).then_some(())?;
            batch.suspended = matches!(patch, Patch::Suspend { .. });
        }
        (Body::Lease(who, renewals), Patch::Renew { version, holder }) => {
            (*version == 0 || stored.version == *version).then_some(())?;
            *who = *holder;
            *renewals += 1;
        }
        _ => return None,
    }
    Some(())
}

impl Patch {
    fn claim(&self) -> Option<Uid> {
        match self {
            Patch::Ask { claim }
            | Patch::TellAgent { claim, .. }
            | Patch::StopAgent { claim }
            | Patch::MarkLost { claim }
            | Patch::Vote { claim, .. }
            | Patch::Act { claim, .. } => Some(*claim),
            _ => None,
        }
    }
}

fn registers(entry: &mut HeldClaim, patch: &Patch) -> Option<()> {
    let known = entry.ballot;
    let agent: &mut Agent = entry.agent.as_mut()?;
    match patch {
        Patch::Ask { .. } => agent.asked = true,
        Patch::TellAgent { ballot, .. } => {
            (agent.vote == Vote::Accepted && known == *ballot).then_some(())?;
            agent.committed = true;
        }
        Patch::StopAgent { .. } => agent.release = true,
        Patch::MarkLost { .. } => agent.activity = Activity::Lost,
        Patch::Vote { vote, ballot, .. } => {
            (agent.vote == Vote::Pending && agent.asked).then_some(())?;
            agent.vote = *vote;
            entry.ballot = *ballot;
        }
        Patch::Act { activity, .. } => agent.activity = *activity,
        _ => return None,
    }
    Some(())
}
