//! Roots that no ad can tell apart, put together.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use classad::{Kind, Name};
use foldhash::fast::RandomState;

use crate::model::PoolAd;
use crate::ports::Ports;
use crate::table::{Cell, ExprId, Table, own_value};

/// All of a root that any expression of the pool can read, its own included: equal keys are equal in every edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RootKey(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Text(Arc<str>),
    Name(Name),
    Expr(ExprId),
    Cell(Cell),
    Absent,
    Port(usize),
}

/// What templates and owners' terms read of a root: the names that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readers {
    pub(crate) names: BTreeSet<Name>,
    /// Some ad reads who was bound where.
    pub(crate) members: bool,
    /// Some owner's terms can read anything.
    pub(crate) anything: bool,
}

/// The numbers of keys.
#[derive(Debug, Default)]
pub(crate) struct RootKeys {
    ids: HashMap<RootKey, u32, RandomState>,
}

impl RootKeys {
    pub(crate) fn id(&mut self, key: RootKey) -> u32 {
        let next = crate::table::as_u32(self.ids.len());
        *self.ids.entry(key).or_insert(next)
    }

    pub(crate) fn clear(&mut self) {
        self.ids.clear();
    }
}

/// The key of a root, and whether its own expressions can read more than the key tells.
pub(crate) fn key(table: &mut Table, root: &PoolAd, readers: &Readers) -> (RootKey, bool) {
    let ports = &*root.ports;
    let parts = vec![Part::Text(Arc::from(root.key.namespace.as_str()))];
    let mut keys = Keys { table, ports, parts, reflective: false };
    // The words that its own expressions and others' read: first where the root's ports stand, then in its body.
    let body: Vec<Name> = ["GangRank"].iter().map(|name| Name::new(*name)).collect();
    keys.attributes(None, body);
    for (place, port) in ports.list.iter().enumerate() {
        keys.parts.push(Part::Port(place));
        if !ports.implicit {
            keys.parts.push(Part::Name(port.label.clone()));
        }
        let mut names: Vec<Name> = readers.names.iter().cloned().collect();
        for expr in [&port.constraint, &port.rank, &port.request] {
            let Some(expr) = expr else {
                keys.parts.push(Part::Absent);
                continue;
            };
            let id = keys.table.exprs.id(expr);
            keys.parts.push(Part::Expr(id));
            let reads = keys.table.exprs.reads(id);
            keys.reflective |= reads.reflective;
            names.extend(reads.bare.iter().cloned());
            names.extend(reads.selected.iter().map(|(base, _)| base.clone()));
        }
        keys.attributes(Some(place), names);
    }
    (RootKey(keys.parts), keys.reflective)
}

struct Keys<'a> {
    table: &'a mut Table,
    ports: &'a Ports,
    parts: Vec<Part>,
    reflective: bool,
}

impl Keys<'_> {
    /// What these names stand for, seen from a port, and what their expressions read in turn.
    fn attributes(&mut self, port: Option<usize>, mut names: Vec<Name>) {
        let mut seen: BTreeSet<Name> = names.iter().cloned().collect();
        let mut next = 0;
        while let Some(name) = names.get(next).cloned() {
            next += 1;
            let own = port.and_then(|port| self.ports.list.get(port)).filter(|_| !self.ports.implicit);
            let in_port = own.and_then(|own| own.attributes.at(own.attributes.place(&name)?));
            let in_body = self.ports.body.place(&name).and_then(|place| self.ports.body.at(place));
            // The body's own expressions see the body's attribute, whatever the port has of that name.
            for (expr, stands) in [(in_port, true), (in_body, false)] {
                let Some(expr) = expr else {
                    self.parts.push(Part::Absent);
                    continue;
                };
                if let Kind::Literal(value) = expr.kind() {
                    let cell = self.table.words.cell(value);
                    self.parts.push(Part::Cell(cell));
                    continue;
                }
                let via = port.unwrap_or(0);
                let (words, context) = self.table.words_and_context();
                let cell = own_value(self.ports, via, expr, stands, words, context);
                if cell != Cell::Open {
                    self.parts.push(Part::Cell(cell));
                    continue;
                }
                let id = self.table.exprs.id(expr);
                self.parts.push(Part::Expr(id));
                let reads = self.table.exprs.reads(id);
                self.reflective |= reads.reflective;
                let more = reads.bare.iter().chain(reads.selected.iter().map(|(base, _)| base));
                names.extend(more.filter(|name| seen.insert((*name).clone())).cloned());
            }
        }
    }
}
