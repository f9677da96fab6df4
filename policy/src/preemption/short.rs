//! What a gang lacks.

use std::collections::BTreeMap;

use crate::amounts::Amount;

use super::model::{Candidate, ClaimedGang, GangMember};

/// What is short, by offer and resource: every amount is above 0 at first. What is freed beyond that is below 0.
#[derive(Clone, Debug)]
pub(super) struct Short<'w>(BTreeMap<&'w str, BTreeMap<&'w str, Amount>>);

impl<'w> Short<'w> {
    /// What a candidate takes beyond what is free.
    pub(super) fn of(candidate: &'w Candidate, free: &BTreeMap<String, BTreeMap<String, Amount>>) -> Short<'w> {
        let mut short = Short(BTreeMap::new());
        for member in &candidate.members {
            let free = free.get(&member.offer);
            for (resource, amount) in &member.amounts {
                let lack = amount - free.and_then(|free| free.get(resource)).copied().unwrap_or(0);
                let of_offer = short.0.entry(&member.offer).or_default();
                of_offer.insert(resource, lack);
            }
        }
        short.0.values_mut().for_each(|of_offer| of_offer.retain(|_, lack| *lack > 0));
        short
    }

    /// A gang ends: what it holds is not short any more.
    pub(super) fn end(&mut self, gang: &ClaimedGang) {
        self.change(gang, 1);
    }

    /// A gang stays, which was to end.
    pub(super) fn stay(&mut self, gang: &ClaimedGang) {
        self.change(gang, -1);
    }

    fn change(&mut self, gang: &ClaimedGang, times: Amount) {
        for member in &gang.members {
            for (resource, lack) in self.0.get_mut(member.offer.as_str()).into_iter().flatten() {
                *lack -= times * member.amounts.get(*resource).copied().unwrap_or(0);
            }
        }
    }

    /// Whether nothing is short.
    pub(super) fn is_empty(&self) -> bool {
        self.0.values().flat_map(BTreeMap::values).all(|lack| *lack <= 0)
    }

    /// Whether nothing is short of the offers of a gang.
    pub(super) fn is_empty_at(&self, gang: &ClaimedGang) -> bool {
        let at = |member: &GangMember| self.0.get(member.offer.as_str());
        gang.members.iter().filter_map(at).flat_map(BTreeMap::values).all(|lack| *lack <= 0)
    }

    /// Whether a gang holds something short with this member: the offer is contested.
    pub(super) fn is_held_with(&self, member: &GangMember) -> bool {
        self.0.get(member.offer.as_str()).is_some_and(|of_offer| {
            let is_short = |(resource, amount): (&String, &Amount)| {
                *amount > 0 && of_offer.get(resource.as_str()).is_some_and(|lack| *lack > 0)
            };
            member.amounts.iter().any(is_short)
        })
    }

    /// Whether a gang holds something short.
    pub(super) fn is_held_by(&self, gang: &ClaimedGang) -> bool {
        gang.members.iter().any(|member| self.is_held_with(member))
    }
}
