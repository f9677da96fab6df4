//! The victims of one candidate.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::amounts::Amount;
use crate::quota::Quotas;
use crate::victims::mode::Legality;
use crate::victims::{Candidate, ClaimedGang, GangMember, Mode, Preemption, Preemptor, Refusal, charge};

/// What is short, by offer and resource; all above 0.
pub(super) type Short<'w> = BTreeMap<(&'w str, &'w str), Amount>;

impl Preemption<'_> {
    /// Places of the gangs that end for this candidate, in the order in which they are chosen, and the last of their modes.
    ///
    /// The gangs that may be preempted are visited once, in the order of their modes, of the administrator's rank, and then the youngest and the
    /// cheapest first. Each that frees something still short, and is still legal given those chosen before it, is chosen. Then, from the last to the first,
    /// each that is not needed after all is spared.
    pub(super) fn victims(&self, preemptor: &Preemptor, candidate: &Candidate) -> Result<(Vec<usize>, Mode), Refusal> {
        let own_roots = self.quotas.tree().own_roots(&preemptor.account).ok_or(Refusal::NoCandidate)?;
        let short = self.short(candidate);
        let mut legality = Legality::new(self, preemptor, candidate, own_roots);
        let mut chosen: Vec<(Mode, usize)> = Vec::new();
        for (mode, place, gang) in self.in_order(&legality, &short) {
            let still_short = self.left(&short, &chosen);
            if frees(gang, &still_short) && legality.is_legal(gang, mode) {
                legality.choose(gang, mode);
                chosen.push((mode, place));
            }
        }
        if !self.left(&short, &chosen).is_empty() {
            return Err(Refusal::NotEnoughVictims);
        }
        let mut quotas = legality.left;
        self.spare(&short, &mut chosen, &mut quotas);
        if chosen.len() > self.permitted.max_victims {
            return Err(Refusal::TooManyVictims);
        }
        if !quotas.allows(own_roots, &candidate.takes) {
            return Err(Refusal::QuotaExceeded);
        }
        let mode = chosen.iter().map(|(mode, _)| *mode).max().unwrap_or(Mode::None);
        Ok((chosen.into_iter().map(|(_, place)| place).collect(), mode))
    }

    /// What a candidate takes beyond what is free.
    fn short<'c>(&self, candidate: &'c Candidate) -> Short<'c> {
        let free = |offer: &str, resource: &str| self.free.get(offer).and_then(|free| free.get(resource)).copied();
        let lacks = |member: &'c GangMember| {
            let of_each = member.amounts.iter();
            of_each.map(|(resource, amount)| {
                let lack = amount - free(&member.offer, resource).unwrap_or(0);
                ((member.offer.as_str(), resource.as_str()), lack)
            })
        };
        candidate.members.iter().flat_map(lacks).filter(|(_, lack)| *lack > 0).collect()
    }

    /// The gangs that may be preempted with nothing chosen yet, in the order in which they are considered.
    fn in_order(&self, legality: &Legality<'_>, short: &Short<'_>) -> Vec<(Mode, usize, &ClaimedGang)> {
        let may_end = |(place, gang)| {
            let mode = (frees(gang, short) && self.is_old_enough(gang)).then(|| legality.mode(gang, short))??;
            Some((mode, place, gang))
        };
        let mut gangs: Vec<(Mode, usize, &ClaimedGang)> = self.gangs.iter().enumerate().filter_map(may_end).collect();
        gangs.sort_by_key(|(mode, _, gang)| {
            (*mode, Reverse(gang.rank), Reverse(gang.since), charge(&gang.takes), gang.name.as_str())
        });
        gangs
    }

    /// Whether a gang has run for as long as it is left alone.
    fn is_old_enough(&self, gang: &ClaimedGang) -> bool {
        let run = i128::from(self.now) - i128::from(gang.since);
        run >= i128::from(self.permitted.min_runtime_seconds) << gang.preemptions.min(20)
    }

    /// What is short without the gangs chosen.
    fn left<'s>(&self, short: &Short<'s>, chosen: &[(Mode, usize)]) -> Short<'s> {
        let mut left = short.clone();
        for gang in chosen.iter().filter_map(|(_, place)| self.gangs.get(*place)) {
            for (offer, resource, amount) in freed(gang) {
                if let Some((key, _)) = short.get_key_value(&(offer, resource)) {
                    *left.entry(*key).or_default() -= amount;
                }
            }
        }
        left.retain(|_, lack| *lack > 0);
        left
    }

    /// Spares those that are not needed, from the last one chosen to the first; in the quotas they hold again what they do.
    fn spare(&self, short: &Short<'_>, chosen: &mut Vec<(Mode, usize)>, quotas: &mut Quotas<'_>) {
        for index in (0..chosen.len()).rev() {
            let spared = chosen.remove(index);
            if !self.left(short, chosen).is_empty() {
                chosen.insert(index, spared);
            } else if let Some(gang) = self.gangs.get(spared.1)
                && let Some(own_roots) = quotas.tree().own_roots(&gang.account)
            {
                quotas.take(own_roots, &gang.takes);
            }
        }
    }
}

/// What the end of a gang gives back.
pub(super) fn freed(gang: &ClaimedGang) -> impl Iterator<Item = (&str, &str, Amount)> {
    let of = |member: &'_ GangMember| member.amounts.iter().map(move |(resource, amount)| (member.offer.as_str(), resource.as_str(), *amount));
    gang.members.iter().flat_map(of)
}

/// Whether the end of a gang gives back something that is short.
fn frees(gang: &ClaimedGang, short: &Short<'_>) -> bool {
    freed(gang).any(|(offer, resource, amount)| amount > 0 && short.contains_key(&(offer, resource)))
}
