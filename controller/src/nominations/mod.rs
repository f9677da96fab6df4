//! What is held for jobs, while gangs are preempted for them or end by themselves: what is known of it in this term, and the writes that follow.
//!
//! What is to be done next is decided by [`claiming::nomination_steps`]. The nominations themselves are in the statuses of jobs: a new leader goes
//! on from there, and asks first whether each is still right.

mod look;
mod pauses;
mod reserve;
mod uses;
mod withdrawals;
mod words;
mod writes;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use claiming::{NominatedSeats, NominationEnd, NominationStep, Nominee, VictimClaim, nomination_steps};
use crds::ad::PolicyTerms;
use crds::{Decision, Job, JobClaim, Nomination, NominationKind};
use jiff::Timestamp;
use kube::ResourceExt;
use matchmaker::MemberCharges;
use parking_lot::Mutex;
use policy::EvictionBudget;
use pool::{Cached, Changes, JobState, ObjectKey, Objects, Preemptor, Submitting, idle_claim, job_state};

use crate::accounts::charge_meter::ChargeMeter;
use crate::claims::Claims;
use crate::cycle::backoff::{Backoff, Pause};
use crate::metrics::level;

use self::pauses::PausedJobs;
use self::uses::Uses;
use self::withdrawals::{OwnPart, Withdrawals};

pub(crate) use self::look::NominationsFound;
pub(crate) use self::words::preempted_reason;

/// How long nothing is preempted for a job whose nomination has come to nothing.
const PAUSES: Backoff = Backoff::new(60_000, 3_600_000);

/// How long a job waits for which nothing can be preempted, if there are others: the first pause, and the longest.
const HOPELESS_PAUSES: Backoff = Backoff::new(10_000, 300_000);

/// The longest time for which nothing is held for an account, in milliseconds.
const REST_MAX_MS: u64 = 604_800_000;

/// How long taking out a nomination may take, in milliseconds.
const OVERDUE_MS: u64 = 60_000;

/// One nomination: the uid of its job, and its time in seconds.
type NominationId = (String, i64);

fn id_of(uid: &str, nomination: &Nomination) -> NominationId {
    (uid.to_owned(), nomination.time.0.as_second())
}

/// A nomination when the cycle began.
struct StoredNomination {
    key: ObjectKey,
    /// Of its job.
    uid: String,
    nomination: Nomination,
    /// What the members of its gang cost, in micros.
    charges: MemberCharges,
    victims: Vec<VictimClaim>,
    is_judged: bool,
}

/// What is known of the nominations of a term.
#[derive(Debug, Default)]
pub(crate) struct Nominations {
    /// The jobs whose statuses have a nomination.
    keys: BTreeSet<ObjectKey>,
    /// When each was first seen.
    first_seen: BTreeMap<NominationId, FirstSeen>,
    /// Whether each is right.
    judged: BTreeMap<NominationId, bool>,
    /// Jobs that are passed over for a while.
    pauses: PausedJobs,
    /// Accounts that nothing is preempted for in a namespace: a job there was withdrawn after gangs had been stopped for it.
    withdrawals: Withdrawals,
    /// By uid, the Matches of undecided claims of what gangs were stopped for, each with its account.
    claiming: BTreeMap<String, (String, OwnPart)>,
    /// Accounts that nothing is reserved for: what was reserved for one of their jobs last was not claimed, or hardly used.
    rests: BTreeMap<String, Pause>,
    /// Claims of what was reserved, until they have used as much as was kept idle for them.
    uses: Uses,
    budget: EvictionBudget,
    /// Nominations that could not be written; this is not taken in yet.
    failed: Arc<Mutex<Vec<FailedWrite>>>,
    /// The uids of jobs whose nominations are being written.
    writing: Arc<Mutex<BTreeSet<String>>>,
    /// What the last dry run has said of each job: the mode and the number of victims.
    dry: BTreeMap<String, String>,
}

/// A nomination that could not be written.
#[derive(Debug)]
struct FailedWrite {
    /// Of the job.
    uid: String,
    account: String,
    /// How many gangs are not preempted after all; 0 if that is not known.
    victims: usize,
}

/// When a nomination was first seen, and what of it is needed when it is gone.
#[derive(Debug)]
struct FirstSeen {
    /// On the monotonic clock.
    at_ms: u64,
    kind: NominationKind,
    /// The account of the job.
    account: String,
    /// What a reservation keeps idle.
    kept: ChargeMeter,
    /// What of it belongs to the namespace of the job.
    own: OwnPart,
    /// The release of a victim has begun.
    has_released: bool,
    /// Why it is being taken out, if it is.
    end: Option<NominationEnd>,
}

impl FirstSeen {
    /// Whether it has come to nothing because of its job's own tenant. `claim`: what the job has now.
    fn is_withdrawn(&self, claim: Option<&JobClaim>, objects: &Objects) -> bool {
        let found = claim.and_then(|claim| objects.matches.by_uid(&claim.uid));
        match (found, self.end) {
            (Some(found), _) => self.own.is_left_by(found),
            (None, Some(NominationEnd::Withdrawn | NominationEnd::Changed) | None) => self.own.has_changed(objects),
            (None, Some(NominationEnd::Expired)) => self.own.has_own_victim(objects),
            (None, Some(NominationEnd::Elsewhere | NominationEnd::Taken)) => false,
        }
    }
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
        self.judge_uses(objects, claims.context.now_ms());
        self.judge_claiming(objects, (claims.context.clock.now(), claims.context.now_ms()));
        if self.keys.is_empty() && self.first_seen.is_empty() && objects.preempted.is_empty() {
            return Vec::new();
        }
        let preempted = self.steps(objects, claims);
        let overdue = self.overdue(objects, claims.context.now_ms());
        claims.context.metrics.accounts.nominations.overdue.set(level(overdue));
        for kind in [NominationKind::Preemption, NominationKind::Reservation] {
            let count = self.first_seen.values().filter(|seen| seen.kind == kind).count();
            claims.context.metrics.accounts.nominations.nominated(kind.as_str(), level(count));
        }
        let news = preempted.keys().filter(|uid| !objects.preempted.contains_key(*uid)).cloned().collect();
        objects.preempted = preempted;
        news
    }

    /// The claims that are to be released now. Begins to take out what is over.
    fn steps(&mut self, objects: &Objects, claims: &Arc<Claims>) -> BTreeMap<String, Preemptor> {
        let (mut preempted, mut ids) = (BTreeMap::new(), BTreeSet::new());
        let terms = objects.accounts.policy().map(|known| &*known.terms);
        let (submitting, now) = (OnceCell::new(), claims.context.clock.now().as_second());
        for key in self.keys.clone() {
            let Some(held) = objects.jobs.get(&key) else { continue };
            let Some(nomination) = held.object.status.as_ref().and_then(|status| status.nomination.clone()) else {
                continue;
            };
            let id = id_of(&held.object.uid().unwrap_or_default(), &nomination);
            let terms_with = terms.map(|terms| (submitting.get_or_init(|| Submitting::of(objects, terms)), terms));
            let account = || terms_with.map_or_else(String::new, |(submitting, _)| submitting.of_job(&held.object).0);
            let (at_ms, kind) = (claims.context.now_ms(), nomination.kind);
            let fresh = || FirstSeen {
                at_ms,
                kind,
                account: account(),
                kept: ChargeMeter::default(),
                own: OwnPart::of(&nomination, objects),
                has_released: false,
                end: None,
            };
            let seen = self.first_seen.entry(id.clone()).or_insert_with(fresh);
            if kind == NominationKind::Reservation {
                let idle = terms_with
                    .and_then(|(submitting, terms)| idle_claim(&held.object, objects, submitting, terms, now));
                let members = idle.into_iter().flat_map(|idle| idle.claim.members);
                seen.kept.goes_on_at(members.map(|member| member.charge).sum(), at_ms);
            }
            let known = self.known(held, &nomination, (NominatedSeats::Unknown, None), objects, claims);
            let steps = nomination_steps(&known);
            let is_released = |step: &NominationStep| matches!(step, NominationStep::Release(_));
            if steps.iter().any(is_released) || known.victims.iter().any(|victim| *victim != VictimClaim::Committed) {
                self.first_seen.entry(id.clone()).and_modify(|seen| seen.has_released = true);
            }
            for step in steps {
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
        let gone: Vec<_> = self.first_seen.extract_if(.., |id, _| !ids.contains(id)).collect();
        for ((uid, _), seen) in gone {
            self.has_ended(&uid, seen, objects, (claims.context.clock.now(), claims.context.now_ms()));
        }
        preempted
    }

    /// Takes in which writes have failed: their jobs pause, and others may have what was to be preempted for them.
    fn take_back(&mut self, now_ms: u64) {
        for FailedWrite { uid, account, victims } in std::mem::take(&mut *self.failed.lock()) {
            self.budget.give_back(&account, victims);
            self.pauses.unwritten.lengthen((&uid, &account), (), Backoff::REQUESTS, now_ms);
        }
    }

    /// How many nominations should have been taken out a while ago.
    fn overdue(&self, objects: &Objects, now_ms: u64) -> usize {
        let terms = objects.accounts.policy().map(|known| &*known.terms);
        let ends_ms = |seen: &FirstSeen| {
            let lasts_ms = terms.and_then(|terms| lasts_ms(terms, seen.kind)).unwrap_or(0);
            seen.at_ms.saturating_add(lasts_ms).saturating_add(OVERDUE_MS)
        };
        self.first_seen.values().filter(|seen| now_ms >= ends_ms(seen)).count()
    }

    /// A nomination is gone. If the job did not claim what was preempted for it, nothing is preempted for this job for a while, no matter why
    /// the nomination ended; and for its account, if it was withdrawn after gangs had been stopped. If the job did not claim what was reserved,
    /// nothing is reserved for its account for a while, and for twice as long each time. A claim that uses less than was kept idle for it is
    /// judged later.
    fn has_ended(&mut self, uid: &str, mut seen: FirstSeen, objects: &Objects, (now, now_ms): (Timestamp, u64)) {
        let job = objects.jobs.by_uid(uid).map(|(_, held)| held);
        let claim = job.filter(|held| job_state(held, objects) == JobState::Held).and_then(|held| held.object.claim());
        if seen.kind == NominationKind::Preemption {
            if claim.is_none() {
                self.pauses.unclaimed.lengthen((uid, &seen.account), (), PAUSES, now_ms);
            }
            if seen.has_released && seen.is_withdrawn(claim, objects) {
                self.withdrawals.add((seen.account, seen.own.namespace().to_owned()), now, now_ms);
            } else if let Some(claim) = claim.filter(|_| seen.has_released)
                && objects.matches.by_uid(&claim.uid).is_some()
            {
                // A Match that was not seen yet is not one that was deleted.
                self.claiming.insert(claim.uid.clone(), (seen.account, seen.own));
            }
            return;
        }
        match claim {
            Some(claim) => {
                seen.kept.goes_on_at(0, now_ms);
                self.uses.begin(claim.uid.clone(), (uid.to_owned(), seen.account), seen.kept, now_ms);
            }
            None => self.rest(seen.account, objects, now_ms),
        }
    }

    /// Takes in what became of the claims for which gangs were stopped: to break one off before its commit is to withdraw the job.
    fn judge_claiming(&mut self, objects: &Objects, (now, now_ms): (Timestamp, u64)) {
        let decided = self.claiming.extract_if(.., |uid, (_, own)| own.is_broken_off(uid, objects).is_some());
        for (uid, (account, own)) in decided.collect::<Vec<_>>() {
            if own.is_broken_off(&uid, objects) == Some(true) {
                self.withdrawals.add((account, own.namespace().to_owned()), now, now_ms);
            }
        }
    }

    /// Takes in which claims of what was reserved have ended, and which have used as much as was kept idle for them.
    fn judge_uses(&mut self, objects: &Objects, now_ms: u64) {
        for (account, is_enough) in self.uses.judge(objects, now_ms) {
            if !is_enough {
                self.rest_once(account, objects, now_ms);
            } else if self.rests.get(&account).is_some_and(|pause| !pause.lasts(now_ms)) {
                self.rests.remove(&account);
            }
        }
    }

    /// Reserves nothing for an account for a while, because what was reserved was not claimed. The pause doubles each time.
    fn rest(&mut self, account: String, objects: &Objects, now_ms: u64) {
        let Some(for_ms) = reserved_ms(objects) else {
            self.rests.remove(&account);
            return;
        };
        let pause = self.rests.entry(account).or_default();
        pause.begin(Backoff::new(for_ms, REST_MAX_MS).pause_ms(pause.times(), 0), now_ms);
    }

    /// Reserves nothing for an account for a while, because what was reserved was hardly used. The pause does not grow: short jobs that need
    /// many offers are no misuse.
    fn rest_once(&mut self, account: String, objects: &Objects, now_ms: u64) {
        let Some(for_ms) = reserved_ms(objects) else { return };
        self.rests.entry(account).or_default().lasts_until(now_ms.saturating_add(for_ms));
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
        let terms = objects.accounts.policy().map(|known| &*known.terms);
        let lasts_ms = terms.and_then(|terms| lasts_ms(terms, nomination.kind));
        let over_ms = lasts_ms.and_then(|ms| self.first_seen.get(&id).map(|first| first.at_ms.saturating_add(ms)));
        let nominee = match job_state(held, objects) {
            JobState::Waits => Nominee::Waits,
            JobState::Held => Nominee::Held,
            JobState::NotAccepted | JobState::Suspended | JobState::Finished => Nominee::Over,
        };
        claiming::Nomination {
            kind: match nomination.kind {
                NominationKind::Preemption => claiming::NominationKind::Preemption,
                NominationKind::Reservation => claiming::NominationKind::Reservation,
            },
            is_stored: true,
            is_right: if lasts_ms.is_some() { self.judged.get(&id).copied() } else { Some(false) },
            nominee,
            victims: victims.map_or_else(|| victim_claims(nomination, objects), <[VictimClaim]>::to_vec),
            seats,
            is_late: over_ms.is_some_and(|over_ms| claims.context.now_ms() >= over_ms),
        }
    }

    /// When something happens by time alone.
    pub(crate) fn next_ms(&self, objects: &Objects, now_ms: u64) -> Option<u64> {
        let terms = &objects.accounts.policy()?.terms;
        let ends =
            self.first_seen.values().filter_map(|seen| Some(seen.at_ms.saturating_add(lasts_ms(terms, seen.kind)?)));
        let pauses = self.pauses.ends().chain(self.rests.values().map(Pause::until_ms));
        let pauses = pauses.chain(self.withdrawals.ends());
        ends.chain(pauses).filter(|at_ms| *at_ms > now_ms).min()
    }
}

/// What the claims of the victims have come to.
fn victim_claims(nomination: &Nomination, objects: &Objects) -> Vec<VictimClaim> {
    let claim = |uid: &String| {
        // A Match can be deleted while pods of its claim still end.
        let Some(claim) = objects.claim_by_uid(uid) else { return VictimClaim::Ended };
        match claim.found.decision() {
            Decision::Committed if !claim.is_deleted => VictimClaim::Committed,
            _ if claim.has_entry(objects) => VictimClaim::Ending,
            _ => VictimClaim::Ended,
        }
    };
    nomination.victims.iter().map(claim).collect()
}

/// How long a gang is held, in milliseconds; none if the PoolPolicy lets none be held for this reason.
fn lasts_ms(terms: &PolicyTerms, kind: NominationKind) -> Option<u64> {
    let preemption = terms.preemption.as_ref().filter(|rules| !rules.is_dry_run);
    let seconds = match kind {
        NominationKind::Preemption => preemption?.nomination_seconds,
        NominationKind::Reservation => terms.reservation.as_ref()?.for_seconds,
    };
    Some(seconds_ms(seconds))
}

/// How long a gang is reserved, in milliseconds; none if nothing is reserved.
fn reserved_ms(objects: &Objects) -> Option<u64> {
    lasts_ms(&objects.accounts.policy()?.terms, NominationKind::Reservation)
}

fn seconds_ms(seconds: i64) -> u64 {
    u64::try_from(seconds).unwrap_or(0).saturating_mul(1000)
}
