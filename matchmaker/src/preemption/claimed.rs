//! The claimed gangs as the rules see them. What they have of offers, and how these rank them, is worked out once for all roots of a cycle.

use std::collections::{BTreeMap, BTreeSet};

use policy::{Amount, ClaimedGang, GangMember};

use crate::budget::{FUEL_OF_A_STEP, Owners};
use crate::gang::{Gang, Member};
use crate::model::{AdId, Config, Snapshot};
use crate::verify::partner_ranks;

use super::HeldGang;
use super::terms::affordable;

/// The claimed gangs, in the order in which they are given.
pub(super) struct ClaimedGangs<'h> {
    held: &'h [HeldGang],
    pub(super) list: Vec<ClaimedGang>,
    /// By offer: the gangs that have some of it.
    by_offer: BTreeMap<AdId, Vec<usize>>,
    /// Those of which it is known how their offers rank them.
    ranked: BTreeSet<usize>,
    /// What it has cost to find that out, by the namespaces of jobs and offers.
    pub(super) owners: Owners,
}

impl<'h> ClaimedGangs<'h> {
    /// Nothing is known of ranks yet, nor of what the administrator says.
    pub(super) fn of(pool: &Snapshot, held: &'h [HeldGang], config: &Config) -> ClaimedGangs<'h> {
        let mut by_offer: BTreeMap<AdId, Vec<usize>> = BTreeMap::new();
        for (place, gang) in held.iter().enumerate() {
            for member in gang.gang.members.iter().skip(1) {
                by_offer.entry(member.ad).or_default().push(place);
            }
        }
        let list = held.iter().map(|held| claimed_gang(pool, held)).collect();
        let owners = Owners::new(config.owner_steps_max);
        ClaimedGangs { held, list, by_offer, ranked: BTreeSet::new(), owners }
    }

    /// The gangs that have some of these offers.
    pub(super) fn at<'a>(&'a self, offers: &'a BTreeSet<AdId>) -> BTreeSet<usize> {
        offers.iter().filter_map(|offer| self.by_offer.get(offer)).flatten().copied().collect()
    }

    /// A gang with the ranks that its offers give to its job. They are 0 if the expressions of its namespaces have cost too much in this cycle.
    pub(super) fn ranked(&mut self, place: usize, pool: &Snapshot, config: &Config, now: i64) -> Option<ClaimedGang> {
        let held = self.held.get(place)?;
        if self.ranked.insert(place) {
            let namespace = |id: AdId| pool.ad(id).map(|ad| ad.key.namespace.as_str());
            let mut namespaces = held.gang.members.iter().filter_map(|member| namespace(member.ad));
            let is_barred = namespaces.any(|namespace| self.owners.bars(namespace));
            let affordable = affordable(config);
            let owners = &mut self.owners;
            let ranks = if is_barred { None } else { partner_ranks(pool, &held.gang, &affordable, now, owners) };
            let gang = self.list.get_mut(place)?;
            for (member, rank) in gang.members.iter_mut().zip(ranks.iter().flat_map(|(ranks, _)| ranks).skip(1)) {
                member.rank = rank.bits();
            }
            if let Some(((_, steps), root)) = ranks.zip(held.gang.root().and_then(namespace)) {
                self.owners.pay(root, steps.saturating_mul(FUEL_OF_A_STEP));
            }
        }
        self.list.get(place).cloned()
    }
}

/// A gang as the rules see it: nothing is known of its ranks, nor what the administrator says of it.
fn claimed_gang(pool: &Snapshot, held: &HeldGang) -> ClaimedGang {
    ClaimedGang {
        name: held.name.clone(),
        account: held.account.to_string(),
        priority: held.priority,
        since: held.since,
        preemptions: held.preemptions,
        takes: held.takes.clone(),
        rank: 0,
        requirements: false,
        members: members(pool, &held.gang),
    }
}

/// The offers of a gang.
pub(super) fn members(pool: &Snapshot, gang: &Gang) -> Vec<GangMember> {
    let member = |member: &Member| GangMember {
        offer: pool.ad(member.ad).map(|ad| ad.key.to_string()).unwrap_or_default(),
        amounts: member.ask.allocation.iter().map(|(name, amount)| (name.clone(), Amount::from(*amount))).collect(),
        rank: 0,
    };
    gang.members.iter().skip(1).map(member).collect()
}
