//! The best placement so far, and what the search for a better one may cost.

use crate::classes::Classes;
use crate::model::Choice;
use crate::objective::Worth;
use crate::state::{Problem, State};

/// Columns that are looked at in one step.
const COLUMNS_PER_STEP: u64 = 64;

/// The best placement so far: every other one is only offered.
#[derive(Clone, Debug)]
pub(crate) struct Best {
    pub(crate) worth: Worth,
    pub(crate) choices: Vec<Choice>,
}

impl Best {
    /// Takes a placement that gives everything that is due, if it is worth more. Whether its weights are larger.
    pub(crate) fn offer(&mut self, state: &State<'_>) -> bool {
        let is_better = state.balance().is_even() && *state.worth() > self.worth;
        let gains = is_better && state.worth().weights > self.worth.weights;
        if is_better {
            self.worth.clone_from(state.worth());
            self.choices.clear();
            self.choices.extend_from_slice(state.choices());
        }
        gains
    }

    /// Whether the weight of the only band is so large.
    pub(crate) fn has(&self, enough: Option<u128>) -> bool {
        let own = self.worth.weights.first().and_then(|weight| u128::try_from(*weight).ok());
        enough.is_some_and(|enough| own.is_some_and(|own| own >= enough))
    }

    /// Takes a placement of a window in which more resources are equal, if its weights are larger.
    pub(crate) fn take_over(&mut self, problem: &Problem<'_>, classes: &Classes, other: &Best) {
        if other.worth.weights <= self.worth.weights {
            return;
        }
        let choices = classes.expand(problem.window, &other.choices);
        State::of(problem, &choices).into_iter().for_each(|state| _ = self.offer(&state));
    }
}

/// The steps that are left. Whatever is done first is paid first, so more steps only add to the end.
#[derive(Debug)]
pub(crate) struct Steps {
    looked: u64,
    max: u64,
    is_spent: bool,
}

impl Steps {
    pub(crate) fn new(steps: u64) -> Steps {
        Steps { looked: 0, max: steps.saturating_mul(COLUMNS_PER_STEP), is_spent: false }
    }

    /// Pays for so many columns; false if there are too few steps for that, and from then on.
    pub(crate) fn spend(&mut self, columns: usize) -> bool {
        let looked = self.looked.saturating_add(u64::try_from(columns).unwrap_or(u64::MAX).max(1));
        self.is_spent |= looked > self.max;
        if !self.is_spent {
            self.looked = looked;
        }
        !self.is_spent
    }

    /// Whether some columns could not be paid for.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// How many steps have been used.
    pub(crate) fn used(&self) -> u64 {
        self.looked.div_ceil(COLUMNS_PER_STEP)
    }
}
