//! What preemption and reservation may cost: the turns and the steps of the roots that a cycle has left over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::budget::{FUEL_OF_A_STEP, Owners, SIDE_SHARE, StepShares};
use crate::casts::as_u64;
use crate::charges::{MemberCharges, Prices};
use crate::finder::Cycle;
use crate::gang::Gang;
use crate::model::{Config, Snapshot};

/// How many amounts that claims hold are looked at in one step.
const AMOUNTS_OF_A_STEP: usize = 20;

/// Finds the gangs of all roots of a snapshot, in their order.
pub type FindGangs<'f> = dyn FnMut(&Snapshot, &Config, i64) -> Cycle + 'f;

/// The searches beside a cycle. One bound holds for what expensive expressions of offers cost others in the cycle and in all of these searches.
/// With a bound for each, offers that are full would cost nothing in the cycle, and the whole bound in each search.
///
/// What claims on offers cost is evaluated once for the cycle and all of these searches, and paid for in the same way.
pub struct SideSearches<'f> {
    find: &'f mut FindGangs<'f>,
    owners: Owners,
    /// The gangs of the cycle with what their members cost.
    charged: Vec<(Gang, MemberCharges)>,
    prices: Option<Prices>,
}

impl<'f> SideSearches<'f> {
    /// Searches after nothing.
    pub fn new(find: &'f mut FindGangs<'f>) -> SideSearches<'f> {
        SideSearches { find, owners: Owners::new(u64::MAX), charged: Vec::new(), prices: None }
    }

    /// Searches after a cycle.
    pub fn after(cycle: &Cycle, find: &'f mut FindGangs<'f>) -> SideSearches<'f> {
        let mut search = SideSearches::new(find);
        search.owners.take_over(&cycle.costs);
        search.charged =
            cycle.charged().map(|(gang, charges)| (gang.clone(), MemberCharges::from_slice(charges))).collect();
        search
    }

    /// The gangs of all roots of a view.
    pub(crate) fn cycle(&mut self, view: &mut Snapshot, config: &Config, now: i64) -> Cycle {
        view.owners_fuel.clone_from(self.owners.paid());
        view.barred.extend(self.owners.barred().iter().cloned());
        let cycle = (self.find)(view, config, now);
        self.owners.take_over(&cycle.costs);
        if let Some(prices) = &mut self.prices {
            cycle.charged().for_each(|(gang, charges)| prices.learn(gang, charges));
        }
        cycle
    }

    /// What claims on offers cost in this cycle; to be given back.
    pub(crate) fn take_prices(&mut self, config: &Config, now: i64) -> Prices {
        self.owners.limit(config.owner_steps_max);
        self.prices.take().unwrap_or_else(|| {
            let mut prices = Prices::of(config, now);
            std::mem::take(&mut self.charged).iter().for_each(|(gang, charges)| prices.learn(gang, charges));
            prices.bar(self.owners.barred());
            prices
        })
    }

    /// Keeps the prices for what comes next.
    pub(crate) fn keep_prices(&mut self, prices: Prices) {
        self.prices = Some(prices);
    }

    /// What the expressions of offers have cost others by now.
    pub(crate) fn owners(&mut self) -> &mut Owners {
        &mut self.owners
    }

    /// The namespaces whose offers were left out in the end.
    pub fn into_barred(self) -> BTreeSet<String> {
        self.owners.into_barred()
    }
}

/// Which roots are looked at: of each account the same number, or all of them if it has fewer, and of all accounts no more than there are turns.
///
/// If there are more accounts than turns, half of the turns go in the order of the accounts. The others go to submitters in rotation, from cycle
/// to cycle, so that a tenant with many accounts at the front does not keep other tenants from a turn.
#[derive(Debug)]
pub(crate) struct TurnsLeft {
    left: BTreeMap<Arc<str>, usize>,
    all: usize,
    /// The submitters that have a turn in this cycle whatever the order is.
    rotating: BTreeSet<usize>,
}

impl TurnsLeft {
    /// At most so many, for roots of these accounts and so many submitters, in the cycle with this number.
    pub(crate) fn of<'a>(
        accounts: impl Iterator<Item = &'a Arc<str>>,
        submitters: usize,
        max: usize,
        cycle: u64,
    ) -> TurnsLeft {
        let mut left: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        accounts.for_each(|account| *left.entry(Arc::clone(account)).or_default() += 1);
        let with = |most: usize| left.values().map(|roots| roots.min(&most)).sum::<usize>();
        let most = (1..=max).rev().find(|most| with(*most) <= max).unwrap_or(1);
        let rotating = if left.len() > max { max / 2 } else { 0 };
        left.values_mut().for_each(|roots| *roots = most.min(*roots));
        let cycle = usize::try_from(cycle).unwrap_or(0);
        let place = |number: usize| cycle.wrapping_mul(rotating).wrapping_add(number) % submitters.max(1);
        TurnsLeft { left, all: max - rotating, rotating: (0..rotating).map(place).collect() }
    }

    /// Takes a turn of an account and a submitter, if it has one left and there is one left for all.
    pub(crate) fn take(&mut self, account: &str, submitter: usize) -> bool {
        if self.rotating.remove(&submitter) {
            return true;
        }
        let own = self.left.get_mut(account).filter(|own| **own > 0 && self.all > 0);
        let is_taken = own.is_some();
        own.into_iter().for_each(|own| *own -= 1);
        self.all -= usize::from(is_taken);
        is_taken
    }
}

/// The steps of all these roots: a part of those of the cycle itself, with equal shares for the submitters that can have a turn.
#[derive(Debug)]
pub(crate) struct StepsLeft(StepShares);

impl StepsLeft {
    /// Nothing has been spent yet. Of the submitters, so many have a turn at most; `frugal` ones get a small part of their share.
    pub(crate) fn of<'n>(
        submitters: impl ExactSizeIterator<Item = &'n Arc<str>>,
        turns: usize,
        frugal: &BTreeSet<String>,
        config: &Config,
    ) -> StepsLeft {
        let [all, turns] = [submitters.len(), submitters.len().min(turns)].map(as_u64);
        let total = (config.cycle_steps_max / SIDE_SHARE).saturating_mul(all) / turns.max(1);
        StepsLeft(StepShares::of(submitters, frugal, total))
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
        let steps = as_u64(amounts / AMOUNTS_OF_A_STEP);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the roots in this order have a turn, each with its account and its submitter.
    fn turns(order: &[(String, usize)], submitters: usize, cycle: u64) -> Vec<usize> {
        let accounts: Vec<Arc<str>> = order.iter().map(|(account, _)| Arc::from(account.as_str())).collect();
        let mut turns = TurnsLeft::of(accounts.iter(), submitters, 16, cycle);
        let has_turn = |number: &usize| turns.take(&order[*number].0, order[*number].1);
        (0..order.len()).filter(has_turn).collect()
    }

    #[test]
    fn p7_many_accounts_that_come_first_keep_nobody_from_a_turn() {
        // A hundred users of one namespace come first, then those of thirty others.
        let users = (0..100).flat_map(|user| [(format!("a-{user}"), 0), (format!("a-{user}"), 0)]);
        let order: Vec<(String, usize)> = users.chain((1..=30).map(|other| (format!("b-{other}"), other))).collect();
        let mut looked_at = BTreeSet::new();
        for cycle in 7..11 {
            let turns = turns(&order, 31, cycle);
            assert!((8..=16).contains(&turns.len()), "{turns:?}");
            assert!(turns.iter().filter(|number| **number < 200).count() <= 9, "{turns:?}");
            looked_at.extend(turns.into_iter().filter(|number| *number >= 200));
        }
        assert_eq!(looked_at.len(), 30, "in four cycles everybody had a turn");
        // With no more accounts than turns, the order decides.
        let few: Vec<(String, usize)> = (0..16).map(|number| (format!("c-{number}"), 0)).collect();
        assert_eq!(turns(&few, 1, 3).len(), 16);
    }
}
