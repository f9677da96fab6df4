//! Ads into rows and columns: one row for each port through which an ad can be bound, one column for each attribute that
//! some constraint or rank reads.

mod bits;
mod cell;
mod column;
mod reads;
mod recent;
mod template;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use classad::{Ad, Context, Limits, Name};
use foldhash::fast::RandomState;

use crate::model::{PoolAd, Snapshot};
use crate::ports::{Ports, Rules};
use crate::term::partial;

pub(crate) use bits::{Bits, as_u32, as_usize};
pub(crate) use cell::{Cell, TextId, Words};
use column::Column;
pub(crate) use column::own_value;
pub(crate) use reads::{ExprId, Exprs, ReadsId};
pub(crate) use recent::Recent;
pub(crate) use template::Templates;

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

/// All rows of a pool and what is known of them.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// The rows that stand for an ad of the pool; the others are free.
    pub(crate) live: Bits,
    /// The first row of the ad at each place of the snapshot, if it can be bound.
    first_row: Vec<Option<Number>>,
    pub(crate) columns: Columns,
    pub(crate) words: Words,
    pub(crate) exprs: Exprs,
    pub(crate) templates: Templates,
    /// The bounds of a part of an evaluation.
    pub(crate) context: Context,
    column_ids: HashMap<Name, u32, RandomState>,
    /// Free rows by how many stand together.
    free: HashMap<usize, Vec<u32>, RandomState>,
    /// The rows in the order of their ads, and the place of each in that order: which of two has the smaller id.
    positions: Vec<u32>,
    /// The rows in that order.
    by_position: Vec<u32>,
    /// That is the order of the rows themselves.
    pub(crate) in_order: bool,
}

/// What is not as it was in the snapshot before.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Rows of ads that are new or have changed.
    pub(crate) rows: Vec<u32>,
    /// Some rows stand for no ad any more.
    pub(crate) gone: bool,
    /// For each place of the snapshot, the place before of an ad that is the same; none if nothing is another or elsewhere.
    pub(crate) same: Option<Vec<Option<Number>>>,
}

/// The columns of a table.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    list: Vec<Column>,
    /// An ad with nothing in it, for expressions that stand in no ad.
    pub(crate) nothing: Ad,
}

/// One way to bind an ad.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) ports: Arc<Ports>,
    /// The port it is bound through.
    pub(crate) via: usize,
    /// Its ad's place in the snapshot.
    pub(crate) place: usize,
    /// The rows of equal constraint and rank that it belongs to.
    pub(crate) template: usize,
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
            live: Bits::default(),
            first_row: Vec::new(),
            columns: Columns::default(),
            words: Words::default(),
            exprs: Exprs::default(),
            templates: Templates::default(),
            context: partial(&Context { limits, ..Context::default() }),
            column_ids: HashMap::default(),
            free: HashMap::default(),
            positions: Vec::new(),
            by_position: Vec::new(),
            in_order: true,
        }
    }

    /// What rows, strings and expressions take in memory, about: those of ads that are gone, too.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes() + self.exprs.bytes() + self.rows.len() * (size_of::<Row>() + 4 * self.columns.list.len())
    }

    /// What a term needs to be evaluated.
    pub(crate) fn sight(&mut self) -> (&Columns, &mut Words, &Context) {
        (&self.columns, &mut self.words, &self.context)
    }

    pub(crate) fn words_and_context(&mut self) -> (&mut Words, &Context) {
        (&mut self.words, &self.context)
    }

    /// The column of an attribute, made when it is first asked for.
    pub(crate) fn column(&mut self, name: &Name) -> u32 {
        if let Some(column) = self.column_ids.get(name) {
            return *column;
        }
        let mut column = Column::new(name.clone());
        for (number, row) in self.rows.iter().enumerate() {
            column.put(number, &row.ports, row.via, &mut self.words, &self.context);
        }
        let id = as_u32(self.columns.list.len());
        self.columns.list.push(column);
        self.column_ids.insert(name.clone(), id);
        id
    }

    /// Makes the rows those of the snapshot; what is the same as `before` stays as it is.
    pub(crate) fn sync(&mut self, snapshot: &Snapshot, before: &Snapshot, rules: Rules) -> Changes {
        if Arc::ptr_eq(&snapshot.ads, &before.ads) && self.first_row.len() == snapshot.len() {
            return Changes { rows: Vec::new(), gone: false, same: None };
        }
        let old_first = std::mem::take(&mut self.first_row);
        let old_first = old_first.into_iter().map(|first| first.map(Number::get));
        let mut old = before.ads.iter().enumerate().zip(old_first).peekable();
        let (mut first_row, mut fresh) = (Vec::with_capacity(snapshot.len()), Vec::new());
        let (mut same, mut gone_rows) = (Vec::with_capacity(snapshot.len()), false);
        for (now, ad) in snapshot.ads.iter().enumerate() {
            // Ads are in the order of their keys, unless their order is all that there is.
            let is_before = |old: &PoolAd| rules == Rules::Product && old.key < ad.key;
            while let Some(((_, gone), first)) = old.next_if(|((_, old), _)| !Arc::ptr_eq(old, ad) && is_before(old)) {
                gone_rows |= self.forget(gone, first);
            }
            match old.next_if(|((_, old), _)| Arc::ptr_eq(old, ad) || old.key == ad.key) {
                Some(((place, known), first))
                    if Arc::ptr_eq(known, ad)
                        || Arc::ptr_eq(&known.ports, &ad.ports) && first.is_some() == takes_part(ad, rules) =>
                {
                    if place != now {
                        self.move_to(first, ad.ports.list.len(), now);
                    }
                    first_row.push(first.map(Number::of));
                    same.push(Some(Number::of(as_u32(place))));
                    continue;
                }
                // What has changed stays in its rows, if it needs as many: then rows stay in the order of their ads.
                Some(((_, known), Some(first)))
                    if takes_part(ad, rules) && known.ports.list.len() == ad.ports.list.len() =>
                {
                    gone_rows |= self.empty(known, first);
                    fresh.push((now, Some(first)));
                }
                Some(((_, known), first)) => {
                    gone_rows |= self.forget(known, first);
                    fresh.push((now, None));
                }
                None => fresh.push((now, None)),
            }
            same.push(None);
            first_row.push(None);
        }
        for ((_, gone), first) in old {
            gone_rows |= self.forget(gone, first);
        }
        let mut changed = Vec::new();
        for (place, rows) in fresh {
            let Some(ad) = snapshot.ad_at(place).filter(|ad| takes_part(ad, rules)) else { continue };
            let first = self.place_rows(ad, place, rows, &mut changed);
            if let Some(own) = first_row.get_mut(place) {
                *own = Some(Number::of(first));
            }
        }
        self.first_row = first_row;
        self.fill(&changed);
        self.number();
        Changes { rows: changed, gone: gone_rows, same: Some(same) }
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
        let first = self.first_row(place).map_or(self.rows.len(), as_usize);
        let own = self.rows.iter().enumerate().skip(first);
        own.take_while(move |(row, own)| own.place == place && self.live.get(*row)).map(|(row, _)| row)
    }

    fn number(&mut self) {
        let mut positions = vec![u32::MAX; self.rows.len()];
        let mut by_position = Vec::with_capacity(self.rows.len());
        let (mut before, mut in_order) = (None, true);
        for row in (0..self.first_row.len()).flat_map(|place| self.rows_of(place)) {
            in_order &= before.replace(row).is_none_or(|before| before < row);
            if let Some(position) = positions.get_mut(row) {
                *position = as_u32(by_position.len());
            }
            by_position.push(as_u32(row));
        }
        (self.positions, self.by_position, self.in_order) = (positions, by_position, in_order);
    }

    /// Frees the rows of an ad; says whether it had any.
    fn forget(&mut self, gone: &PoolAd, first: Option<u32>) -> bool {
        let Some(first) = first else { return false };
        self.free.entry(gone.ports.list.len()).or_default().push(first);
        self.empty(gone, first)
    }

    /// Empties the rows of an ad.
    fn empty(&mut self, gone: &PoolAd, first: u32) -> bool {
        for row in (as_usize(first)..).take(gone.ports.list.len()) {
            self.live.set(row, false);
            self.templates.leave(self.rows.get(row).map_or(usize::MAX, |row| row.template), row);
        }
        true
    }

    fn move_to(&mut self, first: Option<u32>, count: usize, place: usize) {
        let Some(first) = first else { return };
        for row in self.rows.iter_mut().skip(as_usize(first)).take(count) {
            row.place = place;
        }
    }

    /// Gives an ad rows: its own, others that are free, or new ones.
    fn place_rows(&mut self, ad: &PoolAd, place: usize, own: Option<u32>, changed: &mut Vec<u32>) -> u32 {
        let count = ad.ports.list.len();
        let spare = own.or_else(|| self.free.get_mut(&count).and_then(Vec::pop));
        let first = spare.unwrap_or_else(|| as_u32(self.rows.len()));
        for via in 0..count {
            let number = as_usize(first) + via;
            let template = self.templates.of(&ad.ports, via, number, &mut self.exprs);
            let row = Row { ports: Arc::clone(&ad.ports), via, place, template };
            match self.rows.get_mut(number) {
                Some(free) => *free = row,
                None => self.rows.push(row),
            }
            changed.push(as_u32(number));
        }
        first
    }

    /// Fills the columns of changed rows.
    fn fill(&mut self, changed: &[u32]) {
        self.live.grow(self.rows.len());
        self.templates.grow(self.rows.len());
        for number in changed {
            self.live.set(as_usize(*number), true);
        }
        for column in &mut self.columns.list {
            column.forget_shape();
            for number in changed {
                if let Some(row) = self.rows.get(as_usize(*number)) {
                    column.put(as_usize(*number), &row.ports, row.via, &mut self.words, &self.context);
                }
            }
        }
    }
}

/// Whether an ad can be bound at all: what does not change while its text is the same.
fn takes_part(ad: &PoolAd, rules: Rules) -> bool {
    ad.ports.problem.is_none() && (rules == Rules::Paper || ad.offer().is_some())
}
