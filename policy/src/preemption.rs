//! Preemption: which gangs have to end so that a waiting job can have one.

mod mode;
mod model;
mod selection;
mod short;

use std::cmp::Reverse;

use crate::amounts::{Amount, Amounts, taken_by_gang};

use self::mode::Legality;
use self::model::charge;
pub use self::model::{
    Candidate, Choice, ChoiceCost, ClaimedGang, GangMember, Mode, NoVictims, Permitted, Preemption, Preemptor,
};
use self::selection::{is_old_enough, victims};

impl Preemption<'_> {
    /// The best choice for a job among gangs that it could have.
    ///
    /// Of those that it prefers most and that victims can be found for, it is the one with the mildest mode, the fewest victims, the largest
    /// sum of their ranks, and the least work lost, measured in charge times seconds.
    ///
    /// # Errors
    /// Why there is none: what the first candidate, in the order of preference, failed by.
    pub fn choose(&self, preemptor: &Preemptor, candidates: &[Candidate]) -> Result<Choice, NoVictims> {
        let mut by_preference: Vec<(usize, &Candidate)> = candidates.iter().enumerate().collect();
        by_preference.sort_by_key(|(_, candidate)| Reverse(candidate.own));
        let mut best: Option<(ChoiceCost, Choice)> = None;
        let mut refusal = None;
        for (place, candidate) in by_preference {
            if best.as_ref().is_some_and(|(cost, _)| cost.own < Reverse(candidate.own)) {
                break;
            }
            match self.victims(preemptor, candidate) {
                Err(why) => refusal = refusal.or(Some(why)),
                Ok((victims, mode, cost)) => {
                    if best.as_ref().is_none_or(|(best, _)| cost < *best) {
                        best = Some((cost, Choice { candidate: place, victims, mode }));
                    }
                }
            }
        }
        best.map(|(_, choice)| choice).ok_or(refusal.unwrap_or(NoVictims::NoCandidate))
    }

    /// The victims for one gang that a job could have: their places in the list of claimed gangs, the last of the modes that were needed, and
    /// what that is compared by with the victims for another gang of the same job.
    ///
    /// # Errors
    /// Why there are none.
    pub fn victims(
        &self,
        preemptor: &Preemptor,
        candidate: &Candidate,
    ) -> Result<(Vec<usize>, Mode, ChoiceCost), NoVictims> {
        let (victims, mode) = victims(self, preemptor, candidate)?;
        let cost = self.cost(candidate, &victims, mode);
        Ok((victims, mode, cost))
    }

    /// The places of the gangs that may be preempted for a job in some mode, whatever offers it takes: all that [`choose`](Self::choose) ever
    /// ends for it, and perhaps others. Whether the requirements are true is taken from the gangs; ranks of offers are not looked at.
    #[must_use]
    pub fn possible(&self, preemptor: &Preemptor) -> Vec<usize> {
        let least = Candidate { own: 0, takes: taken_by_gang(0, Amounts::new()), members: Vec::new() };
        let Some(leaf) = self.quotas.tree().leaf(&preemptor.account) else { return Vec::new() };
        let legality = Legality::new(self, preemptor, &least, leaf);
        let gangs = self.gangs.iter().enumerate();
        let possible = gangs.filter(|(place, gang)| is_old_enough(self, gang) && legality.is_possible(*place, gang));
        possible.map(|(place, _)| place).collect()
    }

    fn cost(&self, candidate: &Candidate, victims: &[usize], mode: Mode) -> ChoiceCost {
        let gangs = || victims.iter().filter_map(|place| self.gangs.get(*place));
        let ranks: Amount = gangs().map(|gang| gang.rank).sum();
        let lost = gangs()
            .map(|gang| charge(&gang.takes).saturating_mul(Amount::from(self.now) - Amount::from(gang.since)))
            .sum();
        ChoiceCost { own: Reverse(candidate.own), mode, victims: victims.len(), ranks: Reverse(ranks), lost }
    }
}
