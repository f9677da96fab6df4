//! What a coordinator has seen into what it shows of each claim.

use std::collections::BTreeMap;
use std::rc::Rc;

use claiming::{Agent, Claim, Digest, Hold, Leg, Reason, Work};

use crate::objects::{Decision, Match, Member, ObjectName, Stored, Uid};

/// All objects that a coordinator has seen, as they were when it saw them last.
pub type Seen = BTreeMap<ObjectName, Rc<Stored>>;

/// One claim and who takes part in it.
#[derive(Clone, Debug)]
pub struct View {
    /// The uid of its Match; 0 while that is not written.
    pub uid: Uid,
    /// The name of its Match.
    pub key: ObjectName,
    /// The Match; `None` if only entries are left of it.
    pub found: Option<Match>,
    /// The job: name, uid, generation.
    pub root: (u8, Uid, u64),
    /// The offers.
    pub legs: Vec<Member>,
}

impl View {
    /// The claim of a Match, written or to be written.
    pub fn of(uid: Uid, key: ObjectName, found: &Match) -> View {
        View { uid, key, root: found.root, legs: found.members.clone(), found: Some(found.clone()) }
    }

    /// What is left of a claim whose Match is not seen.
    pub fn orphan(uid: Uid, key: ObjectName, seen: &Seen) -> View {
        let mut view = View { uid, key, found: None, root: (u8::MAX, 0, 0), legs: Vec::new() };
        for stored in seen.values() {
            if let (ObjectName::Offer(number), Some(offer)) = (stored.key, stored.offer())
                && let Some(entry) = offer.claims.get(&uid)
            {
                view.legs.push(Member {
                    offer: number,
                    uid: stored.uid,
                    generation: stored.generation,
                    takes: entry.takes,
                    share: entry.share.clone(),
                    agent: entry.agent.is_some(),
                    parent: None,
                });
            }
            if let (ObjectName::Job(number), Some(job)) = (stored.key, stored.job())
                && job.claim.is_some_and(|claim| claim.1 == uid)
            {
                view.root = (number, stored.uid, stored.generation);
            }
        }
        view
    }

    /// The register, as seen.
    pub fn record(&self) -> claiming::Decision {
        match &self.found {
            None => claiming::Decision::Missing,
            Some(_) if self.uid == 0 => claiming::Decision::Absent,
            Some(found) => found.decision.record(),
        }
    }

    /// The claim, as seen. `silent` tells which offers' agents are.
    pub fn claim(&self, seen: &Seen, deadline_ms: u64, silent: impl Fn(u8) -> bool) -> Claim {
        let legs = self.legs.iter().map(|leg| self.leg(leg, seen, silent(leg.offer))).collect();
        let mut claim = Claim::seen(self.record(), self.root_hold(seen), legs, deadline_ms);
        claim.members_known = self.found.is_some();
        claim.root_notified = self.job(seen).and_then(|stored| stored.job()).is_none_or(|job| job.told);
        claim.work = self.work(seen);
        claim
    }

    fn leg(&self, member: &Member, seen: &Seen, silent: bool) -> Leg {
        let offer = seen.get(&ObjectName::Offer(member.offer)).filter(|stored| stored.uid == member.uid);
        let entry = offer.and_then(|stored| stored.offer()?.claims.get(&self.uid));
        let hold = match (offer, entry) {
            (None, _) => Hold::Gone,
            (Some(_), Some(_)) => Hold::Held,
            (Some(_), None) => Hold::Free,
        };
        let registers =
            entry.and_then(|entry| Some(Agent { ballot: Digest(entry.ballot), ..entry.agent? })).unwrap_or_default();
        let agent = member.agent.then_some(Agent { silent, ..registers });
        Leg { hold, parent: member.parent, agent }
    }

    fn root_hold(&self, seen: &Seen) -> Hold {
        match self.job(seen).and_then(|stored| stored.job()) {
            None => Hold::Gone,
            Some(job) => match job.claim {
                Some((_, uid)) if uid == self.uid && uid != 0 => Hold::Held,
                Some(_) => Hold::Refused(Reason::JobTaken),
                None => Hold::Free,
            },
        }
    }

    /// The job itself, not a namesake.
    pub fn job<'s>(&self, seen: &'s Seen) -> Option<&'s Stored> {
        seen.get(&ObjectName::Job(self.root.0)).filter(|stored| stored.uid == self.root.1).map(Rc::as_ref)
    }

    /// The name of its batch Job.
    pub fn batch_key(&self) -> ObjectName {
        match self.key {
            ObjectName::Match(uid, attempt) => ObjectName::Batch(uid, attempt),
            other => other,
        }
    }

    fn work(&self, seen: &Seen) -> Work {
        let wanted = self.job(seen).and_then(|stored| stored.job()).is_none_or(|job| job.workload);
        match seen.get(&self.batch_key()).and_then(|stored| stored.batch()) {
            None if wanted => Work::Absent,
            None => Work::None,
            Some(batch) if batch.of != self.uid => Work::Foreign,
            Some(batch) if batch.finished => Work::Finished(true),
            Some(batch) if batch.suspended && !batch.runs => {
                Work::Suspended(Digest(seen.get(&self.batch_key()).map_or(0, |stored| stored.uid)))
            }
            Some(_) => Work::Started,
        }
    }

    /// Why a party wants out.
    pub fn leaving(&self, seen: &Seen) -> Option<Reason> {
        let record = self.record();
        if !matches!(record, claiming::Decision::Absent | claiming::Decision::Pending | claiming::Decision::Committed) {
            return None;
        }
        let Some(job) = self.job(seen).and_then(|stored| stored.job()) else { return Some(Reason::JobDeleted) };
        if job.done {
            return Some(Reason::Done);
        }
        if job.suspend {
            return Some(Reason::Suspended);
        }
        let committed = record == claiming::Decision::Committed;
        self.legs.iter().find_map(|leg| {
            let offer = seen.get(&ObjectName::Offer(leg.offer)).filter(|stored| stored.uid == leg.uid);
            match offer.and_then(|stored| stored.offer()) {
                None => Some(if committed { Reason::MemberLost } else { Reason::MemberGone }),
                Some(offer) => (committed && offer.evict).then_some(Reason::Evicted),
            }
        })
    }
}

/// All claims that were seen, by the uid of their Match: of Matches, and of whatever names one that is not seen.
pub fn views(seen: &Seen) -> BTreeMap<Uid, View> {
    let mut all = BTreeMap::new();
    let mut named: BTreeMap<Uid, ObjectName> = BTreeMap::new();
    for stored in seen.values() {
        if let Some(found) = stored.found() {
            all.insert(stored.uid, View::of(stored.uid, stored.key, found));
        }
        if let Some(offer) = stored.offer() {
            named.extend(offer.claims.iter().map(|(uid, entry)| (*uid, entry.of)));
        }
        if let Some((key, uid)) = stored.job().and_then(|job| job.claim) {
            named.insert(uid, key);
        }
        if let (ObjectName::Batch(root, attempt), Some(batch)) = (stored.key, stored.batch()) {
            named.insert(batch.of, ObjectName::Match(root, attempt));
        }
    }
    for (uid, key) in named {
        all.entry(uid).or_insert_with(|| View::orphan(uid, key, seen));
    }
    all
}

/// Whether a job may be matched: nobody holds it, and no Match of it is open.
pub fn waits(stored: &Stored, seen: &Seen) -> bool {
    let Some(job) = stored.job() else { return false };
    let open =
        |other: &Rc<Stored>| other.found().is_some_and(|found| found.root.1 == stored.uid && !found.decision.is_over());
    job.claim.is_none() && !job.finished && !job.suspend && !job.done && !seen.values().any(open)
}

/// Whether a claim on a former object of this offer's name is not over: whoever works there may still do so.
pub fn is_recreated_under_live_claims(offer: u8, uid: Uid, listed: &[Rc<Stored>]) -> bool {
    let claimed = |of: Uid| {
        listed.iter().any(|other| other.job().is_some_and(|job| job.claim.is_some_and(|claim| claim.1 == of)))
    };
    listed.iter().any(|stored| {
        let named = stored.found().is_some_and(|found| {
            let names = found.members.iter().any(|member| member.offer == offer && member.uid != uid);
            names && (!found.decision.is_over() || claimed(stored.uid))
        });
        let worked = stored.batch().is_some_and(|batch| {
            !batch.finished && batch.members.iter().any(|(name, former)| *name == offer && *former != uid)
        });
        named || worked
    })
}

/// What a decision has to find in the register.
pub fn from(to: Decision) -> Decision {
    if to == Decision::Released { Decision::Committed } else { Decision::Pending }
}
