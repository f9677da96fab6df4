//! What roots show of themselves: of the ad, root by root, and of its ports, list by list, because many roots share theirs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use classad::{Expr, Kind, Name};
use foldhash::fast::RandomState;
use matchmaker::{PoolAd, Port, Ports};

use super::job_codes::{Code, CodeColumns, CodeTable, Codes, ShownPart};
use crate::table::{COLUMN_BYTES, ExprId, Number, Room, SnapshotDiff, Table, as_u32, as_usize};
use crate::term::Attribute;

/// The roots of a pool.
#[derive(Debug, Default)]
pub(crate) struct JobColumns {
    /// By place in the snapshot.
    row_of_place: Vec<Option<Number>>,
    free: Vec<u32>,
    heads: Vec<PortTexts>,
    head_ids: HashMap<Vec<ShownPart>, u32, RandomState>,
    /// The same for ads without ports: by the terms that stand for them.
    term_ids: HashMap<[Option<ExprId>; TERMS.len()], u32, RandomState>,
    label_ids: HashMap<Vec<Name>, u32, RandomState>,
    /// By identity of a root's ports, which are kept so that it is not taken by others: what is known of them, see [`PortTexts`].
    of_list: HashMap<usize, (Arc<[Port]>, Listed), RandomState>,
    lists: PortLists,
    /// Row by row, what the root itself shows in each column.
    of_body: CodeColumns,
    codes: CodeTable,
    namespaces: HashMap<String, u32, RandomState>,
    /// The room that columns take.
    pub(crate) room: Room,
}

/// Lists of ports that differ.
#[derive(Debug, Default)]
struct PortLists {
    /// By what stands in them: the texts of the ports, and their values.
    ids: HashMap<(u32, Vec<Code>), u32, RandomState>,
    /// By number: an example.
    examples: Vec<Arc<[Port]>>,
    /// List by list, what its ports show in each column.
    columns: CodeColumns,
}

/// What is known of a root beside its attributes, all as numbers.
#[derive(Clone, Copy, Debug)]
struct PortTexts {
    listed: Listed,
    namespace: u32,
}

/// What is known of a root's ports, all as numbers.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// The texts of the ports without their values.
    text: u32,
    labels: u32,
    /// The whole list, if the ports are written out.
    list: u32,
}

/// How many lists of ports are remembered before all are forgotten.
const LISTS_MAX: usize = 10_000;

/// What a value of a root and the text of its ports take in memory, about.
const PART_BYTES: usize = 64;
const HEAD_BYTES: usize = 1024;

/// A column without rows takes as long to make as hashing so many words.
const WORDS_OF_A_COLUMN: usize = 256;

/// Where ports are not written out.
const NO_LIST: u32 = u32::MAX;

/// Marks the numbers of columns of ports.
const OF_PORTS: u32 = 1 << 31;

/// Attributes that say what an ad without ports wants.
pub(crate) const TERMS: [&str; 5] = ["Requirements", "Constraint", "Rank", "Request", "GangRank"];

impl JobColumns {
    /// Makes the rows those of the places of another snapshot.
    pub(crate) fn moved(&mut self, kept: &SnapshotDiff, places: usize) {
        self.free.extend(kept.dropped(&self.row_of_place).map(Number::get));
        self.row_of_place = kept.carry(&self.row_of_place, places);
    }

    /// The row of the root at a place, if it has one.
    pub(crate) fn row_at(&self, place: usize) -> Option<u32> {
        self.row_of_place.get(place).copied().flatten().map(Number::get)
    }

    /// The row of the root at a place, made if there is none.
    pub(crate) fn row(&mut self, place: usize, ad: &PoolAd, ads: usize, table: &mut Table) -> u32 {
        if let Some(row) = self.row_at(place) {
            return row;
        }
        let head = PortTexts { listed: self.listed(&ad.ports, table), namespace: self.namespace(&ad.key.namespace) };
        let row = self.free.pop().unwrap_or_else(|| as_u32(self.heads.len()));
        match self.heads.get_mut(as_usize(row)) {
            Some(own) => *own = head,
            None => self.heads.push(head),
        }
        let mut codes = Codes { table, known: &mut self.codes };
        self.of_body.put_all(as_usize(row), |_| Some(&ad.ports.body), &mut codes);
        self.row_of_place.resize(ads.max(place + 1), None);
        if let Some(own) = self.row_of_place.get_mut(place) {
            *own = Some(Number::of(row));
        }
        row
    }

    /// The column of an attribute, made when it is first asked for; none if there is no room for it.
    pub(crate) fn column(&mut self, attribute: &Attribute, ads: &[Arc<PoolAd>], table: &mut Table) -> Option<u32> {
        let Some(port) = attribute.0 else {
            return self.columns(std::slice::from_ref(&attribute.1), ads, table)?.first().copied();
        };
        if let Some(number) = self.lists.columns.number(attribute) {
            return Some(number | OF_PORTS);
        }
        if !self.has_room(1, ads.len(), table) {
            return None;
        }
        let mut codes = Codes { table, known: &mut self.codes };
        let ports = self.lists.examples.iter().map(|list| list.get(port).map(|port| &port.attributes)).enumerate();
        self.lists.columns.add([attribute.clone()].into_iter(), self.lists.examples.len(), ports, &mut codes);
        self.lists.columns.number(attribute).map(|number| number | OF_PORTS)
    }

    /// Takes the room for so many columns, and counts the work; false if there is none. Roots are read one after the other: in
    /// the end there may be as many rows as ads.
    fn has_room(&mut self, columns: usize, rows: usize, table: &mut Table) -> bool {
        let has_room = self.room.take(&table.payer(), columns * (COLUMN_BYTES + size_of::<u32>() * rows), rows);
        if has_room {
            table.exprs.worked(columns * (rows + WORDS_OF_A_COLUMN));
        }
        has_room
    }

    /// What columns would take in memory, about, if there were so many roots.
    pub(crate) fn column_bytes(&self, rows: usize) -> usize {
        (self.of_body.count() + self.lists.columns.count()) * (COLUMN_BYTES + size_of::<u32>() * rows)
    }

    /// The columns of a root's own attributes; those that are asked for first are made together. None if there is no room for
    /// all of them.
    pub(crate) fn columns(&mut self, names: &[Name], ads: &[Arc<PoolAd>], table: &mut Table) -> Option<Vec<u32>> {
        let all: Vec<Attribute> = names.iter().map(|name| (None, name.clone())).collect();
        let fresh: BTreeSet<Attribute> = all.iter().filter(|own| self.of_body.number(own).is_none()).cloned().collect();
        if !fresh.is_empty() {
            if !self.has_room(fresh.len(), ads.len(), table) {
                return None;
            }
            let mut codes = Codes { table, known: &mut self.codes };
            let rows = self.row_of_place.iter().zip(ads);
            let bodies = rows.filter_map(|(row, ad)| Some((as_usize((*row)?.get()), Some(&ad.ports.body))));
            self.of_body.add(fresh.into_iter(), self.heads.len(), bodies, &mut codes);
        }
        all.iter().map(|own| self.of_body.number(own)).collect()
    }

    /// What a root shows in a column, and the expression that stands there if it is neither a value nor nothing.
    pub(crate) fn shows(&self, column: u32, row: u32) -> (Code, Option<ExprId>) {
        let (columns, at) = match column & OF_PORTS {
            0 => (&self.of_body, row),
            _ => (&self.lists.columns, self.heads.get(as_usize(row)).map_or(NO_LIST, |head| head.listed.list)),
        };
        let (code, has_exprs) = columns.shows(as_usize(column & !OF_PORTS), as_usize(at));
        (code, if has_exprs { self.codes.expr(code) } else { None })
    }

    /// What a root itself shows in some columns, and whether it is values, or nothing, in all of them.
    pub(crate) fn show_all(&self, columns: &[u32], row: u32, key: &mut Vec<u32>) -> bool {
        self.of_body.show_all(columns, as_usize(row), key)
    }

    /// The texts of a root's ports, as a number, and its namespace.
    pub(crate) fn head_of(&self, row: u32) -> (u32, u32) {
        self.heads.get(as_usize(row)).map_or((u32::MAX, u32::MAX), |head| (head.listed.text, head.namespace))
    }

    /// The labels of a root's ports, as a number.
    pub(crate) fn labels_of(&self, row: u32) -> u32 {
        self.heads.get(as_usize(row)).map_or(u32::MAX, |head| head.listed.labels)
    }

    /// A root's ports with their values, as a number; the same one for all whose ports are not written out.
    pub(crate) fn list_of(&self, row: u32) -> u32 {
        self.heads.get(as_usize(row)).map_or(NO_LIST, |head| head.listed.list)
    }

    /// What is remembered takes in memory, about. What columns take has a limit of its own.
    pub(crate) fn bytes(&self) -> usize {
        PART_BYTES * self.codes.len()
            + HEAD_BYTES * (self.head_ids.len() + self.term_ids.len() + self.lists.examples.len())
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

    /// What is known of a root's ports. Ads read together share the list of their ports.
    fn listed(&mut self, ports: &Ports, table: &mut Table) -> Listed {
        if ports.implicit {
            return Listed { text: self.text(table, ports), labels: self.labels(&[]), list: NO_LIST };
        }
        let id = ports.list.as_ptr().addr();
        if let Some((_, known)) = self.of_list.get(&id) {
            return *known;
        }
        let (text, labels) = (self.text(table, ports), self.labels(&ports.list));
        let listed = Listed { text, labels, list: self.list(text, ports, table) };
        if self.of_list.len() >= LISTS_MAX {
            self.of_list.clear();
        }
        self.of_list.insert(id, (Arc::clone(&ports.list), listed));
        listed
    }

    /// The number of a list of ports with such texts.
    fn list(&mut self, text: u32, ports: &Ports, table: &mut Table) -> u32 {
        let mut codes = Codes { table, known: &mut self.codes };
        let shown = values(ports).map(|(_, _, expr)| codes.of(Some(expr)).0).collect();
        let next = as_u32(self.lists.examples.len());
        let list = *self.lists.ids.entry((text, shown)).or_insert(next);
        if list == next {
            self.lists.examples.push(Arc::clone(&ports.list));
            let attributes = |port: usize| ports.list.get(port).map(|port| &port.attributes);
            self.lists.columns.put_all(as_usize(list), |port| attributes(port?), &mut codes);
        }
        list
    }

    /// The number of the labels of ports.
    fn labels(&mut self, list: &[Port]) -> u32 {
        let next = as_u32(self.label_ids.len());
        *self.label_ids.entry(list.iter().map(|port| port.label.clone()).collect()).or_insert(next)
    }

    /// The number of the texts of a root's ports.
    fn text(&mut self, table: &mut Table, ports: &Ports) -> u32 {
        let next = as_u32(self.head_ids.len() + self.term_ids.len());
        match ports.implicit {
            true => {
                let terms = TERMS.map(|name| ports.body.get(name).map(|expr| table.exprs.id(expr)));
                *self.term_ids.entry(terms).or_insert(next)
            }
            false => *self.head_ids.entry(texts(table, ports)).or_insert(next),
        }
    }
}

/// The texts of a root's ports. The values of attributes are left out.
fn texts(table: &mut Table, ports: &Ports) -> Vec<ShownPart> {
    let mut parts = Vec::new();
    for port in ports.list.iter() {
        for (name, expr) in port.attributes.iter() {
            parts.push(ShownPart::Name(name.clone()));
            if !is_value(name, expr) {
                parts.push(ShownPart::Expr(table.exprs.id(expr)));
            }
        }
        parts.push(ShownPart::End);
    }
    parts
}

/// The attributes of ports whose values are not in the texts.
fn values(ports: &Ports) -> impl Iterator<Item = (usize, &Name, &Expr)> {
    let list = ports.list.iter().enumerate().filter(|_| !ports.implicit);
    let all = list.flat_map(|(number, port)| port.attributes.iter().map(move |(name, expr)| (number, name, expr)));
    all.filter(|(_, name, expr)| is_value(name, expr))
}

/// Whether an attribute of a port is left out of its text: a literal that is neither a label nor a term.
pub(crate) fn is_value(name: &Name, expr: &Expr) -> bool {
    matches!(expr.kind(), Kind::Literal(_)) && name != "Label" && !TERMS.iter().any(|term| name == term)
}
