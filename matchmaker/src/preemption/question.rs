//! The question for one root: with which gang, and with which victims?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use policy::{Amount, Amounts, Candidate, ChoiceCost, ClaimedGang, Mode, NoVictims, Preemption, Preemptor, Quotas};

use crate::budget::FUEL_OF_A_STEP;
use crate::charges::{Accounts, Prices};
use crate::gang::Gang;
use crate::left_over::{RootSteps, SideSearches};
use crate::model::{AdId, Config, PoolAd, Root, Snapshot};
use crate::verify::partner_ranks;

use super::claimed::{ClaimedGangs, members};
use super::terms::{PairValues, PreemptionPair};
use super::{NotPreempted, Preempting, Proposal};

/// The most gangs that are tried for one root.
const CANDIDATES_MAX: usize = 16;

/// What one root is decided on.
pub(super) struct PreemptionQuestion<'q> {
    /// The pool, without what ends anyway.
    pub(super) pool: &'q Snapshot,
    pub(super) accounts: &'q Accounts,
    pub(super) preempting: &'q Preempting<'q>,
    pub(super) root: &'q Root,
    pub(super) account: &'q Arc<str>,
    /// What is held and granted, without what ends anyway.
    pub(super) quotas: &'q Quotas<'q>,
    /// Gangs that end for others, by their places.
    pub(super) ended: &'q BTreeSet<usize>,
    pub(super) config: &'q Config,
    pub(super) now: i64,
}

/// By offer and resource, what is free.
type Free = BTreeMap<String, BTreeMap<String, Amount>>;

/// The victims for one gang: their places, the last of the modes that were needed, and what that is compared by.
type VictimsFound = (Vec<usize>, Mode, ChoiceCost);

impl PreemptionQuestion<'_> {
    /// The same as [`ask`](Self::ask); where gangs may not be preempted, whether that is only because they are too young.
    pub(super) fn answer(
        &self,
        claimed: &mut ClaimedGangs<'_>,
        steps: &mut RootSteps,
        (search, prices): (&mut SideSearches<'_>, &mut Prices),
    ) -> Result<Proposal, NotPreempted> {
        let answer = self.ask(claimed, steps, (&mut *search, &mut *prices));
        if !matches!(answer, Err(NotPreempted::Refused(why)) if why != NoVictims::QuotaExceeded) {
            return answer;
        }
        match self.old_enough_from(claimed, steps, (search, prices)) {
            Some(from) => Err(NotPreempted::TooYoung(from)),
            None if steps.is_cut() => Err(NotPreempted::CutShort),
            None => answer,
        }
    }

    /// The best gang of the root for which victims are found. Without victims if gangs that are ending make room for it.
    fn ask(
        &self,
        claimed: &mut ClaimedGangs<'_>,
        steps: &mut RootSteps,
        (search, prices): (&mut SideSearches<'_>, &mut Prices),
    ) -> Result<Proposal, NotPreempted> {
        let possible = self.possible(claimed, steps);
        let freed = possible.iter().filter_map(|place| self.preempting.held.get(*place));
        let mut view = self.pool.freed(freed.flat_map(|gang| gang.gang.asks()));
        let mut root = self.root.clone();
        let (mut best, mut refusal) = (None::<(Gang, VictimsFound)>, None);
        for _ in 0..CANDIDATES_MAX {
            if self.config.stop.is_set() || steps.left() == 0 {
                steps.cut();
                break;
            }
            view.roots = vec![root.clone()];
            let config = Config { cycle_steps_max: steps.left(), ..self.config.clone() };
            let cycle = search.cycle(&mut view, &config, self.now);
            steps.pay(cycle.costs.spent);
            if !cycle.costs.over_budget.is_empty() {
                steps.cut();
            }
            let Some(gang) = cycle.gangs.into_iter().next() else { break };
            if best.as_ref().is_some_and(|(best, _)| best.score.own > gang.score.own) {
                break;
            }
            let contested = gang.members.iter().find(|member| !self.pool.fits(member)).map(|member| member.ad);
            let mut seats = self.accounts.seats.of_gang((self.pool, &gang), self.account);
            let charge = self.accounts.charge_of((self.pool, &gang), self.account, &mut seats, prices);
            steps.burn(prices.settle(self.pool, self.root.ad, search.owners()));
            match self.victims(claimed, &possible, (&gang, charge.takes), steps) {
                Err(why) => refusal = refusal.or(Some(why)),
                Ok(found) => {
                    if best.as_ref().is_none_or(|(_, best)| found.2 < best.2) {
                        best = Some((gang, found));
                    }
                }
            }
            // Without one, nothing has to end for it but what ends anyway.
            let Some(contested) = contested.and_then(|ad| self.pool.ad(ad)) else { break };
            root.exclusions.insert(contested.key.clone());
        }
        match best {
            None if steps.is_cut() => Err(NotPreempted::CutShort),
            None => Err(refusal.unwrap_or(NotPreempted::Refused(NoVictims::NoCandidate))),
            Some((gang, (victims, mode, _))) => Ok(Proposal { root: self.root.ad, gang, victims, mode }),
        }
    }

    /// From when on victims are found for the root, where nothing but their age is against it now. The question is asked at the times at which
    /// gangs will have run for as long as they run undisturbed: first at the last of them, then by halves, for as long as there are steps.
    fn old_enough_from(
        &self,
        claimed: &mut ClaimedGangs<'_>,
        steps: &mut RootSteps,
        (search, prices): (&mut SideSearches<'_>, &mut Prices),
    ) -> Option<i64> {
        let count = self.preempting.held.len();
        let last =
            if steps.look_at(count) { self.undisturbed_until(0..count).into_iter().last()? } else { return None };
        // Young gangs that may not end for it at any age cost no search.
        let times = self.undisturbed_until(self.at(last).possible(claimed, steps));
        let (last, earlier) = times.split_last()?;
        let mut finds = |time: &i64| {
            let found = self.at(*time).ask(claimed, steps, (&mut *search, &mut *prices));
            found.is_ok_and(|proposal| !proposal.victims.is_empty())
        };
        if !finds(last) {
            return None;
        }
        let first = earlier.partition_point(|time| !finds(time));
        Some(earlier.get(first).copied().unwrap_or(*last))
    }

    /// The times from now on until which these gangs run undisturbed, the next ones first.
    fn undisturbed_until(&self, places: impl IntoIterator<Item = usize>) -> Vec<i64> {
        let permitted = &self.preempting.terms.permitted;
        let gangs = places.into_iter().filter(|place| !self.ended.contains(place));
        let until = gangs.filter_map(|place| self.preempting.held.get(place));
        let until = until.map(|gang| permitted.undisturbed_until(gang.since, gang.preemptions));
        let times: BTreeSet<i64> = until.filter(|until| *until > self.now).collect();
        times.into_iter().collect()
    }

    /// The same question at another time.
    fn at(&self, now: i64) -> PreemptionQuestion<'_> {
        PreemptionQuestion { now, ..*self }
    }

    /// Whether victims are found for this gang, with which its account holds so much more.
    pub(super) fn is_answered_by(&self, claimed: &mut ClaimedGangs<'_>, gang: &Gang, takes: Amounts) -> bool {
        let mut steps = RootSteps::any();
        let possible = self.possible(claimed, &mut steps);
        self.victims(claimed, &possible, (gang, takes), &mut steps).is_ok()
    }

    /// The gangs that may be preempted for the root in some mode, with what the administrator says of each and the root. Those that nothing is
    /// asked about for want of steps may not. The look at all of them takes steps, too.
    fn possible(&self, claimed: &mut ClaimedGangs<'_>, steps: &mut RootSteps) -> BTreeSet<usize> {
        if !steps.look_at(claimed.list.len()) {
            return BTreeSet::new();
        }
        let mut pair = PreemptionPair {
            pool: self.pool,
            accounts: self.accounts,
            quotas: self.quotas,
            preemptor: (self.root.ad, self.account),
            config: self.config,
            now: self.now,
            known: BTreeMap::new(),
        };
        // Nothing is asked about those that may not be preempted whatever the administrator says.
        claimed.list.iter_mut().for_each(|gang| gang.requirements = true);
        let possible = self.preemption(&Free::new(), &claimed.list).possible(&self.preemptor());
        let mut possible: BTreeSet<usize> = possible.into_iter().collect();
        for place in 0..claimed.list.len() {
            let is_asked = possible.contains(&place) && !self.ended.contains(&place) && !self.config.stop.is_set();
            let values = if is_asked { self.values(&mut pair, place, claimed, steps) } else { PairValues::default() };
            let gang = claimed.list.get_mut(place);
            gang.into_iter().for_each(|gang| (gang.requirements, gang.rank) = (values.requirements, values.rank));
        }
        let by_rank = self.preempting.terms.permitted.reasons.contains(&Mode::Rank);
        let required = |place: &usize| by_rank || claimed.list.get(*place).is_some_and(|gang| gang.requirements);
        possible.retain(|place| !self.ended.contains(place) && required(place));
        possible
    }

    /// What the administrator says of one claimed gang and the root. The submitter of the root pays for what is read of the root, and the
    /// namespace of the gang for what is read of the gang beyond what is usual; if it has paid too much, nothing more is read of its gangs.
    fn values(
        &self,
        pair: &mut PreemptionPair<'_>,
        place: usize,
        claimed: &mut ClaimedGangs<'_>,
        steps: &mut RootSteps,
    ) -> PairValues {
        let Some(held) = self.preempting.held.get(place) else { return PairValues::default() };
        if steps.left() == 0 {
            steps.cut();
            return PairValues::default();
        }
        let root = held.gang.root().and_then(|root| self.pool.ad(root));
        let namespace = root.map_or("", |root| root.key.namespace.as_str());
        let values = self.preempting.terms.evaluate(pair, held, !claimed.owners.bars(namespace));
        steps.burn(values.own_fuel);
        let excess = values.victim_fuel.saturating_sub(FUEL_OF_A_STEP);
        if excess > 0 {
            claimed.owners.pay(namespace, excess);
        }
        values
    }

    fn preemptor(&self) -> Preemptor {
        Preemptor { account: self.account.to_string(), priority: i64::from(self.root.priority) }
    }

    /// The victims for one gang, with which the account holds so much more, of those that are possible.
    fn victims(
        &self,
        claimed: &mut ClaimedGangs<'_>,
        possible: &BTreeSet<usize>,
        (gang, takes): (&Gang, Amounts),
        steps: &mut RootSteps,
    ) -> Result<VictimsFound, NotPreempted> {
        let wanted: BTreeSet<AdId> = gang.members.iter().map(|member| member.ad).collect();
        let places: Vec<usize> = claimed.at(&wanted).intersection(possible).copied().collect();
        let amounts = |place: &usize| {
            let members = claimed.list.get(*place).map_or(&[][..], |gang| &gang.members);
            members.iter().map(|member| 1 + member.amounts.len()).sum::<usize>()
        };
        if !steps.look_at(places.iter().map(amounts).sum()) {
            return Err(NotPreempted::CutShort);
        }
        let ranked = |place: &usize| claimed.ranked(*place, self.pool, self.config, self.now);
        let list: Vec<ClaimedGang> = places.iter().filter_map(ranked).collect();
        let free: Free = wanted.iter().filter_map(|offer| self.free(*offer)).collect();
        let candidate = self.candidate((gang, takes), claimed, steps);
        let found = self.preemption(&free, &list).victims(&self.preemptor(), &candidate);
        let (victims, mode, cost) = found.map_err(NotPreempted::Refused)?;
        Ok((victims.iter().filter_map(|index| places.get(*index)).copied().collect(), mode, cost))
    }

    fn preemption<'p>(&'p self, free: &'p Free, gangs: &'p [ClaimedGang]) -> Preemption<'p> {
        Preemption { permitted: &self.preempting.terms.permitted, now: self.now, quotas: self.quotas, free, gangs }
    }

    /// What of an offer is free; below 0, if more is held for others than will be free.
    fn free(&self, id: AdId) -> Option<(String, BTreeMap<String, Amount>)> {
        let (ad, offer) = self.pool.ad(id).and_then(|ad| Some((ad, ad.offer()?)))?;
        let usage = self.pool.usage(id, offer);
        let left = |(name, all): (&String, &i64)| (name.clone(), Amount::from(all.saturating_sub(usage.used(name))));
        Some((ad.key.to_string(), offer.capacity.iter().map(left).collect()))
    }

    fn candidate(
        &self,
        (gang, takes): (&Gang, Amounts),
        claimed: &mut ClaimedGangs<'_>,
        steps: &mut RootSteps,
    ) -> Candidate {
        let mut members = members(self.pool, gang);
        // A claim that shares a seat which is taken already takes nothing more.
        for (member, own) in members.iter_mut().zip(gang.members.iter().skip(1)) {
            if own.ask.share.is_some() && self.pool.fits(own) {
                let offer = self.pool.ad(own.ad).and_then(PoolAd::offer);
                let usage = offer.map(|offer| self.pool.usage(own.ad, offer));
                let has_seat = own.ask.share.as_ref().zip(usage).is_some_and(|(key, all)| all.shared.contains_key(key));
                if has_seat {
                    member.amounts.clear();
                }
            }
        }
        let affordable = self.config.with_small_limits();
        let ranks = partner_ranks(self.pool, gang, &affordable, self.now, &mut claimed.owners);
        let (ranks, cost) = ranks.unwrap_or_default();
        steps.pay(cost);
        for (member, rank) in members.iter_mut().zip(ranks.into_iter().skip(1)) {
            member.rank = rank.bits();
        }
        Candidate { own: gang.score.own.bits(), takes, members }
    }
}
