//! The steps that preemption may take in a cycle, and the part of each submitter.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::budget::{Accounts, SIDE_SHARE};
use crate::model::Config;

/// How many amounts that gangs hold are looked at in one step.
const AMOUNTS_OF_A_STEP: usize = 20;

/// The steps of all roots of a cycle: a part of those of the cycle itself, with equal shares for the submitters that can have a turn.
#[derive(Debug)]
pub(super) struct PreemptionSteps(Accounts);

impl PreemptionSteps {
    /// Nothing has been spent yet. Of the submitters, so many have a turn at most; `frugal` ones get a small part of their share.
    pub(super) fn of<'n>(
        submitters: impl ExactSizeIterator<Item = &'n Arc<str>>,
        turns: usize,
        frugal: &BTreeSet<String>,
        config: &Config,
    ) -> PreemptionSteps {
        let [all, turns] =
            [submitters.len(), submitters.len().min(turns)].map(|count| u64::try_from(count).unwrap_or(1));
        let total = (config.cycle_steps_max / SIDE_SHARE).saturating_mul(all) / turns.max(1);
        PreemptionSteps(Accounts::of(submitters, frugal, total))
    }

    /// What one root of a submitter may spend: half of what is left, so that some is left for others.
    pub(super) fn for_root(&self, submitter: usize) -> RootSteps {
        RootSteps { left: self.0.for_one(submitter), spent: 0, is_cut: false }
    }

    /// A root of a submitter has spent so much; for nothing, if no gang is preempted for it.
    pub(super) fn pay(&mut self, submitter: usize, steps: RootSteps, is_fruitless: bool) {
        self.0.pay(submitter, steps.spent);
        if is_fruitless {
            self.0.waste(submitter, steps.spent);
        }
    }

    /// What submitters have spent for nothing.
    pub(super) fn fruitless(&self) -> Vec<(Arc<str>, u64)> {
        self.0.fruitless()
    }
}

/// The steps of one root.
#[derive(Clone, Copy, Debug)]
pub(super) struct RootSteps {
    left: u64,
    spent: u64,
    is_cut: bool,
}

impl RootSteps {
    /// No limit.
    pub(super) fn any() -> RootSteps {
        RootSteps { left: u64::MAX, spent: 0, is_cut: false }
    }

    /// What is left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Takes so many.
    pub(super) fn pay(&mut self, steps: u64) {
        self.left = self.left.saturating_sub(steps);
        self.spent = self.spent.saturating_add(steps);
    }

    /// Takes what it costs to look at so many amounts, if there is as much left.
    pub(super) fn look_at(&mut self, amounts: usize) -> bool {
        let steps = u64::try_from(amounts / AMOUNTS_OF_A_STEP).unwrap_or(u64::MAX);
        let has_enough = steps <= self.left;
        if has_enough {
            self.pay(steps);
        } else {
            self.cut();
        }
        has_enough
    }

    /// Something was not done for want of steps.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Whether something was not done.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }
}
