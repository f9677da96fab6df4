//! What a cycle in which roots were placed together comes to.

use std::collections::BTreeMap;

use placing::Window;

use super::listing::WindowRoots;
use super::{Charged, Reached, Spent, Together};
use crate::cycle::Begun;
use crate::finder::{Cycle, Finder, Turn};
use crate::gang::Gang;
use crate::model::{AdId, Config};
use crate::score::Score;

impl Reached {
    /// What these gangs come to in a window.
    fn of(window: &[Turn<'_>], gangs: &BTreeMap<AdId, &Gang>) -> Reached {
        let of_window = || window.iter().filter_map(|turn| gangs.get(&turn.ad));
        let score = of_window().fold(Score::default(), |sum, gang| sum.plus(&gang.score));
        Reached { gangs: of_window().count(), score }
    }
}

impl<'s> WindowRoots<'_, 's> {
    /// Serves all roots that have no gang in turn, after these gangs. Not for accounts.
    pub(super) fn serve_others<F: Finder>(
        &self,
        taken: Vec<Gang>,
        config: &'s Config,
        mut begun: Begun<'s, F>,
        finder: &mut F,
    ) -> Cycle {
        begun.restart(config, taken, finder);
        begun.queue_again();
        begun.search(usize::MAX, finder);
        begun.finish(finder)
    }

    /// The result of a cycle, of whose window no more than `bound` roots can have a gang.
    pub(super) fn result(&self, bound: usize, mut cycle: Cycle) -> Together {
        let places: BTreeMap<AdId, usize> =
            self.window.iter().enumerate().map(|(place, turn)| (turn.ad, place)).collect();
        let place = |gang: &Gang| gang.root().and_then(|root| places.get(&root).copied());
        cycle.gangs.sort_by_cached_key(|gang| place(gang).unwrap_or(usize::MAX));
        let together = by_root(&cycle.gangs);
        let placed = Reached::of(self.window, &together);
        let is_passed_over = |root: &AdId| places.contains_key(root) && !together.contains_key(root);
        let passed_over = self.in_turn.iter().filter(|(root, _)| is_passed_over(root));
        let bound = bound.max(placed.gangs);
        Together {
            placed,
            in_turn: Reached::of(self.window, self.in_turn),
            bound,
            charged: None,
            proven: bound == placed.gangs,
            pinned: self.pinned(),
            effort: Spent::default(),
            passed_over: passed_over.map(|(_, gang)| Gang::clone(gang)).collect(),
            cycle,
        }
    }

    /// What these gangs of the window are charged, and what those in turn are.
    pub(super) fn charged(&self, numbers: &Window, gangs: &[Gang]) -> Charged {
        let charged = |gangs: &BTreeMap<AdId, &Gang>| {
            let placed = self.window.iter().zip(&numbers.roots).filter(|(turn, _)| gangs.contains_key(&turn.ad));
            placed.map(|(_, root)| u128::from(root.weight)).sum()
        };
        Charged { placed: charged(&by_root(gangs)), in_turn: charged(self.in_turn), bound: 0 }
    }
}

/// Gangs by their roots.
pub(super) fn by_root(gangs: &[Gang]) -> BTreeMap<AdId, &Gang> {
    gangs.iter().filter_map(|gang| Some((gang.root()?, gang))).collect()
}
