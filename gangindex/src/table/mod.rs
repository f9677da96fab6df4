//! The table: one row for each port through which an ad can be bound, one column for each attribute that some constraint or rank
//! reads.

mod bits;
mod cell;
mod column;
mod diff;
mod extremes;
mod lookup_cache;
mod numbered;
mod offer_class;
mod reads;
mod room;
mod scope;
mod sync;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use classad::{Ad, Context, Limits, Name};
use foldhash::fast::RandomState;
use matchmaker::{FUEL_OF_A_STEP, Ports};
pub(crate) use matchmaker::{as_u32, as_u64, as_usize};

pub(crate) use bits::Bits;
pub(crate) use cell::{Cell, StringTable, Symbol};
pub(crate) use column::{Column, own_value};
pub(crate) use diff::{DiffRun, SnapshotDiff};
pub(crate) use lookup_cache::LookupCache;
pub(crate) use numbered::Numbered;
pub(crate) use offer_class::OfferClasses;
pub(crate) use reads::{ExprId, Exprs, ReadsId};
pub(crate) use room::{Room, room_of_all};
pub(crate) use scope::is_special;
pub(crate) use sync::Changes;

/// A number of which an `Option` takes no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(NonZeroU32);

impl Number {
    /// Stores a number below 2^32 - 1.
    pub(crate) fn of(number: u32) -> Number {
        Number(NonZeroU32::MIN.saturating_add(number))
    }

    /// The number.
    pub(crate) fn get(self) -> u32 {
        self.0.get() - 1
    }
}

/// How many steps the evaluation of one ad's own expressions may take, as one row or at one port of a root; the others stay unknown.
/// A step is a node that is followed, or a step of the evaluator.
const OWN_WORK_MAX: usize = 200_000;

/// The bounds under which parts of expressions are computed: so small that all parts of a constraint together stay within
/// the bounds of one evaluation. The evaluator computes parts that need more.
fn partial(limits: Limits) -> Limits {
    Limits { fuel: limits.fuel / 1000, depth: limits.depth / PART_OF_DEPTH, ..limits }
}

/// The depth of a whole evaluation is so many times the depth of a part.
pub(crate) const PART_OF_DEPTH: usize = 4;

/// About how many bytes a column takes, beside its rows.
pub(crate) const COLUMN_BYTES: usize = 768;

/// How many rows are looked at in about the time of a step, each with one comparison.
pub(crate) const ROWS_OF_A_STEP: usize = 4096;

/// How many cells are filled in about the time of a step.
const CELLS_OF_A_STEP: usize = 1024;
/// How many cells are filled in the time that a column without rows takes.
const CELLS_OF_A_COLUMN: usize = 512;

/// All rows of a pool, and their columns.
#[derive(Debug)]
pub(crate) struct Table {
    /// By number.
    pub(crate) rows: Vec<Row>,
    /// The text of each row.
    texts: Vec<RowText>,
    /// The rows that an ad of the pool has; the others are free.
    pub(crate) live: Bits,
    places: Places,
    order: RowOrder,
    /// The columns.
    pub(crate) columns: Columns,
    /// The strings and other values that cells mean.
    pub(crate) words: StringTable,
    /// All expressions.
    pub(crate) exprs: Exprs,
    /// Rows by constraint and rank.
    pub(crate) offer_classes: OfferClasses,
    /// The context of a part of an evaluation.
    pub(crate) context: Context,
    /// How many steps the own expressions of the current root may still take, see [`Table::renew_work`].
    pub(crate) root_work: usize,
    /// The accounts to which columns are charged.
    pub(crate) account: Account,
}

/// The ad of a row.
#[derive(Debug)]
struct RowText {
    ports: Arc<Ports>,
    /// How many steps the ad's own expressions may still take.
    work: usize,
}

/// The rows of the ads.
#[derive(Debug, Default)]
struct Places {
    /// By the place of an ad in the snapshot: its first row, if it can be bound.
    first_row: Vec<Option<Number>>,
    /// Free rows, by how many are adjacent.
    free: HashMap<usize, Vec<u32>, RandomState>,
}

/// The order of the ads and their ports: of two rows, the one with the smaller position has the smaller id.
#[derive(Debug, Default)]
struct RowOrder {
    /// By row.
    positions: Vec<u32>,
    /// The rows in that order.
    by_position: Vec<u32>,
    /// Some rows are not in that order themselves.
    shuffled: bool,
}

/// The account on which columns and ranks are made.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// The memory of columns.
    pub(crate) room: Room,
    /// The submitter that is being served.
    pub(crate) submitter: Arc<str>,
    /// The offer class of which an expression is being read; its owner pays instead of the submitter.
    pub(crate) offer_class: Option<usize>,
}

/// The columns of a table.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    list: Vec<Column>,
    ids: HashMap<Name, u32, RandomState>,
    /// An empty ad, for expressions that are not part of an ad.
    pub(crate) nothing: Ad,
}

/// One way to bind an ad. Rows are accessed everywhere, so they are small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    place: u32,
    offer_class: u32,
    via: u32,
    /// How many rows its ad has; they are adjacent.
    ways: u32,
}

impl Row {
    /// Its ad's place in the snapshot.
    pub(crate) fn place(self) -> usize {
        as_usize(self.place)
    }

    /// The rows of equal constraint and rank that it belongs to.
    pub(crate) fn offer_class(self) -> usize {
        as_usize(self.offer_class)
    }

    /// The port through which it is bound.
    pub(crate) fn child_port(self) -> usize {
        as_usize(self.via)
    }

    /// Whether its ad has other rows.
    pub(crate) fn has_others(self) -> bool {
        self.ways > 1
    }
}

impl Columns {
    /// The column with this number.
    pub(crate) fn get(&self, column: u32) -> Option<&Column> {
        self.list.get(as_usize(column))
    }

    /// Makes a column store the rows of each code, see [`Column::know_holders`].
    pub(crate) fn know_holders(&mut self, column: u32) {
        if let Some(column) = self.list.get_mut(as_usize(column)) {
            column.know_holders();
        }
    }

    /// The value of a column at a row.
    pub(crate) fn cell(&self, column: u32, row: usize) -> Cell {
        self.get(column).map_or(Cell::Undefined, |column| column.cell(row))
    }
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(limits: Limits) -> Table {
        Table {
            rows: Vec::new(),
            texts: Vec::new(),
            live: Bits::default(),
            places: Places::default(),
            order: RowOrder::default(),
            columns: Columns::default(),
            words: StringTable::default(),
            exprs: Exprs::default(),
            offer_classes: OfferClasses::default(),
            context: Context { limits: partial(limits), ..Context::default() },
            root_work: OWN_WORK_MAX,
            account: Account::default(),
        }
    }

    /// About how many bytes rows, strings, expressions and offer classes take, those of deleted ads included. Columns have a limit of
    /// their own.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes()
            + self.exprs.bytes()
            + self.offer_classes.bytes()
            + self.rows.len() * (size_of::<Row>() + size_of::<RowText>())
    }

    /// What the evaluation of a term needs.
    pub(crate) fn row_context(&mut self) -> (&Columns, &mut StringTable, &Context) {
        (&self.columns, &mut self.words, &self.context)
    }

    /// What the evaluation of a root's own expression needs.
    pub(crate) fn words_context_and_work(&mut self) -> (&mut StringTable, &Context, &mut usize) {
        (&mut self.words, &self.context, &mut self.root_work)
    }

    /// Allows as many steps as one port of one root may take.
    pub(crate) fn renew_work(&mut self) {
        self.root_work = OWN_WORK_MAX;
    }

    /// The payer for columns and ranks: the owner of the current offer class, or else the submitter.
    pub(crate) fn payer(&self) -> Arc<str> {
        let offer_class = self.account.offer_class.and_then(|offer_class| self.offer_classes.list.get(offer_class));
        Arc::clone(offer_class.map_or(&self.account.submitter, |offer_class| &offer_class.owner))
    }

    /// The column of an attribute, made when it is first needed; `None` if there is no memory for it, and its values stay unknown.
    pub(crate) fn column(&mut self, name: &Name) -> Option<u32> {
        if let Some(column) = self.columns.ids.get(name) {
            return Some(*column);
        }
        let (payer, rows, id) = (self.payer(), self.rows.len(), as_u32(self.columns.list.len()));
        if !self.account.room.take(&payer, COLUMN_BYTES + size_of::<u32>() * rows, rows) {
            return None;
        }
        self.words.meter.spend((rows + CELLS_OF_A_COLUMN).div_ceil(CELLS_OF_A_STEP) as u64 * FUEL_OF_A_STEP);
        let mut column = Column::new(name.clone());
        for (number, (row, text)) in self.rows.iter().zip(&mut self.texts).enumerate() {
            let seen = (&*text.ports, row.child_port());
            column.put(number, seen, &mut self.words, &self.context, &mut text.work);
        }
        self.columns.list.push(column);
        self.columns.ids.insert(name.clone(), id);
        Some(id)
    }

    /// About how many bytes the columns would take with `rows` rows.
    pub(crate) fn column_bytes(&self, rows: usize) -> usize {
        self.columns.list.len() * (COLUMN_BYTES + size_of::<u32>() * rows)
    }

    /// Rows in the order of their ads and ports.
    pub(crate) fn in_turn(&self, rows: &Bits) -> Vec<u32> {
        if self.is_in_order() {
            return rows.rows();
        }
        let RowOrder { positions, by_position, .. } = &self.order;
        let places = rows.permuted(positions, by_position.len());
        places.iter().filter_map(|place| by_position.get(as_usize(place)).copied()).collect()
    }

    /// Whether the rows are in the order of their ads and ports.
    pub(crate) fn is_in_order(&self) -> bool {
        !self.order.shuffled
    }

    /// The position of a row in the order of the ads and their ports.
    pub(crate) fn position(&self, row: u32) -> u32 {
        self.order.positions.get(as_usize(row)).copied().unwrap_or(u32::MAX)
    }

    /// The first row of the ad at a place of the snapshot, if it can be bound.
    pub(crate) fn first_row(&self, place: usize) -> Option<u32> {
        self.places.first_row.get(place).copied().flatten().map(Number::get)
    }

    /// The rows of the ad at a place of the snapshot; none if it cannot be bound.
    pub(crate) fn rows_of(&self, place: usize) -> impl Iterator<Item = usize> {
        self.first_row(place).map_or(0..0, |first| self.rows_with(first)).map(as_usize)
    }

    /// A row and the others of its ad.
    pub(crate) fn rows_with(&self, row: u32) -> std::ops::Range<u32> {
        self.rows.get(as_usize(row)).map_or(0..0, |own| row - own.via..row - own.via + own.ways)
    }
}
