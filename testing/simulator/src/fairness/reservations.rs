//! Reservation and backfill in a simulated pool, by the product's functions.

use std::collections::{BTreeMap, BTreeSet};

use claiming::NominationKind;
use matchmaker::{
    AdId, AdKey, Config, Gang, HeldGangs, HeldOffers, Reserving, SideSearches, Snapshot, StoredReservation, backfill,
    free_at, may_keep, reserve,
};
use policy::{Amounts, CHARGE, taken_by_gang};

use crate::fairness::accounts::{charge_of, charges_of};
use crate::fairness::world::{HeldForJob, Running, Simulation};

impl Simulation<'_> {
    /// Whether a nomination is still right, as far as that can change here.
    pub(super) fn may_be_kept(&self, job: usize, nomination: &HeldForJob, pool: &Snapshot) -> bool {
        let gang = (AdId::at(job), &nomination.gang);
        nomination.kind == NominationKind::Preemption
            || may_keep(pool, gang, &charges_of(&nomination.gang), &self.held_offers())
    }

    /// All claims, and when they end at the latest.
    fn held_offers(&self) -> Vec<HeldOffers> {
        let held = |(job, running): (&usize, &Running)| {
            let own = self.jobs.get(*job)?;
            let charge = charge_of(&running.gang);
            let mut takes = taken_by_gang(charge, Amounts::new());
            takes.insert(CHARGE.into(), charge);
            let members = running.gang.members.iter().skip(1);
            Some(HeldOffers {
                account: self.accounts.parties.get(own.account)?.name.clone(),
                takes,
                ends: own.deadline.map(|seconds| running.committed_at + seconds),
                holds: members.map(|member| (member.ad, member.ask.clone())).collect(),
            })
        };
        self.claimed.running.iter().filter_map(held).collect()
    }

    /// When the claims of jobs that wait end at the latest, if they are found now.
    fn ends(&self) -> BTreeMap<AdId, i64> {
        let end = |job: &usize| Some((AdId::at(*job), self.now + self.jobs.get(*job)?.deadline?));
        self.waiting.iter().filter_map(end).collect()
    }

    /// The roots that a cycle has left over.
    fn left_over(pool: &Snapshot, gangs: &[Gang]) -> BTreeSet<AdId> {
        let placed: BTreeSet<AdId> = gangs.iter().filter_map(Gang::root).collect();
        pool.roots.iter().map(|root| root.ad).filter(|ad| !placed.contains(ad)).collect()
    }

    /// The gangs of jobs that end before reservations are free.
    pub(super) fn backfilled(&mut self, pool: &Snapshot, gangs: &[Gang]) -> Vec<Gang> {
        let held = self.held_offers();
        let reserved: Vec<StoredReservation> = self
            .nominations
            .iter()
            .filter(|(_, own)| own.kind == NominationKind::Reservation)
            .map(|(job, own)| StoredReservation {
                root: AdId::at(*job),
                gang: own.gang.clone(),
                charges: charges_of(&own.gang),
                free_at: free_at(pool, &own.gang, &held),
            })
            .collect();
        if reserved.is_empty() {
            return Vec::new();
        }
        let (waiting, ends) = (Self::left_over(pool, gangs), self.ends());
        let held = HeldGangs { reserved: &reserved, waiting: &waiting, ends: &ends };
        let engine = &mut self.leader.engine;
        let mut search = |view: &Snapshot, config: &Config, now: i64| engine.negotiate(view, config, now);
        backfill((pool, gangs), held, (&self.terms.config, self.now), &mut SideSearches::new(&mut search)).gangs
    }

    /// Holds machines for a job that has waited long, if nothing is held for another one.
    pub(super) fn reserve_for_long_waits(&mut self, pool: &Snapshot, gangs: &[Gang]) {
        let Some(rules) = self.setting.reservation else { return };
        let is_due = |job: &usize| self.jobs.get(*job).is_some_and(|job| job.since + rules.after_seconds <= self.now);
        let mut candidates = Self::left_over(pool, gangs);
        candidates.retain(|ad| is_due(&ad.place()));
        let is_reserved = self.nominations.values().any(|own| own.kind == NominationKind::Reservation);
        if candidates.is_empty() || is_reserved {
            return;
        }
        let (held, ends) = (self.held_offers(), self.ends());
        let members = self.nominations.values().flat_map(|own| own.gang.members.iter().skip(1));
        let nominated: BTreeSet<AdKey> = members.filter_map(|member| Some(pool.ad(member.ad)?.key.clone())).collect();
        let reserving = Reserving { held: &held, ends: &ends, candidates: &candidates, nominated: &nominated, room: 1 };
        let engine = &mut self.leader.engine;
        let mut search = |view: &Snapshot, config: &Config, now: i64| engine.negotiate(view, config, now);
        let made =
            reserve((pool, gangs), &reserving, (&self.terms.config, self.now), &mut SideSearches::new(&mut search))
                .made;
        for reservation in made {
            let (gang, victims, kind) = (reservation.gang, Vec::new(), NominationKind::Reservation);
            self.report.nominations.made += 1;
            self.nominations.insert(reservation.root.place(), HeldForJob { gang, victims, since: self.now, kind });
        }
    }
}
