//! What every account deserves of the pool: weighted max-min fairness over the tree.

use std::collections::BTreeMap;

use crate::amounts::{Amount, Amounts, CHARGE, Counter};
use crate::proportion::round_up_largest;
use crate::quota::Quotas;
use crate::tree::{Node, Tree};

/// The part of a pool with this much charge, in micros, that each account deserves, with all below it. `demands` states by account what its own
/// gangs hold and wait for; absent: nothing.
///
/// From the pool down, what a node deserves is divided among its children by weight (water-filling). None gets more than it asks for, and
/// none less than its grant, unless it asks for less. HTCondor's negotiator computes its slices in rounds; this is what the rounds converge to.
///
/// ```
/// use policy::{Account, Tree, shares};
/// let accounts = [("a", 1000), ("b", 2000), ("c", 3000)].map(|(name, weight)| Account { weight, ..Account::named(name) });
/// let demands = ["a", "b", "c"].map(|name| (name.to_owned(), 1_000)).into();
/// let tree = Tree::new(accounts);
/// let shares = shares(&tree, 120, &demands);
/// assert_eq!(shares.into_iter().collect::<Vec<_>>(), [("a", 20), ("b", 40), ("c", 60)]);
/// ```
#[must_use]
pub fn shares<'t>(tree: &'t Tree, total: Amount, demands: &BTreeMap<String, Amount>) -> BTreeMap<&'t str, Amount> {
    let quotas = Quotas::new(tree, &Amounts::from([(CHARGE.into(), total)]));
    let demand = demand(tree, demands);
    let mut share = vec![0; tree.len()];
    if let Some(pool) = share.first_mut() {
        *pool = total;
    }
    for node in tree.top_down() {
        let children = tree.children(node);
        let claimants: Vec<Claimant> =
            children.iter().map(|child| claimant(&quotas, *child, of(&demand, *child))).collect();
        for (child, part) in children.iter().zip(fill(&claimants, of(&share, node))) {
            if let Some(share) = share.get_mut(child.place()) {
                *share = part;
            }
        }
    }
    let named = |account: &'t str| Some((account, of(&share, tree.account(account)?)));
    tree.accounts().iter().filter_map(|account| named(&account.name)).collect()
}

fn of(amounts: &[Amount], node: Node) -> Amount {
    amounts.get(node.place()).copied().unwrap_or(0)
}

/// What each node asks for: the sum of those below it, and no more than its maximum of charge.
fn demand(tree: &Tree, own: &BTreeMap<String, Amount>) -> Vec<Amount> {
    let charge = Counter::from(CHARGE);
    let mut demand = vec![0; tree.len()];
    for account in tree.accounts() {
        let asked = own.get(&account.name).copied().unwrap_or(0).max(0);
        if let Some(demand) = tree.leaf(&account.name).and_then(|node| demand.get_mut(node.place())) {
            *demand = asked;
        }
    }
    for node in tree.top_down().rev() {
        let max = tree.stated(node).and_then(|account| account.quotas.get(&charge)?.max);
        let capped = max.map_or(of(&demand, node), |max| of(&demand, node).min(max.max(0)));
        for (node, is_own) in [(Some(node), true), (tree.parent(node), false)] {
            if let Some(demand) = node.and_then(|node| demand.get_mut(node.place())) {
                *demand = if is_own { capped } else { *demand + capped };
            }
        }
    }
    demand
}

/// One of those among which an amount is divided.
#[derive(Clone, Copy, Debug)]
struct Claimant {
    weight: Amount,
    /// It gets this at least.
    floor: Amount,
    /// It gets this at most; no less than the floor.
    demand: Amount,
}

fn claimant(quotas: &Quotas<'_>, node: Node, demand: Amount) -> Claimant {
    Claimant { weight: quotas.tree().weight(node).get().into(), floor: quotas.grant(node, CHARGE).min(demand), demand }
}

/// Divides an amount by weight, in whole units: each gets its part at the level at which the parts sum to the amount. The floors sum to no more
/// than the amount.
fn fill(claimants: &[Claimant], amount: Amount) -> Vec<Amount> {
    if claimants.iter().map(|claimant| claimant.demand).sum::<Amount>() <= amount {
        return claimants.iter().map(|claimant| claimant.demand).collect();
    }
    let (rise, run) = level(claimants, amount);
    let part = |claimant: &Claimant| {
        let at_level = (rise * claimant.weight).clamp(claimant.floor * run, claimant.demand * run);
        (at_level / run, at_level % run)
    };
    round_up_largest(&claimants.iter().map(part).collect::<Vec<_>>(), amount)
}

/// The level per weight, as a fraction, at which claimants that ask for more than an amount get exactly that.
fn level(claimants: &[Claimant], amount: Amount) -> (Amount, Amount) {
    // Below floor / weight a claimant gets its floor, above demand / weight its demand, and between them level * weight.
    let starts = claimants.iter().map(|claimant| (claimant.floor, claimant, true));
    let ends = claimants.iter().map(|claimant| (claimant.demand, claimant, false));
    let mut bends: Vec<(Amount, &Claimant, bool)> = starts.chain(ends).collect();
    bends.sort_by(|(one, first, _), (other, second, _)| (one * second.weight).cmp(&(other * first.weight)));
    let mut fixed: Amount = claimants.iter().map(|claimant| claimant.floor).sum();
    let mut weight = 0;
    for (value, claimant, is_start) in bends {
        if (amount - fixed) * claimant.weight <= value * weight {
            break;
        }
        if is_start {
            (fixed, weight) = (fixed - claimant.floor, weight + claimant.weight);
        } else {
            (fixed, weight) = (fixed + claimant.demand, weight - claimant.weight);
        }
    }
    if weight == 0 { (0, 1) } else { (amount - fixed, weight) }
}
