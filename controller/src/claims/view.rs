//! The objects into what they show of one claim.
//!
//! A [`Leg`] here says which offer it is and what is taken of it, for the requests; a `claiming::Leg` only its state, which decides
//! the next action.

use std::sync::Arc;

use claiming::{Agent, Claim, Digest, Hold, Reason};
use crds::{Activity, AskWhen, ClaimEntry, ClaimPolicy, Match, Member, OfferKind, Res, Vote};
use kube::ResourceExt;
use pool::{ClaimRef, ObjectKey, Objects, OfferRef};

use crate::workloads::work;

/// One claim, by the uid of its Match, and its members.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The uid of the Match; empty while it is not written.
    pub(crate) uid: String,
    /// Where the Match is.
    pub(crate) key: ObjectKey,
    /// The Match; `None` if it is gone and only entries are left of it.
    pub(crate) found: Option<Arc<Match>>,
    /// The job.
    pub(crate) root: Root,
    /// The offers, in the order of the gang.
    pub(crate) legs: Vec<Leg>,
}

/// The job of a claim.
#[derive(Clone, Debug, Default)]
pub(crate) struct Root {
    pub(crate) key: ObjectKey,
    /// Empty if the Match is gone and the job is found by its claim alone.
    pub(crate) uid: String,
    pub(crate) generation: i64,
}

/// One offer of a claim.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    pub(crate) kind: OfferKind,
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) allocation: Res,
    pub(crate) share: Option<String>,
    /// An agent speaks for it.
    pub(crate) agent: bool,
    /// The leg that it works for; `None` if it works for the root.
    pub(crate) parent: Option<usize>,
}

impl View {
    /// The claim of a Match, written or to be written.
    pub(crate) fn of(found: impl Into<Arc<Match>>) -> View {
        let found = found.into();
        let mut members = found.spec.members.iter();
        let root = members.next().map(|root| Root {
            key: ObjectKey::new(&root.namespace, &root.name),
            uid: root.uid.clone(),
            generation: root.generation,
        });
        let mut legs: Vec<Leg> = members.filter_map(leg).collect();
        if has_unknown_kind(&found, &legs) {
            // The numbers of parents count all members.
            legs.iter_mut().for_each(|leg| leg.parent = None);
        }
        View {
            uid: found.uid().unwrap_or_default(),
            key: ObjectKey::of(found.as_ref()),
            root: root.unwrap_or_default(),
            legs,
            found: Some(found),
        }
    }

    /// What is left of a claim whose Match is gone: the entries and the job that still name it.
    pub(crate) fn orphan(uid: &str, key: ObjectKey, objects: &Objects) -> View {
        let legs = objects.offers().filter(|offer| offer.entry(uid).is_some()).map(|offer| Leg {
            kind: offer.kind,
            key: offer.key(),
            uid: offer.uid().to_owned(),
            generation: offer.metadata.generation.unwrap_or(0),
            allocation: Res::new(),
            share: offer.entry(uid).and_then(|entry| entry.share.clone()),
            agent: offer.entry(uid).is_some_and(is_agents),
            parent: None,
        });
        let claimed = objects.jobs.iter().find(|(_, held)| held.object.claim().is_some_and(|claim| claim.uid == uid));
        let root = claimed.map(|(key, held)| Root {
            key: key.clone(),
            uid: held.object.uid().unwrap_or_default(),
            generation: held.object.metadata.generation.unwrap_or(0),
        });
        View { uid: uid.to_owned(), key, found: None, root: root.unwrap_or_default(), legs: legs.collect() }
    }

    /// The decision, as last seen.
    pub(crate) fn decision(&self) -> claiming::Decision {
        match &self.found {
            None => claiming::Decision::Missing,
            Some(_) if self.uid.is_empty() => claiming::Decision::Absent,
            Some(found) => decision_of(found),
        }
    }

    /// The claim as the objects show it to a leader under this epoch. `None`: there is no election, so no leader is fenced.
    pub(crate) fn claim(&self, objects: &Objects, deadline_ms: u64, epoch: Option<i64>) -> Claim {
        let decision = self.decision();
        let legs = self.legs.iter().map(|leg| self.leg(leg, objects)).collect();
        let mut claim = Claim::seen(decision, self.root_hold(objects), legs, deadline_ms);
        claim.members_known = self.found.is_some();
        claim.refused_before = self.was_refused(objects);
        claim.root_notified = decision == claiming::Decision::Committed && self.is_notified(objects);
        claim.work = work(self.whose(objects), objects);
        if let Some(epoch) = epoch {
            claim.epochs.own = u64::try_from(epoch).unwrap_or(0);
            claim.epochs.newest = self.newest_epoch(objects);
        }
        claim
    }

    /// Takes those agents for silent that were told to stop and have not done so in their time: else the seats would stay held for ever.
    /// Returns when the time of the next one is over, on the monotonic clock. `stop_by_ms` is asked with the uid of the offer.
    pub(crate) fn overdue(&self, claim: &mut Claim, now_ms: u64, stop_by_ms: &dyn Fn(&str) -> u64) -> Option<u64> {
        let mut next = None;
        for (leg, own) in claim.legs.iter_mut().zip(&self.legs).filter(|(leg, _)| leg.hold == Hold::Held) {
            let Some(agent) = leg.agent.as_mut().filter(|agent| is_stopping(agent)) else { continue };
            let by_ms = stop_by_ms(&own.uid);
            if now_ms >= by_ms {
                agent.silent = true;
            } else {
                next = Some(next.map_or(by_ms, |next: u64| next.min(by_ms)));
            }
        }
        next
    }

    /// What works for it.
    pub(crate) fn whose<'v>(&'v self, objects: &'v Objects) -> ClaimRef<'v> {
        ClaimRef::of(&self.uid, &self.key, (&self.root.key, &self.root.uid), objects)
    }

    /// The newest epoch that the Match or a member shows.
    pub(super) fn newest_epoch(&self, objects: &Objects) -> u64 {
        let made = self.found.as_ref().map_or(0, |found| found.spec.epoch);
        let offers = self.legs.iter().filter_map(|leg| self.offer(leg, objects)?.status);
        u64::try_from(offers.map(|status| status.epoch).fold(made, i64::max)).unwrap_or(0)
    }

    fn leg(&self, leg: &Leg, objects: &Objects) -> claiming::Leg {
        let entry = self.offer(leg, objects).map(|offer| offer.entry(&self.uid).filter(|_| !self.uid.is_empty()));
        let hold = match entry {
            None => Hold::Gone,
            Some(Some(_)) => Hold::Held,
            Some(None) => Hold::Free,
        };
        let silent = objects.agent(leg.kind, &leg.key).is_silent();
        let agent = leg.agent.then(|| agent_of_entry(entry.flatten(), silent));
        claiming::Leg { hold, parent: leg.parent, agent }
    }

    /// Whether the Match has a member of a kind that is not known here, and so no offer.
    pub(super) fn has_unknown_kind(&self) -> bool {
        self.found.as_ref().is_some_and(|found| has_unknown_kind(found, &self.legs))
    }

    /// The offer itself, not another one of its name.
    pub(super) fn offer<'o>(&self, leg: &Leg, objects: &'o Objects) -> Option<OfferRef<'o>> {
        objects.offer(leg.kind, &leg.key).filter(|offer| offer.uid() == leg.uid)
    }

    /// Whether it is written that the work of an offer's agent is lost.
    pub(super) fn is_lost(&self, leg: &Leg, objects: &Objects) -> bool {
        let entry = self.offer(leg, objects).and_then(|offer| offer.entry(&self.uid));
        entry.is_some_and(|entry| entry.activity == Activity::Lost)
    }

    /// Whether this is not the first claim of the job, and an offer has refused an earlier one.
    fn was_refused(&self, objects: &Objects) -> bool {
        let is_first = self.found.as_ref().is_none_or(|found| found.spec.attempt <= 1);
        let job = if is_first { None } else { objects.jobs.get(&self.root.key) };
        let status = job.and_then(|held| held.object.status.as_ref());
        status.is_some_and(|status| !status.refusals.is_empty())
    }

    fn root_hold(&self, objects: &Objects) -> Hold {
        let Some(held) = objects.jobs.get(&self.root.key) else { return Hold::Gone };
        if held.object.uid().unwrap_or_default() != self.root.uid {
            return Hold::Gone;
        }
        match held.object.claim() {
            Some(claim) if claim.uid == self.uid => Hold::Held,
            Some(_) => Hold::Refused(Reason::JobTaken),
            None => Hold::Free,
        }
    }

    /// Whether the job's status says that this claim is committed.
    fn is_notified(&self, objects: &Objects) -> bool {
        let Some(held) = objects.jobs.get(&self.root.key) else { return true };
        let Some(status) = held.object.status.as_ref() else { return false };
        let claimed = crds::conditions::find(&status.conditions, crds::conditions::types::CLAIMED);
        status.claim.is_some() && claimed.is_some_and(|found| found.status == "True")
    }
}

/// The offer of a member; `None` if its kind is not known here.
fn leg(member: &Member) -> Option<Leg> {
    Some(Leg {
        kind: OfferKind::try_from(&member.kind).ok()?,
        key: ObjectKey::new(&member.namespace, &member.name),
        uid: member.uid.clone(),
        generation: member.generation,
        allocation: member.allocation.clone().unwrap_or_default(),
        share: member.share.clone(),
        agent: member.claim_policy == Some(ClaimPolicy::Agent),
        // members are counted with the root, legs without it
        parent: member.parent.and_then(|parent| usize::try_from(parent).ok()?.checked_sub(1)),
    })
}

/// Whether these are not all offers of a Match: the kind of a member is not known here. No controller writes such a Match.
fn has_unknown_kind(found: &Match, legs: &[Leg]) -> bool {
    found.spec.members.len() > legs.len().saturating_add(1)
}

/// The registers of an entry as the claim knows them; those of one that is not there have their first values.
pub(super) fn agent_of_entry(entry: Option<&ClaimEntry>, silent: bool) -> Agent {
    let Some(entry) = entry else { return Agent { silent, ..Agent::default() } };
    Agent {
        asked: entry.ask_when == AskWhen::Now,
        vote: match entry.vote {
            Vote::Pending => claiming::Vote::Pending,
            Vote::Accepted => claiming::Vote::Accepted,
            Vote::Rejected => claiming::Vote::Rejected,
        },
        ballot: Digest::of(&[&entry.ballot]),
        committed: entry.committed,
        release: entry.release,
        activity: match entry.activity {
            Activity::Idle => claiming::Activity::Idle,
            Activity::Active => claiming::Activity::Active,
            Activity::Ended => claiming::Activity::Ended,
            Activity::Lost => claiming::Activity::Lost,
        },
        silent,
    }
}

/// Whether an agent was told to stop, and is still at work.
pub(super) fn is_stopping(agent: &Agent) -> bool {
    agent.release && agent.activity == claiming::Activity::Active
}

/// Whether an agent speaks for an entry: only such an entry names the members of the gang, and only such an entry is written without a
/// vote.
fn is_agents(entry: &ClaimEntry) -> bool {
    !entry.members.is_empty() || !entry.ballot.is_empty() || entry.vote != Vote::Accepted
}

/// What a Match that is written says of its claim.
pub(crate) fn decision_of(found: &Match) -> claiming::Decision {
    match found.decision() {
        crds::Decision::Pending => claiming::Decision::Pending,
        crds::Decision::Committed => claiming::Decision::Committed,
        crds::Decision::Aborted => claiming::Decision::Aborted,
        crds::Decision::Released => claiming::Decision::Released,
    }
}

/// The claim of a Match with this uid; of one that is gone, what entries, jobs and batch Jobs still say of it.
pub(crate) fn view(uid: &str, objects: &Objects) -> Option<View> {
    if let Some(found) = objects.matches.by_uid(uid) {
        return Some(View::of(found.clone()));
    }
    let of_offer = |offer: OfferRef<'_>| {
        let (namespace, name) = offer.entry(uid)?.match_key.split_once('/').unwrap_or_default();
        Some(ObjectKey::new(namespace, name))
    };
    let of_job = |(key, held): (&ObjectKey, &pool::Cached<crds::Job>)| {
        let claim = held.object.claim().filter(|claim| claim.uid == uid)?;
        Some(ObjectKey::new(&key.namespace, &claim.match_name))
    };
    let of_work = || {
        let batch = objects.workloads.labelled_with(uid).find(|batch| batch.ended.is_none())?;
        Some(ObjectKey::new(&batch.key.namespace, batch.marks.match_name.as_ref().unwrap_or(&batch.key.name)))
    };
    let key = objects.offers().find_map(of_offer).or_else(|| objects.jobs.iter().find_map(of_job)).or_else(of_work)?;
    Some(View::orphan(uid, key, objects))
}
