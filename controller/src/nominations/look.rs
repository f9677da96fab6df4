//! What a cycle finds out about nominations: whether their gangs are free, whether they are still right, and which ones are to be made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use claiming::{NominatedSeats, NominationStep, VictimClaim, nomination_steps};
use crds::{Nomination, NominationKind};
use jiff::Timestamp;
use kube::ResourceExt;
use matchmaker::{
    AdId, Config as EngineConfig, Cycle, Gang, HeldGang, MemberCharges, NotPreempted, PREEMPTION_ROOTS_MAX, Preempting,
    Preemptions, SIDE_SHARE, SideSearches, Snapshot, is_still_right, preempt,
};
use policy::{Amount, Evictions};
use pool::{
    AssumedGang, NominatedGang, ObjectKey, Objects, OtherNominations, PreemptionInput, Provenance, free_offers,
    nominated, nominated_charges, nominated_gang, preemption_input, reason_of, taken_by_nomination,
};

use super::pauses::created;
use super::reserve::{CycleReservations, ReservationsFound};
use super::writes::{NewNomination, account_of, charges_of};
use super::{HOPELESS_PAUSES, NominationId, Nominations, StoredNomination, id_of, victim_claims, words};
use crate::claims::Claims;
use crate::status::Finding;

/// How many steps there are in any case to verify the gang of a nomination: a usual one of 64 members takes some hundred.
const VERIFY_STEPS_MIN: u64 = 1000;

/// What a cycle begins with.
pub(crate) struct CycleNominations {
    stored: Vec<StoredNomination>,
    input: Option<PreemptionInput>,
    /// The uids of jobs that nothing is preempted for now.
    spared: BTreeSet<String>,
    /// The uids of jobs for which nothing could be preempted the last time, and why, for as long as others have their turn.
    hopeless: BTreeMap<String, NotPreempted>,
    evictions: Evictions,
    /// Whether gangs may be preempted at all: not while a nomination is being written, as its victims are not known here yet.
    may_preempt: bool,
    reserving: Option<CycleReservations>,
}

/// What a cycle found of a nomination that is stored.
struct NominationLook {
    key: ObjectKey,
    id: NominationId,
    /// When the cycle began.
    victims: Vec<VictimClaim>,
    seats: NominatedSeats,
    /// If that was asked.
    is_right: Option<bool>,
    /// How many of its offers are free, and how many it has, if it is a gang.
    free: Option<(usize, usize)>,
}

/// What it found.
#[derive(Default)]
pub(crate) struct NominationsFound {
    /// What it found of each that is stored.
    looked: Vec<NominationLook>,
    /// The gangs of nominations that are free.
    gangs: Vec<Gang>,
    /// What their members cost, each with its root, in micros.
    pub(crate) charges: Vec<(AdId, MemberCharges)>,
    preemptions: Preemptions,
    /// More jobs wait than gangs can be preempted for in one cycle.
    are_many: bool,
    held: Vec<HeldGang>,
    pub(crate) reservations: ReservationsFound,
}

impl CycleNominations {
    /// Before gangs are searched for: the gangs of nominations that are free are found already.
    pub(crate) fn look(&self, pool: &mut Snapshot, settings: &EngineConfig, now: i64) -> NominationsFound {
        let mut found = NominationsFound::default();
        let settings = &affordable(settings, self.stored.len());
        let mut waiting = self.waiting(pool);
        for StoredNomination { key, uid, nomination, charges, victims, is_judged } in &self.stored {
            let root = waiting.get(uid).copied();
            let (mut is_right, mut free) = (None, None);
            let look = |root| {
                let others = self.others(pool, uid, &waiting);
                (root, nominated_gang(pool, nomination, &others, (settings, now)))
            };
            let seats = match root.map(look) {
                None => NominatedSeats::Unknown,
                Some((_, NominatedGang::Broken)) => NominatedSeats::Broken,
                Some((root, NominatedGang::Free(gang))) => {
                    pool.roots.retain(|own| own.ad != root);
                    waiting.remove(uid);
                    found.gangs.push(gang);
                    found.charges.push((root, charges.clone()));
                    NominatedSeats::Free
                }
                Some((_, NominatedGang::Ending(_))) => NominatedSeats::Ending,
                Some((root, NominatedGang::Held(gang))) => {
                    if nomination.kind == NominationKind::Reservation {
                        let reserving = self.reserving.as_ref();
                        let (kept, gang) = (&mut found.reservations, (root, &gang));
                        is_right = reserving.map(|reserving| reserving.look_at(kept, pool, gang, charges));
                        free = Some(free_offers(pool, gang.1));
                    } else if !is_judged {
                        is_right = Some(self.is_right(pool, (root, &gang, charges), nomination, (settings, now)));
                    }
                    NominatedSeats::Held
                }
            };
            let (key, id, victims) = (key.clone(), id_of(uid, nomination), victims.clone());
            found.looked.push(NominationLook { key, id, victims, seats, is_right, free });
        }
        found
    }

    /// The jobs with a nomination that wait, by uid.
    fn waiting(&self, pool: &Snapshot) -> BTreeMap<String, AdId> {
        let stored: BTreeSet<&str> = self.stored.iter().map(|stored| stored.uid.as_str()).collect();
        let uids = pool.roots.iter().filter_map(|root| Some((pool.ad(root.ad)?.uid.as_str(), root.ad)));
        uids.filter(|(uid, _)| stored.contains(uid)).map(|(uid, ad)| (uid.to_owned(), ad)).collect()
    }

    /// What is done for the nominations of other jobs that still wait.
    fn others(&self, pool: &Snapshot, uid: &str, waiting: &BTreeMap<String, AdId>) -> OtherNominations {
        let others = || self.stored.iter().filter(|stored| stored.uid != uid);
        let is_victim = |gang: &&HeldGang| others().any(|stored| stored.nomination.victims.contains(&gang.name));
        let ending = self.input.iter().flat_map(|input| &input.ending).filter(is_victim);
        let ending = ending.flat_map(|gang| gang.gang.members.iter().map(|member| (member.ad, member.ask.clone())));
        let nominated = others().filter(|stored| waiting.contains_key(&stored.uid));
        let nominated = nominated.flat_map(|stored| taken_by_nomination(pool, &stored.nomination));
        OtherNominations { ending: ending.collect(), nominated: nominated.collect() }
    }

    fn is_right(
        &self,
        pool: &Snapshot,
        gang: (AdId, &Gang, &[Amount]),
        nomination: &Nomination,
        (settings, now): (&EngineConfig, i64),
    ) -> bool {
        let Some(input) = &self.input else { return false };
        // Those that it names count as ending for all others.
        let is_own = |gang: &&HeldGang| nomination.victims.contains(&gang.name);
        let own: Vec<HeldGang> = input.ending.iter().filter(is_own).cloned().collect();
        let others: Vec<HeldGang> = input.ending.iter().filter(|gang| !is_own(gang)).cloned().collect();
        let (spared, evictions) = (BTreeSet::new(), Evictions::up_to(own.len()));
        let victims = (0..own.len()).collect();
        let preempting =
            Preempting { terms: &input.terms, held: &own, ending: &others, spared: &spared, evictions: &evictions };
        is_still_right(pool, gang, &victims, &preempting, (settings, now))
    }

    /// After it: which jobs use what is reserved meanwhile, and for which jobs that are left over gangs are reserved.
    pub(crate) fn reserve(
        &self,
        found: &mut NominationsFound,
        (pool, cycle): (&Snapshot, &mut Cycle),
        search: &mut SideSearches<'_>,
        (settings, now): (&EngineConfig, i64),
    ) {
        if let Some(reserving) = &self.reserving {
            reserving.decide(&mut found.reservations, (pool, cycle), search, (settings, now));
        }
    }

    /// After it: which gangs are to end for the jobs that are left over.
    pub(crate) fn preempt(
        &self,
        found: &mut NominationsFound,
        (pool, cycle): (&Snapshot, &Cycle),
        search: &mut SideSearches<'_>,
        (settings, now): (&EngineConfig, i64),
    ) {
        let input = self.input.as_ref().filter(|input| self.may_preempt && !input.held.is_empty());
        let Some(input) = input else { return };
        let mut waiting = cycle.short_of_capacity_or_quota();
        waiting.retain(|root| !found.reservations.new.made.iter().any(|new| new.root == *root));
        let uids = || waiting.iter().filter_map(|ad| Some((*ad, pool.ad(*ad)?.uid.as_str())));
        let mut spared: BTreeSet<AdId> =
            uids().filter(|(_, uid)| self.spared.contains(*uid)).map(|(ad, _)| ad).collect();
        found.are_many = waiting.len() - spared.len() > PREEMPTION_ROOTS_MAX;
        let pauses =
            |uid: &str| self.hopeless.get(uid).is_some_and(|why| found.are_many || *why == NotPreempted::CutShort);
        spared.extend(uids().filter(|(_, uid)| pauses(uid)).map(|(ad, _)| ad));
        let preempting = Preempting {
            terms: &input.terms,
            held: &input.held,
            ending: &input.ending,
            spared: &spared,
            evictions: &self.evictions,
        };
        let quiet = EngineConfig { explains: false, ..settings.clone() };
        found.preemptions = preempt((pool, &cycle.gangs), &waiting, &preempting, (&quiet, now), search);
        found.held.clone_from(&input.held);
    }
}

/// The settings by which so many gangs of nominations are verified in a cycle: all together take a part of its steps.
fn affordable(settings: &EngineConfig, count: usize) -> EngineConfig {
    let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
    let steps = settings.cycle_steps_max / SIDE_SHARE / count;
    EngineConfig { cycle_steps_max: steps.max(VERIFY_STEPS_MIN), ..settings.clone() }
}

impl NominationsFound {
    /// The gangs of nominations, which come before all others.
    pub(crate) fn take_gangs(&mut self) -> Vec<Gang> {
        std::mem::take(&mut self.gangs)
    }

    /// The steps that submitters have spent on preemption and reservation for nothing.
    pub(crate) fn fruitless(&self) -> impl Iterator<Item = &(Arc<str>, u64)> {
        self.preemptions.fruitless.iter().chain(&self.reservations.new.fruitless)
    }
}

impl Nominations {
    /// What a cycle begins with.
    pub(crate) fn begin(
        &mut self,
        objects: &Objects,
        (pool, assumed): (&Snapshot, &[AssumedGang]),
        claims: &Claims,
    ) -> CycleNominations {
        let now_ms = claims.context.now_ms();
        let terms = objects.accounts.policy().map(|known| &known.terms).filter(|_| pool.accounts.is_some());
        let terms = terms.filter(|terms| terms.preemption.is_some() || terms.reservation.is_some());
        let Some(terms) = terms else {
            let (stored, spared) = (Vec::new(), BTreeSet::new());
            let (input, reserving, hopeless) = (None, None, BTreeMap::new());
            let evictions = Evictions::default();
            return CycleNominations { stored, input, spared, hopeless, evictions, may_preempt: false, reserving };
        };
        let stored = nominated(objects).map(|(key, held, nomination)| {
            let uid = held.object.uid().unwrap_or_default();
            StoredNomination {
                key: key.clone(),
                charges: nominated_charges(nomination, terms),
                victims: victim_claims(nomination, objects),
                is_judged: self.judged.contains_key(&id_of(&uid, nomination)),
                nomination: nomination.clone(),
                uid,
            }
        });
        let stored: Vec<StoredNomination> = stored.collect();
        let mut spared: BTreeSet<String> = stored.iter().map(|stored| stored.uid.clone()).collect();
        let may_preempt = self.writing.lock().is_empty();
        self.judged.retain(|(uid, _), _| objects.jobs.by_uid(uid).is_some());
        self.take_back(now_ms);
        spared.iter().for_each(|uid| self.pauses.unwritten.forget(uid));
        self.note_jobs(pool, objects, now_ms);
        let paused = self.pauses.unclaimed.lasting(now_ms).chain(self.pauses.unwritten.lasting(now_ms));
        spared.extend(paused.map(|(uid, ())| uid.clone()));
        self.withdrawals.forget(now_ms);
        spared.extend(self.resting(pool, now_ms).map(|(uid, _)| uid.to_owned()));
        let rules = terms.preemption.as_ref();
        let evictions = rules.map(|rules| self.budget.left(rules.evictions_per_hour, now_ms)).unwrap_or_default();
        let hopeless = self.pauses.hopeless.lasting(now_ms).map(|(uid, why)| (uid.clone(), *why)).collect();
        let reserving = self.reserving(objects, (pool, assumed), &stored, claims);
        let input = preemption_input(objects, pool);
        CycleNominations { stored, input, spared, hopeless, evictions, may_preempt, reserving }
    }

    /// The uids of the jobs that wait and for whose accounts nothing is preempted, each with the end of that.
    fn resting<'p>(&'p self, pool: &'p Snapshot, now_ms: u64) -> impl Iterator<Item = (&'p str, Timestamp)> {
        let roots = if self.withdrawals.any(now_ms) { pool.roots.as_slice() } else { &[] };
        roots.iter().filter_map(move |root| {
            let ad = pool.ad(root.ad)?;
            let until = self.withdrawals.until(account_of(pool, root.ad), &ad.key.namespace, now_ms)?;
            Some((ad.uid.as_str(), until))
        })
    }

    /// Takes in which jobs are gone, and which wait instead of them.
    fn note_jobs(&mut self, pool: &Snapshot, objects: &Objects, now_ms: u64) {
        self.pauses.note(objects, now_ms);
        if self.pauses.is_settled() {
            return;
        }
        for root in &pool.roots {
            let Some(uid) = pool.ad(root.ad).map(|ad| ad.uid.as_str()) else { continue };
            let Some((_, held)) = objects.jobs.by_uid(uid) else { continue };
            self.pauses.take_over((uid, account_of(pool, root.ad)), created(&held.object));
        }
    }

    /// Takes in what a cycle has found: what is over is taken out, and what is decided is stored. What jobs are told of it replaces what was found
    /// of them.
    pub(crate) fn end(
        &mut self,
        found: &NominationsFound,
        (pool, provenance): (&Snapshot, &Provenance),
        findings: &mut BTreeMap<String, Arc<Finding>>,
        objects: &Objects,
        claims: &Arc<Claims>,
    ) {
        for NominationLook { key, id, victims, seats, is_right, free } in &found.looked {
            let Some(held) = objects.jobs.get(key) else { continue };
            let Some(nomination) = held.object.status.as_ref().and_then(|status| status.nomination.as_ref()) else {
                continue;
            };
            if id_of(&held.object.uid().unwrap_or_default(), nomination) != *id {
                continue;
            }
            self.judged.extend(is_right.map(|is_right| (id.clone(), is_right)));
            let known = self.known(held, nomination, (*seats, Some(victims)), objects, claims);
            for step in nomination_steps(&known) {
                match step {
                    NominationStep::Drop(end) => self.drop_it(held, nomination, end, claims),
                    NominationStep::Claim => {
                        claims.context.metrics.accounts.nominations.ended(nomination.kind.as_str(), "Claimed");
                    }
                    NominationStep::Store | NominationStep::Judge | NominationStep::Release(_) => {}
                }
            }
            let counts = words::counts_of(findings.get(&id.0).map(|finding| &**finding));
            let told = match (nomination.kind, free) {
                (NominationKind::Preemption, _) => words::waits_for(victims.len(), counts),
                (NominationKind::Reservation, Some(free)) => {
                    words::waits_for_reserved(nomination.time.0, *free, counts)
                }
                (NominationKind::Reservation, None) => continue,
            };
            findings.insert(id.0.clone(), Arc::new(told));
        }
        self.end_reservations(&found.reservations, (pool, provenance), findings, objects, claims);
        let rules = objects.accounts.policy().and_then(|known| known.terms.preemption.as_ref());
        let Some(rules) = rules else { return };
        let now_ms = claims.context.now_ms();
        for (root, answer) in &found.preemptions.answers {
            let Some(uid) = pool.ad(*root).map(|ad| ad.uid.clone()) else { continue };
            let job = (uid.as_str(), account_of(pool, *root));
            self.pause_hopeless(job, answer.as_ref().err(), found.are_many, now_ms);
            let finding = findings.get(&uid).cloned();
            let told = match answer {
                Ok(proposal) if !rules.is_dry_run => {
                    let victims = proposal.victims.iter().filter_map(|place| found.held.get(*place));
                    let victims = victims.map(|gang| gang.name.clone()).collect();
                    let told = words::waits_for(proposal.victims.len(), words::counts_of(finding.as_deref()));
                    let (kind, mode) = (NominationKind::Preemption, reason_of(proposal.mode));
                    let account = account_of(pool, *root);
                    let charges = charges_of(&found.preemptions.charges, *root);
                    let new = NewNomination { kind, mode, gang: &proposal.gang, charges, victims, account };
                    self.store(new, &told, (pool, provenance), objects, claims);
                    told
                }
                _ => match finding.filter(|finding| words::may_be_preempted_for(finding)) {
                    Some(finding) => words::with_preemption(&finding, answer),
                    None => continue,
                },
            };
            if let (Ok(_), true) = (answer, rules.is_dry_run) {
                self.tell_dry(&uid, &told, objects, claims);
            }
            findings.insert(uid, Arc::new(told));
        }
        self.tell_spared(pool, findings, now_ms);
    }

    /// Tells jobs for which nothing is preempted for a while why that is so.
    fn tell_spared(&self, pool: &Snapshot, findings: &mut BTreeMap<String, Arc<Finding>>, now_ms: u64) {
        for (uid, until) in self.resting(pool, now_ms) {
            if let Some(finding) = findings.get(uid).filter(|finding| words::may_be_preempted_for(finding)) {
                findings.insert(uid.to_owned(), Arc::new(words::withdrawn(finding, until)));
            }
        }
        // Those that were not asked for in this cycle are told what was found the last time.
        for (uid, why) in self.pauses.hopeless.all() {
            let Some(finding) = findings.get(uid).filter(|finding| words::may_be_preempted_for(finding)) else {
                continue;
            };
            let told = words::with_preemption(finding, &Err(*why));
            findings.insert(uid.clone(), Arc::new(told));
        }
    }

    /// Lets a job wait for which nothing can be preempted, so that others have their turn: for longer each time. `are_others`: there are
    /// more of them than have one in a cycle.
    fn pause_hopeless(&mut self, job: (&str, &str), why: Option<&NotPreempted>, are_others: bool, now_ms: u64) {
        match why {
            Some(why @ NotPreempted::CutShort) => self.pauses.hopeless.lengthen(job, *why, HOPELESS_PAUSES, now_ms),
            // Accounts that have spent their evictions would have all turns of the others.
            Some(why @ (NotPreempted::Refused(_) | NotPreempted::TooYoung(_) | NotPreempted::BudgetSpent))
                if are_others =>
            {
                self.pauses.hopeless.lengthen(job, *why, HOPELESS_PAUSES, now_ms);
            }
            _ => self.pauses.hopeless.forget(job.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::NoVictims;

    use super::*;
    use crate::nominations::FailedWrite;

    #[test]
    fn a_hopeless_job_pauses_for_longer_each_time_while_others_wait_for_their_turn() {
        let (mut nominations, hopeless) = (Nominations::default(), NotPreempted::Refused(NoVictims::NoCandidate));
        nominations.pause_hopeless(("a", "account"), Some(&hopeless), false, 0);
        assert!(nominations.pauses.hopeless.of("a").is_none(), "no job is paused");
        let mut ends = Vec::new();
        for _ in 0..3 {
            let now_ms = ends.last().copied().unwrap_or(0);
            nominations.pause_hopeless(("a", "account"), Some(&hopeless), true, now_ms);
            ends.push(nominations.pauses.hopeless.of("a").unwrap().until_ms());
        }
        assert!(ends[0] >= 7_500 && ends[1] - ends[0] > ends[0] && ends[2] - ends[1] > ends[1] - ends[0], "{ends:?}");
        nominations.pause_hopeless(("a", "account"), None, true, ends[2]);
        assert!(nominations.pauses.hopeless.of("a").is_none(), "something is preempted for it");
        nominations.pause_hopeless(("b", "account"), Some(&NotPreempted::CutShort), false, 0);
        assert!(nominations.pauses.hopeless.of("b").unwrap().lasts(7_000), "its search costs too much");
        nominations.pause_hopeless(("c", "account"), Some(&NotPreempted::BudgetSpent), true, 0);
        assert!(nominations.pauses.hopeless.of("c").unwrap().lasts(7_000), "its account has had its share");
    }

    #[test]
    fn a_write_that_fails_gives_its_evictions_back_and_is_not_tried_again_at_once() {
        let mut nominations = Nominations::default();
        assert_eq!(nominations.budget.left(60, 0).left, 6);
        nominations.budget.spend("a", 4, 0);
        let (uid, account) = ("u".to_owned(), "a".to_owned());
        nominations.failed.lock().push(FailedWrite { uid, account, victims: 4 });
        nominations.take_back(10);
        let evictions = nominations.budget.left(60, 10);
        assert_eq!((evictions.left, evictions.of_late.len()), (6, 0));
        assert!(
            nominations.pauses.unwritten.of("u").unwrap().lasts(300)
                && !nominations.pauses.unwritten.of("u").unwrap().lasts(600)
        );
        let mut pause = nominations.pauses.unwritten.of("u").unwrap().until_ms() - 10;
        for times in 1..4 {
            let (uid, account, now_ms) = ("u".to_owned(), "a".to_owned(), times * 100_000);
            nominations.failed.lock().push(FailedWrite { uid, account, victims: 0 });
            nominations.take_back(now_ms);
            let next = nominations.pauses.unwritten.of("u").unwrap().until_ms() - now_ms;
            assert!(next > pause, "it is tried less often each time");
            pause = next;
        }
    }
}
