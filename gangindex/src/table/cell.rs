//! Interned values (cells): small, comparable, hashable, equal only if no expression can tell them apart.

use std::sync::Arc;

use classad::{NumberRange, Value};
use foldhash::fast::RandomState;
use std::collections::HashMap;

use super::{as_u32, as_usize};
use crate::meter::Meter;

/// One value of an ad as the engine keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Cell {
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    /// By its bits.
    Real(u64),
    Text(Symbol),
    /// A time, a length of time, or a list of values none of which is an ad.
    Residual(u32),
    /// No value: what stands here reads a partner, or is an ad, or too long a calculation. Only the evaluator knows.
    Unknown,
}

impl Cell {
    /// Where a number is, or a boolean, which counts 0 or 1; none of other values, and of what is not a number.
    pub(crate) fn range(self) -> Option<NumberRange> {
        match self {
            Cell::Bool(truth) => Some(NumberRange::around(i64::from(truth))),
            Cell::Int(number) => Some(NumberRange::around(number)),
            Cell::Real(bits) => Some(f64::from_bits(bits)).filter(|number| !number.is_nan()).map(NumberRange::of),
            Cell::Undefined | Cell::Error | Cell::Text(_) | Cell::Residual(_) | Cell::Unknown => None,
        }
    }
}

/// A string; equal ids are equal strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol(u32);

impl Symbol {
    /// Its place among all strings.
    pub(crate) fn place(self) -> usize {
        as_usize(self.0)
    }
}

/// The strings and the large values that cells stand for.
#[derive(Debug, Default)]
pub(crate) struct StringTable {
    texts: Vec<Text>,
    /// All their letters.
    text_bytes: usize,
    text_ids: HashMap<Arc<str>, Symbol, RandomState>,
    wholes: Vec<Value>,
    whole_ids: HashMap<String, u32, RandomState>,
    /// What the evaluator said of an expression over two values.
    said: HashMap<Pair, Cell, RandomState>,
    /// What evaluations cost the submitter that is being served.
    pub(crate) meter: Meter,
}

/// The text of an expression over two values, and these.
pub(crate) type Pair = (Symbol, Cell, Cell);

/// What a string takes beside its letters, and a large value, about.
const TEXT_BYTES: usize = 64;
const WHOLE_BYTES: usize = 256;

/// How many answers of the evaluator are remembered before all are forgotten.
const SAID_MAX: usize = 100_000;

#[derive(Debug)]
struct Text {
    text: Arc<str>,
    /// The id of the same text in small letters: `==` on strings ignores case.
    folded: Symbol,
}

impl StringTable {
    /// The cell of a value; [`Cell::Unknown`] for ads and for lists with ads in them.
    pub(crate) fn cell(&mut self, value: &Value) -> Cell {
        match value {
            Value::Undefined => Cell::Undefined,
            Value::Error => Cell::Error,
            Value::Boolean(truth) => Cell::Bool(*truth),
            Value::Integer(number) => Cell::Int(*number),
            Value::Real(number) => Cell::Real(number.to_bits()),
            Value::String(text) => Cell::Text(self.text(text)),
            Value::AbsTime { .. } | Value::RelTime(_) => self.whole(value),
            Value::List(items) if items.iter().all(plain) => self.whole(value),
            Value::List(_) | Value::Ad(_) => Cell::Unknown,
        }
    }

    /// How many strings there are.
    pub(crate) fn texts(&self) -> usize {
        self.texts.len()
    }

    /// What the evaluator said of two values before.
    pub(crate) fn said(&self, pair: &Pair) -> Option<Cell> {
        self.said.get(pair).copied()
    }

    /// Remembers what the evaluator says of two values.
    pub(crate) fn say(&mut self, pair: Pair, cell: Cell) {
        if self.said.len() >= SAID_MAX {
            self.said.clear();
        }
        self.said.insert(pair, cell);
    }

    /// Forgets all that the evaluator said.
    pub(crate) fn forget_said(&mut self) {
        self.said.clear();
    }

    /// The value that a cell stands for; none for [`Cell::Unknown`].
    pub(crate) fn value(&self, cell: Cell) -> Option<Value> {
        Some(match cell {
            Cell::Undefined => Value::Undefined,
            Cell::Error => Value::Error,
            Cell::Bool(truth) => Value::Boolean(truth),
            Cell::Int(number) => Value::Integer(number),
            Cell::Real(bits) => Value::Real(f64::from_bits(bits)),
            Cell::Text(id) => Value::String(Arc::clone(&self.texts.get(as_usize(id.0))?.text)),
            Cell::Residual(id) => self.wholes.get(as_usize(id))?.clone(),
            Cell::Unknown => return None,
        })
    }

    /// The id of a string.
    pub(crate) fn text(&mut self, text: &Arc<str>) -> Symbol {
        if let Some(id) = self.text_ids.get(text) {
            return *id;
        }
        let id = Symbol(as_u32(self.texts.len()));
        self.text_bytes += text.len();
        self.text_ids.insert(Arc::clone(text), id);
        self.texts.push(Text { text: Arc::clone(text), folded: id });
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            let folded = self.text(&Arc::from(text.to_ascii_lowercase()));
            if let Some(own) = self.texts.get_mut(as_usize(id.0)) {
                own.folded = folded;
            }
        }
        id
    }

    /// Whether two strings are equal but for case.
    pub(crate) fn same_folded(&self, left: Symbol, right: Symbol) -> bool {
        self.folded(left) == self.folded(right)
    }

    /// What strings that are equal but for case share.
    pub(crate) fn folded(&self, id: Symbol) -> Symbol {
        self.texts.get(as_usize(id.0)).map_or(id, |text| text.folded)
    }

    /// The characters of a string.
    pub(crate) fn str(&self, id: Symbol) -> &str {
        self.texts.get(as_usize(id.0)).map_or("", |text| &text.text)
    }

    /// What strings and large values take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.text_bytes + TEXT_BYTES * self.texts.len() + WHOLE_BYTES * self.wholes.len()
    }

    /// What answers of the evaluator take in memory, about.
    pub(crate) fn said_bytes(&self) -> usize {
        self.said.len() * (size_of::<Pair>() + size_of::<Cell>() + 1)
    }

    fn whole(&mut self, value: &Value) -> Cell {
        let key = value.canonical();
        if let Some(id) = self.whole_ids.get(&key) {
            return Cell::Residual(*id);
        }
        let id = as_u32(self.wholes.len());
        self.wholes.push(value.clone());
        self.whole_ids.insert(key, id);
        Cell::Residual(id)
    }
}

/// Whether there is no ad in a value.
fn plain(value: &Value) -> bool {
    match value {
        Value::Ad(_) => false,
        Value::List(items) => items.iter().all(plain),
        _ => true,
    }
}
