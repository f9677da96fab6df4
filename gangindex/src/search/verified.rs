//! Cache of conditions that the evaluator has found true, keyed by the values that they read; without it a cycle takes 95 % more instructions.
//! For the same values, a condition is not evaluated again.
//!
//! What a condition reads is gathered from the texts of the ads and not from the index, so that the verification also checks the
//! index.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use classad::{Expr, Name, conjuncts};
use foldhash::fast::RandomState;
use matchmaker::{PoolAd, Ports};
use smallvec::SmallVec;

use crate::index::job_columns::{JobColumns, is_value};
use crate::index::memo::JobView;
use crate::table::{Bits, Cell, ExprId, Exprs, Table, as_u32, as_usize};
use crate::term::Attribute;

/// Conditions that the evaluator has found true, with all that they read.
#[derive(Debug, Default)]
pub(crate) struct VerifiedCache {
    conditions: Vec<Condition>,
    /// The conditions, each for roots that show it the same.
    cases: Vec<Case>,
    /// By the number of a condition and the codes of what it reads of the root: the number of the case.
    case_ids: HashMap<ReadCodes, u32, RandomState>,
    /// How often each condition was met.
    met: Vec<HitRate>,
    /// By the number of a key that several roots have, one of their ports, and the offer class bound there: the cases of both
    /// constraints.
    checks_of: HashMap<(u32, u32, u32), Checks, RandomState>,
    /// By the number of a root's texts: how many gangs there were.
    gangs: Vec<u32>,
    /// By a root's texts, one of its ports, and the offer class bound there.
    told_of: HashMap<(u32, usize, usize), EdgeChecks, RandomState>,
    /// The cases of the gang at hand that are new.
    news: Vec<u32>,
    /// All conditions of the gang at hand can be remembered.
    told: bool,
}

/// The root of a gang.
pub(crate) struct RootKey<'a> {
    /// The number of its key, if others have the same.
    pub(crate) key: Option<u32>,
    /// The number of its texts.
    pub(crate) head: u32,
    /// Its place among all ads.
    pub(crate) place: usize,
    pub(crate) roots: &'a mut JobColumns,
    pub(crate) ads: &'a [Arc<PoolAd>],
}

/// How often the same was shown again.
#[derive(Clone, Copy, Debug, Default)]
struct HitRate {
    again: u32,
    first: u32,
}

impl HitRate {
    /// Whether it pays to remember what is shown: where values are all different, nothing is ever met again.
    fn repeats(self) -> bool {
        self.first < MET_MIN || self.again >= self.first / MET_SHARE
    }
}

/// After so many first times there should have been a second one, of one in so many.
const MET_MIN: u32 = 512;
const MET_SHARE: u32 = 8;

/// The conditions on an edge; none if its texts do not tell what they read.
type EdgeChecks = Option<Arc<[Check]>>;

/// The conditions on an edge, and for each the number of the case; none if that cannot be told.
type Checks = Option<(Arc<[Check]>, Box<[u32]>)>;

/// A condition by number, and what it reads of members beside it: most gangs need nothing else.
#[derive(Clone, Copy, Debug)]
struct Check {
    condition: u32,
    reads: MemberReads,
}

/// What a condition reads of members.
#[derive(Clone, Copy, Debug)]
enum MemberReads {
    Nothing,
    /// A column of one member.
    One(u32, u32),
    Many,
}

/// A part of a constraint, and what it reads.
#[derive(Debug)]
struct Condition {
    part: Conjunct,
    /// Columns of the root.
    root: Vec<u32>,
    /// Members by number, the root not among them, and their columns.
    members: Vec<(u32, u32)>,
}

/// A condition for roots that show it the same.
#[derive(Debug)]
struct Case {
    condition: u32,
    /// The code of the only thing that it reads of members, nothing being 0.
    one: Bits,
    /// The codes of what it reads, if that is more.
    many: HashSet<ReadCodes, RandomState>,
}

type ReadCodes = SmallVec<[u32; 4]>;

/// A part of one of the two constraints of an edge.
#[derive(Clone, Debug)]
pub(crate) struct Conjunct {
    /// The root's port.
    pub(crate) port: usize,
    /// Which side of the edge the expression stands on.
    pub(crate) side: EdgeSide,
    pub(crate) expr: Expr,
}

/// What a case takes in memory beside what was agreed to, and what an entry takes, about.
const CASE_BYTES: usize = 256;
const ENTRY_BYTES: usize = 48;

impl VerifiedCache {
    /// What is remembered takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.cases.iter().map(|case| CASE_BYTES + case.one.bytes() + ENTRY_BYTES * case.many.len()).sum()
    }

    /// Forgets what depends on the numbers of roots' keys, which mean others now.
    pub(crate) fn forget_keys(&mut self) {
        self.checks_of.clear();
    }

    /// Whether something of a gang's constraints was not found true of the same values before; none if that is not told, and
    /// the whole gang must be looked at. The first gang with a root's texts is not asked: there may never be a second one.
    /// `rows` are those bound to the root's ports.
    pub(crate) fn is_new(&mut self, mut root: RootKey<'_>, rows: &[u32], table: &mut Table) -> Option<bool> {
        self.news.clear();
        self.told = self.is_common(root.head) && self.look(&mut root, rows, table).is_some();
        self.told.then_some(!self.news.is_empty())
    }

    /// What of the gang at hand is new.
    pub(crate) fn news(&self) -> impl Iterator<Item = &Conjunct> + Clone {
        let cases = self.news.iter().filter_map(|case| self.cases.get(as_usize(*case)));
        cases.filter_map(|case| Some(&self.conditions.get(as_usize(case.condition))?.part))
    }

    /// Remembers that the gang at hand, of these rows, was agreed to.
    pub(crate) fn remember(&mut self, rows: &[u32], table: &Table) {
        for case in self.news.iter().filter(|_| self.told) {
            let Some(case) = self.cases.get_mut(as_usize(*case)) else { continue };
            let Some(condition) = self.conditions.get(as_usize(case.condition)) else { continue };
            // Nothing is written down of what would not be met again.
            if self.met.get(as_usize(case.condition)).is_some_and(|met| met.repeats()) {
                case.put(condition, rows, table);
            }
        }
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

    /// Writes down the cases of a gang that are new; none if some cannot be told.
    fn look(&mut self, root: &mut RootKey<'_>, rows: &[u32], table: &mut Table) -> Option<()> {
        for (port, row) in rows.iter().enumerate() {
            let offer_class = table.rows.get(as_usize(*row))?.offer_class();
            let place = root.key.map(|key| (key, as_u32(port), as_u32(offer_class)));
            let alone;
            let checks = match place.and_then(|place| self.checks_of.get(&place)) {
                Some(known) => known.as_ref()?,
                None => {
                    let checks = self.checks(root, port, offer_class, table);
                    match place {
                        Some(place) => self.checks_of.entry(place).or_insert(checks).as_ref()?,
                        None => {
                            alone = checks?;
                            &alone
                        }
                    }
                }
            };
            for (Check { condition, reads }, case) in checks.0.iter().zip(&checks.1) {
                let met = self.met.get_mut(as_usize(*condition))?;
                if met.repeats() {
                    let known = self.cases.get(as_usize(*case))?;
                    let has = match reads {
                        MemberReads::Nothing => known.one.get(0),
                        MemberReads::One(member, column) => {
                            known.one.get(as_usize(shown((*member, *column), rows, table)?))
                        }
                        MemberReads::Many => {
                            known.many.contains(&self.conditions.get(as_usize(*condition))?.codes(rows, table)?)
                        }
                    };
                    if has {
                        met.again = met.again.saturating_add(1);
                        continue;
                    }
                    met.first = met.first.saturating_add(1);
                }
                self.news.push(*case);
            }
        }
        Some(())
    }

    /// What is to be checked of an edge of a root.
    fn checks(&mut self, root: &mut RootKey<'_>, port: usize, offer_class: usize, table: &mut Table) -> Checks {
        let place = (root.head, port, offer_class);
        let row = root.roots.row_at(root.place)?;
        let seen = &mut JobView { roots: root.roots, row, ads: root.ads };
        let told = match self.told_of.get(&place) {
            Some(told) => told.clone()?,
            None => {
                let told = told(&root.ads.get(root.place)?.ports, place, seen, table, &mut self.conditions);
                self.told_of.insert(place, told.clone());
                told?
            }
        };
        self.met.resize(self.conditions.len(), HitRate::default());
        let cases = told.iter().map(|check| self.case(check.condition, seen)).collect::<Option<_>>()?;
        Some((told, cases))
    }

    /// The number of the case of a root's condition; none if the root shows it what is no value.
    fn case(&mut self, condition: u32, seen: &JobView<'_>) -> Option<u32> {
        let mut shown = ReadCodes::from_slice(&[condition]);
        for column in &self.conditions.get(as_usize(condition))?.root {
            let (code, expr) = seen.roots.shows(*column, seen.row);
            if expr.is_some() {
                return None;
            }
            shown.push(code.0);
        }
        let next = as_u32(self.cases.len());
        let number = *self.case_ids.entry(shown).or_insert(next);
        if number == next {
            self.cases.push(Case { condition, one: Bits::none(usize::MAX), many: HashSet::default() });
        }
        Some(number)
    }
}

impl Case {
    fn put(&mut self, condition: &Condition, rows: &[u32], table: &Table) {
        let Some(codes) = condition.codes(rows, table) else { return };
        match codes.as_slice() {
            [] => self.one.set(0, true),
            [code] => self.one.set(as_usize(*code), true),
            _ => _ = self.many.insert(codes),
        }
    }
}

impl Condition {
    fn codes(&self, rows: &[u32], table: &Table) -> Option<ReadCodes> {
        self.members.iter().map(|member| shown(*member, rows, table)).collect()
    }
}

/// The code of what a member shows in a column; none if only the evaluator knows.
fn shown((member, column): (u32, u32), rows: &[u32], table: &Table) -> Option<u32> {
    let column = table.columns.get(column)?;
    let code = *column.codes().get(as_usize(*rows.get(as_usize(member))?))?;
    let open = column.has_unknown && column.cells().get(as_usize(code)) == Some(&Cell::Unknown);
    (!open).then_some(code)
}

/// The conditions of an edge, of both sides.
fn told(
    root: &Ports,
    (_, port, offer_class): (u32, usize, usize),
    seen: &mut JobView<'_>,
    table: &mut Table,
    conditions: &mut Vec<Condition>,
) -> EdgeChecks {
    let (partner, via) = table.offer_classes.list.get(offer_class)?.example.clone();
    let own = root.list.get(port)?.constraint.as_ref();
    let theirs = partner.list.get(via)?.constraint.as_ref();
    // An ad without ports that demands nothing has no partners at all.
    if own.is_none() && root.implicit || theirs.is_none() && partner.implicit {
        return None;
    }
    let first = conditions.len();
    for (constraint, side) in [(own, EdgeSide::Root), (theirs, EdgeSide::Partner)] {
        for part in constraint.map(conjuncts).unwrap_or_default() {
            let expr = table.exprs.id(&part);
            let reading = Reading::of((root, port), (&partner, via), (expr, side), &mut table.exprs)?;
            let of_root = reading.of_root.iter();
            let root = of_root.map(|name| seen.roots.column(name, seen.ads, table)).collect::<Option<_>>()?;
            let of_members = reading.of_members.iter();
            let members =
                of_members.map(|(member, name)| Some((as_u32(*member), table.column(name)?))).collect::<Option<_>>()?;
            let part = Conjunct { port, side, expr: part };
            conditions.push(Condition { part, root, members });
        }
    }
    let check = |(number, condition): (usize, &Condition)| {
        let reads = match condition.members.as_slice() {
            [] => MemberReads::Nothing,
            [(member, column)] => MemberReads::One(*member, *column),
            _ => MemberReads::Many,
        };
        Check { condition: as_u32(number), reads }
    };
    Some(conditions.iter().enumerate().skip(first).map(check).collect())
}

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeSide {
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
    pending: Vec<(ExprId, EdgeSide)>,
}

impl<'a> Reading<'a> {
    /// What a condition of one side of an edge reads; none if its text does not tell.
    fn of(
        (root, port): (&'a Ports, usize),
        (partner, via): (&'a Ports, usize),
        condition: (ExprId, EdgeSide),
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
                    (EdgeSide::Root, Some(member)) => _ = reading.of_members.insert((member, name.clone())),
                    (EdgeSide::Partner, Some(_)) => reading.of_root(name, exprs)?,
                    (_, None) => reading.bare(base, side, exprs)?,
                }
            }
        }
        Some(reading)
    }

    /// The member that a label stands for on one side.
    fn label_of(&self, name: &Name, side: EdgeSide) -> Option<usize> {
        let implicit = match side {
            EdgeSide::Root => self.root.implicit,
            EdgeSide::Partner => self.partner.implicit,
        };
        match side {
            _ if implicit => (name == "other" || name == "target").then_some(self.port),
            EdgeSide::Root => self.root.list.iter().position(|port| port.label == *name),
            EdgeSide::Partner => self.label.filter(|label| *label == name).map(|_| self.port),
        }
    }

    /// A name that stands alone: an own attribute, or one of the partner where ads have no ports.
    fn bare(&mut self, name: &Name, side: EdgeSide, exprs: &mut Exprs) -> Option<()> {
        // A partner taken as a whole may be looked at in any way.
        if self.label_of(name, side).is_some() || name == "members" {
            return None;
        }
        match side {
            EdgeSide::Root => {
                if self.root.implicit {
                    self.of_members.insert((self.port, name.clone()));
                }
                self.of_root(name, exprs)
            }
            EdgeSide::Partner => {
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
        if self.label_of(name, EdgeSide::Root).is_some() || name == "members" {
            return None;
        }
        if !self.of_root.insert((None, name.clone())) {
            return Some(());
        }
        for (number, port) in self.root.list.iter().enumerate().filter(|_| !self.root.implicit) {
            let Some(expr) = port.attributes.get(name.as_str()) else { continue };
            match is_value(name, expr) {
                true => _ = self.of_root.insert((Some(number), name.clone())),
                false => self.pending.push((exprs.id(expr), EdgeSide::Root)),
            }
        }
        Some(())
    }
}
