//! What can be bound to a port once port 0 is bound: for each partner at port 0, the best that agrees with it.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use matchmaker::Score;
use smallvec::SmallVec;

use super::candidates::{Candidates, Known};
use super::hash_index::{HashIndexes, HashKey, key};
use crate::table::{Bits, Columns, StringTable, Table, as_u32, as_usize};
use crate::term::{CompiledExpr, RowContext};

/// A port that hangs on port 0: its candidates by offer class, because each offer class joins in its own way.
#[derive(Clone, Debug)]
pub(crate) struct JoinedPort {
    pub(crate) port: usize,
    partitions: Vec<JoinPartition>,
    /// All candidates; those before `alive` are full.
    all: Vec<u32>,
    alive: usize,
    /// Rows of port 0 for which no candidate is left here: a later search need not look.
    pub(crate) unjoinable: Bits,
}

#[derive(Clone, Debug)]
struct JoinPartition {
    /// What must be true of the partners at port 0 and at this port together.
    joins: Vec<CompiledExpr>,
    /// The columns of port 0 that the joins read.
    hub: Vec<u32>,
    /// Equalities among the joins: a column of port 0 and one of this port.
    equal: Vec<(u32, u32)>,
    /// The number of the list for each value of what must be equal.
    keys: HashMap<Vec<HashKey>, u32, RandomState>,
    /// The same by the code of the only value of this port that must be equal, as far as it was met.
    lists_by_code: Vec<Option<u32>>,
    /// Candidates, the best first.
    lists: Vec<List>,
    /// How far its list has been used up, for everything that port 0 may show of itself: by the code of the only column
    /// that the joins read, if it has few, or by the codes of all columns.
    cursors: Vec<Option<Cursor>>,
    many: HashMap<HubCodes, Cursor, RandomState>,
    /// All candidates that agree, by the code of the only column that the joins read, if it has few. None that is not known.
    by_code: Vec<Option<Vec<u32>>>,
    /// Rows of port 0 for which no candidate is left here.
    unjoinable: Bits,
}

/// Candidates that show the same in what must be equal.
#[derive(Clone, Debug)]
struct List {
    rows: Vec<u32>,
    /// The joins are true of every row that is looked up here: all are equalities of texts.
    agrees: bool,
}

type HubCodes = SmallVec<[u32; 4]>;

/// What looking at two partners together costs.
const FUEL_OF_A_JOIN: u64 = 4;

/// How many values a column may have whose heads are kept by code.
const FEW: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Cursor {
    list: u32,
    at: usize,
    /// The joins are known to be true of what stands there.
    agrees: bool,
}

impl JoinedPort {
    /// The candidates of a candidate set, by what they share with port 0.
    pub(crate) fn of(candidates: &mut Candidates, hash_indexes: &mut HashIndexes, known: &mut Known<'_>) -> JoinedPort {
        let port = candidates.plan.port;
        let mut sorted = candidates.rows(known);
        sorted.retain(|row| candidates.passes(*row, known));
        let mut partitions: Vec<JoinPartition> = Vec::new();
        let mut partition_of: HashMap<usize, usize, RandomState> = HashMap::default();
        for row in sorted.iter().copied() {
            let Some(offer_class) = known.table.rows.get(as_usize(row)).map(|row| row.offer_class()) else { continue };
            let partition = *partition_of.entry(offer_class).or_insert_with(|| {
                let theirs = candidates.plan.theirs.iter().filter(|theirs| theirs.offer_class == offer_class);
                let joins = theirs.flat_map(|theirs| &theirs.demand.joins).chain(&candidates.plan.own.joins);
                let joins: Vec<CompiledExpr> = joins.cloned().collect();
                match partitions.iter().position(|partition| partition.joins == joins) {
                    Some(same) => same,
                    None => {
                        partitions.push(JoinPartition::new(joins, port));
                        partitions.len() - 1
                    }
                }
            });
            if let Some(partition) = partitions.get_mut(partition) {
                partition.put(row, &known.table.columns, &known.table.words);
            }
        }
        for partition in &mut partitions {
            partition.narrow(hash_indexes, known.table);
        }
        let mut joined_port =
            JoinedPort { port, partitions, all: sorted, alive: 0, unjoinable: Bits::none(known.table.rows.len()) };
        joined_port.gather_unjoinable();
        joined_port
    }

    /// Unites the rows of port 0 that have no candidate left in some join partition.
    fn gather_unjoinable(&mut self) {
        if let Some((first, rest)) = self.partitions.split_first() {
            self.unjoinable.clone_from(&first.unjoinable);
            rest.iter().for_each(|partition| self.unjoinable.and(&partition.unjoinable));
        }
    }

    /// All candidates.
    pub(crate) fn rows(&self) -> &[u32] {
        &self.all
    }

    /// The columns of port 0 and those of this port that the joins read.
    pub(crate) fn reads(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut of_hub, mut own) = (BTreeSet::new(), BTreeSet::new());
        for join in self.partitions.iter().flat_map(|partition| &partition.joins) {
            join.reads(&mut |var, column| {
                let columns = if usize::from(var) == self.port { &mut own } else { &mut of_hub };
                columns.insert(column);
            });
        }
        (of_hub.into_iter().collect(), own.into_iter().collect())
    }

    /// The candidates that agree with a partner at port 0, whether they have room or not.
    pub(crate) fn joined(&mut self, hub: u32, known: &mut Known<'_>) -> Vec<u32> {
        let mut rows = Vec::new();
        for partition in &mut self.partitions {
            partition.joined(hub, self.port, known, &mut rows);
        }
        rows
    }

    /// Whether all candidates are full.
    pub(crate) fn is_empty(&mut self, known: &Known<'_>) -> bool {
        while self.all.get(self.alive).is_some_and(|row| known.is_full(*row)) {
            self.alive += 1;
        }
        self.alive >= self.all.len()
    }

    /// The best candidate that agrees with the partner at port 0 and has room, and what it adds to the score.
    pub(crate) fn best(&mut self, hub: u32, candidates: &Candidates, known: &mut Known<'_>) -> Option<(Score, u32)> {
        let mut best: Option<(Score, u32, u32)> = None;
        let mut others_too = false;
        for partition in self.partitions.iter_mut().filter(|partition| !partition.unjoinable.get(as_usize(hub))) {
            let Some(row) = partition.cursor(hub, self.port, candidates, known) else {
                others_too |= !known.doubt && partition.mark_unjoinable(hub, known.table);
                continue;
            };
            let Some(score) = candidates.score(row, known.table, known.ranks) else { continue };
            let position = known.table.position(row);
            if best.is_none_or(|(most, first, _)| score > most || (score == most && position < first)) {
                best = Some((score, position, row));
            }
        }
        if best.is_none() && !known.doubt {
            self.unjoinable.set(as_usize(hub), true);
            if others_too {
                self.gather_unjoinable();
            }
        }
        best.map(|(score, _, row)| (score, row))
    }
}

impl JoinPartition {
    fn new(joins: Vec<CompiledExpr>, port: usize) -> JoinPartition {
        let (mut hub, mut equal) = (Vec::new(), Vec::new());
        for join in &joins {
            join.reads(&mut |var, column| {
                if var == 0 && port != 0 && !hub.contains(&column) {
                    hub.push(column);
                }
            });
            equal.extend(join.equality(port));
        }
        let (keys, lists, cursors, many) = (HashMap::default(), Vec::new(), Vec::new(), HashMap::default());
        let (lists_by_code, by_code, unjoinable) = (Vec::new(), Vec::new(), Bits::default());
        JoinPartition { joins, hub, equal, keys, lists_by_code, lists, cursors, many, by_code, unjoinable }
    }

    /// Adds the candidates that agree with a partner at port 0.
    fn joined(&mut self, hub: u32, port: usize, known: &mut Known<'_>, rows: &mut Vec<u32>) {
        let columns = &known.table.columns;
        let code = match self.hub.as_slice() {
            [column] => columns.get(*column).filter(|column| column.cells().len() <= FEW).and_then(|column| {
                let code = column.codes().get(as_usize(hub)).copied().map(as_usize);
                self.by_code.resize(column.cells().len(), None);
                code
            }),
            _ => None,
        };
        if let Some(Some(agreeing)) = code.and_then(|code| self.by_code.get(code)) {
            rows.extend_from_slice(agreeing);
            return;
        }
        let Some(list) = self.lists.get(as_usize(self.list_for(hub, known.table))) else {
            self.remember(code, &[]);
            return;
        };
        known.table.words.meter.spend(1);
        if list.agrees {
            rows.extend_from_slice(&list.rows);
            return;
        }
        let (first, doubt) = (rows.len(), std::mem::take(&mut known.doubt));
        rows.extend(list.rows.iter().filter(|row| known.agree(&self.joins, hub, **row, port)));
        if !known.doubt {
            self.remember(code, rows.get(first..).unwrap_or_default());
        }
        known.doubt |= doubt;
    }

    fn remember(&mut self, code: Option<usize>, agreeing: &[u32]) {
        let own = code.and_then(|code| self.by_code.get_mut(code));
        own.into_iter().for_each(|own| *own = Some(agreeing.to_vec()));
    }

    /// Keeps only the rows with a value that some candidate at port 0 has, where few rows have one.
    fn narrow(&mut self, hash_indexes: &mut HashIndexes, table: &mut Table) {
        self.unjoinable = Bits::none(table.rows.len());
        if let [column] = self.hub.as_slice() {
            table.columns.know_holders(*column);
        }
        let many = |column: u32| table.columns.get(column).is_some_and(|column| column.holders(0).is_none());
        let Some(place) = self.equal.iter().position(|(hub, _)| many(*hub)) else { return };
        let Some((hub, _)) = self.equal.get(place) else { return };
        let mut wanted = Bits::none(table.rows.len());
        for key in self.keys.keys().filter_map(|keys| keys.get(place)) {
            hash_indexes.each(*hub, key, table, |row| wanted.set(row, true));
        }
        self.unjoinable = wanted.others();
    }

    /// No candidate is left here for a row of port 0, nor for rows with the same codes. Says whether there are other rows that
    /// are known to have them.
    fn mark_unjoinable(&mut self, hub: u32, table: &Table) -> bool {
        let alike = match self.hub.as_slice() {
            [column] => table.columns.get(*column).and_then(|column| column.alike(as_usize(hub))),
            _ => None,
        };
        match alike {
            Some(rows) => self.unjoinable.or(rows),
            None if self.hub.is_empty() => self.unjoinable = Bits::none(table.rows.len()).others(),
            None => self.unjoinable.set(as_usize(hub), true),
        }
        alike.is_some() || self.hub.is_empty()
    }

    fn put(&mut self, row: u32, columns: &Columns, words: &StringTable) {
        let only = match self.equal.as_slice() {
            [(_, own)] => columns.get(*own).and_then(|own| {
                let code = own.codes().get(as_usize(row));
                code.filter(|code| as_usize(**code) < own.cells().len())
            }),
            _ => None,
        };
        let code = only.map_or(usize::MAX, |code| as_usize(*code));
        let list = match self.lists_by_code.get(code) {
            Some(Some(known)) => *known,
            _ => {
                // What is undefined or an error is equal to nothing.
                let Some(list) = self.list_of(row, columns, words) else { return };
                if only.is_some() {
                    self.lists_by_code.resize(self.lists_by_code.len().max(code + 1), None);
                }
                self.lists_by_code.get_mut(code).into_iter().for_each(|own| *own = Some(list));
                list
            }
        };
        if let Some(list) = self.lists.get_mut(as_usize(list)) {
            list.rows.push(row);
        }
    }

    /// The list that a candidate belongs to, if anything can be equal to what it shows.
    fn list_of(&mut self, row: u32, columns: &Columns, words: &StringTable) -> Option<u32> {
        let each = self.equal.iter().map(|(_, own)| key(columns.cell(*own, as_usize(row)), words));
        let keys = each.collect::<Option<Vec<HashKey>>>()?;
        let next = as_u32(self.lists.len());
        let agrees = self.joins.len() == self.equal.len() && keys.iter().all(|key| matches!(key, HashKey::Text(_)));
        let list = *self.keys.entry(keys).or_insert(next);
        if list == next {
            self.lists.push(List { rows: Vec::new(), agrees });
        }
        Some(list)
    }

    /// The list for a partner at port 0; none if nothing is equal to what it shows.
    fn list_for(&self, hub: u32, table: &Table) -> u32 {
        let shows = |column: u32| key(table.columns.cell(column, as_usize(hub)), &table.words);
        let keys: Option<Vec<HashKey>> = self.equal.iter().map(|(hub, _)| shows(*hub)).collect();
        keys.and_then(|keys| self.keys.get(&keys)).copied().unwrap_or(u32::MAX)
    }

    /// The first row of the list that agrees with the partner at port 0 and has room. What is passed over can never be had
    /// again by a partner that shows the same.
    fn cursor(&mut self, hub: u32, port: usize, candidates: &Candidates, known: &mut Known<'_>) -> Option<u32> {
        let code = |column: u32| known.table.columns.get(column)?.codes().get(as_usize(hub)).copied();
        let (place, values) = match self.hub.as_slice() {
            [] => (0, 1),
            [column] => (as_usize(code(*column)?), known.table.columns.get(*column)?.cells().len()),
            _ => (usize::MAX, usize::MAX),
        };
        let many = match values {
            0..=FEW => None,
            _ => Some(self.hub.iter().map(|column| code(*column)).collect::<Option<HubCodes>>()?),
        };
        if many.is_none() && self.cursors.len() < values {
            self.cursors.resize(values, None);
        }
        let before = match &many {
            Some(codes) => self.many.get(codes).copied(),
            None => self.cursors.get(place).copied().flatten(),
        };
        let mut cursor =
            before.unwrap_or_else(|| Cursor { list: self.list_for(hub, known.table), at: 0, agrees: false });
        let found = self.advance(&mut cursor, hub, port, candidates, known);
        match many {
            Some(codes) => {
                self.many.insert(codes, cursor);
            }
            None => {
                if let Some(own) = self.cursors.get_mut(place) {
                    *own = Some(cursor);
                }
            }
        }
        found
    }

    fn advance(
        &self,
        cursor: &mut Cursor,
        hub: u32,
        port: usize,
        candidates: &Candidates,
        known: &mut Known<'_>,
    ) -> Option<u32> {
        let list = self.lists.get(as_usize(cursor.list))?;
        while let Some(row) = list.rows.get(cursor.at) {
            known.table.words.meter.spend(1);
            let agrees = list.agrees || cursor.agrees;
            if known.has_room(*row, candidates) && (agrees || known.agree(&self.joins, hub, *row, port)) {
                cursor.agrees = true;
                return Some(*row);
            }
            cursor.at += 1;
            cursor.agrees = false;
        }
        None
    }
}

impl Known<'_> {
    /// Whether a row's ad has no free amounts.
    pub(crate) fn is_full(&self, row: u32) -> bool {
        self.full.get(as_usize(row))
    }

    /// Whether what the candidate set's port asks fits into what is free of the row's ad.
    pub(crate) fn has_room(&mut self, row: u32, candidates: &Candidates) -> bool {
        let Some(place) = self.table.rows.get(as_usize(row)).map(|row| row.place()) else { return false };
        !self.availability.is_full(place) && self.availability.fits(candidates.ask, place)
    }

    /// Whether joins are true of two partners. Where only the evaluator knows, that is remembered as doubt.
    fn agree(&mut self, joins: &[CompiledExpr], hub: u32, row: u32, port: usize) -> bool {
        self.table.words.meter.spend(FUEL_OF_A_JOIN);
        if !self.table.words.meter.has_fuel() {
            self.doubt = true;
            return false;
        }
        let (columns, words, context) = self.table.row_context();
        let mut row_context = RowContext::new(columns, words, context);
        let of = |var: crate::term::Var| as_usize(if usize::from(var) == port { row } else { hub });
        let mut known = true;
        let agree = joins.iter().all(|join| {
            let truth = row_context.holds(join, &of);
            known &= truth.is_some();
            truth == Some(true)
        });
        self.doubt |= !known;
        agree
    }
}
