//! What the evaluator has agreed to: of another gang that shows a condition the same, it would say the same.
//!
//! What a condition reads is gathered from the texts of the ads, not from what the index made of them, so that the second
//! look stays one at the index's work.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use classad::{Expr, Name, conjuncts};
use foldhash::fast::RandomState;

use crate::gang::Member;
use crate::index::memo::Seen;
use crate::index::roots::{Attribute, is_value};
use crate::ports::Ports;
use crate::table::{Cell, ExprId, Exprs, Table, as_usize};

/// Conditions that the evaluator has found true, with all that they read.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    /// The number of a condition, then the code of everything that it reads.
    shown: Shown,
    /// The number of a root's key and that of an edge, then the code of everything that is read of members there: edges all
    /// of whose conditions are known. They spare looking at each.
    edges: Shown,
    /// By the number of a root's texts: how many gangs there were.
    gangs: Vec<u32>,
    /// By a root's texts, one of its ports, and the template bound there.
    told_of: HashMap<(u32, usize, usize), Told, RandomState>,
    /// How many conditions and edges have a number.
    numbers: u32,
    /// By number: how often they were met again.
    met: Vec<Met>,
    /// What the conditions of the gang at hand show that are new, one after the other.
    shows: Vec<u32>,
    /// These conditions, and where each ends in `shows`.
    news: Vec<(usize, Part)>,
    /// The edges of the gang at hand that are new, one after the other, and where each ends.
    new_edges: Vec<u32>,
    ends: Vec<usize>,
    /// All conditions of the gang at hand can be remembered.
    told: bool,
}

/// How often the same was shown again.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    again: u32,
    first: u32,
}

impl Met {
    /// Whether it pays to remember what is shown: where values are all different, nothing is ever met again.
    fn repeats(self) -> bool {
        self.first < MET_MIN || self.again >= self.first / MET_SHARE
    }
}

/// After so many first times there should have been a second one, of one in so many.
const MET_MIN: u32 = 512;
const MET_SHARE: u32 = 8;

/// What is known of an edge; none if its texts do not tell what they read.
type Told = Option<Arc<Edge>>;

/// The conditions on an edge.
#[derive(Debug)]
struct Edge {
    number: u32,
    conditions: Vec<Condition>,
    /// Everything that they read of members.
    members: Vec<(usize, u32)>,
}

/// A part of a constraint, and what it reads.
#[derive(Debug)]
struct Condition {
    number: u32,
    part: Part,
    /// Columns of the root.
    root: Vec<u32>,
    /// Members by number, the root not among them, and their columns.
    members: Vec<(usize, u32)>,
}

/// A part of one of the two constraints of an edge.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The root's port.
    pub(crate) port: usize,
    pub(crate) side: Side,
    pub(crate) expr: Expr,
}

/// What was shown.
#[derive(Debug, Default)]
struct Shown {
    all: HashSet<Box<[u32]>, RandomState>,
    /// What they take in memory, about.
    bytes: usize,
}

/// What an entry takes beside what it holds, about.
const ENTRY_BYTES: usize = 32;

impl Agreed {
    /// What is remembered takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.shown.bytes + self.edges.bytes
    }

    /// Forgets what depends on the numbers of roots' keys, which mean others now.
    pub(crate) fn forget_keys(&mut self) {
        self.edges = Shown::default();
    }

    /// The parts of a gang's constraints that were not found true of the same values before; none if that is not told, and
    /// the whole gang must be looked at. The first gang with a root's texts is not asked: there may never be a second one.
    pub(crate) fn news(
        &mut self,
        (key, root): (u32, &Ports),
        members: &[Member],
        seen: &mut Seen<'_>,
        table: &mut Table,
    ) -> Option<&[(usize, Part)]> {
        self.shows.clear();
        self.news.clear();
        self.new_edges.clear();
        self.ends.clear();
        let (head, _) = seen.roots.head_of(seen.row);
        self.told = self.is_common(head) && self.look((key, head), root, members, seen, table).is_some();
        if self.told && self.news.is_empty() {
            self.edges.put(&self.new_edges, self.ends.iter().copied());
        }
        self.told.then_some(self.news.as_slice())
    }

    /// Remembers that the gang asked for last was agreed to.
    pub(crate) fn remember(&mut self) {
        if !self.told {
            return;
        }
        let ends = self.news.iter().map(|(end, _)| *end);
        self.shown.put(&self.shows, ends);
        self.edges.put(&self.new_edges, self.ends.iter().copied());
    }

    fn is_common(&mut self, head: u32) -> bool {
        let place = as_usize(head);
        if self.gangs.len() <= place {
            self.gangs.resize(place + 1, 0);
        }
        let Some(gangs) = self.gangs.get_mut(place) else { return false };
        *gangs = gangs.saturating_add(1);
        *gangs > 1
    }

    /// Writes down the conditions of a gang that are new; none if some cannot be told.
    fn look(
        &mut self,
        (key, head): (u32, u32),
        root: &Ports,
        members: &[Member],
        seen: &mut Seen<'_>,
        table: &mut Table,
    ) -> Option<()> {
        for (port, member) in members.iter().enumerate() {
            let place = (head, port, table.rows.get(row(member, table)?)?.template);
            let edge = match self.told_of.get(&place) {
                Some(told) => told.clone()?,
                None => {
                    let told = told(root, place, seen, table, &mut self.numbers);
                    self.told_of.insert(place, told.clone());
                    told?
                }
            };
            if self.repeats(edge.number) {
                let start = self.new_edges.len();
                self.new_edges.extend([key, edge.number]);
                show(&edge.members, members, table, &mut self.new_edges)?;
                let again = self.new_edges.get(start..).is_some_and(|key| self.edges.contains(key));
                self.count(edge.number, again);
                if again {
                    self.new_edges.truncate(start);
                    continue;
                }
                self.ends.push(self.new_edges.len());
            }
            for condition in &edge.conditions {
                self.condition(condition, members, seen, table)?;
            }
        }
        Some(())
    }

    /// Writes down a condition if it is new; none if it cannot be told.
    fn condition(&mut self, condition: &Condition, members: &[Member], seen: &Seen<'_>, table: &Table) -> Option<()> {
        let start = self.shows.len();
        if !self.repeats(condition.number) {
            self.news.push((start, condition.part.clone()));
            return Some(());
        }
        self.shows.push(condition.number);
        for column in &condition.root {
            let (code, expr) = seen.roots.shows(*column, seen.row);
            self.shows.push(code.0);
            if expr.is_some() {
                return None;
            }
        }
        show(&condition.members, members, table, &mut self.shows)?;
        let again = self.shows.get(start..).is_some_and(|key| self.shown.contains(key));
        self.count(condition.number, again);
        match again {
            true => self.shows.truncate(start),
            false => self.news.push((self.shows.len(), condition.part.clone())),
        }
        Some(())
    }

    fn repeats(&self, number: u32) -> bool {
        self.met.get(as_usize(number)).is_none_or(|met| met.repeats())
    }

    fn count(&mut self, number: u32, again: bool) {
        if self.met.len() <= as_usize(number) {
            self.met.resize(as_usize(number) + 1, Met::default());
        }
        if let Some(met) = self.met.get_mut(as_usize(number)) {
            met.again = met.again.saturating_add(u32::from(again));
            met.first = met.first.saturating_add(u32::from(!again));
        }
    }
}

impl Shown {
    fn contains(&self, shown: &[u32]) -> bool {
        self.all.contains(shown)
    }

    /// Adds slices of `all`, one after the other.
    fn put(&mut self, all: &[u32], ends: impl Iterator<Item = usize>) {
        let mut start = 0;
        for end in ends {
            // Nothing is written down of what would not be met again.
            let Some(shown) = all.get(start..end).filter(|shown| !shown.is_empty()) else { continue };
            if self.all.insert(shown.into()) {
                self.bytes += size_of_val(shown) + ENTRY_BYTES;
            }
            start = end;
        }
    }
}

/// The row that a member is bound by.
fn row(member: &Member, table: &Table) -> Option<usize> {
    Some(as_usize(table.first_row.get(member.ad.place()).copied().flatten()?) + member.bond?.via)
}

/// Writes down what members show in some columns; none if only the evaluator knows.
fn show(columns: &[(usize, u32)], members: &[Member], table: &Table, shown: &mut Vec<u32>) -> Option<()> {
    for (member, column) in columns {
        let column = table.columns.get(*column)?;
        let code = *column.codes().get(row(members.get(*member)?, table)?)?;
        shown.push(code);
        if column.has_open && column.cells().get(as_usize(code)) == Some(&Cell::Open) {
            return None;
        }
    }
    Some(())
}

/// The conditions of an edge, of both sides.
fn told(
    root: &Ports,
    (_, port, template): (u32, usize, usize),
    seen: &mut Seen<'_>,
    table: &mut Table,
    numbers: &mut u32,
) -> Told {
    let (partner, via) = table.templates.list.get(template)?.example.clone();
    let own = root.list.get(port)?.constraint.as_ref();
    let theirs = partner.list.get(via)?.constraint.as_ref();
    // An ad without ports that demands nothing has no partners at all.
    if own.is_none() && root.implicit || theirs.is_none() && partner.implicit {
        return None;
    }
    let mut conditions: Vec<Condition> = Vec::new();
    for (constraint, side) in [(own, Side::Root), (theirs, Side::Partner)] {
        for part in constraint.map(conjuncts).unwrap_or_default() {
            let expr = table.exprs.id(&part);
            let reading = Reading::of((root, port), (&partner, via), (expr, side), &mut table.exprs)?;
            let number = next(numbers);
            let root = reading.of_root.iter().map(|name| seen.roots.column(name, seen.ads, table)).collect();
            let members = reading.of_members.iter().map(|(member, name)| (*member, table.column(name))).collect();
            conditions.push(Condition { number, part: Part { port, side, expr: part }, root, members });
        }
    }
    let mut members: Vec<(usize, u32)> = conditions.iter().flat_map(|condition| condition.members.clone()).collect();
    members.sort_unstable();
    members.dedup();
    Some(Arc::new(Edge { number: next(numbers), conditions, members }))
}

fn next(numbers: &mut u32) -> u32 {
    *numbers += 1;
    *numbers
}

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Root,
    Partner,
}

/// What a condition reads, gathered name by name.
struct Reading<'a> {
    root: &'a Ports,
    port: usize,
    partner: &'a Ports,
    /// The label by which the partner knows the root, if it does.
    label: Option<&'a Name>,
    of_root: BTreeSet<Attribute>,
    of_members: BTreeSet<(usize, Name)>,
    pending: Vec<(ExprId, Side)>,
}

impl<'a> Reading<'a> {
    /// What a condition of one side of an edge reads; none if its text does not tell.
    fn of(
        (root, port): (&'a Ports, usize),
        (partner, via): (&'a Ports, usize),
        condition: (ExprId, Side),
        exprs: &mut Exprs,
    ) -> Option<Reading<'a>> {
        let label = partner.list.get(via).filter(|_| !partner.implicit).map(|port| &port.label);
        let (of_root, of_members) = (BTreeSet::new(), BTreeSet::new());
        let mut reading = Reading { root, port, partner, label, of_root, of_members, pending: vec![condition] };
        while let Some((expr, side)) = reading.pending.pop() {
            let reads = exprs.reads(expr);
            if reads.reflective || reads.timely {
                return None;
            }
            for name in &reads.bare {
                reading.bare(name, side, exprs)?;
            }
            for (base, name) in &reads.selected {
                match (side, reading.label_of(base, side)) {
                    (Side::Root, Some(member)) => _ = reading.of_members.insert((member, name.clone())),
                    (Side::Partner, Some(_)) => reading.of_root(name, exprs)?,
                    (_, None) => reading.bare(base, side, exprs)?,
                }
            }
        }
        Some(reading)
    }

    /// The member that a label stands for on one side.
    fn label_of(&self, name: &Name, side: Side) -> Option<usize> {
        let implicit = match side {
            Side::Root => self.root.implicit,
            Side::Partner => self.partner.implicit,
        };
        match side {
            _ if implicit => (name == "other" || name == "target").then_some(self.port),
            Side::Root => self.root.list.iter().position(|port| port.label == *name),
            Side::Partner => self.label.filter(|label| *label == name).map(|_| self.port),
        }
    }

    /// A name that stands alone: an own attribute, or one of the partner where ads have no ports.
    fn bare(&mut self, name: &Name, side: Side, exprs: &mut Exprs) -> Option<()> {
        // A partner taken as a whole may be looked at in any way.
        if self.label_of(name, side).is_some() || name == "members" {
            return None;
        }
        match side {
            Side::Root => {
                if self.root.implicit {
                    self.of_members.insert((self.port, name.clone()));
                }
                self.of_root(name, exprs)
            }
            Side::Partner => {
                self.of_members.insert((self.port, name.clone()));
                match self.partner.implicit {
                    true => self.of_root(name, exprs),
                    false => Some(()),
                }
            }
        }
    }

    /// A name that is looked for in the root, wherever it stands.
    fn of_root(&mut self, name: &Name, exprs: &mut Exprs) -> Option<()> {
        if self.label_of(name, Side::Root).is_some() || name == "members" {
            return None;
        }
        if !self.of_root.insert((None, name.clone())) {
            return Some(());
        }
        for (number, port) in self.root.list.iter().enumerate().filter(|_| !self.root.implicit) {
            let Some(expr) = port.attributes.get(name.as_str()) else { continue };
            match is_value(name, expr) {
                true => _ = self.of_root.insert((Some(number), name.clone())),
                false => self.pending.push((exprs.id(expr), Side::Root)),
            }
        }
        Some(())
    }
}
