//! The reservations that stand in a pool: what uses them meanwhile, and which jobs they keep waiting.

use std::collections::{BTreeMap, BTreeSet};

use crds::NominationKind;
use gangindex::Indexed;
use kube::ResourceExt;
use matchmaker::{
    AdId, Config, Cycle, Gang, HeldGangs, SideSearches, Snapshot, StoredReservation, backfill, free_at,
    held_for_others, negotiate,
};
use pool::{
    CycleInputs, NominatedGang, Objects, OtherNominations, nominated, nominated_charges, nominated_gang,
    reservation_input,
};

/// The reservations of a pool.
#[derive(Debug, Default)]
pub(crate) struct Reserved {
    pub(crate) all: Vec<StoredReservation>,
    /// When claims of roots end at the latest, if they are found now; of those of which that is known.
    ends: BTreeMap<AdId, i64>,
}

impl Reserved {
    /// Those of a pool at a time; what they hold counts as taken in the snapshot.
    pub(crate) fn of(objects: &Objects, snapshot: &Snapshot, (config, now): (&Config, i64)) -> Reserved {
        let reservations = || nominated(objects).filter(|(_, _, one)| one.kind == NominationKind::Reservation);
        if reservations().next().is_none() {
            return Reserved::default();
        }
        let Some(input) = reservation_input(objects, snapshot, &CycleInputs::of(objects).assumed, now) else {
            return Reserved::default();
        };
        let root_of = |uid: &str| {
            let is_it = |ad: &AdId| snapshot.ad(*ad).is_some_and(|ad| ad.uid == uid);
            snapshot.roots.iter().map(|root| root.ad).find(is_it)
        };
        let all = reservations().filter_map(|(_, held, nomination)| {
            let root = root_of(&held.object.uid()?)?;
            match nominated_gang(snapshot, nomination, &OtherNominations::default(), (config, now)) {
                NominatedGang::Free(gang) | NominatedGang::Held(gang) | NominatedGang::Ending(gang) => {
                    let free_at = free_at(snapshot, &gang, &input.held);
                    let terms = &objects.accounts.policy()?.terms;
                    Some(StoredReservation { root, gang, charges: nominated_charges(nomination, terms), free_at })
                }
                NominatedGang::Broken => None,
            }
        });
        Reserved { all: all.collect(), ends: input.ends }
    }

    /// Adds the gangs of jobs that end before reservations are free to those of a cycle.
    pub(crate) fn backfill(
        &self,
        snapshot: &Snapshot,
        cycle: &mut Cycle,
        (config, now): (&Config, i64),
        finder: &mut Indexed,
    ) {
        let waiting = cycle.short_of_capacity_or_quota();
        let held = HeldGangs { reserved: &self.all, waiting: &waiting, ends: &self.ends };
        let mut find = |view: &Snapshot, config: &Config, now: i64| negotiate(view, config, now, finder);
        let used = backfill((snapshot, &cycle.gangs), held, (config, now), &mut SideSearches::after(cycle, &mut find));
        let found: BTreeSet<AdId> = used.gangs.iter().filter_map(Gang::root).collect();
        cycle.unmatched.retain(|unmatched| !found.contains(&unmatched.root));
        cycle.gangs.extend(used.gangs);
        cycle.charges.extend(used.charges);
    }

    /// Those without which a root would have a gang: all that hold some of an offer which that gang takes and which is not free now.
    pub(crate) fn keeping(
        &self,
        root: AdId,
        (snapshot, cycle): (&Snapshot, &Cycle),
        (config, now): (&Config, i64),
        finder: &mut Indexed,
    ) -> Vec<&StoredReservation> {
        let waiting = BTreeSet::from([root]);
        if self.all.is_empty() || !cycle.short_of_capacity_or_quota().contains(&root) {
            return Vec::new();
        }
        let held = HeldGangs { reserved: &self.all, waiting: &waiting, ends: &self.ends };
        let mut gang = None;
        let mut find = |view: &Snapshot, config: &Config, now: i64| {
            let cycle = negotiate(view, config, now, finder);
            gang = cycle.gangs.first().cloned();
            cycle
        };
        held_for_others((snapshot, &cycle.gangs), held, (config, now), &mut SideSearches::after(cycle, &mut find));
        let Some(gang) = gang else { return Vec::new() };
        let left = snapshot.after(&cycle.gangs);
        let is_taken = |ad: AdId| {
            let member = gang.members.iter().find(|member| member.ad == ad);
            let offer = left.ad(ad).and_then(|ad| ad.offer());
            let lacks =
                member.zip(offer).map(|(member, offer)| left.usage(ad, offer).fits(&offer.capacity, &member.ask));
            lacks.is_some_and(|fits| fits.is_err())
        };
        let holds = |one: &&StoredReservation| one.gang.members.iter().skip(1).any(|member| is_taken(member.ad));
        self.all.iter().filter(holds).collect()
    }
}
