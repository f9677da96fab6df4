//! What is held for jobs while gangs are preempted for them: what is known of it in this term, and the writes that follow.
//!
//! What is to be done next is decided by [`claiming::nomination_steps`]. The nominations themselves are in the statuses of jobs: a new leader goes
//! on from there, and asks first whether each is still right.

mod look;
mod words;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use claiming::{NominatedSeats, NominationStep, Nominee, VictimClaim, nomination_steps};
use crds::{Decision, Job, Nomination};
use kube::ResourceExt;
use parking_lot::Mutex;
use policy::EvictionBudget;
use pool::{Cached, Changes, JobState, ObjectKey, Objects, Preemptor, job_state};

use crate::claims::Claims;
use crate::cycle::backoff::{Backoff, Pause};
use crate::metrics::level;

pub(crate) use self::look::NominationsFound;
pub(crate) use self::words::preempted_reason;

/// How long nothing is preempted for a job whose nomination has come to nothing.
const PAUSES: Backoff = Backoff::new(60_000, 3_600_000);

/// One nomination: the uid of its job, and its time in seconds.
type NominationId = (String, i64);

fn id_of(uid: &str, nomination: &Nomination) -> NominationId {
    (uid.to_owned(), nomination.time.0.as_second())
}

/// What is known of the nominations of a term.
#[derive(Debug, Default)]
pub(crate) struct Nominations {
    /// The jobs whose statuses have a nomination.
    keys: BTreeSet<ObjectKey>,
    /// When each was first seen, on the monotonic clock.
    first_seen: BTreeMap<NominationId, u64>,
    /// Whether each is right.
    judged: BTreeMap<NominationId, bool>,
    /// Jobs that nothing is preempted for, by uid.
    pauses: BTreeMap<String, Pause>,
    budget: EvictionBudget,
    /// The uids of jobs whose nominations are being written.
    writing: Arc<Mutex<BTreeSet<String>>>,
    /// What the last dry run has said of each job: the mode and the number of victims.
    dry: BTreeMap<String, String>,
}

impl Nominations {
    /// Takes in what has changed: which claims are to be released, and which nominations are taken out. The uids of Matches whose claims are to be
    /// looked at.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &mut Objects, claims: &Arc<Claims>) -> Vec<String> {
        for key in &changes.jobs {
            let job = objects.jobs.get(key).map(|held| &held.object);
            let has_one = job.is_some_and(|job| job.status.as_ref().is_some_and(|status| status.nomination.is_some()));
            if has_one {
                self.keys.insert(key.clone());
            } else {
                self.keys.remove(key);
            }
        }
        claims.context.metrics.accounts.nominations.set(level(self.keys.len()));
        if self.keys.is_empty() && objects.preempted.is_empty() {
            self.first_seen.clear();
            return Vec::new();
        }
        let preempted = self.steps(objects, claims);
        let news = preempted.keys().filter(|uid| !objects.preempted.contains_key(*uid)).cloned().collect();
        objects.preempted = preempted;
        news
    }

    /// The claims that are to be released now. Begins to take out what is over.
    fn steps(&mut self, objects: &Objects, claims: &Arc<Claims>) -> BTreeMap<String, Preemptor> {
        let (mut preempted, mut ids) = (BTreeMap::new(), BTreeSet::new());
        for key in self.keys.clone() {
            let Some(held) = objects.jobs.get(&key) else { continue };
            let Some(nomination) = held.object.status.as_ref().and_then(|status| status.nomination.clone()) else {
                continue;
            };
            let id = id_of(&held.object.uid().unwrap_or_default(), &nomination);
            self.first_seen.entry(id.clone()).or_insert(claims.context.now_ms());
            let known = self.known(held, &nomination, (NominatedSeats::Unknown, None), objects, claims);
            for step in nomination_steps(&known) {
                match step {
                    NominationStep::Release(number) => {
                        let victim = nomination.victims.get(number).cloned().unwrap_or_default();
                        let message = words::message(&key, &nomination, objects.matches.by_uid(&victim));
                        preempted.insert(victim, Preemptor { job: key.clone(), message });
                    }
                    NominationStep::Drop(end) => self.drop_it(held, &nomination, end, claims),
                    NominationStep::Store | NominationStep::Judge | NominationStep::Claim => {}
                }
            }
            ids.insert(id);
        }
        self.first_seen.retain(|id, _| ids.contains(id));
        preempted
    }

    /// What is known of a nomination that is stored. The states of its victims are those of now, if no others are given.
    fn known(
        &self,
        held: &Cached<Job>,
        nomination: &Nomination,
        (seats, victims): (NominatedSeats, Option<&[VictimClaim]>),
        objects: &Objects,
        claims: &Claims,
    ) -> claiming::Nomination {
        let id = id_of(&held.object.uid().unwrap_or_default(), nomination);
        let rules = objects.pool_policy.as_ref().and_then(|known| known.terms.preemption.as_ref());
        let rules = rules.filter(|rules| !rules.is_dry_run);
        let over_ms = rules
            .map(|rules| seconds_ms(rules.nomination_seconds))
            .and_then(|ms| self.first_seen.get(&id).map(|first| first.saturating_add(ms)));
        let nominee = match job_state(held, objects) {
            JobState::Waits => Nominee::Waits,
            JobState::Held => Nominee::Held,
            JobState::NotAccepted | JobState::Suspended | JobState::Finished => Nominee::Over,
        };
        claiming::Nomination {
            is_stored: true,
            is_right: if rules.is_some() { self.judged.get(&id).copied() } else { Some(false) },
            nominee,
            victims: victims.map_or_else(|| victim_claims(nomination, objects), <[VictimClaim]>::to_vec),
            seats,
            is_late: over_ms.is_some_and(|over_ms| claims.context.now_ms() >= over_ms),
        }
    }

    /// When something happens by time alone.
    pub(crate) fn next_ms(&self, objects: &Objects, now_ms: u64) -> Option<u64> {
        let rules = objects.pool_policy.as_ref()?.terms.preemption.as_ref()?;
        let ms = seconds_ms(rules.nomination_seconds);
        let ends = self.first_seen.values().map(|first| first.saturating_add(ms));
        let pauses = self.pauses.values().map(Pause::until_ms);
        ends.chain(pauses).filter(|at_ms| *at_ms > now_ms).min()
    }
}

/// What the claims of the victims have come to.
fn victim_claims(nomination: &Nomination, objects: &Objects) -> Vec<VictimClaim> {
    let claim = |uid: &String| {
        let Some(found) = objects.matches.by_uid(uid) else { return VictimClaim::Ended };
        let has_entry = || objects.offers().any(|offer| offer.entry(uid).is_some());
        match found.decision() {
            Decision::Committed => VictimClaim::Committed,
            _ if has_entry() => VictimClaim::Ending,
            _ => VictimClaim::Ended,
        }
    };
    nomination.victims.iter().map(claim).collect()
}

fn seconds_ms(seconds: i64) -> u64 {
    u64::try_from(seconds).unwrap_or(0).saturating_mul(1000)
}
