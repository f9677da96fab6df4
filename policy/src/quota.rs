//! Quotas: what is guaranteed, what is set aside, and how much more each account may take.

use std::collections::{BTreeMap, BTreeSet};

use crate::amounts::{Amount, Amounts, CHARGE, Counter, GANGS};
use crate::tree::{Node, Tree};

/// What every node holds and may take, of every counter. Grants are those of the beginning; after a gang only its path is updated, so that it
/// costs the depth of the tree and not its size.
#[derive(Clone, Debug)]
pub struct Quotas<'t> {
    tree: &'t Tree,
    tables: BTreeMap<Counter, Table>,
}

/// One counter.
#[derive(Clone, Debug)]
struct Table {
    /// What the pool has; absent: no limit.
    total: Option<Amount>,
    /// By node.
    rows: Vec<Row>,
}

/// One counter at one node, with all below it.
#[derive(Clone, Debug, Default)]
struct Row {
    min: Amount,
    max: Option<Amount>,
    lend: Option<Amount>,
    held: Amount,
    grant: Amount,
    aside: Amount,
    /// The sum of what is set aside at its children.
    aside_below: Amount,
}

impl<'t> Quotas<'t> {
    /// The quotas of a tree in a pool that has so much of each counter; absent: no limit.
    #[must_use]
    pub fn new(tree: &'t Tree, total: &Amounts) -> Quotas<'t> {
        let stated = tree.accounts().iter().flat_map(|account| account.held.keys().chain(account.quotas.keys()));
        let mut counters: BTreeSet<Counter> = stated.chain(total.keys()).cloned().collect();
        counters.extend([CHARGE.into(), GANGS.into()]);
        let table = |counter: Counter| {
            let table = Table::new(tree, &counter, total.get(&counter).copied());
            (counter, table)
        };
        Quotas { tree, tables: counters.into_iter().map(table).collect() }
    }

    /// The tree that they are of.
    #[must_use]
    pub fn tree(&self) -> &'t Tree {
        self.tree
    }

    fn row(&self, node: Node, counter: &str) -> Option<&Row> {
        self.tables.get(counter)?.rows.get(node.place())
    }

    /// How much the subtree of a node holds.
    #[must_use]
    pub fn held(&self, node: Node, counter: &str) -> Amount {
        self.row(node, counter).map_or(0, |row| row.held)
    }

    /// How much is guaranteed to the subtree of a node: what it wants, or its part of what there is. Nothing at own roots.
    #[must_use]
    pub fn grant(&self, node: Node, counter: &str) -> Amount {
        self.row(node, counter).map_or(0, |row| row.grant)
    }

    /// How much of the grant of a node, or of grants below it, nobody else may use meanwhile.
    #[must_use]
    pub fn aside(&self, node: Node, counter: &str) -> Amount {
        self.row(node, counter).map_or(0, |row| row.aside)
    }

    /// How much more a gang at these own roots may take of a counter; absent: no limit.
    #[must_use]
    pub fn available(&self, own_roots: Node, counter: &str) -> Option<Amount> {
        let table = self.tables.get(counter)?;
        let below_caps = self.tree.path(own_roots).filter_map(|node| {
            let row = table.rows.get(node.place())?;
            row.max.map(|max| max - row.held)
        });
        below_caps.chain(table.free_for(self.tree, own_roots)).min().map(|least| least.max(0))
    }

    /// How much of a counter the pool has left, whoever it is set aside for; absent: no limit.
    #[must_use]
    pub fn free(&self, counter: &str) -> Option<Amount> {
        let table = self.tables.get(counter)?;
        table.total.map(|total| total - self.held(Node::POOL, counter))
    }

    /// Whether the pool has as much left of everything as a gang takes.
    #[must_use]
    pub fn fits(&self, takes: &Amounts) -> bool {
        taken(takes).all(|(counter, amount)| self.free(counter).is_none_or(|free| amount <= free))
    }

    /// Whether no quota forbids a gang at these own roots.
    #[must_use]
    pub fn allows(&self, own_roots: Node, takes: &Amounts) -> bool {
        taken(takes).all(|(counter, amount)| self.available(own_roots, counter).is_none_or(|most| amount <= most))
    }

    /// The counters that guarantee a gang at one node: it takes of them, they have a `min` there, and with the gang no more is held
    /// than is granted. If one of them is exceeded, none does.
    pub(crate) fn guaranteeing<'a>(&self, node: Node, takes: &'a Amounts) -> Vec<&'a Counter> {
        let with_min = |(counter, amount)| self.row(node, counter).filter(|row| row.min > 0).map(|row| (counter, row, amount));
        let of_node: Vec<(&Counter, &Row, Amount)> = taken(takes).filter_map(with_min).collect();
        let is_within = of_node.iter().all(|(_, row, amount)| row.held + amount <= row.grant);
        of_node.into_iter().filter(|_| is_within).map(|(counter, ..)| counter).collect()
    }

    /// Whether a gang that holds so much is within what is guaranteed to a node: of something it takes, the node has a `min` and holds no more
    /// than its grant.
    pub(crate) fn is_within_guarantee(&self, node: Node, takes: &Amounts) -> bool {
        let is_granted = |row: &Row| row.min > 0 && row.held <= row.grant;
        taken(takes).any(|(counter, _)| self.row(node, counter).is_some_and(is_granted))
    }

    /// Whether a gang at these own roots is guaranteed at some account at or above them.
    #[must_use]
    pub fn guarantees(&self, own_roots: Node, takes: &Amounts) -> bool {
        self.tree.path(own_roots).any(|node| !self.guaranteeing(node, takes).is_empty())
    }

    /// Whether something guaranteed is not held yet, at some account at or above these own roots.
    #[must_use]
    pub fn has_open_guarantee(&self, own_roots: Node) -> bool {
        let is_open = |node: Node| {
            self.tables.values().filter_map(|table| table.rows.get(node.place())).any(|row| row.min > 0 && row.held < row.grant)
        };
        self.tree.path(own_roots).any(is_open)
    }

    /// A gang at these own roots holds so much from now on. Takes time proportional to the depth of the tree.
    pub fn take(&mut self, own_roots: Node, takes: &Amounts) {
        for (counter, amount) in takes {
            self.change(own_roots, counter, *amount);
        }
    }

    /// A gang at these own roots holds so much no longer.
    pub fn give_back(&mut self, own_roots: Node, takes: &Amounts) {
        for (counter, amount) in takes {
            self.change(own_roots, counter, -*amount);
        }
    }

    fn change(&mut self, own_roots: Node, counter: &str, amount: Amount) {
        if let Some(table) = self.tables.get_mut(counter) {
            table.change(self.tree, own_roots, amount);
        }
    }
}

/// The counters of which a gang takes something.
fn taken(takes: &Amounts) -> impl Iterator<Item = (&Counter, Amount)> {
    takes.iter().map(|(counter, amount)| (counter, *amount)).filter(|(_, amount)| *amount > 0)
}

impl Table {
    fn new(tree: &Tree, counter: &Counter, total: Option<Amount>) -> Table {
        let mut table = Table { total, rows: vec![Row::default(); tree.len()] };
        for node in tree.top_down() {
            let Some(row) = table.rows.get_mut(node.place()) else { continue };
            let quota = tree.stated(node).and_then(|account| account.quotas.get(counter)).copied().unwrap_or_default();
            let least_0 = |amount: Amount| amount.max(0);
            row.min = quota.min.map_or(0, least_0);
            (row.max, row.lend) = (quota.max.map(least_0), quota.lend.map(least_0));
            row.held = tree.held_here(node, counter);
        }
        let wanted = table.wanted(tree);
        table.grant(tree, &wanted);
        for node in tree.top_down().rev() {
            table.settle(tree, node);
        }
        table
    }

    /// What each node wants to be guaranteed: its own minimum or the sum of those below it, and no more than its maximum.
    fn wanted(&self, tree: &Tree) -> Vec<Amount> {
        let mut wanted = vec![0; self.rows.len()];
        for node in tree.top_down().rev() {
            let below = sum(tree.children(node), &wanted);
            let (Some(row), Some(own)) = (self.rows.get(node.place()), wanted.get_mut(node.place())) else { continue };
            *own = row.max.map_or(row.min.max(below), |max| row.min.max(below).min(max));
        }
        wanted
    }

    /// Grants what is wanted, from the pool down; where a parent has less than its children want, in proportion to that.
    fn grant(&mut self, tree: &Tree, wanted: &[Amount]) {
        if let Some(pool) = self.rows.first_mut() {
            pool.grant = self.total.map_or_else(|| sum(tree.children(Node::POOL), wanted), |total| total.max(0));
        }
        for node in tree.top_down() {
            let children = tree.children(node);
            let wanted: Vec<Amount> = children.iter().map(|child| wanted.get(child.place()).copied().unwrap_or(0)).collect();
            let grant = self.rows.get(node.place()).map_or(0, |row| row.grant);
            for (child, granted) in children.iter().zip(in_proportion(&wanted, grant)) {
                if let Some(row) = self.rows.get_mut(child.place()) {
                    row.grant = granted;
                }
            }
        }
    }

    /// What is free for a gang at these own roots: what the pool has left, less what is set aside beside its path; absent: no limit.
    fn free_for(&self, tree: &Tree, own_roots: Node) -> Option<Amount> {
        let row = |node: Node| self.rows.get(node.place());
        let beside = |node: Node| Some(row(tree.parent(node)?)?.aside_below - row(node)?.aside);
        let free = self.total? - row(Node::POOL)?.held;
        Some(free - tree.path(own_roots).filter_map(beside).sum::<Amount>())
    }

    /// Adds what a node holds, and what is set aside at it, to its parent; all below it is done.
    fn settle(&mut self, tree: &Tree, node: Node) {
        let Some(row) = self.rows.get_mut(node.place()) else { return };
        row.aside = row.set_aside();
        let (held, aside) = (row.held, row.aside);
        if let Some(parent) = tree.parent(node).and_then(|parent| self.rows.get_mut(parent.place())) {
            parent.held += held;
            parent.aside_below += aside;
        }
    }

    fn change(&mut self, tree: &Tree, own_roots: Node, amount: Amount) {
        let mut more_aside = 0;
        for node in tree.path(own_roots) {
            let Some(row) = self.rows.get_mut(node.place()) else { continue };
            row.held += amount;
            row.aside_below += more_aside;
            let before = std::mem::replace(&mut row.aside, row.set_aside());
            more_aside = row.aside - before;
        }
    }
}

impl Row {
    /// What nobody else may take: of its grant, what is neither lent nor held, or what is set aside below it.
    fn set_aside(&self) -> Amount {
        let own = self.lend.map_or(0, |lend| (self.grant - lend - self.held).max(0));
        own.max(self.aside_below)
    }
}

fn sum(nodes: &[Node], amounts: &[Amount]) -> Amount {
    nodes.iter().filter_map(|node| amounts.get(node.place())).sum()
}

/// What each gets of an amount: what it wants, if there is enough, else a part in proportion to that, in whole units. What
/// rounding leaves goes one each to the largest remainders, of equal ones to the first.
fn in_proportion(wanted: &[Amount], amount: Amount) -> Vec<Amount> {
    let sum: Amount = wanted.iter().sum();
    if sum <= amount {
        return wanted.to_vec();
    }
    let parts: Vec<(Amount, Amount)> = wanted.iter().map(|own| scaled(*own, amount, sum)).collect();
    round_up_largest(&parts, amount)
}

/// Whole parts with remainders into parts with this sum: one more for the largest remainders, of equal ones for the first.
pub(crate) fn round_up_largest(parts: &[(Amount, Amount)], sum: Amount) -> Vec<Amount> {
    let rest = sum - parts.iter().map(|(whole, _)| whole).sum::<Amount>();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    by_remainder.sort_by_key(|index| std::cmp::Reverse(parts.get(*index).map_or(0, |(_, remainder)| *remainder)));
    let mut rounded: Vec<Amount> = parts.iter().map(|(whole, _)| *whole).collect();
    for index in by_remainder.into_iter().take(usize::try_from(rest).unwrap_or(0)) {
        if let Some(part) = rounded.get_mut(index) {
            *part += 1;
        }
    }
    rounded
}

/// Quotient and remainder of `value * numerator / denominator`, all at least 0, the numerator below the denominator. It is exact even where the product has
/// more than 128 bits: schoolbook division, bit by bit.
fn scaled(value: Amount, numerator: Amount, denominator: Amount) -> (Amount, Amount) {
    let (mut quotient, mut remainder) = (0, 0);
    for place in (0..128 - value.leading_zeros()).rev() {
        (quotient, remainder) = (quotient * 2, remainder * 2 + ((value >> place) & 1) * numerator);
        quotient += remainder / denominator;
        remainder %= denominator;
    }
    (quotient, remainder)
}
