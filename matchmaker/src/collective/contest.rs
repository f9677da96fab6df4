//! Who competes in a large window. Roots that have a gang in turn and hold nothing that others are short of keep it, so that only the gangs of
//! the others are compared.

use std::collections::{BTreeMap, BTreeSet};

use crate::finder::{Finder, Partners, Round, Turn};
use crate::gang::Gang;
use crate::model::AdId;

/// So many gangs of each root that competes are listed.
pub(crate) const GANGS_MAX: usize = 256;

/// The roots of a window that compete, and what the others hold.
#[derive(Debug, Default)]
pub(crate) struct Contest<'s> {
    /// In the order of their turns.
    pub(crate) competing: Vec<Turn<'s>>,
    /// The gangs of the others.
    pub(crate) kept: Vec<Gang>,
    /// By kind of roots that compete: one of these offers each of their gangs takes.
    pub(crate) least: BTreeMap<usize, Partners>,
}

/// The partners of the roots of each kind, by port.
struct Known<'f, 'r, 's, F: Finder> {
    finder: &'f mut F,
    run: &'r mut F::Run<'s>,
    of_kind: BTreeMap<usize, Vec<Partners>>,
}

impl<'s, F: Finder> Known<'_, '_, 's, F> {
    fn of(&mut self, turn: &Turn<'s>, round: &mut Round<'s>) -> Option<(usize, &[Partners])> {
        let kind = self.finder.kind(self.run, turn, round)?;
        if !self.of_kind.contains_key(&kind) {
            let ports = self.finder.partners(self.run, turn, round)?;
            self.of_kind.insert(kind, ports);
        }
        self.of_kind.get(&kind).map(|ports| (kind, ports.as_slice()))
    }
}

impl<'s> Contest<'s> {
    /// Who competes; `None` if that is not known, or if most do.
    pub(crate) fn of<F: Finder>(
        window: &[Turn<'s>],
        in_turn: &BTreeMap<AdId, &Gang>,
        (finder, run): (&mut F, &mut F::Run<'s>),
        round: &mut Round<'s>,
    ) -> Option<Contest<'s>> {
        let mut holders: BTreeMap<AdId, Vec<AdId>> = BTreeMap::new();
        for (root, gang) in window.iter().filter_map(|turn| Some((turn.ad, in_turn.get(&turn.ad)?))) {
            offers(gang).for_each(|offer| holders.entry(offer).or_default().push(root));
        }
        let mut known = Known { finder, run, of_kind: BTreeMap::new() };
        let waiting: Vec<&Turn<'_>> = window.iter().filter(|turn| !in_turn.contains_key(&turn.ad)).collect();
        let mut wanted: BTreeSet<AdId> = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for turn in &waiting {
            let (kind, ports) = known.of(turn, round)?;
            if seen.insert(kind) {
                short(ports, waiting.len(), &holders)
                    .for_each(|port| wanted.extend(port.iter().map(|(offer, _)| *offer)));
            }
        }
        let mut competing: BTreeSet<AdId> = waiting.iter().map(|turn| turn.ad).collect();
        // whoever holds what is wanted, and whoever shares an offer with one of them
        let mut open: Vec<AdId> = wanted.into_iter().collect();
        while let Some(offer) = open.pop() {
            for root in holders.remove(&offer).unwrap_or_default() {
                if competing.insert(root) {
                    open.extend(in_turn.get(&root).into_iter().flat_map(|gang| offers(gang)));
                }
            }
        }
        if competing.len() * 2 > window.len() {
            return None;
        }
        let (competing, others): (Vec<Turn<'_>>, Vec<Turn<'_>>) =
            window.iter().copied().partition(|turn| competing.contains(&turn.ad));
        let kept = others.iter().filter_map(|turn| in_turn.get(&turn.ad).map(|gang| Gang::clone(gang))).collect();
        let mut kinds: BTreeMap<usize, usize> = BTreeMap::new();
        for turn in &competing {
            *kinds.entry(known.of(turn, round)?.0).or_default() += 1;
        }
        let least = scarcest(&kinds, &known.of_kind, competing.len());
        Some(Contest { competing, kept, least })
    }

    /// The offers that the others hold.
    pub(crate) fn held(&self) -> BTreeSet<AdId> {
        self.kept.iter().flat_map(offers).collect()
    }
}

fn offers(gang: &Gang) -> impl Iterator<Item = AdId> {
    gang.members.iter().skip(1).map(|member| member.ad)
}

/// The ports for which fewer partners are left in turn than there are roots without a gang, or else that with the fewest partners.
fn short<'p>(
    ports: &'p [Partners],
    waiting: usize,
    holders: &BTreeMap<AdId, Vec<AdId>>,
) -> impl Iterator<Item = &'p Partners> {
    let left = |port: &Partners| port.iter().filter(|(offer, _)| !holders.contains_key(offer)).count();
    let short: Vec<&Partners> = ports.iter().filter(|port| left(port) < waiting).collect();
    let none = short.is_empty();
    short.into_iter().chain(ports.iter().min_by_key(|port| port.len()).filter(|_| none))
}

/// By kind: the port of which the most are left without a partner. `kinds` has how many roots there are of each.
fn scarcest(
    kinds: &BTreeMap<usize, usize>,
    ports: &BTreeMap<usize, Vec<Partners>>,
    competing: usize,
) -> BTreeMap<usize, Partners> {
    let of_kind = |kind: &usize| ports.get(kind).into_iter().flatten();
    // how many want each offer, where there may be too few
    let mut wanted: BTreeMap<AdId, usize> = BTreeMap::new();
    for (kind, count) in kinds {
        let few = of_kind(kind).filter(|port| port.len() < competing);
        few.flatten().for_each(|(offer, _)| *wanted.entry(*offer).or_default() += count);
    }
    let wants = |port: &Partners| match port.len() < competing {
        true => port.iter().filter_map(|(offer, _)| wanted.get(offer)).max().copied().unwrap_or(0),
        false => 0,
    };
    let left = |port: &&Partners| (port.len() + competing).saturating_sub(wants(port));
    kinds.keys().filter_map(|kind| Some((*kind, of_kind(kind).min_by_key(left)?.clone()))).collect()
}
