//! The victims of one candidate.

use std::cmp::Reverse;

use super::mode::{Legality, Victim};
use super::model::{Candidate, ClaimedGang, Mode, NoVictims, Preemption, Preemptor, charge};
use super::short::Short;

/// Places of the gangs that end for a candidate, in the order in which they are chosen, and the last of their modes.
///
/// The gangs that may be preempted are visited once, in the order of their modes, of the administrator's rank, and then the youngest and
/// the cheapest first. Each that holds something still short, and is still legal given those chosen before it, is chosen. Then, from the
/// last to the first, each that is not needed after all is spared.
///
/// It takes time in proportion to what these gangs hold, however many are chosen.
pub(super) fn victims(
    view: &Preemption<'_>,
    preemptor: &Preemptor,
    candidate: &Candidate,
) -> Result<(Vec<usize>, Mode), NoVictims> {
    let leaf = view.quotas.tree().leaf(&preemptor.account).ok_or(NoVictims::NoCandidate)?;
    let mut short = Short::of(candidate, view.free);
    let mut legality = Legality::new(view, preemptor, candidate, leaf);
    for victim in in_order(view, &legality, &short) {
        if short.is_held_by(victim.gang) && legality.is_legal(&victim) {
            short.end(victim.gang);
            legality.choose(victim);
        }
    }
    if !short.is_empty() {
        return Err(NoVictims::NotEnoughVictims);
    }
    spare(&mut legality, &mut short);
    if legality.chosen().len() > view.permitted.max_victims {
        return Err(NoVictims::TooManyVictims);
    }
    if !legality.left().allows(leaf, &candidate.takes) {
        return Err(NoVictims::QuotaExceeded);
    }
    let mode = legality.chosen().iter().map(|victim| victim.mode).max().unwrap_or(Mode::None);
    Ok((legality.chosen().iter().map(|victim| victim.place).collect(), mode))
}

/// The gangs that may be preempted with nothing chosen yet, in the order in which they are considered.
fn in_order<'w>(view: &Preemption<'w>, legality: &Legality<'w>, short: &Short<'_>) -> Vec<Victim<'w>> {
    let gangs = view.gangs.iter().enumerate();
    let old_enough = gangs.filter(|(_, gang)| short.is_held_by(gang) && is_old_enough(view, gang));
    let mut victims: Vec<Victim<'w>> =
        old_enough.filter_map(|(place, gang)| legality.victim(place, gang, short)).collect();
    victims.sort_by_key(|Victim { mode, gang, .. }| {
        (*mode, Reverse(gang.rank), Reverse(gang.since), charge(&gang.takes), gang.name.as_str())
    });
    victims
}

/// Whether a gang has run for as long as it is left alone.
pub(super) fn is_old_enough(view: &Preemption<'_>, gang: &ClaimedGang) -> bool {
    view.now >= view.permitted.undisturbed_until(gang.since, gang.preemptions)
}

/// Spares the victims that are not needed, from the last one chosen to the first.
fn spare(legality: &mut Legality<'_>, short: &mut Short<'_>) {
    for index in (0..legality.chosen().len()).rev() {
        let Some(victim) = legality.chosen().get(index).copied() else { continue };
        short.stay(victim.gang);
        if short.is_empty_at(victim.gang) {
            legality.spare(index);
        } else {
            short.end(victim.gang);
        }
    }
}
