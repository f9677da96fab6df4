//! What roots show of themselves, in columns: one code for each root and each name that somebody reads.

use std::collections::HashMap;
use std::sync::Arc;

use classad::{Expr, Kind, Name};
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::model::PoolAd;
use crate::ports::Ports;
use crate::table::{Cell, ExprId, Recent, Table, as_u32, as_usize};

/// One thing that a root shows of itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Absent,
    /// The value of one of its attributes.
    Cell(Cell),
    /// The text of one that is no literal.
    Expr(ExprId),
    /// In a text with values left out: a name, and where a port ends.
    Name(Name),
    End,
}

/// An attribute of a root: of one of its ports, or of the ad itself.
pub(crate) type Attribute = (Option<usize>, Name);

/// Equal codes are equal values, or equal texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Code(pub(crate) u32);

/// The roots of a pool.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    /// By place in the snapshot.
    row_of_place: Vec<Option<u32>>,
    free: Vec<u32>,
    heads: Vec<Head>,
    head_ids: HashMap<Vec<Part>, u32, RandomState>,
    label_ids: HashMap<Vec<Name>, u32, RandomState>,
    /// Both by the list of ports, which is kept so that its identity is not taken by another.
    of_list: HashMap<usize, (Expr, (u32, u32)), RandomState>,
    columns: Vec<Column>,
    /// Row by row, what the root shows in each column.
    codes: Vec<Code>,
    /// Some column has expressions.
    has_exprs: bool,
    /// How many codes a row has room for.
    width: usize,
    column_ids: HashMap<Attribute, u32, RandomState>,
    parts: HashMap<Part, Code, RandomState>,
    /// By code: the expression that it stands for, if it is no value.
    exprs: Vec<Option<ExprId>>,
    namespaces: HashMap<String, u32, RandomState>,
}

/// What is known of a root beside its attributes, all as numbers.
#[derive(Debug)]
struct Head {
    /// The texts of its ports without their values.
    text: u32,
    labels: u32,
    namespace: u32,
}

#[derive(Debug)]
struct Column {
    attribute: Attribute,
    /// Some root has an expression here.
    has_exprs: bool,
    /// Where the name stands in ads that have the same names as some that were met lately.
    stands: SmallVec<[(usize, Option<usize>); SHAPES]>,
    /// The code of nothing.
    absent: Option<Code>,
    /// The codes of values met lately.
    recent: Recent,
}

/// In how many kinds of ads a column remembers where its name stands.
const SHAPES: usize = 4;

/// How many lists of ports are remembered before all are forgotten.
const LISTS_MAX: usize = 10_000;

/// What a value of a root and the text of its ports take in memory, about.
const PART_BYTES: usize = 64;
const HEAD_BYTES: usize = 1024;

/// Where there is no root, or no column.
const NOTHING: Code = Code(u32::MAX);

/// Attributes that say what an ad without ports wants.
pub(crate) const TERMS: [&str; 5] = ["Requirements", "Constraint", "Rank", "Request", "GangRank"];

impl Roots {
    /// Makes the rows those of the snapshot's places: for each place, the place before of an ad that is the same.
    pub(crate) fn moved(&mut self, same: &[Option<usize>]) {
        // The number of a shape is given again once nobody has it.
        for column in &mut self.columns {
            column.stands.clear();
        }
        let old = std::mem::take(&mut self.row_of_place);
        let mut kept = vec![false; self.heads.len()];
        self.row_of_place = same.iter().map(|place| old.get((*place)?).copied().flatten()).collect();
        for row in self.row_of_place.iter().flatten() {
            if let Some(kept) = kept.get_mut(as_usize(*row)) {
                *kept = true;
            }
        }
        let gone = old.into_iter().flatten().filter(|row| kept.get(as_usize(*row)) == Some(&false));
        self.free.extend(gone);
    }

    /// The row of the root at a place, if it has one.
    pub(crate) fn row_at(&self, place: usize) -> Option<u32> {
        self.row_of_place.get(place).copied().flatten()
    }

    /// The row of the root at a place, made if there is none.
    pub(crate) fn row(&mut self, place: usize, ad: &PoolAd, ads: usize, table: &mut Table) -> u32 {
        if let Some(row) = self.row_at(place) {
            return row;
        }
        let (text, labels) = self.texts(table, &ad.ports);
        let head = Head { text, labels, namespace: self.namespace(&ad.key.namespace) };
        let row = self.free.pop().unwrap_or_else(|| as_u32(self.heads.len()));
        match self.heads.get_mut(as_usize(row)) {
            Some(own) => *own = head,
            None => self.heads.push(head),
        }
        for number in 0..self.columns.len() {
            self.put(number, row, &ad.ports, table);
        }
        self.row_of_place.resize(ads.max(place + 1), None);
        if let Some(own) = self.row_of_place.get_mut(place) {
            *own = Some(row);
        }
        row
    }

    /// The column of an attribute, made when it is first asked for.
    pub(crate) fn column(&mut self, attribute: &Attribute, ads: &[Arc<PoolAd>], table: &mut Table) -> u32 {
        if let Some(column) = self.column_ids.get(attribute) {
            return *column;
        }
        let number = self.columns.len();
        self.columns.push(Column {
            attribute: attribute.clone(),
            has_exprs: false,
            stands: SmallVec::new(),
            absent: None,
            recent: Recent::default(),
        });
        self.column_ids.insert(attribute.clone(), as_u32(number));
        if self.columns.len() > self.width {
            self.widen();
        }
        for (place, ad) in ads.iter().enumerate() {
            if let Some(row) = self.row_of_place.get(place).copied().flatten() {
                self.put(number, row, &ad.ports, table);
            }
        }
        as_u32(number)
    }

    /// What a root shows in a column, and the expression that stands there if it is neither a value nor nothing.
    pub(crate) fn shows(&self, column: u32, row: u32) -> (Code, Option<ExprId>) {
        let place = as_usize(row) * self.width + as_usize(column);
        let code = self.codes.get(place).copied().unwrap_or(NOTHING);
        let has_exprs = self.columns.get(as_usize(column)).is_some_and(|column| column.has_exprs);
        (code, if has_exprs { self.exprs.get(as_usize(code.0)).copied().flatten() } else { None })
    }

    /// What a root shows in some columns, and whether it is values, or nothing, in all of them.
    pub(crate) fn show_all(&self, columns: &[u32], row: u32, key: &mut Vec<u32>) -> bool {
        let first = as_usize(row) * self.width;
        let codes = self.codes.get(first..first + self.width).unwrap_or_default();
        key.extend(columns.iter().map(|column| codes.get(as_usize(*column)).unwrap_or(&NOTHING).0));
        let values = |column: &u32| self.columns.get(as_usize(*column)).is_some_and(|column| !column.has_exprs);
        !self.has_exprs || columns.iter().all(values)
    }

    /// Makes room for more columns.
    fn widen(&mut self) {
        // While there are few roots it costs nothing to do it again.
        let spare = if self.heads.len() < 1024 { 0 } else { self.columns.len() / 4 };
        let (before, after) = (self.width, (self.columns.len() + spare).next_multiple_of(4));
        let mut codes = vec![NOTHING; self.heads.len() * after];
        if before > 0 {
            for (new, old) in codes.chunks_mut(after).zip(self.codes.chunks(before)) {
                new.iter_mut().zip(old).for_each(|(new, old)| *new = *old);
            }
        }
        (self.codes, self.width) = (codes, after);
    }

    /// Puts what a root shows in a column.
    fn put(&mut self, column: usize, row: u32, ports: &Ports, table: &mut Table) {
        let Some(own) = self.columns.get_mut(column) else { return };
        let code = own.read(ports, table, &mut self.parts, &mut self.exprs);
        self.has_exprs |= own.has_exprs;
        let place = as_usize(row) * self.width + column;
        if self.codes.len() <= place {
            self.codes.resize((as_usize(row) + 1) * self.width, NOTHING);
        }
        if let Some(own) = self.codes.get_mut(place) {
            *own = code;
        }
    }

    /// The texts of a root's ports, as a number, and its namespace.
    pub(crate) fn head_of(&self, row: u32) -> (u32, u32) {
        self.heads.get(as_usize(row)).map_or((u32::MAX, u32::MAX), |head| (head.text, head.namespace))
    }

    /// The labels of a root's ports, as a number.
    pub(crate) fn labels_of(&self, row: u32) -> u32 {
        self.heads.get(as_usize(row)).map_or(u32::MAX, |head| head.labels)
    }

    /// What is remembered takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.codes.len() + PART_BYTES * self.exprs.len() + HEAD_BYTES * self.head_ids.len()
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

    /// The numbers of the texts of a root's ports and of their labels. Ads read together share the list of their ports.
    fn texts(&mut self, table: &mut Table, ports: &Ports) -> (u32, u32) {
        let list = ports.body.get("Ports").filter(|_| !ports.implicit);
        if let Some((_, known)) = list.and_then(|list| self.of_list.get(&list.id())) {
            return *known;
        }
        let texts = (self.text(table, ports), self.labels(ports));
        if self.of_list.len() >= LISTS_MAX {
            self.of_list.clear();
        }
        if let Some(list) = list {
            self.of_list.insert(list.id(), (list.clone(), texts));
        }
        texts
    }

    /// The number of the labels of a root's ports.
    fn labels(&mut self, ports: &Ports) -> u32 {
        let next = as_u32(self.label_ids.len());
        let list = if ports.implicit { &[][..] } else { &ports.list };
        *self.label_ids.entry(list.iter().map(|port| port.label.clone()).collect()).or_insert(next)
    }

    /// The number of the texts of a root's ports.
    fn text(&mut self, table: &mut Table, ports: &Ports) -> u32 {
        let parts = heads(table, ports);
        let next = as_u32(self.head_ids.len());
        *self.head_ids.entry(parts).or_insert(next)
    }
}

impl Column {
    fn read(
        &mut self,
        ports: &Ports,
        table: &mut Table,
        parts: &mut HashMap<Part, Code, RandomState>,
        exprs: &mut Vec<Option<ExprId>>,
    ) -> Code {
        let (port, name) = &self.attribute;
        let ad = match port {
            Some(port) => ports.list.get(*port).map_or(&ports.body, |port| &port.attributes),
            None => &ports.body,
        };
        let shape = ad.shape_id();
        let place = match self.stands.iter().find(|(known, _)| *known == shape) {
            Some((_, place)) => *place,
            None => {
                let place = ad.place(name);
                if self.stands.len() == SHAPES {
                    self.stands.remove(0);
                }
                self.stands.push((shape, place));
                place
            }
        };
        let found = place.and_then(|place| ad.at(place));
        if let (None, Some(absent)) = (found, self.absent) {
            return absent;
        }
        if let Some(code) = found.and_then(|expr| self.recent.get(expr)) {
            return Code(code);
        }
        let part = match found {
            None => Part::Absent,
            Some(expr) => match expr.kind() {
                Kind::Literal(value) => Part::Cell(table.words.cell(value)),
                _ => Part::Expr(table.exprs.id(expr)),
            },
        };
        let expr = if let Part::Expr(id) = part { Some(id) } else { None };
        let next = Code(as_u32(exprs.len()));
        let code = *parts.entry(part).or_insert(next);
        if code == next {
            exprs.push(expr);
        }
        self.has_exprs |= expr.is_some();
        match found {
            Some(expr) => self.recent.put(expr, code.0),
            None => self.absent = Some(code),
        }
        code
    }
}

/// The texts of a root's ports, or what stands for them in an ad without. The values of attributes are left out.
fn heads(table: &mut Table, ports: &Ports) -> Vec<Part> {
    let mut text = |expr: Option<&Expr>| expr.map_or(Part::Absent, |expr| Part::Expr(table.exprs.id(expr)));
    if ports.implicit {
        return TERMS.iter().map(|name| text(ports.body.get(name))).collect();
    }
    let mut parts = Vec::new();
    for port in &ports.list {
        for (name, expr) in port.attributes.iter() {
            parts.push(Part::Name(name.clone()));
            if !is_value(name, expr) {
                parts.push(text(Some(expr)));
            }
        }
        parts.push(Part::End);
    }
    parts
}

/// The attributes of ports whose values are not in the texts.
pub(crate) fn values(ports: &Ports) -> Vec<Attribute> {
    let list = ports.list.iter().enumerate().filter(|_| !ports.implicit);
    let all = list.flat_map(|(number, port)| port.attributes.iter().map(move |(name, expr)| (number, name, expr)));
    all.filter(|(_, name, expr)| is_value(name, expr)).map(|(port, name, _)| (Some(port), name.clone())).collect()
}

pub(crate) fn is_value(name: &Name, expr: &Expr) -> bool {
    matches!(expr.kind(), Kind::Literal(_)) && name != "Label" && !TERMS.iter().any(|term| name == term)
}
