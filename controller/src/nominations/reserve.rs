//! Reservations in a cycle: for which jobs that have waited long a gang is held, and which jobs use what is held meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::NominationKind;
use jiff::Timestamp;
use matchmaker::{
    AdId, Config as EngineConfig, Cycle, Gang, HeldGangs, MemberCharges, Reservation, Reservations, Reserving,
    SideSearches, Snapshot, StoredReservation, backfill, free_at, held_for_others, may_keep, reserve,
};
use policy::Amount;
use pool::{
    AssumedGang, JobState, ObjectKey, Objects, Provenance, ReservationInput, free_offers, job_state, reservation_input,
};

use super::writes::{NewNomination, account_of, charges_of};
use super::{HOPELESS_PAUSES, Nominations, StoredNomination, words};
use crate::claims::Claims;
use crate::cycle::backoff::Pause;
use crate::status::Finding;

/// What reservations of a cycle are decided on.
pub(super) struct CycleReservations {
    input: ReservationInput,
    /// The roots that have waited long enough.
    candidates: BTreeSet<AdId>,
    /// How many reservations may be made.
    room: usize,
}

/// What a cycle found of reservations.
#[derive(Default)]
pub(crate) struct ReservationsFound {
    /// Those that stand.
    pub(super) reserved: Vec<StoredReservation>,
    /// Those that are to be made, and what it cost to find them.
    pub(super) new: Reservations,
    /// Roots that would have gangs if nothing were reserved.
    pub(super) kept_waiting: BTreeSet<AdId>,
    /// The `activeDeadlineSeconds` of the roots that use what is reserved.
    pub(crate) bounds: BTreeMap<AdId, i64>,
}

impl Nominations {
    /// What reservations of a cycle are decided on; none if there is nothing to decide.
    pub(super) fn reserving(
        &self,
        objects: &Objects,
        (pool, assumed): (&Snapshot, &[AssumedGang]),
        stored: &[StoredNomination],
        claims: &Claims,
    ) -> Option<CycleReservations> {
        let rules = objects.accounts.policy()?.terms.reservation.as_ref()?;
        let accounts = pool.accounts.as_ref()?;
        let (now, now_ms) = (claims.context.clock.now().as_second(), claims.context.now_ms());
        let reserved = stored.iter().filter(|stored| stored.nomination.kind == NominationKind::Reservation).count();
        let room = usize::try_from(rules.max).unwrap_or(0).saturating_sub(reserved);
        let rests = |account: &str| self.rests.get(account).is_some_and(|pause: &Pause| pause.lasts(now_ms));
        let has_waited = |root: AdId| {
            let ad = pool.ad(root)?;
            let held = objects.jobs.get(&ObjectKey::new(&ad.key.namespace, &ad.key.name))?;
            let waits = held.object.waited(now) >= rules.after_seconds
                && !self.pauses.unreservable.of(&ad.uid).is_some_and(|pause| pause.lasts(now_ms))
                && job_state(held, objects) == JobState::Waits
                && !stored.iter().any(|stored| stored.uid == ad.uid);
            (waits && !accounts.account_of.get(root).is_some_and(|account| rests(account))).then_some(root)
        };
        // Not while a nomination is being written: it is not known here yet.
        let may_reserve = room > 0 && self.writing.lock().is_empty();
        let roots = pool.roots.iter().filter(|_| may_reserve);
        let candidates: BTreeSet<AdId> = roots.filter_map(|root| has_waited(root.ad)).collect();
        if candidates.is_empty() && reserved == 0 {
            return None;
        }
        let input = reservation_input(objects, pool, assumed, now)?;
        Some(CycleReservations { input, candidates, room })
    }
}

impl Nominations {
    /// Takes in what a cycle has found of reservations: those that are decided on are stored, and jobs are told.
    pub(super) fn end_reservations(
        &mut self,
        found: &ReservationsFound,
        (pool, provenance): (&Snapshot, &Provenance),
        findings: &mut BTreeMap<String, Arc<Finding>>,
        objects: &Objects,
        claims: &Arc<Claims>,
    ) {
        let finding_of = |findings: &BTreeMap<String, Arc<Finding>>, root: AdId| {
            let uid = pool.ad(root)?.uid.clone();
            let finding = Arc::clone(findings.get(&uid)?);
            Some((uid, finding))
        };
        for root in &found.kept_waiting {
            let Some((uid, finding)) = finding_of(findings, *root) else { continue };
            findings.insert(uid, Arc::new(words::held_for_others(&finding, found.reserved.len())));
        }
        let hopeless = found.new.hopeless.iter().filter_map(|root| Some((pool.ad(*root)?, account_of(pool, *root))));
        self.pause_unreservable(hopeless.map(|(ad, account)| (&*ad.uid, account)), claims.context.now_ms());
        for Reservation { root, gang, .. } in &found.new.made {
            let Some(uid) = pool.ad(*root).map(|ad| ad.uid.clone()) else { continue };
            // As it is stored: in whole seconds.
            let since = Timestamp::from_second(provenance.time.as_second()).unwrap_or(provenance.time);
            let taken = pool.after(std::slice::from_ref(gang));
            let told = words::waits_for_reserved(
                since,
                free_offers(&taken, gang),
                words::counts_of(findings.get(&uid).map(|finding| &**finding)),
            );
            let (kind, victims) = (NominationKind::Reservation, Vec::new());
            let charges = charges_of(&found.new.charges, *root);
            let new = NewNomination { kind, mode: None, gang, charges, victims, account: account_of(pool, *root) };
            self.store(new, &told, (pool, provenance), objects, claims);
            findings.insert(uid, Arc::new(told));
        }
    }
}

impl Nominations {
    /// Lets jobs wait for which nothing can be reserved, so that others have their turn: for longer each time.
    fn pause_unreservable<'u>(&mut self, jobs: impl Iterator<Item = (&'u str, &'u str)>, now_ms: u64) {
        jobs.for_each(|job| self.pauses.unreservable.lengthen(job, (), HOPELESS_PAUSES, now_ms));
    }
}

impl CycleReservations {
    /// Whether a reservation that stands may stay; and keeps it in mind for what uses it.
    pub(super) fn look_at(
        &self,
        found: &mut ReservationsFound,
        pool: &Snapshot,
        (root, gang): (AdId, &Gang),
        charges: &[Amount],
    ) -> bool {
        let is_kept = may_keep(pool, (root, gang), charges, &self.input.held);
        if is_kept {
            let free_at = free_at(pool, gang, &self.input.held);
            let (gang, charges) = (gang.clone(), MemberCharges::from_slice(charges));
            found.reserved.push(StoredReservation { root, gang, charges, free_at });
        }
        is_kept
    }

    /// After gangs were searched for: the gangs of jobs that end in time are added to those of the cycle, and reservations are decided on.
    pub(super) fn decide(
        &self,
        found: &mut ReservationsFound,
        (pool, cycle): (&Snapshot, &mut Cycle),
        search: &mut SideSearches<'_>,
        (settings, now): (&EngineConfig, i64),
    ) {
        let quiet = EngineConfig { explains: false, ..settings.clone() };
        if !found.reserved.is_empty() {
            let waiting = cycle.short_of_capacity_or_quota();
            let held = HeldGangs { reserved: &found.reserved, waiting: &waiting, ends: &self.input.ends };
            let used = backfill((pool, &cycle.gangs), held, (&quiet, now), search);
            for root in used.gangs.iter().filter_map(Gang::root) {
                cycle.unmatched.retain(|unmatched| unmatched.root != root);
                cycle.unexplained.retain(|own| *own != root);
                found.bounds.extend(self.input.active.get(&root).map(|active| (root, *active)));
            }
            cycle.gangs.extend(used.gangs);
            cycle.charges.extend(used.charges);
        }
        let waiting = cycle.short_of_capacity();
        if !found.reserved.is_empty() {
            let held = HeldGangs { reserved: &found.reserved, waiting: &waiting, ends: &self.input.ends };
            found.kept_waiting = held_for_others((pool, &cycle.gangs), held, (&quiet, now), search);
        }
        let candidates: BTreeSet<AdId> = self.candidates.intersection(&waiting).copied().collect();
        let ReservationInput { held, ends, nominated, .. } = &self.input;
        let reserving = Reserving { held, ends, candidates: &candidates, nominated, room: self.room };
        found.new = reserve((pool, &cycle.gangs), &reserving, (&quiet, now), search);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_a_job_for_which_nothing_can_be_reserved_pauses_for_longer_each_time() {
        let (mut nominations, mut now_ms, mut pauses) = (Nominations::default(), 0, Vec::new());
        for _ in 0..3 {
            nominations.pause_unreservable([("a", "account")].into_iter(), now_ms);
            let until_ms = nominations.pauses.unreservable.of("a").unwrap().until_ms();
            pauses.push(until_ms - now_ms);
            now_ms = until_ms;
        }
        assert!(pauses[0] >= 7_500 && pauses.is_sorted() && pauses[0] < pauses[2], "{pauses:?}");
    }
}
