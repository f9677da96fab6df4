//! What can be bound to a port once port 0 is bound: for each partner at port 0, the best that agrees with it.

use std::collections::HashMap;

use classad::BinaryOp;
use foldhash::fast::RandomState;
use matchmaker::Score;
use smallvec::SmallVec;

use super::domain::{Domain, Known};
use super::finders::{Finders, Key, key};
use crate::table::{Bits, Columns, Table, Words, as_u32, as_usize};
use crate::term::{Sight, Term};

/// A port that hangs on port 0: its candidates by template, because each template joins in its own way.
#[derive(Debug)]
pub(crate) struct Spoke {
    pub(crate) port: usize,
    lanes: Vec<Lane>,
    /// All candidates; those before `alive` are full.
    all: Vec<u32>,
    alive: usize,
    /// Rows of port 0 that nothing is left for here: whoever else comes to one of them need not look.
    pub(crate) lonely: Bits,
}

#[derive(Debug)]
struct Lane {
    /// What must be true of the partners at port 0 and at this port together.
    joins: Vec<Term>,
    /// The columns of port 0 that the joins read.
    hub: Vec<u32>,
    /// Equalities among the joins: a column of port 0 and one of this port.
    equal: Vec<(u32, u32)>,
    /// The number of the list for each value of what must be equal.
    keys: HashMap<Vec<Key>, u32, RandomState>,
    /// The same by the code of the only value of this port that must be equal, as far as it was met.
    lists_by_code: Vec<Option<u32>>,
    /// Candidates, the best first.
    lists: Vec<List>,
    /// How far its list has been used up, for everything that port 0 may show of itself: by the code of the only column
    /// that the joins read, if it has few, or by the codes of all columns.
    heads: Vec<Option<Head>>,
    many: HashMap<Codes, Head, RandomState>,
    /// Rows of port 0 that find nobody here any more.
    gone: Bits,
}

/// Candidates that show the same in what must be equal.
#[derive(Debug)]
struct List {
    rows: Vec<u32>,
    /// The joins are true of whoever comes to this list: all are equalities of texts.
    agrees: bool,
}

type Codes = SmallVec<[u32; 4]>;

/// What looking at two partners together costs.
const FUEL_OF_A_JOIN: u64 = 4;

/// How many values a column may have whose heads are kept by code.
const FEW: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Head {
    list: u32,
    at: usize,
    /// The joins are known to be true of what stands there.
    agrees: bool,
}

impl Spoke {
    /// The candidates of a domain, by what they share with port 0.
    pub(crate) fn of(domain: &mut Domain, finders: &mut Finders, known: &mut Known<'_>) -> Spoke {
        let port = domain.plan.port;
        let mut sorted = domain.rows(known);
        sorted.retain(|row| domain.passes(*row, known));
        let mut lanes: Vec<Lane> = Vec::new();
        let mut lane_of: HashMap<usize, usize, RandomState> = HashMap::default();
        for row in sorted.iter().copied() {
            let Some(template) = known.table.rows.get(as_usize(row)).map(|row| row.template()) else { continue };
            let lane = *lane_of.entry(template).or_insert_with(|| {
                let theirs = domain.plan.theirs.iter().filter(|theirs| theirs.template == template);
                let joins = theirs.flat_map(|theirs| &theirs.demand.joins).chain(&domain.plan.own.joins);
                let joins: Vec<Term> = joins.cloned().collect();
                match lanes.iter().position(|lane| lane.joins == joins) {
                    Some(same) => same,
                    None => {
                        lanes.push(Lane::new(joins, port));
                        lanes.len() - 1
                    }
                }
            });
            if let Some(lane) = lanes.get_mut(lane) {
                lane.put(row, &known.table.columns, &known.table.words);
            }
        }
        for lane in &mut lanes {
            lane.narrow(finders, known.table);
        }
        let mut spoke = Spoke { port, lanes, all: sorted, alive: 0, lonely: Bits::none(known.table.rows.len()) };
        spoke.gather_lonely();
        spoke
    }

    /// Those who find nobody in any lane.
    fn gather_lonely(&mut self) {
        if let Some((first, rest)) = self.lanes.split_first() {
            self.lonely.clone_from(&first.gone);
            rest.iter().for_each(|lane| self.lonely.and(&lane.gone));
        }
    }

    /// Whether nothing is left of any candidate for anybody.
    pub(crate) fn is_empty(&mut self, known: &Known<'_>) -> bool {
        while self.all.get(self.alive).is_some_and(|row| known.is_full(*row)) {
            self.alive += 1;
        }
        self.alive >= self.all.len()
    }

    /// The best candidate that agrees with the partner at port 0 and has room, and what it adds to the score.
    pub(crate) fn best(&mut self, hub: u32, domain: &Domain, known: &mut Known<'_>) -> Option<(Score, u32)> {
        let mut best: Option<(Score, u32, u32)> = None;
        let mut others_too = false;
        for lane in self.lanes.iter_mut().filter(|lane| !lane.gone.get(as_usize(hub))) {
            let Some(row) = lane.head(hub, self.port, domain, known) else {
                others_too |= !known.doubt && lane.part_with(hub, known.table);
                continue;
            };
            let Some(score) = domain.score(row, known.table, known.ranks) else { continue };
            let position = known.table.position(row);
            if best.is_none_or(|(most, first, _)| score > most || (score == most && position < first)) {
                best = Some((score, position, row));
            }
        }
        if best.is_none() && !known.doubt {
            self.lonely.set(as_usize(hub), true);
            if others_too {
                self.gather_lonely();
            }
        }
        best.map(|(score, _, row)| (score, row))
    }
}

impl Lane {
    fn new(joins: Vec<Term>, port: usize) -> Lane {
        let (mut hub, mut equal) = (Vec::new(), Vec::new());
        for join in &joins {
            join.reads(&mut |var, column| {
                if var == 0 && port != 0 && !hub.contains(&column) {
                    hub.push(column);
                }
            });
            if let Term::Binary(BinaryOp::Equal, sides) = join {
                match &**sides {
                    [Term::Column(0, hub), Term::Column(var, own)] | [Term::Column(var, own), Term::Column(0, hub)]
                        if usize::from(*var) == port =>
                    {
                        equal.push((*hub, *own));
                    }
                    _ => {}
                }
            }
        }
        let (keys, lists, heads, many) = (HashMap::default(), Vec::new(), Vec::new(), HashMap::default());
        let lists_by_code = Vec::new();
        Lane { joins, hub, equal, keys, lists_by_code, lists, heads, many, gone: Bits::default() }
    }

    /// Leaves out who has no value that somebody here wants, where hardly anybody has.
    fn narrow(&mut self, finders: &mut Finders, table: &mut Table) {
        self.gone = Bits::none(table.rows.len());
        if let [column] = self.hub.as_slice() {
            table.columns.know_holders(*column);
        }
        let many = |column: u32| table.columns.get(column).is_some_and(|column| column.holders(0).is_none());
        let Some(place) = self.equal.iter().position(|(hub, _)| many(*hub)) else { return };
        let Some((hub, _)) = self.equal.get(place) else { return };
        let mut wanted = Bits::none(table.rows.len());
        for key in self.keys.keys().filter_map(|keys| keys.get(place)) {
            finders.each(*hub, key, table, |row| wanted.set(row, true));
        }
        self.gone = wanted.others();
    }

    /// Nobody is left here for a partner at port 0, nor for those who show the same. Says whether others are among them that
    /// can be told.
    fn part_with(&mut self, hub: u32, table: &Table) -> bool {
        let alike = match self.hub.as_slice() {
            [column] => table.columns.get(*column).and_then(|column| column.alike(as_usize(hub))),
            _ => None,
        };
        match alike {
            Some(rows) => self.gone.or(rows),
            None if self.hub.is_empty() => self.gone = Bits::none(table.rows.len()).others(),
            None => self.gone.set(as_usize(hub), true),
        }
        alike.is_some() || self.hub.is_empty()
    }

    fn put(&mut self, row: u32, columns: &Columns, words: &Words) {
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
    fn list_of(&mut self, row: u32, columns: &Columns, words: &Words) -> Option<u32> {
        let each = self.equal.iter().map(|(_, own)| key(columns.cell(*own, as_usize(row)), words));
        let keys = each.collect::<Option<Vec<Key>>>()?;
        let next = as_u32(self.lists.len());
        let agrees = self.joins.len() == self.equal.len() && keys.iter().all(|key| matches!(key, Key::Text(_)));
        let list = *self.keys.entry(keys).or_insert(next);
        if list == next {
            self.lists.push(List { rows: Vec::new(), agrees });
        }
        Some(list)
    }

    /// The list for a partner at port 0; none if nothing is equal to what it shows.
    fn list_for(&self, hub: u32, table: &Table) -> u32 {
        let shows = |column: u32| key(table.columns.cell(column, as_usize(hub)), &table.words);
        let keys: Option<Vec<Key>> = self.equal.iter().map(|(hub, _)| shows(*hub)).collect();
        keys.and_then(|keys| self.keys.get(&keys)).copied().unwrap_or(u32::MAX)
    }

    /// The first row of the list that agrees with the partner at port 0 and has room. What is passed over can never be had
    /// again by a partner that shows the same.
    fn head(&mut self, hub: u32, port: usize, domain: &Domain, known: &mut Known<'_>) -> Option<u32> {
        let code = |column: u32| known.table.columns.get(column)?.codes().get(as_usize(hub)).copied();
        let (place, values) = match self.hub.as_slice() {
            [] => (0, 1),
            [column] => (as_usize(code(*column)?), known.table.columns.get(*column)?.cells().len()),
            _ => (usize::MAX, usize::MAX),
        };
        let many = match values {
            0..=FEW => None,
            _ => Some(self.hub.iter().map(|column| code(*column)).collect::<Option<Codes>>()?),
        };
        if many.is_none() && self.heads.len() < values {
            self.heads.resize(values, None);
        }
        let before = match &many {
            Some(codes) => self.many.get(codes).copied(),
            None => self.heads.get(place).copied().flatten(),
        };
        let mut head = before.unwrap_or_else(|| Head { list: self.list_for(hub, known.table), at: 0, agrees: false });
        let found = self.advance(&mut head, hub, port, domain, known);
        match many {
            Some(codes) => {
                self.many.insert(codes, head);
            }
            None => {
                if let Some(own) = self.heads.get_mut(place) {
                    *own = Some(head);
                }
            }
        }
        found
    }

    fn advance(&self, head: &mut Head, hub: u32, port: usize, domain: &Domain, known: &mut Known<'_>) -> Option<u32> {
        let list = self.lists.get(as_usize(head.list))?;
        while let Some(row) = list.rows.get(head.at) {
            known.table.words.meter.spend(1);
            let agrees = list.agrees || head.agrees;
            if known.has_room(*row, domain) && (agrees || known.agree(&self.joins, hub, *row, port)) {
                head.agrees = true;
                return Some(*row);
            }
            head.at += 1;
            head.agrees = false;
        }
        None
    }
}

impl Known<'_> {
    /// Whether nothing is left of a row's ad for anybody.
    pub(crate) fn is_full(&self, row: u32) -> bool {
        self.full.get(as_usize(row))
    }

    /// Whether what the domain's port asks fits into what is free of the row's ad.
    pub(crate) fn has_room(&mut self, row: u32, domain: &Domain) -> bool {
        let Some(place) = self.table.rows.get(as_usize(row)).map(|row| row.place()) else { return false };
        !self.stock.is_full(place) && self.stock.fits(domain.ask, place)
    }

    /// Whether joins are true of two partners. Where only the evaluator knows, that is remembered as doubt.
    fn agree(&mut self, joins: &[Term], hub: u32, row: u32, port: usize) -> bool {
        self.table.words.meter.spend(FUEL_OF_A_JOIN);
        if !self.table.words.meter.has_fuel() {
            self.doubt = true;
            return false;
        }
        let (columns, words, context) = self.table.sight();
        let mut sight = Sight::new(columns, words, context);
        let of = |var: crate::term::Var| as_usize(if usize::from(var) == port { row } else { hub });
        let mut known = true;
        let agree = joins.iter().all(|join| {
            let truth = sight.holds(join, &of);
            known &= truth.is_some();
            truth == Some(true)
        });
        self.doubt |= !known;
        agree
    }
}
