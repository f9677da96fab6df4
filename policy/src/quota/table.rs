//! One counter in the tree of accounts.

use crate::amounts::{Amount, Counter};
use crate::proportion::in_proportion;
use crate::tree::{Node, Tree};

/// What every node holds and is granted of one counter.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// What the pool has; absent: no limit.
    pub(super) total: Option<Amount>,
    /// The pool has a limit, or some account has a maximum.
    pub(super) is_bounded: bool,
    /// Something is guaranteed to some account.
    pub(super) has_min: bool,
    /// Some account states how much of what is guaranteed to it others may have: elsewhere nothing is set aside.
    lends: bool,
    /// By node.
    pub(super) rows: Vec<Row>,
}

/// One counter at one node, with all below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) min: Amount,
    pub(super) max: Option<Amount>,
    lend: Option<Amount>,
    pub(super) held: Amount,
    pub(super) grant: Amount,
    /// What is kept from all others.
    pub(super) aside: Amount,
    /// The sum of what is set aside at its children.
    aside_below: Amount,
}

impl Table {
    /// The table of a counter of which the pool has so much.
    pub(super) fn new(tree: &Tree, counter: &Counter, total: Option<Amount>) -> Table {
        let is_bounded = total.is_some();
        let rows = vec![Row::default(); tree.len()];
        let mut table = Table { total, is_bounded, has_min: false, lends: false, rows };
        let mut holds = false;
        for account in tree.placed() {
            if let Some(held) = account.stated.held.get(counter)
                && let Some(row) = table.rows.get_mut(account.own_roots.place())
            {
                row.held = *held;
                holds |= *held != 0;
            }
            let Some(quota) = account.stated.quotas.get(counter) else { continue };
            let Some(row) = table.rows.get_mut(account.node.place()) else { continue };
            let least_0 = |amount: Amount| amount.max(0);
            row.min = quota.min.map_or(0, least_0);
            (row.max, row.lend) = (quota.max.map(least_0), quota.lend.map(least_0));
            table.is_bounded |= row.max.is_some();
            table.has_min |= row.min > 0;
            table.lends |= row.lend.is_some();
        }
        // Where nothing is wanted, nothing is granted but to the pool, and there is nothing to set aside.
        let wanted = if table.has_min { table.wanted(tree) } else { Vec::new() };
        table.grant(tree, &wanted);
        if holds || table.lends {
            for node in tree.top_down().rev() {
                table.settle(tree, node);
            }
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
        if !self.has_min {
            return;
        }
        for node in tree.top_down() {
            let children = tree.children(node);
            let wanted: Vec<Amount> =
                children.iter().map(|child| wanted.get(child.place()).copied().unwrap_or(0)).collect();
            let grant = self.rows.get(node.place()).map_or(0, |row| row.grant);
            for (child, granted) in children.iter().zip(in_proportion(&wanted, grant)) {
                if let Some(row) = self.rows.get_mut(child.place()) {
                    row.grant = granted;
                }
            }
        }
    }

    /// What is free for a gang at own roots with this path: what the pool has left, less what is set aside beside its path; absent: no limit.
    pub(super) fn free_for(&self, path: &[Node]) -> Option<Amount> {
        let row = |node: &Node| self.rows.get(node.place());
        let free = self.total? - row(&Node::POOL)?.held;
        if !self.lends {
            return Some(free);
        }
        let beside = |(node, parent)| Some(row(parent)?.aside_below - row(node)?.aside);
        Some(free - path.iter().zip(path.iter().skip(1)).filter_map(beside).sum::<Amount>())
    }

    /// Whether a gang at own roots with this path may take so much.
    pub(super) fn allows(&self, path: &[Node], amount: Amount) -> bool {
        let keeps = |row: &Row| row.max.is_none_or(|max| amount <= max - row.held);
        path.iter().filter_map(|node| self.rows.get(node.place())).all(keeps)
            && self.free_for(path).is_none_or(|free| amount <= free)
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

    /// Own roots with this path hold so much more: updates them and all above them, and of how many counters each does not hold what is guaranteed to it.
    pub(super) fn change(&mut self, path: &[Node], amount: Amount, open_guarantees: &mut [u32]) {
        let mut more_aside = 0;
        for node in path {
            let Some(row) = self.rows.get_mut(node.place()) else { continue };
            row.held += amount;
            if row.min > 0 {
                let (was_open, is_open) = (row.held - amount < row.grant, row.is_open());
                if was_open != is_open
                    && let Some(open) = open_guarantees.get_mut(node.place())
                {
                    *open = if was_open { open.saturating_sub(1) } else { open.saturating_add(1) };
                }
            }
            if self.lends {
                row.aside_below += more_aside;
                let aside = row.set_aside();
                more_aside = aside - row.aside;
                row.aside = aside;
            }
        }
    }
}

impl Row {
    /// Whether something is guaranteed that is not held.
    pub(super) fn is_open(&self) -> bool {
        self.min > 0 && self.held < self.grant
    }

    /// What is kept from all others: of its grant, what is neither lent nor held, or what is set aside below it.
    fn set_aside(&self) -> Amount {
        let own = self.lend.map_or(0, |lend| (self.grant - lend - self.held).max(0));
        own.max(self.aside_below)
    }
}

fn sum(nodes: &[Node], amounts: &[Amount]) -> Amount {
    nodes.iter().filter_map(|node| amounts.get(node.place())).sum()
}
