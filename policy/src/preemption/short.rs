//! What a gang lacks.

use std::collections::BTreeMap;

use crate::amounts::Amount;

use super::model::{Candidate, ClaimedGang, GangMember};

/// What is short, by offer and resource; every amount is above 0.
#[derive(Clone, Debug)]
pub(super) struct Short<'w>(BTreeMap<(&'w str, &'w str), Amount>);

impl<'w> Short<'w> {
    /// What a candidate takes beyond what is free.
    pub(super) fn of(candidate: &'w Candidate, free: &BTreeMap<String, BTreeMap<String, Amount>>) -> Short<'w> {
        let mut short = Short(BTreeMap::new());
        for member in &candidate.members {
            let free = free.get(&member.offer);
            for (resource, amount) in &member.amounts {
                let lack = amount - free.and_then(|free| free.get(resource)).copied().unwrap_or(0);
                short.0.insert((&member.offer, resource), lack);
            }
        }
        short.0.retain(|_, lack| *lack > 0);
        short
    }

    /// What is short once some gangs have ended.
    pub(super) fn without<'g>(&self, gangs: impl Iterator<Item = &'g ClaimedGang>) -> Short<'w> {
        let mut short = self.clone();
        for member in gangs.flat_map(|gang| &gang.members) {
            for ((offer, resource), lack) in &mut short.0 {
                if *offer == member.offer {
                    *lack -= member.amounts.get(*resource).copied().unwrap_or(0);
                }
            }
        }
        short.0.retain(|_, lack| *lack > 0);
        short
    }

    /// Whether nothing is short.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a gang holds something short with this member: the offer is contested.
    pub(super) fn is_held_with(&self, member: &GangMember) -> bool {
        let is_short = |(resource, amount): (&String, &Amount)| {
            *amount > 0 && self.0.contains_key(&(member.offer.as_str(), resource.as_str()))
        };
        member.amounts.iter().any(is_short)
    }

    /// Whether a gang holds something short.
    pub(super) fn is_held_by(&self, gang: &ClaimedGang) -> bool {
        gang.members.iter().any(|member| self.is_held_with(member))
    }
}
