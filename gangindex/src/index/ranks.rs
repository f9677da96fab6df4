//! Orders rows by rank.

use std::collections::HashMap;

use classad::Value;
use foldhash::fast::RandomState;
use matchmaker::{FUEL_OF_A_STEP, FixedPoint};

use super::sort::stable_sort;
use crate::table::{Bits, Cell, Room, StringTable, Table, as_u32, as_usize};
use crate::term::{CompiledExpr, RowContext};

/// How one side of an edge ranks the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rank {
    /// The same for every row.
    Same(FixedPoint),
    /// By the row.
    By(RankId),
    /// It reads more than the two of them, or only the evaluator knows.
    Opaque,
}

/// A rank that depends on the row alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RankId(u32);

/// All ranks that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Ranks {
    list: Vec<Ranking>,
    ids: HashMap<CompiledExpr, RankId, RandomState>,
    /// The room that values and orders take.
    pub(crate) room: Room,
}

#[derive(Debug)]
struct Ranking {
    term: CompiledExpr,
    values: Vec<FixedPoint>,
    open: Option<Bits>,
    /// All live rows, the best first, of equal ones in the order of their ads.
    order: Vec<u32>,
    /// The place of each row in `order`.
    places: Vec<u32>,
    /// Places in `order` whose row has another value than the one before.
    breaks: Bits,
    fresh: bool,
    /// `order` and `places` are those of the values.
    sorted: bool,
}

/// What a rank takes in memory, about, and what for each row: its value, and its place in the order, both ways.
const RANK_BYTES: usize = 512;
const BYTES_OF_A_ROW: usize = size_of::<FixedPoint>() + 2 * size_of::<u32>();

/// How many rows are put in order in about the time of a step.
const SORTED_ROWS_OF_A_STEP: usize = 256;

impl Ranks {
    /// The rank that a term stands for; if there is no room for its values, only the evaluator knows them.
    pub(crate) fn rank(&mut self, mut term: CompiledExpr, table: &Table) -> Rank {
        if let CompiledExpr::Known(cell) = term {
            return number(cell, &table.words).map_or(Rank::Opaque, Rank::Same);
        }
        term.at_port(0);
        if let Some(id) = self.ids.get(&term) {
            return Rank::By(*id);
        }
        let rows = table.rows.len();
        if !self.room.take(&table.payer(), RANK_BYTES + BYTES_OF_A_ROW * rows, rows) {
            return Rank::Opaque;
        }
        let id = RankId(as_u32(self.list.len()));
        self.ids.insert(term.clone(), id);
        let (values, order, places) = (Vec::new(), Vec::new(), Vec::new());
        let breaks = Bits::default();
        self.list.push(Ranking { term, values, open: None, order, places, breaks, fresh: false, sorted: false });
        Rank::By(id)
    }

    /// Computes what is not computed yet.
    pub(crate) fn compute(&mut self, id: RankId, table: &mut Table) {
        let Some(ranking) = self.list.get_mut(as_usize(id.0)).filter(|ranking| !ranking.fresh) else { return };
        if !table.words.meter.has_fuel() {
            return;
        }
        let rows = table.rows.len();
        table.words.meter.spend((1 + rows / SORTED_ROWS_OF_A_STEP) as u64 * FUEL_OF_A_STEP);
        ranking.values.clear();
        ranking.values.resize(rows, FixedPoint::default());
        ranking.open = None;
        let (columns, words, context) = table.row_context();
        let mut row_context = RowContext::new(columns, words, context);
        let mut of = |row: usize| {
            let cell = ranking.term.value(&mut row_context, &|_| row);
            number(cell, row_context.words)
        };
        // Of rows that show the same in the only column that is read, one is looked at.
        let column = match ranking.term.columns().as_slice() {
            [only] => columns.get(*only),
            _ => None,
        };
        let mut known: Vec<Option<Option<FixedPoint>>> = vec![None; column.map_or(0, |column| column.cells().len())];
        for (row, value) in ranking.values.iter_mut().enumerate() {
            let code = column.and_then(|column| column.codes().get(row)).map_or(usize::MAX, |code| as_usize(*code));
            let number = match known.get_mut(code) {
                Some(known) => *known.get_or_insert_with(|| of(row)),
                None => of(row),
            };
            match number {
                Some(fx) => *value = fx,
                None => ranking.open.get_or_insert_with(|| Bits::none(rows)).set(row, true),
            }
        }
        // What was computed without fuel is computed again in the next cycle.
        (ranking.fresh, ranking.sorted) = (!table.words.meter.is_dry(), false);
    }

    /// Puts the rows of a rank that is computed in order.
    pub(crate) fn sort(&mut self, id: RankId, table: &Table) {
        if let Some(ranking) = self.list.get_mut(as_usize(id.0)).filter(|ranking| !ranking.sorted) {
            ranking.sort(table);
            ranking.sorted = true;
        }
    }

    /// What values and orders take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let each = |ranking: &Ranking| {
            size_of::<FixedPoint>() * ranking.values.len() + 4 * (ranking.order.len() + ranking.places.len())
        };
        self.list.iter().map(each).sum()
    }

    /// Forgets what depends on the time.
    pub(crate) fn another_time(&mut self) {
        for ranking in self.list.iter_mut().filter(|ranking| ranking.term.is_timely()) {
            ranking.fresh = false;
        }
    }

    /// Computes all of them again when they are asked for.
    pub(crate) fn forget_values(&mut self) {
        self.list.iter_mut().for_each(|ranking| ranking.fresh = false);
    }

    /// Looks again at rows that have changed, and puts them where they belong.
    pub(crate) fn refresh(&mut self, changed: &[u32], table: &mut Table) {
        let rows = table.rows.len();
        for ranking in self.list.iter_mut().filter(|ranking| ranking.fresh) {
            ranking.values.resize(rows, FixedPoint::default());
            if let Some(open) = &mut ranking.open {
                open.grow(rows);
            }
            let (columns, words, context) = table.row_context();
            let mut row_context = RowContext::new(columns, words, context);
            for row in changed {
                let row = as_usize(*row);
                let cell = ranking.term.value(&mut row_context, &|_| row);
                let number = number(cell, row_context.words);
                if let Some(value) = ranking.values.get_mut(row) {
                    *value = number.unwrap_or_default();
                }
                if number.is_none() && ranking.open.is_none() {
                    ranking.open = Some(Bits::none(rows));
                }
                if let Some(open) = &mut ranking.open {
                    open.set(row, number.is_none());
                }
            }
            if ranking.sorted {
                ranking.merge(changed, table);
            }
        }
    }

    /// The rank of a row; none if only the evaluator knows.
    pub(crate) fn value(&self, rank: Rank, row: usize) -> Option<FixedPoint> {
        match rank {
            Rank::Same(fx) => Some(fx),
            Rank::By(id) => {
                let ranking = self.list.get(as_usize(id.0))?;
                let open = ranking.open.as_ref().is_some_and(|open| open.get(row));
                ranking.values.get(row).copied().filter(|_| !open)
            }
            Rank::Opaque => None,
        }
    }

    /// The values of a rank by row, whether they are known or not.
    pub(crate) fn values(&self, id: RankId) -> &[FixedPoint] {
        self.list.get(as_usize(id.0)).map_or(&[], |ranking| &ranking.values)
    }

    /// The place in the order of a rank from which on rows have another value than at `place`.
    pub(crate) fn run_end(&self, id: RankId, place: usize) -> usize {
        let ranking = self.list.get(as_usize(id.0));
        ranking.and_then(|ranking| ranking.breaks.next(place + 1)).map_or(usize::MAX, as_usize)
    }

    /// The rows whose rank only the evaluator knows.
    pub(crate) fn open(&self, rank: Rank) -> Option<&Bits> {
        match rank {
            Rank::By(id) => self.list.get(as_usize(id.0))?.open.as_ref(),
            _ => None,
        }
    }

    /// All live rows, the best first, and the place of each row in that order; both must have been computed.
    pub(crate) fn order(&self, id: RankId) -> (&[u32], &[u32]) {
        self.list.get(as_usize(id.0)).map_or((&[], &[]), |ranking| (&ranking.order, &ranking.places))
    }
}

impl Ranking {
    /// The order without rows that are gone or have changed, and with these put in: a cycle after changes that sorted again would take 13 % more
    /// instructions.
    fn merge(&mut self, changed: &[u32], table: &Table) {
        let mut stays = table.live.clone();
        for row in changed {
            stays.set(as_usize(*row), false);
        }
        let value = |row: u32| self.values.get(as_usize(row)).copied().unwrap_or_default();
        let place = |row: &u32| (std::cmp::Reverse(value(*row)), table.position(*row));
        let mut fresh: Vec<u32> = changed.to_vec();
        fresh.sort_by_cached_key(place);
        let mut rest: Vec<u32> = self.order.iter().copied().filter(|row| stays.get(as_usize(*row))).collect();
        let mut order = Vec::with_capacity(rest.len() + fresh.len());
        for row in fresh.iter().rev() {
            let tail = rest.partition_point(|other| place(other) < place(row));
            // The worst ones first, and all turned round in the end.
            order.extend(rest.drain(tail..).rev());
            order.push(*row);
        }
        order.extend(rest.into_iter().rev());
        order.reverse();
        self.order = order;
        self.number(table.rows.len());
    }

    fn number(&mut self, rows: usize) {
        self.places.clear();
        self.places.resize(rows, u32::MAX);
        self.breaks = Bits::none(self.order.len());
        let mut before = None;
        for (place, row) in self.order.iter().enumerate() {
            if let Some(own) = self.places.get_mut(as_usize(*row)) {
                *own = as_u32(place);
            }
            let value = self.values.get(as_usize(*row));
            if before.replace(value) != Some(value) {
                self.breaks.set(place, true);
            }
        }
    }

    fn sort(&mut self, table: &Table) {
        let value = |row: u32| self.values.get(as_usize(row)).copied().unwrap_or_default();
        let mut order = table.in_turn(&table.live);
        stable_sort(&mut order, value);
        self.order = order;
        self.number(table.rows.len());
    }
}

fn number(cell: Cell, words: &StringTable) -> Option<FixedPoint> {
    match cell {
        Cell::Unknown => None,
        Cell::Int(number) => Some(FixedPoint::of(&Value::Integer(number))),
        Cell::Real(bits) => Some(FixedPoint::of(&Value::Real(f64::from_bits(bits)))),
        other => words.value(other).map(|value| FixedPoint::of(&value)),
    }
}
