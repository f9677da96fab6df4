//! Roots that no ad can tell apart, put together.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use classad::{Ad, Expr, Kind, Name};
use foldhash::fast::RandomState;

use crate::model::PoolAd;
use crate::ports::Ports;
use crate::table::{Cell, ExprId, Table, as_u32};

/// One thing that a root shows of itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Namespace(u32),
    /// Its ports, or what stands for them in an ad without: the whole text.
    Expr(ExprId),
    /// The value of one of its attributes.
    Cell(Cell),
    Absent,
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

/// Roots by what they show: equal keys are equal in every edge, as far as nobody reads more than is written.
#[derive(Debug, Default)]
pub(crate) struct RootKeys {
    ids: HashMap<Vec<Part>, u32, RandomState>,
    namespaces: HashMap<String, u32, RandomState>,
    readers: Readers,
    /// For the texts that stand at the head of a key: what of the root's own attributes must be looked at.
    wanted: HashMap<Vec<Part>, Arc<Wanted>, RandomState>,
    /// Where `Ports` stands in ads that have the same names as the last one.
    ports: Option<(usize, Option<usize>)>,
    /// Where those attributes stand in ads that have the same names.
    places: Option<(usize, Arc<Wanted>, Vec<Option<usize>>)>,
    parts: Vec<Part>,
}

/// The names that matter in roots with the same ports.
#[derive(Debug)]
struct Wanted {
    names: Vec<Name>,
    /// The root's own expressions can read more than is written in them.
    reflective: bool,
}

/// How many keys are remembered before all are forgotten.
const KEYS_MAX: usize = 1_000_000;

/// Attributes that say what an ad without ports wants.
const TERMS: [&str; 5] = ["Requirements", "Constraint", "Rank", "Request", "GangRank"];

impl RootKeys {
    /// Makes ready for another snapshot. If other names matter now, all keys are forgotten, and that is said.
    pub(crate) fn read_by(&mut self, readers: &Readers) -> bool {
        self.places = None;
        self.ports = None;
        let other = self.readers != *readers || self.ids.len() > KEYS_MAX;
        if other {
            self.forget();
            self.wanted.clear();
            self.readers = readers.clone();
        }
        other
    }

    /// Forgets all keys.
    pub(crate) fn forget(&mut self) {
        self.ids.clear();
    }

    /// The number of a root's key, and whether its own expressions can read more than the key tells.
    pub(crate) fn of(&mut self, table: &mut Table, root: &PoolAd) -> (u32, bool) {
        let ports = &*root.ports;
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        let shape = ports.body.shape_id();
        let place = match self.ports {
            Some((known, place)) if known == shape => place,
            _ => ports.body.place(&Name::new("Ports")),
        };
        self.ports = Some((shape, place));
        heads(table, ports, place, &mut parts);
        let wanted = match self.wanted.get(&parts) {
            Some(wanted) => Arc::clone(wanted),
            None => {
                let wanted = Arc::new(wanted(table, ports, &self.readers));
                self.wanted.insert(parts.clone(), Arc::clone(&wanted));
                wanted
            }
        };
        parts.push(Part::Namespace(self.namespace(&root.key.namespace)));
        let reflective = self.attributes(table, &ports.body, &wanted, &mut parts);
        let next = as_u32(self.ids.len());
        let id = match self.ids.get(&parts) {
            Some(id) => *id,
            None => {
                self.ids.insert(parts.clone(), next);
                next
            }
        };
        self.parts = parts;
        (id, reflective)
    }

    /// The number of a namespace.
    pub(crate) fn namespace(&mut self, name: &str) -> u32 {
        if let Some(id) = self.namespaces.get(name) {
            return *id;
        }
        let id = as_u32(self.namespaces.len());
        self.namespaces.insert(name.to_owned(), id);
        id
    }

    /// The values of the names that matter; says whether an expression can read more than the key tells.
    fn attributes(&mut self, table: &mut Table, body: &Ad, wanted: &Arc<Wanted>, parts: &mut Vec<Part>) -> bool {
        let shape = body.shape_id();
        let known = self.places.as_ref().is_some_and(|(of, last, _)| *of == shape && Arc::ptr_eq(last, wanted));
        if !known {
            let places = wanted.names.iter().map(|name| body.place(name)).collect();
            self.places = Some((shape, Arc::clone(wanted), places));
        }
        let places = self.places.as_ref().map(|(_, _, places)| places.as_slice()).unwrap_or_default();
        let mut more: Vec<Name> = Vec::new();
        let mut reflective = wanted.reflective;
        for place in places {
            let expr = place.and_then(|place| body.at(place));
            reflective |= attribute(table, expr, parts, &mut more);
        }
        // What expressions read in turn. Few roots have any.
        let mut seen: BTreeSet<Name> = BTreeSet::new();
        while let Some(name) = more.pop() {
            if !wanted.names.contains(&name) && seen.insert(name.clone()) {
                let expr = body.place(&name).and_then(|place| body.at(place));
                reflective |= attribute(table, expr, parts, &mut more);
            }
        }
        reflective
    }
}

fn attribute(table: &mut Table, expr: Option<&Expr>, parts: &mut Vec<Part>, more: &mut Vec<Name>) -> bool {
    let Some(expr) = expr else {
        parts.push(Part::Absent);
        return false;
    };
    if let Kind::Literal(value) = expr.kind() {
        parts.push(Part::Cell(table.words.cell(value)));
        return false;
    }
    let id = table.exprs.id(expr);
    parts.push(Part::Expr(id));
    let reads = table.exprs.reads(id);
    more.extend(reads.bare.iter().cloned());
    more.extend(reads.selected.iter().map(|(base, _)| base.clone()));
    reads.reflective
}

/// The texts of the root's ports.
fn heads(table: &mut Table, ports: &Ports, place: Option<usize>, parts: &mut Vec<Part>) {
    if ports.implicit {
        for name in TERMS {
            match ports.body.get(name) {
                Some(expr) => parts.push(Part::Expr(table.exprs.id(expr))),
                None => parts.push(Part::Absent),
            }
        }
        return;
    }
    match place.and_then(|place| ports.body.at(place)) {
        Some(expr) => parts.push(Part::Expr(table.exprs.id(expr))),
        None => {
            for port in &ports.list {
                parts.push(Part::Expr(table.exprs.id(&Expr::ad(port.attributes.clone()))));
            }
        }
    }
}

/// The names that matter in the attributes of roots with these ports: those that others read, and those that the ports do.
fn wanted(table: &mut Table, ports: &Ports, readers: &Readers) -> Wanted {
    let mut names = readers.names.clone();
    let mut reflective = false;
    let implicit: Vec<&Expr> =
        if ports.implicit { TERMS.iter().filter_map(|name| ports.body.get(name)).collect() } else { Vec::new() };
    let explicit =
        ports.list.iter().filter(|_| !ports.implicit).flat_map(|port| port.attributes.iter().map(|(_, expr)| expr));
    for expr in implicit.into_iter().chain(explicit) {
        if matches!(expr.kind(), Kind::Literal(_)) {
            continue;
        }
        let id = table.exprs.id(expr);
        let reads = table.exprs.reads(id);
        reflective |= reads.reflective;
        names.extend(reads.bare.iter().cloned());
        names.extend(reads.selected.iter().map(|(base, _)| base.clone()));
    }
    if ports.body.get("GangRank").is_some() || !ports.implicit {
        names.insert(Name::new("GangRank"));
    }
    Wanted { names: names.into_iter().collect(), reflective }
}
