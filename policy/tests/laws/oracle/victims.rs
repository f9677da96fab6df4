//! Which gangs are preempted, as the rules read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use policy::{Amount, Candidate, Choice, ClaimedGang, Mode, NoVictims};

use crate::oracle::order::{allows, guaranteeing};
use crate::oracle::{Forest, Rooms};
use crate::preemption::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VictimMistake {
    /// One resource that is short is enough.
    OneResource,
    /// A gang that is not needed after all is not spared.
    NobodySpared,
    /// Each gang is left alone for the same time.
    NoDoubling,
    /// Only the first gang in the order is considered.
    FirstOnly,
    /// Quotas are not tested.
    NoQuotas,
    /// In Share, what the preemptor would hold does not count.
    WithoutCandidate,
}

type Short = BTreeMap<(String, String), Amount>;

struct Try<'w> {
    world: &'w World,
    candidate: &'w Candidate,
    forest: Forest,
    chosen: Vec<(Mode, usize)>,
    mistake: Option<VictimMistake>,
}

pub(crate) fn choose(world: &World, mistake: Option<VictimMistake>) -> Result<Choice, NoVictims> {
    let mut places: Vec<usize> = (0..world.candidates.len()).collect();
    places.sort_by_key(|place| Reverse(world.candidates[*place].own));
    let results: Vec<(usize, Result<Choice, NoVictims>)> =
        places.iter().map(|place| (*place, of_one(world, *place, mistake))).collect();
    let working: Vec<&Choice> = results.iter().filter_map(|(_, result)| result.as_ref().ok()).collect();
    let own = |choice: &Choice| world.candidates[choice.candidate].own;
    let most = working.iter().map(|choice| own(choice)).max();
    let best = working.into_iter().filter(|choice| Some(own(choice)) == most).min_by_key(|choice| {
        let gangs = || choice.victims.iter().map(|place| &world.gangs[*place]);
        let ranks: Amount = gangs().map(|gang| gang.rank).sum();
        let lost: Amount = gangs().map(|gang| gang.takes["charge"] * Amount::from(world.now - gang.since)).sum();
        (choice.mode, choice.victims.len(), -ranks, lost, choice.candidate)
    });
    best.cloned().ok_or_else(|| match results.first() {
        Some((_, Err(refusal))) => *refusal,
        _ => NoVictims::NoCandidate,
    })
}

fn of_one(world: &World, place: usize, mistake: Option<VictimMistake>) -> Result<Choice, NoVictims> {
    let candidate = &world.candidates[place];
    let forest = Forest::of(&world.pool.accounts);
    let mut attempt = Try { world, candidate, forest, chosen: Vec::new(), mistake };
    // 1. What is short.
    let short = attempt.short(&[]);
    // 2. What may be preempted, in order.
    let mut legal: Vec<(Mode, usize)> =
        (0..world.gangs.len()).filter_map(|gang| Some((attempt.mode(&world.gangs[gang], &short)?, gang))).collect();
    legal.sort_by_key(|(mode, place)| {
        let gang = &world.gangs[*place];
        (*mode, Reverse(gang.rank), Reverse(gang.since), gang.takes["charge"], gang.name.clone())
    });
    if mistake == Some(VictimMistake::FirstOnly) {
        legal.truncate(1);
    }
    // 3. In that order, until nothing is short.
    for (mode, place) in legal {
        let gang = &world.gangs[place];
        if attempt.frees(gang, &attempt.short(&attempt.chosen)) && attempt.is_legal(gang, mode) {
            attempt.chosen.push((mode, place));
        }
    }
    let mut left = attempt.short(&attempt.chosen);
    if mistake == Some(VictimMistake::OneResource) && left.len() < short.len() {
        left.clear();
    }
    if !left.is_empty() {
        return Err(NoVictims::NotEnoughVictims);
    }
    // 4. Back from the last.
    for place in (0..attempt.chosen.len()).rev() {
        let mut without = attempt.chosen.clone();
        without.remove(place);
        if mistake != Some(VictimMistake::NobodySpared) && attempt.short(&without).is_empty() {
            attempt.chosen = without;
        }
    }
    // 5. Too many.
    if attempt.chosen.len() > world.permitted.max_victims {
        return Err(NoVictims::TooManyVictims);
    }
    // 6. Quotas.
    let (left, account) = (attempt.left(None), &world.preemptor.account);
    if mistake != Some(VictimMistake::NoQuotas) && !allows(&left, &world.pool.total, account, &candidate.takes) {
        return Err(NoVictims::QuotaExceeded);
    }
    let mode = attempt.chosen.iter().map(|(mode, _)| *mode).max().unwrap_or(Mode::None);
    Ok(Choice { candidate: place, victims: attempt.chosen.iter().map(|(_, place)| *place).collect(), mode })
}

impl Try<'_> {
    fn short(&self, chosen: &[(Mode, usize)]) -> Short {
        let mut short = Short::new();
        for member in &self.candidate.members {
            for (resource, takes) in &member.amounts {
                let free = self.world.free.get(&member.offer).and_then(|free| free.get(resource)).copied().unwrap_or(0);
                let ends = chosen.iter().flat_map(|(_, gang)| &self.world.gangs[*gang].members);
                let at_offer = ends.filter(|other| other.offer == member.offer);
                let freed: Amount = at_offer.map(|other| other.amounts.get(resource).copied().unwrap_or(0)).sum();
                if takes - free - freed > 0 {
                    short.insert((member.offer.clone(), resource.clone()), takes - free - freed);
                }
            }
        }
        short
    }

    /// The offers at which a gang holds something short.
    fn contested(&self, gang: &ClaimedGang, short: &Short) -> Vec<String> {
        let holds = |offer: &str, resource: &str| {
            let members = gang.members.iter().filter(|member| member.offer == offer);
            members.map(|member| member.amounts.get(resource).copied().unwrap_or(0)).sum::<Amount>() > 0
        };
        short.keys().filter(|(offer, resource)| holds(offer, resource)).map(|(offer, _)| offer.clone()).collect()
    }

    fn frees(&self, gang: &ClaimedGang, short: &Short) -> bool {
        !self.contested(gang, short).is_empty()
    }

    fn mode(&self, gang: &ClaimedGang, short: &Short) -> Option<Mode> {
        let doubled = if self.mistake == Some(VictimMistake::NoDoubling) { 0 } else { gang.preemptions.min(20) };
        if self.world.now - gang.since < self.world.permitted.min_runtime_seconds * 2_i64.pow(doubled) {
            return None;
        }
        let contested = self.contested(gang, short);
        if contested.is_empty() {
            return None;
        }
        let all = |holds: fn(Amount, Amount) -> bool| {
            contested.iter().all(|offer| {
                let ours = self.candidate.members.iter().find(|member| member.offer == *offer).unwrap().rank;
                gang.members.iter().filter(|member| member.offer == *offer).all(|member| holds(ours, member.rank))
            })
        };
        let not_below = all(|ours, theirs| ours >= theirs) && gang.requirements;
        let reasons = &self.world.permitted.reasons;
        if reasons.contains(&Mode::Rank) && all(|ours, theirs| ours > theirs) {
            return Some(Mode::Rank);
        }
        let others = [Mode::Reclaim, Mode::Share, Mode::Priority];
        others.into_iter().find(|mode| reasons.contains(mode) && not_below && self.is_legal(gang, *mode))
    }

    fn is_legal(&self, gang: &ClaimedGang, mode: Mode) -> bool {
        match mode {
            Mode::None => false,
            Mode::Rank => true,
            Mode::Reclaim => !self.is_guaranteed(gang) && self.is_reclaimed(gang),
            Mode::Share => !self.is_guaranteed(gang) && self.is_above_share(gang),
            Mode::Priority => {
                gang.account == self.world.preemptor.account && self.world.preemptor.priority > gang.priority
            }
        }
    }

    /// Holdings without the gangs chosen, and without one more.
    fn left(&self, one_more: Option<&ClaimedGang>) -> Forest {
        let mut forest = self.forest.clone();
        for gang in self.chosen.iter().map(|(_, place)| &self.world.gangs[*place]).chain(one_more) {
            forest.hold(&gang.account, &gang.takes, -1);
        }
        forest
    }

    /// The accounts of one that are below the lowest account that it has in common with the other, from it up.
    fn side<'f>(&'f self, account: &'f str, other: &str) -> Vec<&'f str> {
        let others = self.forest.path(other);
        self.forest.path(account).into_iter().take_while(|node| !others.contains(node)).collect()
    }

    fn is_guaranteed(&self, gang: &ClaimedGang) -> bool {
        let left = self.left(None);
        self.side(&gang.account, &self.world.preemptor.account).into_iter().any(|node| {
            gang.takes.iter().any(|(counter, amount)| {
                let rooms = Rooms::of(&left, &self.world.pool.total, counter);
                *amount > 0 && rooms.min(node) > 0 && rooms.held(node) <= rooms.grant(node)
            })
        })
    }

    fn is_reclaimed(&self, gang: &ClaimedGang) -> bool {
        if gang.account == self.world.preemptor.account {
            return false;
        }
        let (left, total) = (self.left(None), &self.world.pool.total);
        let branch = self.side(&gang.account, &self.world.preemptor.account).pop();
        let ours = self.side(&self.world.preemptor.account, &gang.account);
        let mut counters = ours.into_iter().flat_map(|node| guaranteeing(&left, total, node, &self.candidate.takes));
        counters.any(|counter| {
            let rooms = Rooms::of(&left, total, &counter);
            let own = || left.get(&gang.account).unwrap().held.get(counter.as_str()).copied().unwrap_or(0);
            // A leaf of its own is granted nothing.
            let borrows = branch.map_or_else(|| own() > 0, |branch| rooms.held(branch) > rooms.grant(branch));
            gang.takes.get(counter.as_str()).is_some_and(|amount| *amount > 0) && borrows
        })
    }

    /// The charge that the branch of an account holds, seen from another one, and its weight.
    fn branch(&self, forest: &Forest, account: &str, other: &str) -> (Amount, Amount) {
        match self.side(account, other).pop() {
            Some(branch) => (forest.held(branch, "charge"), forest.get(branch).unwrap().weight.into()),
            None => (forest.get(account).unwrap().held.get("charge").copied().unwrap_or(0), 1000),
        }
    }

    fn is_above_share(&self, gang: &ClaimedGang) -> bool {
        let chosen =
            self.chosen.iter().filter(|(mode, _)| *mode == Mode::Share).map(|(_, place)| &self.world.gangs[*place]);
        let preemptor = &self.world.preemptor.account;
        let left = self.left(Some(gang));
        chosen.chain([gang]).all(|victim| {
            let (ours, our_weight) = self.branch(&self.forest, preemptor, &victim.account);
            let (theirs, their_weight) = self.branch(&left, &victim.account, preemptor);
            let candidate =
                if self.mistake == Some(VictimMistake::WithoutCandidate) { 0 } else { self.candidate.takes["charge"] };
            (theirs + victim.takes["charge"]) * our_weight > (ours + candidate) * their_weight
        })
    }
}
