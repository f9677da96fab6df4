//! Which roots of a large window may gain, before their gangs are listed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placing::{Column, Presolved, Window};

use super::columns::Columns;
use super::listing::WindowRoots;
use super::{Collective, Weight};
use crate::budget::StepShares;
use crate::casts::as_u64;
use crate::cycle::Begun;
use crate::finder::{Finder, Turn};
use crate::gang::Gang;
use crate::model::Config;

/// Of so many offers that roots need it is kept what is taken of them; what the others need is not known.
const COLUMNS_MAX: usize = 200_000;
/// If no more than one root of so many may gain, only the gangs of these are listed.
const PART_OF_WINDOW: usize = 4;
/// In that case: how many gangs of each root are compared.
const PART_GANGS_MAX: usize = 512;
/// And how many steps its placement may take for each root.
const STEPS_OF_A_ROOT: u64 = 15;

impl<'s> WindowRoots<'_, 's> {
    /// What the needs of all roots say of the window, in which the roots have been served in turn. `None` if it is small, or if roots do not all
    /// count the same. What it takes is paid from shares of its own, by these settings.
    pub(super) fn presolve<F: Finder>(
        &self,
        finder: &mut F,
        begun: &mut Begun<'s, F>,
        limits: &Config,
    ) -> Option<Presolved> {
        let snapshot = begun.round.snapshot;
        let bands: BTreeSet<Option<&i32>> = self.window.iter().map(|turn| snapshot.bands.get(&turn.ad)).collect();
        let counts_gangs = self.collective.weight == Weight::One && snapshot.accounts.is_none();
        if self.window.len() <= self.collective.whole || bands.len() > 1 || !counts_gangs {
            return None;
        }
        let shares = StepShares::of(begun.line.names().iter(), &snapshot.frugal, limits.cycle_steps_max);
        let shares = begun.swap_shares(shares);
        let presolved = placing::presolve(&self.needs(finder, begun));
        begun.swap_shares(shares);
        Some(presolved)
    }

    /// The window with what its roots need, and no gangs.
    fn needs<F: Finder>(&self, finder: &mut F, begun: &mut Begun<'s, F>) -> Window {
        let Begun { round, run, .. } = begun;
        let (snapshot, mut count) = (round.snapshot, 0);
        let mut columns = Columns::new((snapshot, snapshot.as_it_began()), BTreeMap::new(), false);
        let mut of_kind: BTreeMap<usize, Vec<Arc<Vec<Column>>>> = BTreeMap::new();
        let mut roots = Vec::with_capacity(self.window.len());
        for turn in self.window {
            let kind = finder.kind(run, turn, round);
            let known = kind.and_then(|kind| of_kind.get(&kind)).cloned();
            let needs = known.or_else(|| {
                let needs = if count < COLUMNS_MAX { finder.needs(run, turn, round)? } else { return None };
                let needs = columns.needed(&needs);
                count += needs.iter().map(|columns| columns.len()).sum::<usize>();
                kind.into_iter().for_each(|kind| _ = of_kind.insert(kind, needs.clone()));
                Some(needs)
            });
            let in_turn = self.in_turn.contains_key(&turn.ad).then_some(0);
            let needs = needs.unwrap_or_default();
            roots.push(placing::Root { weight: 1, has_more: true, needs, in_turn, ..placing::Root::default() });
        }
        let (Window { free, .. }, _) = columns.finish();
        Window { roots, free, ..Window::default() }
    }

    /// The roots that may gain, and the gangs in turn of the others. Without that, all may gain. If very many may, little would be saved, and
    /// these are all roots.
    pub(super) fn split(&self, presolved: Option<&Presolved>) -> (Vec<Turn<'s>>, Vec<Gang>) {
        let is_small = |presolved: &&Presolved| {
            let gains = presolved.may_gain.iter().filter(|gains| **gains).count();
            gains.saturating_mul(PART_OF_WINDOW) <= self.window.len()
        };
        let Some(presolved) = presolved.filter(is_small) else { return (self.window.to_vec(), Vec::new()) };
        let (mut open, mut kept) = (Vec::new(), Vec::new());
        for (turn, may_gain) in self.window.iter().zip(&presolved.may_gain) {
            match self.in_turn.get(&turn.ad) {
                _ if *may_gain => open.push(*turn),
                Some(gang) => kept.push(Gang::clone(gang)),
                None => {}
            }
        }
        (open, kept)
    }

    /// The settings for the placement of some of the roots: if these are not all, it is to take no longer than they are worth.
    pub(super) fn settings(&self, open: &[Turn<'_>]) -> Collective {
        let mut settings = self.collective.clone();
        if open.len() < self.window.len() {
            let steps = as_u64(open.len()).saturating_mul(STEPS_OF_A_ROOT);
            (settings.gangs_max, settings.steps) = (settings.gangs_max.min(PART_GANGS_MAX), settings.steps.min(steps));
        }
        settings
    }
}
