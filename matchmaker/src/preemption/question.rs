//! The question for one root: with which gang, and with which victims?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use policy::{Amount, Candidate, ClaimedGang, GangMember, Mode, Preemption, Preemptor, Quotas, Refusal};

use crate::charges::{Policy, Prices};
use crate::gang::{Gang, Member};
use crate::model::{AdId, Config, PoolAd, Root, Snapshot};
use crate::verify::partner_ranks;

use super::terms::PreemptionPair;
use super::{FindGang, HeldGang, NotPreempted, Preempting, Proposal, claimed};

/// The most gangs that are tried for one root.
const CANDIDATES_MAX: usize = 16;

/// What one root is decided on.
pub(super) struct PreemptionQuestion<'q> {
    /// The pool, without what ends anyway.
    pub(super) pool: &'q Snapshot,
    pub(super) policy: &'q Policy,
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

impl PreemptionQuestion<'_> {
    /// The best gang of the root for which victims are found.
    pub(super) fn ask(&self, search: &mut FindGang<'_>) -> Result<Proposal, NotPreempted> {
        let (preemptor, mut gangs) = (self.preemptor(), self.gangs());
        let list: Vec<ClaimedGang> = gangs.values().cloned().collect();
        let places: Vec<usize> = gangs.keys().copied().collect();
        let possible = self.preemption(&Free::new(), &list).possible(&preemptor);
        let possible: BTreeSet<usize> = possible.into_iter().filter_map(|index| places.get(index)).copied().collect();
        gangs.retain(|place, _| possible.contains(place));
        let freed = possible.iter().filter_map(|place| self.preempting.held.get(*place));
        let freed = freed.flat_map(|gang| &gang.gang.members).map(|member| (member.ad, &member.ask));
        let mut view = self.pool.freed(freed);
        let mut root = self.root.clone();
        let (mut found, mut answer) = (Vec::<Gang>::new(), Err(Refusal::NoCandidate));
        while found.len() < CANDIDATES_MAX && !self.config.stop.is_set() {
            view.roots = vec![root.clone()];
            let Some(gang) = search(&view, self.config, self.now) else { break };
            if answer.is_ok() && found.last().is_some_and(|last| last.score.own > gang.score.own) {
                break;
            }
            let contested = gang.members.iter().find(|member| self.is_contested(member)).map(|member| member.ad);
            found.push(gang);
            answer = self.choose(&preemptor, &gangs, &found);
            // Without one, nothing has to end for it but what ends anyway.
            let Some(contested) = contested.and_then(|ad| self.pool.ad(ad)) else { break };
            root.exclusions.insert(contested.key.clone());
        }
        let (index, victims, mode) = answer.map_err(NotPreempted::Refused)?;
        let gang = found.into_iter().nth(index).ok_or(NotPreempted::Refused(Refusal::NoCandidate))?;
        match mode {
            Mode::None => Err(NotPreempted::Ending),
            _ => Ok(Proposal { root: self.root.ad, gang, victims, mode }),
        }
    }

    /// Whether victims are found for this gang.
    pub(super) fn is_answered_by(&self, gang: &Gang) -> bool {
        self.choose(&self.preemptor(), &self.gangs(), std::slice::from_ref(gang)).is_ok()
    }

    fn preemptor(&self) -> Preemptor {
        Preemptor { account: self.account.to_string(), priority: i64::from(self.root.priority) }
    }

    /// The claimed gangs by their places, with what the administrator says of each and the root.
    fn gangs(&self) -> BTreeMap<usize, ClaimedGang> {
        let pair = PreemptionPair {
            pool: self.pool,
            policy: self.policy,
            quotas: self.quotas,
            preemptor: (self.root.ad, self.account),
            config: self.config,
            now: self.now,
        };
        let mut gangs = claimed(self.pool, self.preempting, self.ended);
        for (place, gang) in &mut gangs {
            let held = self.preempting.held.get(*place);
            (gang.requirements, gang.rank) =
                held.map_or((false, 0), |held| self.preempting.terms.evaluate(&pair, held));
        }
        gangs
    }

    /// Whether an offer has less free than a gang takes of it.
    fn is_contested(&self, member: &Member) -> bool {
        let offer = self.pool.ad(member.ad).and_then(PoolAd::offer);
        offer.is_some_and(|offer| self.pool.usage(member.ad, offer).fits(&offer.capacity, &member.ask).is_err())
    }

    /// The choice among these gangs: its index, the places of the victims, and the mode.
    fn choose(
        &self,
        preemptor: &Preemptor,
        gangs: &BTreeMap<usize, ClaimedGang>,
        found: &[Gang],
    ) -> Result<(usize, Vec<usize>, Mode), Refusal> {
        let wanted: BTreeSet<AdId> = found.iter().flat_map(|gang| &gang.members).map(|member| member.ad).collect();
        let touches = |place: &usize| {
            let held = self.preempting.held.get(*place);
            held.is_some_and(|held| held.gang.members.iter().any(|member| wanted.contains(&member.ad)))
        };
        let (places, list): (Vec<usize>, Vec<ClaimedGang>) = gangs
            .iter()
            .filter(|(place, _)| touches(place))
            .map(|(place, gang)| (*place, self.with_ranks(*place, gang)))
            .unzip();
        let free: Free = wanted.iter().filter_map(|offer| self.free(*offer)).collect();
        let candidates: Vec<Candidate> = found.iter().map(|gang| self.candidate(gang)).collect();
        let choice = self.preemption(&free, &list).choose(preemptor, &candidates)?;
        let victims = choice.victims.iter().filter_map(|index| places.get(*index)).copied().collect();
        Ok((choice.candidate, victims, choice.mode))
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

    /// A gang with the ranks that its offers give to its job.
    fn with_ranks(&self, place: usize, gang: &ClaimedGang) -> ClaimedGang {
        let held = self.preempting.held.get(place);
        let ranks = held.and_then(|held| partner_ranks(self.pool, &held.gang, self.config, self.now));
        let mut gang = gang.clone();
        for (member, rank) in gang.members.iter_mut().zip(ranks.unwrap_or_default().into_iter().skip(1)) {
            member.rank = rank.bits();
        }
        gang
    }

    fn candidate(&self, gang: &Gang) -> Candidate {
        let mut seats = self.policy.seats.clone();
        let mut prices = Prices::of(self.config, self.now);
        let charge = self.policy.charge_of((self.pool, gang), self.account, &mut seats, &mut prices);
        let mut members = members(self.pool, gang);
        // Who sits down on a seat that is taken already takes nothing more.
        for (member, own) in members.iter_mut().zip(gang.members.iter().skip(1)) {
            if own.ask.share.is_some() && !self.is_contested(own) {
                let offer = self.pool.ad(own.ad).and_then(PoolAd::offer);
                let usage = offer.map(|offer| self.pool.usage(own.ad, offer));
                let has_seat = own.ask.share.as_ref().zip(usage).is_some_and(|(key, all)| all.shared.contains_key(key));
                if has_seat {
                    member.amounts.clear();
                }
            }
        }
        let ranks = partner_ranks(self.pool, gang, self.config, self.now).unwrap_or_default();
        for (member, rank) in members.iter_mut().zip(ranks.into_iter().skip(1)) {
            member.rank = rank.bits();
        }
        Candidate { own: gang.score.own.bits(), takes: charge.takes, members }
    }
}

/// A gang as the rules see it: nothing is known of its ranks, nor what the administrator says of it.
pub(super) fn claimed_gang(pool: &Snapshot, held: &HeldGang) -> ClaimedGang {
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

fn members(pool: &Snapshot, gang: &Gang) -> Vec<GangMember> {
    let member = |member: &Member| GangMember {
        offer: pool.ad(member.ad).map(|ad| ad.key.to_string()).unwrap_or_default(),
        amounts: member.ask.allocation.iter().map(|(name, amount)| (name.clone(), Amount::from(*amount))).collect(),
        rank: 0,
    };
    gang.members.iter().skip(1).map(member).collect()
}
