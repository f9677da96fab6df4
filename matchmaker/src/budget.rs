//! What a cycle may cost: the share of each submitter, what the expressions of offers cost others, and the flag that ends it.
//!
//! Costs are counted in steps, never in time, so the same engine ends the same cycle at the same place. A step is one
//! candidate that the evaluator looks at, or as much fuel as that takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::casts::as_u64;

/// How much fuel counts as one step: more than looking at a usual edge takes.
pub const FUEL_OF_A_STEP: u64 = 50;

/// What part of a cycle's steps may go, each, into reading new ads into an index and into explanations.
pub const SIDE_SHARE: u64 = 4;

/// How much fuel an evaluation may take of an offer's own expressions at the cost of the job that meets it; the rest is the
/// offer's namespace's.
pub(crate) const FAIR_FUEL: u64 = 1000;

/// What part of its share a submitter gets that has exceeded its budget lately.
const FRUGAL: u64 = 256;
/// It gets at least so many steps.
const FRUGAL_MIN: u64 = 200;

/// A flag that ends a cycle from outside: what has been found by then stands.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the cycles that were given this flag, soon.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the offers of each namespace cost others in a cycle, beyond what is fair.
#[derive(Clone, Debug)]
pub struct Owners {
    fuel: BTreeMap<String, u64>,
    fuel_max: u64,
    /// Namespaces that have cost too much.
    barred: BTreeSet<String>,
}

impl Owners {
    /// Nothing has been spent yet.
    pub fn new(steps_max: u64) -> Owners {
        let fuel_max = steps_max.saturating_mul(FUEL_OF_A_STEP);
        Owners { fuel: BTreeMap::new(), fuel_max, barred: BTreeSet::new() }
    }

    /// Charges what an offer's expressions took.
    pub fn pay(&mut self, namespace: &str, fuel: u64) {
        let sum = self.fuel.entry(namespace.to_owned()).or_default();
        *sum = sum.saturating_add(fuel);
        if *sum > self.fuel_max {
            self.barred.insert(namespace.to_owned());
        }
    }

    /// Leaves out the offers of a namespace from the start.
    pub(crate) fn bar(&mut self, namespace: &str) {
        self.barred.insert(namespace.to_owned());
    }

    /// What may be spent from now on.
    pub(crate) fn limit(&mut self, steps_max: u64) {
        self.fuel_max = steps_max.saturating_mul(FUEL_OF_A_STEP);
    }

    /// Goes on from what was paid in a cycle, and which namespaces have paid too much.
    pub(crate) fn take_over(&mut self, costs: &CycleCosts) {
        self.fuel.clone_from(&costs.owners_fuel);
        self.barred.extend(costs.barred.iter().cloned());
    }

    /// The namespaces whose offers are left out in the end.
    pub(crate) fn into_barred(self) -> BTreeSet<String> {
        self.barred
    }

    /// Whether the offers of a namespace are left out, but for its own jobs.
    pub fn bars(&self, namespace: &str) -> bool {
        !self.barred.is_empty() && self.barred.contains(namespace)
    }

    /// The namespaces whose offers are left out.
    pub fn barred(&self) -> &BTreeSet<String> {
        &self.barred
    }

    /// What was paid, in fuel, by namespace.
    pub(crate) fn paid(&self) -> &BTreeMap<String, u64> {
        &self.fuel
    }
}

/// What a cycle has cost, and which namespaces cost too much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CycleCosts {
    /// Submitters that exceeded their share of the steps, so that some of their roots were not searched completely.
    pub over_budget: Vec<Arc<str>>,
    /// The steps that submitters have spent on roots without a gang: on searches, and on reasons that only the evaluator finds. Without
    /// submitters that have spent none.
    pub fruitless: Vec<(Arc<str>, u64)>,
    /// The steps that all submitters have spent.
    pub spent: u64,
    /// Namespaces whose offers were left out for jobs of other namespaces: their expressions cost others too much.
    pub barred: BTreeSet<String>,
    /// What expensive expressions of offers have cost jobs of other namespaces, in fuel, by namespace of the offers; with what they had cost
    /// before.
    pub owners_fuel: BTreeMap<String, u64>,
}

impl CycleCosts {
    /// Adds those of an earlier cycle on the same pool: the submitters over budget, the fruitless steps and the barred namespaces. The fuel of
    /// offers includes it already, and the steps that all have spent remain those of this cycle.
    pub(crate) fn add_earlier(&mut self, earlier: &CycleCosts) {
        self.over_budget.extend(earlier.over_budget.iter().cloned());
        self.over_budget.sort();
        self.over_budget.dedup();
        self.fruitless = sums(earlier.fruitless.iter().chain(&self.fruitless));
        self.barred.extend(earlier.barred.iter().cloned());
    }
}

/// The sums of amounts by name.
fn sums<'a>(all: impl Iterator<Item = &'a (Arc<str>, u64)>) -> Vec<(Arc<str>, u64)> {
    let mut sums: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for (name, amount) in all {
        let sum = sums.entry(Arc::clone(name)).or_default();
        *sum = sum.saturating_add(*amount);
    }
    sums.into_iter().collect()
}

/// What each submitter may spend in a cycle, and has spent. Shares are equal; what is left of them when everything else is done
/// is shared by those that need more.
#[derive(Debug)]
pub struct StepShares {
    list: Vec<StepShare>,
    total: u64,
}

#[derive(Debug)]
struct StepShare {
    name: Arc<str>,
    steps_max: u64,
    spent: u64,
    /// What of it found no gang: searches that failed, and saying why.
    fruitless: u64,
    /// It gets a small part of its share: it has exceeded its budget lately.
    frugal: bool,
    /// Something of it was not done for want of steps.
    exceeded: bool,
}

impl StepShares {
    /// Shares of submitters in the order of their names.
    pub(crate) fn of<'n>(
        names: impl Iterator<Item = &'n Arc<str>>,
        frugal: &BTreeSet<String>,
        total: u64,
    ) -> StepShares {
        let share = |name: &Arc<str>| {
            let frugal = !frugal.is_empty() && frugal.contains(&**name);
            StepShare { name: Arc::clone(name), steps_max: 0, spent: 0, fruitless: 0, frugal, exceeded: false }
        };
        let mut shares = StepShares { list: names.map(share).collect(), total };
        let equal = total / as_u64(shares.list.len()).max(1);
        for share in &mut shares.list {
            share.steps_max = if share.frugal { frugal_part(equal) } else { equal };
        }
        shares
    }

    /// The number of a submitter.
    pub fn number(&self, name: &str) -> usize {
        self.list.binary_search_by(|share| (*share.name).cmp(name)).unwrap_or(usize::MAX)
    }

    /// The name of a submitter.
    pub fn name(&self, submitter: usize) -> Arc<str> {
        self.list.get(submitter).map_or_else(|| Arc::from(""), |share| Arc::clone(&share.name))
    }

    /// Whether a submitter gets only a small part of its share.
    pub(crate) fn is_frugal(&self, submitter: usize) -> bool {
        self.list.get(submitter).is_some_and(|share| share.frugal)
    }

    /// What a submitter has spent.
    pub(crate) fn spent(&self, submitter: usize) -> u64 {
        self.list.get(submitter).map_or(0, |share| share.spent)
    }

    /// What all have spent.
    pub(crate) fn spent_by_all(&self) -> u64 {
        self.list.iter().fold(0u64, |sum, share| sum.saturating_add(share.spent))
    }

    /// What is left of a submitter's share.
    pub fn left(&self, submitter: usize) -> u64 {
        self.list.get(submitter).map_or(0, |share| share.steps_max.saturating_sub(share.spent))
    }

    /// What one search of a submitter may cost: half of what is left, so that some is left for its other jobs.
    pub fn for_one(&self, submitter: usize) -> u64 {
        self.left(submitter).div_ceil(2)
    }

    /// Charges a submitter.
    pub fn pay(&mut self, submitter: usize, steps: u64) {
        if let Some(share) = self.list.get_mut(submitter) {
            share.spent = share.spent.saturating_add(steps);
        }
    }

    /// So many steps of a submitter have found nothing.
    pub(crate) fn waste(&mut self, submitter: usize, steps: u64) {
        if let Some(share) = self.list.get_mut(submitter) {
            share.fruitless = share.fruitless.saturating_add(steps);
        }
    }

    /// The submitters that have spent steps on roots without a gang, and how many.
    pub(crate) fn fruitless(&self) -> Vec<(Arc<str>, u64)> {
        let list = self.list.iter().filter(|share| share.fruitless > 0);
        list.map(|share| (Arc::clone(&share.name), share.fruitless)).collect()
    }

    /// Something of this submitter is not done for want of steps.
    pub(crate) fn exceed(&mut self, submitter: usize) {
        if let Some(share) = self.list.get_mut(submitter) {
            share.exceeded = true;
        }
    }

    /// What was spent most was too much.
    pub(crate) fn exceed_most(&mut self) {
        let most = self.list.iter_mut().max_by_key(|share| share.spent).filter(|share| share.spent > 0);
        most.into_iter().for_each(|share| share.exceeded = true);
    }

    /// Shares the unspent steps among these submitters, except the frugal ones.
    pub(crate) fn share_rest(&mut self, among: impl Iterator<Item = usize>) {
        let spent = self.spent_by_all();
        let frugal = |number: &usize| self.list.get(*number).is_none_or(|share| share.frugal);
        let among: Vec<usize> = among.filter(|number| !frugal(number)).collect();
        let each = self.total.saturating_sub(spent) / as_u64(among.len()).max(1);
        for number in among {
            if let Some(share) = self.list.get_mut(number) {
                share.steps_max = share.spent.saturating_add(each);
            }
        }
    }

    /// The submitters of which something was not done for want of steps.
    pub(crate) fn exceeded(&self) -> Vec<Arc<str>> {
        self.list.iter().filter(|share| share.exceeded).map(|share| Arc::clone(&share.name)).collect()
    }
}

/// What a submitter gets of a share if it has exceeded its budget lately.
pub(crate) fn frugal_part(share: u64) -> u64 {
    (share / FRUGAL).max(FRUGAL_MIN).min(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(frugal: &[&str]) -> StepShares {
        let names: Vec<Arc<str>> = ["a", "b", "c", "d"].map(Arc::from).to_vec();
        StepShares::of(names.iter(), &frugal.iter().map(|name| (*name).to_owned()).collect(), 40_000)
    }

    #[test]
    fn what_others_leave_goes_to_those_that_need_it() {
        let mut shares = shares(&[]);
        assert_eq!([0, 1, 2, 3].map(|number| shares.left(number)), [10_000; 4]);
        assert_eq!(shares.for_one(1), 5_000);
        shares.pay(0, 10_000);
        shares.pay(1, 10_000);
        shares.pay(2, 100);
        shares.share_rest([0, 1].into_iter());
        assert_eq!([0, 1].map(|number| shares.left(number)), [9_950; 2]);
        shares.exceed(1);
        assert_eq!(shares.exceeded(), [Arc::from("b")]);
    }

    #[test]
    fn who_has_exceeded_its_budget_lately_gets_little_and_nothing_of_the_rest() {
        let mut shares = shares(&["b"]);
        assert_eq!((shares.left(0), shares.left(1)), (10_000, 200));
        shares.pay(1, 200);
        shares.share_rest([0, 1].into_iter());
        assert_eq!((shares.left(0), shares.left(1)), (39_800, 0));
        assert_eq!(shares.number("c"), 2);
    }

    #[test]
    fn a_namespace_whose_offers_cost_too_much_is_barred() {
        let mut owners = Owners::new(10);
        owners.pay("bob", 10 * FUEL_OF_A_STEP);
        assert!(!owners.bars("bob"));
        owners.pay("bob", 1);
        assert!(owners.bars("bob") && !owners.bars("alice"));
    }
}
