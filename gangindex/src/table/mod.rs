//! Ads into rows and columns: one row for each port through which an ad can be bound, one column for each attribute that
//! some constraint or rank reads.

mod bits;
mod cell;
mod column;
mod diff;
mod lookup_cache;
mod offer_class;
mod reads;
mod room;
mod sync;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use classad::{Ad, Context, Limits, Name};
use foldhash::fast::RandomState;
use matchmaker::{FUEL_OF_A_STEP, Ports};

use crate::term::partial;

pub(crate) use bits::{Bits, as_u32, as_usize};
pub(crate) use cell::{Cell, StringTable, Symbol};
use column::Column;
pub(crate) use column::own_value;
pub(crate) use diff::{DiffRun, SnapshotDiff};
pub(crate) use lookup_cache::LookupCache;
pub(crate) use offer_class::OfferClasses;
pub(crate) use reads::{ExprId, Exprs, Reads, ReadsId};
pub(crate) use room::{Room, room_of_all};
pub(crate) use sync::Changes;

/// A number that takes no more room where there may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(NonZeroU32);

impl Number {
    pub(crate) fn of(number: u32) -> Number {
        Number(NonZeroU32::MIN.saturating_add(number))
    }

    pub(crate) fn get(self) -> u32 {
        self.0.get() - 1
    }
}

/// How many steps may be taken to find out what the own expressions of one ad come to, as one row or at one port of a root:
/// what is left of them then is left to the evaluator. A step is a node that is followed, or one of the evaluator's.
const OWN_WORK_MAX: usize = 200_000;

/// What a column takes in memory, about, whatever stands in it.
pub(crate) const COLUMN_BYTES: usize = 768;

/// How many cells are filled in about the time of a step, and in the time that a column takes without any.
const CELLS_OF_A_STEP: usize = 1024;
const CELLS_OF_A_COLUMN: usize = 512;

/// All rows of a pool and what is known of them.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// The texts that stand in each row.
    texts: Vec<Arc<Ports>>,
    /// The rows that stand for an ad of the pool; the others are free.
    pub(crate) live: Bits,
    /// The first row of the ad at each place of the snapshot, if it can be bound.
    first_row: Vec<Option<Number>>,
    pub(crate) columns: Columns,
    pub(crate) words: StringTable,
    pub(crate) exprs: Exprs,
    pub(crate) offer_classes: OfferClasses,
    /// The bounds of a part of an evaluation.
    pub(crate) context: Context,
    /// By row: how many steps may still be taken to find out what the ad's own expressions come to.
    row_work: Vec<usize>,
    /// The same for the expressions of the root at hand: see [`Table::renew_work`].
    pub(crate) root_work: usize,
    column_ids: HashMap<Name, u32, RandomState>,
    /// The room that columns take.
    pub(crate) room: Room,
    /// On whose account columns are made: of the submitter that is being served, but for what an offer class reads of itself.
    pub(crate) submitter: Arc<str>,
    pub(crate) offer_class_at_hand: Option<usize>,
    /// Free rows by how many stand together.
    free: HashMap<usize, Vec<u32>, RandomState>,
    /// The rows in the order of their ads, and the place of each in that order: which of two has the smaller id.
    positions: Vec<u32>,
    /// The rows in that order.
    by_position: Vec<u32>,
    /// That is the order of the rows themselves.
    pub(crate) in_order: bool,
}

/// The columns of a table.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    list: Vec<Column>,
    /// An ad with nothing in it, for expressions that stand in no ad.
    pub(crate) nothing: Ad,
}

/// One way to bind an ad. Rows are looked at all over: a small one is there sooner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    place: u32,
    offer_class: u32,
    via: u32,
    /// How many rows its ad has: they stand together.
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

    /// The port it is bound through.
    pub(crate) fn child_port(self) -> usize {
        as_usize(self.via)
    }

    /// Whether its ad could be bound in other ways, too.
    pub(crate) fn has_others(self) -> bool {
        self.ways > 1
    }
}

impl Columns {
    pub(crate) fn get(&self, column: u32) -> Option<&Column> {
        self.list.get(as_usize(column))
    }

    /// Makes a column ready for being asked about the rows of a code.
    pub(crate) fn know_holders(&mut self, column: u32) {
        if let Some(column) = self.list.get_mut(as_usize(column)) {
            column.know_holders();
        }
    }

    pub(crate) fn cell(&self, column: u32, row: usize) -> Cell {
        self.get(column).map_or(Cell::Undefined, |column| column.cell(row))
    }
}

impl Table {
    pub(crate) fn new(limits: Limits) -> Table {
        Table {
            rows: Vec::new(),
            texts: Vec::new(),
            live: Bits::default(),
            first_row: Vec::new(),
            columns: Columns::default(),
            words: StringTable::default(),
            exprs: Exprs::default(),
            offer_classes: OfferClasses::default(),
            context: partial(&Context { limits, ..Context::default() }),
            row_work: Vec::new(),
            root_work: OWN_WORK_MAX,
            column_ids: HashMap::default(),
            room: Room::default(),
            submitter: Arc::from(""),
            offer_class_at_hand: None,
            free: HashMap::default(),
            positions: Vec::new(),
            by_position: Vec::new(),
            in_order: true,
        }
    }

    /// What rows, strings, expressions and offer classes take in memory, about: those of ads that are gone, too. What columns take
    /// has a limit of its own.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes()
            + self.exprs.bytes()
            + self.offer_classes.bytes()
            + self.rows.len() * (size_of::<Row>() + size_of::<Arc<Ports>>())
    }

    /// What a term needs to be evaluated.
    pub(crate) fn row_context(&mut self) -> (&Columns, &mut StringTable, &Context) {
        (&self.columns, &mut self.words, &self.context)
    }

    /// What the value of a root's own expression is found out with.
    pub(crate) fn words_context_and_work(&mut self) -> (&mut StringTable, &Context, &mut usize) {
        (&mut self.words, &self.context, &mut self.root_work)
    }

    /// Allows as many steps as one port of one root may take.
    pub(crate) fn renew_work(&mut self) {
        self.root_work = OWN_WORK_MAX;
    }

    /// On whose account things are made for all rows: the owner's of the offer class at hand, or else the submitter's.
    pub(crate) fn account(&self) -> Arc<str> {
        let offer_class = self.offer_class_at_hand.and_then(|offer_class| self.offer_classes.list.get(offer_class));
        Arc::clone(offer_class.map_or(&self.submitter, |offer_class| &offer_class.owner))
    }

    /// The column of an attribute, made when it is first asked for; none if there is no room for it, so that only the
    /// evaluator knows what stands there.
    pub(crate) fn column(&mut self, name: &Name) -> Option<u32> {
        if let Some(column) = self.column_ids.get(name) {
            return Some(*column);
        }
        let id = as_u32(self.columns.list.len());
        if !self.has_room(name) {
            return None;
        }
        self.words.meter.spend(self.steps_of_columns(1) * FUEL_OF_A_STEP);
        self.add_columns([name]);
        Some(id)
    }

    /// Takes the room for a column that is yet to be made; false if there is one, or no room.
    pub(crate) fn has_room(&mut self, name: &Name) -> bool {
        if self.column_ids.contains_key(name) {
            return false;
        }
        let (account, rows) = (self.account(), self.rows.len());
        self.room.take(&account, COLUMN_BYTES + size_of::<u32>() * rows, rows)
    }

    /// What columns would take in memory, about, if there were so many rows.
    pub(crate) fn column_bytes(&self, rows: usize) -> usize {
        self.columns.list.len() * (COLUMN_BYTES + size_of::<u32>() * rows)
    }

    /// How many steps it takes to make so many columns.
    pub(crate) fn steps_of_columns(&self, columns: usize) -> u64 {
        let cells = columns.saturating_mul(self.rows.len() + CELLS_OF_A_COLUMN);
        cells.div_ceil(CELLS_OF_A_STEP) as u64
    }

    /// Makes the columns of attributes that will be asked for, and for which there is room.
    pub(crate) fn add_columns<'n>(&mut self, names: impl IntoIterator<Item = &'n Name>) {
        let first = self.columns.list.len();
        for name in names {
            let next = as_u32(self.columns.list.len());
            if *self.column_ids.entry(name.clone()).or_insert(next) == next {
                self.columns.list.push(Column::new(name.clone()));
            }
        }
        let fresh = self.columns.list.get_mut(first..).unwrap_or_default();
        if fresh.is_empty() {
            return;
        }
        for (number, (row, ports)) in self.rows.iter().zip(&self.texts).enumerate() {
            let Some(work) = self.row_work.get_mut(number) else { continue };
            for column in &mut *fresh {
                column.put(number, (ports, row.child_port()), &mut self.words, &self.context, work);
            }
        }
    }

    /// Rows in the order of their ads and ports.
    pub(crate) fn in_turn(&self, rows: &Bits) -> Vec<u32> {
        if self.in_order {
            return rows.rows();
        }
        let places = rows.permuted(&self.positions, self.by_position.len());
        places.iter().filter_map(|place| self.by_position.get(as_usize(place)).copied()).collect()
    }

    /// Where a row stands among all, in the order of their ads and ports.
    pub(crate) fn position(&self, row: u32) -> u32 {
        self.positions.get(as_usize(row)).copied().unwrap_or(u32::MAX)
    }

    /// The first row of the ad at a place of the snapshot, if it can be bound.
    pub(crate) fn first_row(&self, place: usize) -> Option<u32> {
        self.first_row.get(place).copied().flatten().map(Number::get)
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
