//! Quotas: what is guaranteed, what is set aside, and how much more each account may take.

mod table;

use std::collections::BTreeSet;

use crate::amounts::{Amount, Amounts, CHARGE, Counter, GANGS, NumberedAmounts};
use crate::tree::{Node, Placed, Tree};

use self::table::{Row, Table};

/// What every node holds and may take, of every counter. Grants are those of the beginning; after a gang only its path is updated, so that it
/// costs the depth of the tree and not its size.
///
/// A cycle with accounts may take at most 1.10 times the instructions of one without, and takes 1.10 times as many over
/// `gang --n 4000 --density 1 --selectivity 8`. So what saves a hundredth of it is kept.
#[derive(Clone, Debug)]
pub struct Quotas<'t> {
    tree: &'t Tree,
    /// By counter, in their order.
    tables: Vec<(Counter, Table)>,
    /// The numbers of charge and of gangs.
    charge: usize,
    gangs: usize,
    /// Whether cycles have to count them. If all did, a cycle over `gang --n 4000 --density 1 --selectivity 8` with accounts would take 52.4 instead of 51.6
    /// million instructions.
    counts_charge: bool,
    counts_gangs: bool,
    /// By node: something is guaranteed to it.
    has_min: Vec<bool>,
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
            let table = Table::new(tree, total.get(&counter).copied());
            (counter, table)
        };
        let mut tables: Vec<(Counter, Table)> = counters.into_iter().map(table).collect();
        for Placed { stated, leaf, node } in tree.placed() {
            for (counter, held) in &stated.held {
                table_of(&mut tables, counter).into_iter().for_each(|table| table.hold(leaf, *held));
            }
            for (counter, quota) in &stated.quotas {
                table_of(&mut tables, counter).into_iter().for_each(|table| table.limit(node, quota));
            }
        }
        tables.iter_mut().for_each(|(_, table)| table.work_out(tree));
        let mut has_min = vec![false; tree.len()];
        for (_, table) in tables.iter().filter(|(_, table)| table.has_min) {
            for (row, has_min) in table.rows.iter().zip(&mut has_min) {
                *has_min |= row.min > 0;
            }
        }
        let number = |name: &str| tables.iter().position(|(counter, _)| **counter == *name).unwrap_or(0);
        let (charge, gangs) = (number(CHARGE), number(GANGS));
        let mut quotas = Quotas { tree, tables, charge, gangs, counts_charge: false, counts_gangs: false, has_min };
        (quotas.counts_charge, quotas.counts_gangs) = (quotas.is_limited(charge), quotas.is_limited(gangs));
        quotas
    }

    /// The tree that they are of.
    #[must_use]
    pub fn tree(&self) -> &'t Tree {
        self.tree
    }

    fn row(&self, node: Node, counter: &str) -> Option<&Row> {
        self.row_of(node, self.number(counter)?)
    }

    #[inline]
    fn row_of(&self, node: Node, number: usize) -> Option<&Row> {
        self.table(number)?.rows.get(node.place())
    }

    #[inline]
    fn table(&self, number: usize) -> Option<&Table> {
        self.tables.get(number).map(|(_, table)| table)
    }

    /// The number of a counter; absent if nothing is known of it, so that nothing bounds it.
    #[must_use]
    pub fn number(&self, counter: &str) -> Option<usize> {
        self.tables.binary_search_by(|(known, _)| (**known).cmp(counter)).ok()
    }

    /// The counter with a number.
    #[must_use]
    pub fn counter(&self, number: usize) -> Option<&Counter> {
        self.tables.get(number).map(|(counter, _)| counter)
    }

    /// The number of the counter of charge.
    #[must_use]
    pub fn charge_number(&self) -> usize {
        self.charge
    }

    /// The number of the counter of gangs.
    #[must_use]
    pub fn gangs_number(&self) -> usize {
        self.gangs
    }

    /// Amounts by the numbers of their counters, without those of which nothing is known.
    #[must_use]
    pub fn numbered(&self, amounts: &Amounts) -> NumberedAmounts {
        let mut numbered = NumberedAmounts::default();
        for (counter, amount) in amounts {
            self.number(counter).into_iter().for_each(|number| numbered.add(number, *amount));
        }
        numbered.charge = amounts.get(CHARGE).copied().unwrap_or(0);
        numbered
    }

    /// Adds a gang with its charge to what it takes.
    #[inline]
    pub fn add_gang(&self, charge: Amount, takes: &mut NumberedAmounts) {
        takes.charge = charge;
        if self.counts_charge {
            takes.push(self.charge, charge);
        }
        if self.counts_gangs {
            takes.push(self.gangs, 1);
        }
    }

    /// The charge that the subtree of a node holds.
    pub(crate) fn held_charge(&self, node: Node) -> Amount {
        self.row_of(node, self.charge).map_or(0, |row| row.held)
    }

    /// How much the subtree of a node holds.
    #[must_use]
    pub fn held(&self, node: Node, counter: &str) -> Amount {
        self.row(node, counter).map_or(0, |row| row.held)
    }

    /// How much is guaranteed to the subtree of a node: what it wants, or its part of what there is. Nothing at a leaf below its account.
    #[must_use]
    pub fn grant(&self, node: Node, counter: &str) -> Amount {
        self.row(node, counter).map_or(0, |row| row.grant)
    }

    /// How much of the grant of a node, or of grants below it, is kept from all others.
    #[must_use]
    pub fn aside(&self, node: Node, counter: &str) -> Amount {
        self.row(node, counter).map_or(0, |row| row.aside)
    }

    /// How much more a gang at this leaf may take of a counter; absent: no limit.
    #[must_use]
    pub fn available(&self, leaf: Node, counter: &str) -> Option<Amount> {
        self.available_of(leaf, self.number(counter)?)
    }

    fn available_of(&self, leaf: Node, number: usize) -> Option<Amount> {
        let table = self.table(number).filter(|table| table.is_bounded)?;
        let path = self.tree.path(leaf);
        let below_caps = path.iter().filter_map(|node| {
            let row = table.rows.get(node.place())?;
            row.max.map(|max| max - row.held)
        });
        below_caps.chain(table.free_for(path)).min().map(|least| least.max(0))
    }

    /// How much more the accounts at and above this leaf may take of a counter, each by itself: those that have a maximum, and the pool
    /// if it is known how much it has. What is set aside for others is not subtracted.
    pub fn caps<'a>(&'a self, leaf: Node, counter: &'a str) -> impl Iterator<Item = (Node, Amount)> + 'a {
        let of = move |node: &Node| {
            let node = *node;
            let row = self.row(node, counter)?;
            let most = if node == Node::POOL { row.max.into_iter().chain(self.total(counter)).min() } else { row.max };
            Some((node, most?.saturating_sub(row.held).max(0)))
        };
        self.tree.path(leaf).iter().filter_map(of)
    }

    fn total(&self, counter: &str) -> Option<Amount> {
        self.table(self.number(counter)?)?.total
    }

    /// What does not let a gang at this leaf take so much of the counter with this number; none if nothing does.
    #[must_use]
    pub fn bound(&self, leaf: Node, number: usize, amount: Amount) -> Option<Bound<'t>> {
        if amount <= 0 || self.available_of(leaf, number).is_none_or(|most| amount <= most) {
            return None;
        }
        let exceeded = self.tree.path(leaf).iter().find_map(|node| {
            let (row, account) = (self.row_of(*node, number)?, self.tree.stated(*node)?);
            let max = row.max.filter(|max| row.held + amount > *max)?;
            Some(Bound::Max { account: &account.name, held: row.held, max })
        });
        Some(exceeded.unwrap_or(Bound::Aside))
    }

    /// How much of a counter the pool has left, what is set aside included; absent: no limit.
    #[must_use]
    pub fn free(&self, counter: &str) -> Option<Amount> {
        let table = self.table(self.number(counter)?)?;
        table.total.map(|total| total - self.held(Node::POOL, counter))
    }

    /// Whether the pool has as much left of everything as a gang takes.
    #[must_use]
    pub fn fits(&self, takes: &Amounts) -> bool {
        taken(takes).all(|(counter, amount)| self.free(counter).is_none_or(|free| amount <= free))
    }

    /// Whether no quota forbids a gang at this leaf.
    #[must_use]
    pub fn allows(&self, leaf: Node, takes: &Amounts) -> bool {
        taken(takes).all(|(counter, amount)| self.available(leaf, counter).is_none_or(|most| amount <= most))
    }

    /// The same of amounts by the numbers of their counters.
    #[inline]
    #[must_use]
    pub fn allows_numbered(&self, leaf: Node, takes: impl IntoIterator<Item = (usize, Amount)>) -> bool {
        takes.into_iter().all(|(number, amount)| {
            let table = self.table(number).filter(|table| amount > table.sure);
            table.is_none_or(|table| table.allows(self.tree.path(leaf), amount))
        })
    }

    /// Whether something may forbid a gang to take of a counter.
    #[must_use]
    pub fn is_bounded(&self, number: usize) -> bool {
        self.table(number).is_some_and(|table| table.is_bounded)
    }

    /// Whether something is guaranteed of a counter, or may forbid a gang to take of it. Cycles do not have to count any other one.
    #[inline]
    #[must_use]
    pub fn is_limited(&self, number: usize) -> bool {
        self.table(number).is_some_and(|table| table.is_bounded || table.has_min)
    }

    /// The counters that guarantee a gang at one node: it takes of them, they have a `min` there, and with the gang no more is held
    /// than is granted. If one of them is exceeded, none does.
    pub(crate) fn guaranteeing<'a>(&self, node: Node, takes: &'a Amounts) -> Vec<&'a Counter> {
        if !self.guarantees_at(node, &self.numbered(takes)) {
            return Vec::new();
        }
        let has_min = |counter: &Counter| self.row(node, counter).is_some_and(|row| row.min > 0);
        taken(takes).map(|(counter, _)| counter).filter(|counter| has_min(counter)).collect()
    }

    /// Whether some counter guarantees a gang at one node.
    #[inline]
    fn guarantees_at(&self, node: Node, takes: &NumberedAmounts) -> bool {
        let mut guarantees = false;
        for (number, amount) in takes.iter().filter(|(_, amount)| *amount > 0) {
            let Some(row) = self.row_of(node, number).filter(|row| row.min > 0) else { continue };
            if row.held + amount > row.grant {
                return false;
            }
            guarantees = true;
        }
        guarantees
    }

    /// Whether a gang that holds so much is within what is guaranteed to a node: of something it takes, the node has a `min` and holds no more
    /// than its grant.
    pub(crate) fn is_within_guarantee(&self, node: Node, takes: &Amounts) -> bool {
        let is_granted = |row: &Row| row.min > 0 && row.held <= row.grant;
        taken(takes).any(|(counter, _)| self.row(node, counter).is_some_and(is_granted))
    }

    /// Whether a gang at the leaf with this path is guaranteed at some account at or above it.
    #[inline]
    pub(crate) fn guarantees(&self, path: &[Node], takes: &NumberedAmounts) -> bool {
        self.guaranteed(path).any(|node| self.guarantees_at(*node, takes))
    }

    /// The nodes of a path to which something is guaranteed.
    #[inline]
    fn guaranteed<'p>(&self, path: &'p [Node]) -> impl Iterator<Item = &'p Node> {
        let has_min = |node: &&Node| self.has_min.get(node.place()).is_some_and(|has_min| *has_min);
        path.iter().filter(has_min)
    }

    /// Whether something is guaranteed to any account at all.
    pub(crate) fn has_guarantees(&self) -> bool {
        self.tables.iter().any(|(_, table)| table.has_min)
    }

    /// Whether something guaranteed is not held yet, at some account at or above this leaf. Counters are few: a PoolPolicy has 14 at most.
    #[inline]
    #[must_use]
    pub fn has_open_guarantee(&self, leaf: Node) -> bool {
        let is_open = |table: &Table, node: &Node| table.rows.get(node.place()).is_some_and(Row::is_open);
        let path = self.tree.path(leaf);
        self.guaranteed(path).any(|node| self.tables.iter().any(|(_, table)| table.has_min && is_open(table, node)))
    }

    /// The numbers of the counters of which something guaranteed is not held yet, at some account at or above this leaf.
    pub fn open_guarantees(&self, leaf: Node) -> impl Iterator<Item = usize> {
        let path = self.tree.path(leaf);
        let is_open = |table: &Table, node: &Node| table.rows.get(node.place()).is_some_and(Row::is_open);
        let tables = self.tables.iter().enumerate().filter(|(_, (_, table))| table.has_min);
        tables
            .filter(move |(_, (_, table))| self.guaranteed(path).any(|node| is_open(table, node)))
            .map(|(number, _)| number)
    }

    /// A gang at this leaf holds so much from now on. Takes time proportional to the depth of the tree.
    pub fn take(&mut self, leaf: Node, takes: &Amounts) {
        self.change(self.tree.path(leaf), self.numbered(takes).iter());
    }

    /// A gang at this leaf holds so much no longer.
    pub fn give_back(&mut self, leaf: Node, takes: &Amounts) {
        self.change(self.tree.path(leaf), self.numbered(takes).iter().map(|(number, amount)| (number, -amount)));
    }

    /// A gang of this account holds so much from now on. Nothing changes if there is no such account.
    pub fn take_of(&mut self, account: &str, takes: &Amounts) {
        self.tree.leaf(account).into_iter().for_each(|leaf| self.take(leaf, takes));
    }

    /// A gang of this account holds so much no longer. Nothing changes if there is no such account.
    pub fn give_back_of(&mut self, account: &str, takes: &Amounts) {
        self.tree.leaf(account).into_iter().for_each(|leaf| self.give_back(leaf, takes));
    }

    /// Adds so much to what the nodes of a path hold.
    #[inline]
    pub(crate) fn change(&mut self, path: &[Node], amounts: impl Iterator<Item = (usize, Amount)>) {
        for (number, amount) in amounts {
            if let Some((_, table)) = self.tables.get_mut(number) {
                table.change(path, amount);
            }
        }
    }
}

/// The table of a counter.
fn table_of<'q>(tables: &'q mut [(Counter, Table)], counter: &Counter) -> Option<&'q mut Table> {
    let number = tables.binary_search_by(|(known, _)| known.cmp(counter)).ok()?;
    tables.get_mut(number).map(|(_, table)| table)
}

/// The counters of which a gang takes something.
fn taken(takes: &Amounts) -> impl Iterator<Item = (&Counter, Amount)> {
    takes.iter().map(|(counter, amount)| (counter, *amount)).filter(|(_, amount)| *amount > 0)
}
