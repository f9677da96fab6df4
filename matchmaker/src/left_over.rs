//! What preemption and reservation may cost: the turns and the steps of the roots that a cycle has left over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::budget::{Accounts, FUEL_OF_A_STEP, SIDE_SHARE};
use crate::finder::Cycle;
use crate::model::{Config, Snapshot};

/// How many amounts that claims hold are looked at in one step.
const AMOUNTS_OF_A_STEP: usize = 20;

/// Finds the gangs of all roots of a snapshot, in their order.
pub type FindGangs<'f> = dyn FnMut(&Snapshot, &Config, i64) -> Cycle + 'f;

/// The searches beside a cycle. What expensive expressions of offers cost others in the cycle and in all of these is bounded together, as it is
/// in a cycle: else offers that are full would cost nothing in the cycle, and in each of these searches as much as in a cycle.
pub struct SideSearches<'f> {
    find: &'f mut FindGangs<'f>,
    owners_fuel: BTreeMap<String, u64>,
    barred: BTreeSet<String>,
}

impl<'f> SideSearches<'f> {
    /// Searches after nothing.
    pub fn new(find: &'f mut FindGangs<'f>) -> SideSearches<'f> {
        SideSearches { find, owners_fuel: BTreeMap::new(), barred: BTreeSet::new() }
    }

    /// Searches after a cycle.
    pub fn after(cycle: &Cycle, find: &'f mut FindGangs<'f>) -> SideSearches<'f> {
        SideSearches { find, owners_fuel: cycle.owners_fuel.clone(), barred: cycle.barred.clone() }
    }

    /// The gangs of all roots of a view.
    pub(crate) fn cycle(&mut self, view: &mut Snapshot, config: &Config, now: i64) -> Cycle {
        view.owners_fuel.clone_from(&self.owners_fuel);
        view.barred.extend(self.barred.iter().cloned());
        let cycle = (self.find)(view, config, now);
        self.owners_fuel.clone_from(&cycle.owners_fuel);
        self.barred.extend(cycle.barred.iter().cloned());
        cycle
    }

    /// The namespaces whose offers were left out in the end.
    pub fn into_barred(self) -> BTreeSet<String> {
        self.barred
    }
}

/// Which roots are looked at: of each account the same number, as far as it has so many, and as many as there are turns for all.
#[derive(Debug)]
pub(crate) struct TurnsLeft {
    left: BTreeMap<Arc<str>, usize>,
    all: usize,
}

impl TurnsLeft {
    /// At most so many, for roots of these accounts.
    pub(crate) fn of<'a>(accounts: impl Iterator<Item = &'a Arc<str>>, max: usize) -> TurnsLeft {
        let mut left: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        accounts.for_each(|account| *left.entry(Arc::clone(account)).or_default() += 1);
        let with = |most: usize| left.values().map(|roots| roots.min(&most)).sum::<usize>();
        let most = (1..=max).rev().find(|most| with(*most) <= max).unwrap_or(1);
        left.values_mut().for_each(|roots| *roots = most.min(*roots));
        TurnsLeft { left, all: max }
    }

    /// Takes a turn of an account, if it has one left and there is one left for all.
    pub(crate) fn take(&mut self, account: &str) -> bool {
        let own = self.left.get_mut(account).filter(|own| **own > 0 && self.all > 0);
        let is_taken = own.is_some();
        own.into_iter().for_each(|own| *own -= 1);
        self.all -= usize::from(is_taken);
        is_taken
    }
}

/// The steps of all these roots: a part of those of the cycle itself, with equal shares for the submitters that can have a turn.
#[derive(Debug)]
pub(crate) struct StepsLeft(Accounts);

impl StepsLeft {
    /// Nothing has been spent yet. Of the submitters, so many have a turn at most; `frugal` ones get a small part of their share.
    pub(crate) fn of<'n>(
        submitters: impl ExactSizeIterator<Item = &'n Arc<str>>,
        turns: usize,
        frugal: &BTreeSet<String>,
        config: &Config,
    ) -> StepsLeft {
        let [all, turns] =
            [submitters.len(), submitters.len().min(turns)].map(|count| u64::try_from(count).unwrap_or(1));
        let total = (config.cycle_steps_max / SIDE_SHARE).saturating_mul(all) / turns.max(1);
        StepsLeft(Accounts::of(submitters, frugal, total))
    }

    /// What one root of a submitter may spend: half of what is left, so that some is left for others.
    pub(crate) fn for_root(&self, submitter: usize) -> RootSteps {
        RootSteps { left: self.0.for_one(submitter), spent: 0, fuel: 0, is_cut: false }
    }

    /// A root of a submitter has spent so much; for nothing, if nothing came of it.
    pub(crate) fn pay(&mut self, submitter: usize, steps: RootSteps, is_fruitless: bool) {
        self.0.pay(submitter, steps.spent);
        if is_fruitless {
            self.0.waste(submitter, steps.spent);
        }
    }

    /// What submitters have spent for nothing.
    pub(crate) fn fruitless(&self) -> Vec<(Arc<str>, u64)> {
        self.0.fruitless()
    }
}

/// The steps of one root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootSteps {
    left: u64,
    spent: u64,
    /// What was used of the next step.
    fuel: u64,
    is_cut: bool,
}

impl RootSteps {
    /// No limit.
    pub(crate) fn any() -> RootSteps {
        RootSteps { left: u64::MAX, spent: 0, fuel: 0, is_cut: false }
    }

    /// What is left.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Takes so many.
    pub(crate) fn pay(&mut self, steps: u64) {
        self.left = self.left.saturating_sub(steps);
        self.spent = self.spent.saturating_add(steps);
    }

    /// Takes what so much fuel costs.
    pub(crate) fn burn(&mut self, fuel: u64) {
        self.fuel = self.fuel.saturating_add(fuel);
        self.pay(self.fuel / FUEL_OF_A_STEP);
        self.fuel %= FUEL_OF_A_STEP;
    }

    /// Takes what it costs to look at so many amounts, if there is as much left.
    pub(crate) fn look_at(&mut self, amounts: usize) -> bool {
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
    pub(crate) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Whether something was not done.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }
}
