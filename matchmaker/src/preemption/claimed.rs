//! The claimed gangs as the rules see them. What they have of offers, and how these rank them, is worked out once for all roots of a cycle.

use std::collections::{BTreeMap, BTreeSet};

use policy::{Amount, ClaimedGang, GangMember};

use crate::budget::{FUEL_OF_A_STEP, Owners};
use crate::gang::{Gang, Member};
use crate::model::{AdId, Config, PoolAd, Snapshot};
use crate::verify::partner_ranks;

use super::HeldGang;

/// The claimed gangs, in the order in which they are given.
pub(super) struct ClaimedGangs<'h> {
    held: &'h [HeldGang],
    pub(super) list: Vec<ClaimedGang>,
    /// By offer: the gangs that have some of it.
    by_offer: BTreeMap<AdId, Vec<usize>>,
    /// By place of a gang of which it is known how its offers rank it: the time at which they were asked.
    ranked: BTreeMap<usize, i64>,
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
        ClaimedGangs { held, list, by_offer, ranked: BTreeMap::new(), owners }
    }

    /// The gangs that have some of these offers.
    pub(super) fn at<'a>(&'a self, offers: &'a BTreeSet<AdId>) -> BTreeSet<usize> {
        offers.iter().filter_map(|offer| self.by_offer.get(offer)).flatten().copied().collect()
    }

    /// A gang with the ranks that its offers give to its job. They are 0 if the expressions of its namespaces have cost too much in this cycle.
    pub(super) fn ranked(&mut self, place: usize, pool: &Snapshot, config: &Config, now: i64) -> Option<ClaimedGang> {
        if !self.knows_ranks(place, pool, now) {
            self.evaluate_ranks(place, pool, config, now);
        }
        self.list.get(place).cloned()
    }

    /// Whether the ranks of a gang are those at this time. Questions are asked at later times, too, and ranks may read the clock.
    fn knows_ranks(&self, place: usize, pool: &Snapshot, now: i64) -> bool {
        let is_timely = |member: &Member| pool.ad(member.ad).is_some_and(PoolAd::is_timely);
        let Some((at, held)) = self.ranked.get(&place).zip(self.held.get(place)) else { return false };
        *at == now || !held.gang.members.iter().any(is_timely)
    }

    fn evaluate_ranks(&mut self, place: usize, pool: &Snapshot, config: &Config, now: i64) {
        let (Some(held), Some(gang)) = (self.held.get(place), self.list.get_mut(place)) else { return };
        self.ranked.insert(place, now);
        let namespace = |id: AdId| pool.ad(id).map(|ad| ad.key.namespace.as_str());
        let mut namespaces = held.gang.members.iter().filter_map(|member| namespace(member.ad));
        let is_barred = namespaces.any(|namespace| self.owners.bars(namespace));
        let affordable = config.with_small_limits();
        let owners = &mut self.owners;
        let ranks = if is_barred { None } else { partner_ranks(pool, &held.gang, &affordable, now, owners) };
        let known = ranks.iter().flat_map(|(ranks, _)| ranks).skip(1).map(|rank| rank.bits());
        for (member, rank) in gang.members.iter_mut().zip(known.chain(std::iter::repeat(0))) {
            member.rank = rank;
        }
        if let Some(((_, steps), root)) = ranks.zip(held.gang.root().and_then(namespace)) {
            self.owners.pay(root, steps.saturating_mul(FUEL_OF_A_STEP));
        }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use classad::{Dialect, parse_ad};
    use policy::Amounts;

    use super::*;
    use crate::model::{AdKey, Offer, Role};
    use crate::score::FixedPoint;

    fn ad(kind: &str, text: &str) -> PoolAd {
        let key = AdKey { kind: kind.into(), namespace: "eda".into(), name: "a".into() };
        PoolAd::asking(key, kind, &parse_ad(text, Dialect::Gangmatch).unwrap())
    }

    #[test]
    fn ranks_that_read_the_clock_are_those_of_the_time_that_is_asked_about() {
        let offer = Offer::of([("slots".to_owned(), 1)].into_iter().collect());
        let machine = ad("Machine", "[Type = \"Machine\"; Requirements = true; Rank = time() < 100 ? 10 : 0]");
        let machine = PoolAd { role: Role::Offers(Box::new(offer)), ..machine };
        let job = ad("Job", "[Ports = {[Label = cpu; Constraint = cpu.Type == \"Machine\"]}]");
        let pool = Snapshot::new(vec![machine, job]);
        let config = Config::product();
        let root = pool.ads().find(|(_, ad)| ad.key.kind == "Job").map(|(id, _)| id).unwrap();
        let gang = crate::plain::best(&pool, root, &BTreeSet::new(), &config, 50).gang.unwrap();
        let takes = Amounts::new();
        let (name, account) = ("a".to_owned(), Arc::from("eda"));
        let held = [HeldGang { name, account, priority: 0, since: 0, preemptions: 0, takes, gang }];
        let mut claimed = ClaimedGangs::of(&pool, &held, &config);
        let mut ranks = |now| -> Vec<Amount> {
            let gang = claimed.ranked(0, &pool, &config, now).unwrap();
            gang.members.iter().map(|member| member.rank).collect()
        };
        let ten = FixedPoint::of(&classad::Value::Integer(10)).bits();
        assert_eq!([50, 150, 50].map(&mut ranks), [vec![ten], vec![0], vec![ten]]);
    }
}
