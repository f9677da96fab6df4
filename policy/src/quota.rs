//! Quotas: what is guaranteed, what is set aside, and how much more each account may take.

mod table;

use std::collections::BTreeSet;

use crate::amounts::{Amount, Amounts, CHARGE, Counter, GANGS};
use crate::tree::{Node, Tree};

use self::table::{Row, Table};

/// What every node holds and may take, of every counter. Grants are those of the beginning; after a gang only its path is updated, so that it
/// costs the depth of the tree and not its size.
#[derive(Clone, Debug)]
pub struct Quotas<'t> {
    tree: &'t Tree,
    /// By counter, in their order.
    tables: Vec<(Counter, Table)>,
    /// The place of the table of charge.
    charge: usize,
}

/// What does not let an account have more of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound<'t> {
    /// A maximum, its own or that of an account above it.
    Max {
        /// Whose maximum.
        account: &'t str,
        /// How much is held there.
        held: Amount,
        /// How much may be held there.
        max: Amount,
    },
    /// What the pool has left is set aside for others, or there is not so much.
    Aside,
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
        let tables: Vec<(Counter, Table)> = counters.into_iter().map(table).collect();
        let charge = tables.iter().position(|(counter, _)| **counter == *CHARGE).unwrap_or(0);
        Quotas { tree, tables, charge }
    }

    /// The tree that they are of.
    #[must_use]
    pub fn tree(&self) -> &'t Tree {
        self.tree
    }

    fn row(&self, node: Node, counter: &str) -> Option<&Row> {
        self.table(counter)?.rows.get(node.place())
    }

    fn table(&self, counter: &str) -> Option<&Table> {
        let place = self.place(counter)?;
        self.tables.get(place).map(|(_, table)| table)
    }

    fn place(&self, counter: &str) -> Option<usize> {
        self.tables.binary_search_by(|(known, _)| (**known).cmp(counter)).ok()
    }

    /// The charge that the subtree of a node holds.
    pub(crate) fn held_charge(&self, node: Node) -> Amount {
        let rows = self.tables.get(self.charge).map(|(_, table)| &table.rows);
        rows.and_then(|rows| rows.get(node.place())).map_or(0, |row| row.held)
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

    /// How much of the grant of a node, or of grants below it, is kept from all others.
    #[must_use]
    pub fn aside(&self, node: Node, counter: &str) -> Amount {
        self.row(node, counter).map_or(0, |row| row.aside)
    }

    /// How much more a gang at these own roots may take of a counter; absent: no limit.
    #[must_use]
    pub fn available(&self, own_roots: Node, counter: &str) -> Option<Amount> {
        let table = self.table(counter).filter(|table| table.is_bounded)?;
        let below_caps = self.tree.path(own_roots).filter_map(|node| {
            let row = table.rows.get(node.place())?;
            row.max.map(|max| max - row.held)
        });
        below_caps.chain(table.free_for(self.tree, own_roots)).min().map(|least| least.max(0))
    }

    /// How much more the accounts at and above these own roots may take of a counter, each by itself: those that have a maximum, and the pool
    /// if it is known how much it has. What is set aside for others is not subtracted.
    pub fn caps<'a>(&'a self, own_roots: Node, counter: &'a str) -> impl Iterator<Item = (Node, Amount)> + 'a {
        let of = move |node: Node| {
            let row = self.row(node, counter)?;
            let most = if node == Node::POOL { row.max.into_iter().chain(self.total(counter)).min() } else { row.max };
            Some((node, most?.saturating_sub(row.held).max(0)))
        };
        self.tree.path(own_roots).filter_map(of)
    }

    fn total(&self, counter: &str) -> Option<Amount> {
        self.table(counter)?.total
    }

    /// What does not let a gang at these own roots take so much of a counter; none if nothing does.
    #[must_use]
    pub fn bound(&self, own_roots: Node, counter: &str, amount: Amount) -> Option<Bound<'t>> {
        if amount <= 0 || self.available(own_roots, counter).is_none_or(|most| amount <= most) {
            return None;
        }
        let exceeded = self.tree.path(own_roots).find_map(|node| {
            let (row, account) = (self.row(node, counter)?, self.tree.stated(node)?);
            let max = row.max.filter(|max| row.held + amount > *max)?;
            Some(Bound::Max { account: &account.name, held: row.held, max })
        });
        Some(exceeded.unwrap_or(Bound::Aside))
    }

    /// How much of a counter the pool has left, what is set aside included; absent: no limit.
    #[must_use]
    pub fn free(&self, counter: &str) -> Option<Amount> {
        let table = self.table(counter)?;
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
        let with_min = |(counter, amount): (&'a Counter, Amount)| {
            self.row(node, counter).filter(|row| row.min > 0).map(|row| (counter, row, amount))
        };
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
        let with_min = self.tables.iter().map(|(_, table)| table).filter(|table| table.has_min);
        let is_open = |table: &Table, node: Node| {
            table.rows.get(node.place()).is_some_and(|row| row.min > 0 && row.held < row.grant)
        };
        with_min.into_iter().any(|table| self.tree.path(own_roots).any(|node| is_open(table, node)))
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
        let place = self.place(counter);
        if let Some((_, table)) = place.and_then(|place| self.tables.get_mut(place)) {
            table.change(self.tree, own_roots, amount);
        }
    }
}

/// The counters of which a gang takes something.
fn taken(takes: &Amounts) -> impl Iterator<Item = (&Counter, Amount)> {
    takes.iter().map(|(counter, amount)| (counter, *amount)).filter(|(_, amount)| *amount > 0)
}
