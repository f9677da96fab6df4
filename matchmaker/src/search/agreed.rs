//! Gangs that the evaluator has agreed to: to another one that shows it the same in all that it reads, it would agree as well.
//!
//! What it reads is gathered from the texts of the constraints, not from what the index made of them, so that the second
//! look stays one at the index's work.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use classad::{Expr, Kind, Name};
use foldhash::fast::RandomState;

use crate::gang::Member;
use crate::ports::Ports;
use crate::table::{ExprId, Exprs, Table, as_u32, as_usize};

/// What is remembered of gangs that were looked at again.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    /// What gangs showed: the number of the root's key, and for each other member its template and what is read of it.
    shown: HashSet<Box<[u32]>, RandomState>,
    /// By the number of a root's key: the columns that are read of the partner at each of its ports because of the root's
    /// texts. None inside if these do not tell.
    by_root: Vec<Option<Columns>>,
    /// By template: the columns that its own texts read of its rows.
    by_template: Vec<Option<Columns>>,
    /// The gang at hand, room for which is kept.
    key: Vec<u32>,
    /// It can be remembered.
    told: bool,
}

/// Some columns for each port; none if the texts do not tell what is read.
type Columns = Option<Arc<[Box<[u32]>]>>;

/// How many gangs are remembered before all are forgotten.
const GANGS_MAX: usize = 200_000;

impl Agreed {
    /// Forgets everything: the numbers of keys mean others now.
    pub(crate) fn forget(&mut self) {
        self.shown.clear();
        self.by_root.clear();
    }

    /// Whether an equal gang has been agreed to. `key` is the number of the root's key, `names` are those that others read
    /// of roots.
    pub(crate) fn knows(
        &mut self,
        (key, root): (u32, &Ports),
        members: &[Member],
        names: &BTreeSet<Name>,
        table: &mut Table,
    ) -> bool {
        self.key.clear();
        self.key.push(key);
        self.told = self.show((key, root), members, names, table).is_some();
        self.told && self.shown.contains(self.key.as_slice())
    }

    /// Writes down what a gang shows; none if that is not told by the texts.
    fn show(
        &mut self,
        (key, root): (u32, &Ports),
        members: &[Member],
        names: &BTreeSet<Name>,
        table: &mut Table,
    ) -> Option<()> {
        let of_root = remembered(&mut self.by_root, as_usize(key), || by_root(root, names, table))?;
        for (member, columns) in members.iter().zip(of_root.iter()) {
            let first = table.first_row.get(member.ad.place()).copied().flatten()?;
            let row = as_usize(first) + member.bond?.via;
            let template = table.rows.get(row)?.template;
            let own = remembered(&mut self.by_template, template, || by_template(template, table))?;
            self.key.push(as_u32(template));
            for column in columns.iter().chain(own.iter().flatten()) {
                self.key.push(*table.columns.get(*column)?.codes().get(row)?);
            }
        }
        Some(())
    }

    /// Remembers the gang asked for last.
    pub(crate) fn remember(&mut self) {
        if self.shown.len() >= GANGS_MAX {
            self.shown.clear();
        }
        if self.told {
            self.shown.insert(self.key.as_slice().into());
        }
    }
}

fn remembered(known: &mut Vec<Option<Columns>>, place: usize, make: impl FnOnce() -> Columns) -> Columns {
    if known.len() <= place {
        known.resize(place + 1, None);
    }
    known.get_mut(place).and_then(|own| own.get_or_insert_with(make).clone())
}

/// Names into columns, port by port.
fn columns(names: Vec<BTreeSet<Name>>, table: &mut Table) -> Columns {
    Some(names.iter().map(|names| names.iter().map(|name| table.column(name)).collect()).collect())
}

/// What is read of each partner because of a root's texts: of its constraints, and of its attributes that these or others
/// read.
fn by_root(root: &Ports, names: &BTreeSet<Name>, table: &mut Table) -> Columns {
    let exprs = &mut table.exprs;
    let mut read: Vec<BTreeSet<Name>> = vec![BTreeSet::new(); root.list.len()];
    let mut own = BTreeSet::new();
    let mut pending: Vec<ExprId> = Vec::new();
    for port in &root.list {
        pending.extend(port.constraint.as_ref().map(|constraint| exprs.id(constraint)));
    }
    names.iter().for_each(|name| look_up(name, root, exprs, &mut own, &mut pending));
    while let Some(expr) = pending.pop() {
        let reads = exprs.reads(expr);
        if reads.reflective || reads.timely {
            return None;
        }
        let port_of = |label: &Name| match root.implicit {
            true => (label == "other" || label == "target").then_some(0),
            false => root.list.iter().position(|port| port.label == *label),
        };
        for name in &reads.bare {
            if port_of(name).is_some() || name == "members" {
                return None;
            }
            look_up(name, root, exprs, &mut own, &mut pending);
            // What an ad without ports does not have is looked for in its partner.
            if root.implicit && root.body.get(name.as_str()).is_none() {
                read.iter_mut().for_each(|read| _ = read.insert(name.clone()));
            }
        }
        for (base, name) in &reads.selected {
            match port_of(base).and_then(|port| read.get_mut(port)) {
                Some(read) => _ = read.insert(name.clone()),
                None if root.implicit || base == "members" => return None,
                None => look_up(base, root, exprs, &mut own, &mut pending),
            }
        }
    }
    columns(read, table)
}

/// Adds what a name stands for in a root, wherever it stands, unless it is a value or was met before.
fn look_up(name: &Name, root: &Ports, exprs: &mut Exprs, met: &mut BTreeSet<Name>, pending: &mut Vec<ExprId>) {
    if !met.insert(name.clone()) {
        return;
    }
    let ports = root.list.iter().filter(|_| !root.implicit).map(|port| &port.attributes);
    for ad in ports.chain([&root.body]) {
        if let Some(expr) = ad.get(name.as_str()).filter(|expr| !matches!(expr.kind(), Kind::Literal(_))) {
            pending.push(exprs.id(expr));
        }
    }
}

/// What the rows of a template read of themselves: by their constraint, and by any attribute that it may read.
fn by_template(template: usize, table: &mut Table) -> Columns {
    let (ports, via) = table.templates.list.get(template)?.example.clone();
    let port = ports.list.get(via)?;
    let mut exprs: Vec<&Expr> = port.constraint.iter().collect();
    let own = (!ports.implicit).then_some(&port.attributes);
    for ad in own.into_iter().chain([&ports.body]) {
        let terms = |name: &Name| TERMS.iter().any(|term| name == term);
        let expressions = ad.iter().filter(|(name, expr)| !terms(name) && !matches!(expr.kind(), Kind::Literal(_)));
        exprs.extend(expressions.map(|(_, expr)| expr));
    }
    let mut read = BTreeSet::new();
    for expr in exprs {
        let id = table.exprs.id(expr);
        let reads = table.exprs.reads(id);
        let partner = |name: &Name| match ports.implicit {
            true => name == "other" || name == "target",
            false => *name == port.label,
        };
        if reads.reflective || reads.timely || reads.bare.iter().any(|name| partner(name) || name == "members") {
            return None;
        }
        read.extend(reads.bare.iter().cloned());
        let bases = reads.selected.iter().map(|(base, _)| base).filter(|base| !partner(base));
        read.extend(bases.cloned());
    }
    columns(vec![read], table)
}

/// Attributes that are taken apart before, or not at all.
const TERMS: [&str; 6] = ["Ports", "Constraint", "Requirements", "Rank", "Label", "Request"];
