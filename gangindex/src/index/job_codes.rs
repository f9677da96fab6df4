//! What ads show of themselves, in columns: one code for each ad and each name that some ad reads.

use std::collections::HashMap;

use classad::{Ad, Expr, Kind, Name};
use foldhash::fast::RandomState;

use crate::table::{Cell, ExprId, LookupCache, Table, as_u32, as_usize};
use crate::term::Attribute;

/// One thing that an ad shows of itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ShownPart {
    Absent,
    /// The value of one of its attributes.
    Cell(Cell),
    /// The text of one that is no literal.
    Expr(ExprId),
    /// In a text with values left out: a name, and where a port ends.
    Name(Name),
    End,
}

/// Equal codes are equal values, or equal texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Code(pub(crate) u32);

/// Some columns, and what some ads show in them, ad by ad.
#[derive(Debug, Default)]
pub(super) struct CodeColumns {
    list: Vec<CodeColumn>,
    ids: HashMap<Attribute, u32, RandomState>,
    codes: Vec<Code>,
    /// How many codes an ad has room for.
    width: usize,
    /// Some column has expressions.
    has_exprs: bool,
}

#[derive(Debug)]
struct CodeColumn {
    attribute: Attribute,
    /// Some ad has an expression here.
    has_exprs: bool,
    /// The code of nothing. Without it, a first cycle over `gang --n 4000 --density 1 --selectivity 8` takes 93 instead of 88 million instructions.
    absent: Option<Code>,
    /// The codes of values met lately. Without it, a first cycle over `bilateral --n 8000` takes 204 instead of 195 million instructions.
    recent: LookupCache,
}

/// Where there is no root, or no column.
const NOTHING: Code = Code(u32::MAX);

/// The codes given so far.
#[derive(Debug, Default)]
pub(super) struct CodeTable {
    parts: HashMap<ShownPart, Code, RandomState>,
    /// By code: the expression that it stands for, if it is no value.
    exprs: Vec<Option<ExprId>>,
}

impl CodeTable {
    /// How many codes there are.
    pub(super) fn len(&self) -> usize {
        self.exprs.len()
    }

    /// The expression that a code stands for; `None` if it is a value.
    pub(super) fn expr(&self, code: Code) -> Option<ExprId> {
        self.exprs.get(as_usize(code.0)).copied().flatten()
    }
}

/// Gives codes to what the table has numbered.
pub(super) struct Codes<'a> {
    pub(super) table: &'a mut Table,
    pub(super) known: &'a mut CodeTable,
}

impl Codes<'_> {
    /// The code of an expression, or of nothing, and whether it is no value.
    pub(super) fn of(&mut self, expr: Option<&Expr>) -> (Code, bool) {
        let part = match expr {
            None => ShownPart::Absent,
            Some(expr) => match expr.kind() {
                Kind::Literal(value) => ShownPart::Cell(self.table.words.cell(value)),
                _ => ShownPart::Expr(self.table.exprs.id(expr)),
            },
        };
        let expr = if let ShownPart::Expr(id) = part { Some(id) } else { None };
        let next = Code(as_u32(self.known.len()));
        let code = *self.known.parts.entry(part).or_insert(next);
        if code == next {
            self.known.exprs.push(expr);
        }
        (code, expr.is_some())
    }
}

impl CodeColumns {
    /// The number of an attribute's column, if there is one.
    pub(super) fn number(&self, attribute: &Attribute) -> Option<u32> {
        self.ids.get(attribute).copied()
    }

    /// Makes the columns of attributes of one part of so many ads, all in one walk; there must be none yet.
    pub(super) fn add<'a>(
        &mut self,
        attributes: impl Iterator<Item = Attribute>,
        count: usize,
        ads: impl Iterator<Item = (usize, Option<&'a Ad>)>,
        codes: &mut Codes<'_>,
    ) {
        let first = self.list.len();
        for attribute in attributes {
            self.ids.insert(attribute.clone(), as_u32(self.list.len()));
            self.list.push(CodeColumn { attribute, has_exprs: false, absent: None, recent: LookupCache::default() });
        }
        if self.list.len() > self.width {
            self.widen(count);
        }
        for (at, ad) in ads {
            for number in first..self.list.len() {
                self.put(number, at, ad, codes);
            }
        }
    }

    /// What an ad shows in a column.
    fn code(&self, column: usize, at: usize) -> Code {
        let place = at.saturating_mul(self.width).saturating_add(column);
        self.codes.get(place).copied().unwrap_or(NOTHING)
    }

    /// What an ad shows in a column, and whether some ad has an expression there.
    pub(super) fn shows(&self, column: usize, at: usize) -> (Code, bool) {
        (self.code(column, at), self.list.get(column).is_some_and(|column| column.has_exprs))
    }

    /// What an ad shows in some columns, and whether no ad has an expression there.
    pub(super) fn show_all(&self, columns: &[u32], at: usize, key: &mut Vec<u32>) -> bool {
        let first = at * self.width;
        let codes = self.codes.get(first..first + self.width).unwrap_or_default();
        key.extend(columns.iter().map(|column| codes.get(as_usize(*column)).unwrap_or(&NOTHING).0));
        let values = |column: &u32| self.list.get(as_usize(*column)).is_some_and(|column| !column.has_exprs);
        !self.has_exprs || columns.iter().all(values)
    }

    /// How many columns there are.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Makes room for more columns of so many ads.
    fn widen(&mut self, count: usize) {
        // While there is little it costs nothing to do it again.
        let spare = if count < 1024 && self.list.len() < 64 { 0 } else { self.list.len() / 4 };
        let (before, after) = (self.width, (self.list.len() + spare).next_multiple_of(4));
        let mut codes = vec![NOTHING; count * after];
        if before > 0 {
            for (new, old) in codes.chunks_mut(after).zip(self.codes.chunks(before)) {
                new.iter_mut().zip(old).for_each(|(new, old)| *new = *old);
            }
        }
        (self.codes, self.width) = (codes, after);
    }

    /// Puts what an ad shows in all columns; `part` gives the part of it that a column is of.
    pub(super) fn put_all<'a>(
        &mut self,
        at: usize,
        part: impl Fn(Option<usize>) -> Option<&'a Ad>,
        codes: &mut Codes<'_>,
    ) {
        for column in 0..self.list.len() {
            let port = self.list.get(column).and_then(|column| column.attribute.0);
            self.put(column, at, part(port), codes);
        }
    }

    /// Puts what an ad shows in a column.
    fn put(&mut self, column: usize, at: usize, ad: Option<&Ad>, codes: &mut Codes<'_>) {
        let Some(own) = self.list.get_mut(column) else { return };
        let code = own.read(ad, codes);
        self.has_exprs |= own.has_exprs;
        let place = at * self.width + column;
        if self.codes.len() <= place {
            self.codes.resize((at + 1) * self.width, NOTHING);
        }
        if let Some(own) = self.codes.get_mut(place) {
            *own = code;
        }
    }
}

impl CodeColumn {
    fn read(&mut self, ad: Option<&Ad>, codes: &mut Codes<'_>) -> Code {
        let found = ad.and_then(|ad| ad.get_name(&self.attribute.1));
        if let (None, Some(absent)) = (found, self.absent) {
            return absent;
        }
        if let Some(code) = found.and_then(|expr| self.recent.get(expr)) {
            return Code(code);
        }
        let (code, is_expr) = codes.of(found);
        self.has_exprs |= is_expr;
        match found {
            Some(expr) => self.recent.put(expr, code.0),
            None => self.absent = Some(code),
        }
        code
    }
}
