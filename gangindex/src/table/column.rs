//! One attribute of all rows, as their partners see it: a code for each row, and what each code stands for.

use std::collections::HashMap;

use classad::{Bill, Context, Env, Expr, Kind, Name, eval_billed};
use foldhash::fast::RandomState;
use matchmaker::Ports;

use super::bits::Bits;
use super::cell::{Cell, StringTable};
use super::extremes::Extremes;
use super::lookup_cache::LookupCache;
use super::scope::closed;
use super::{as_u32, as_usize};

/// The values of one attribute.
#[derive(Debug)]
pub(crate) struct Column {
    /// The attribute.
    pub(crate) name: Name,
    codes: Vec<u32>,
    cells: Vec<Cell>,
    of_cell: HashMap<Cell, u32, RandomState>,
    /// Only the evaluator knows what some row has here, or had.
    pub(crate) has_unknown: bool,
    /// Of all values that some row has here, or had.
    pub(crate) extremes: Extremes,
    /// Where the attribute stood in the row looked at last, as most rows look alike: without this, a first cycle takes 10 % more instructions.
    last: Option<(usize, usize, Stands)>,
    /// The code of nothing.
    undefined: Option<u32>,
    /// The codes of recently met values.
    recent: LookupCache,
    /// The rows of each code: made on demand, and not while there are too many codes. Without this, a cycle takes 7 % more instructions.
    holders: Option<Vec<Bits>>,
}

/// How many values a column may have whose rows are kept by value.
const HOLDERS_MAX: usize = 128;

/// Where an attribute stands, seen through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Port(usize),
    Body(usize),
    Nowhere,
}

impl Column {
    /// A column without rows.
    pub(crate) fn new(name: Name) -> Column {
        let (codes, cells, of_cell) = (Vec::new(), Vec::new(), HashMap::default());
        let recent = LookupCache::default();
        let (extremes, has_unknown) = (Extremes::default(), false);
        let (last, undefined, holders) = (None, None, None);
        Column { name, codes, cells, of_cell, has_unknown, extremes, last, undefined, recent, holders }
    }

    /// What the rows have, by row.
    pub(crate) fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The different values, by code.
    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The value in a row.
    pub(crate) fn cell(&self, row: usize) -> Cell {
        let code = self.codes.get(row).copied().unwrap_or(u32::MAX);
        self.cells.get(as_usize(code)).copied().unwrap_or(Cell::Undefined)
    }

    /// To be called before rows are put again: what looked like the last one may be gone.
    pub(crate) fn forget_shape(&mut self) {
        self.last = None;
    }

    /// Puts what a row has; rows come in order, or again. `work` is what may still be done for this row.
    pub(crate) fn put(
        &mut self,
        row: usize,
        (ports, via): (&Ports, usize),
        words: &mut StringTable,
        context: &Context,
        work: &mut usize,
    ) {
        let found = self.find(ports, via);
        let code = match found.filter(|expr| matches!(expr.kind(), Kind::Literal(_))) {
            Some(value) => self.recent.get(value).unwrap_or_else(|| {
                let code = self.code(own_value((ports, via), (value, false), words, context, work));
                self.recent.put(value, code);
                code
            }),
            None if found.is_none() => match self.undefined {
                Some(code) => code,
                None => {
                    let code = self.code(Cell::Undefined);
                    self.undefined = Some(code);
                    code
                }
            },
            None => {
                let in_port = matches!(self.last, Some((_, _, Stands::Port(_))));
                let value = |expr: &Expr| own_value((ports, via), (expr, in_port), words, context, work);
                self.code(found.map_or(Cell::Undefined, value))
            }
        };
        if self.codes.len() <= row {
            self.codes.resize(row + 1, u32::MAX);
        }
        if let Some(own) = self.codes.get_mut(row) {
            let before = std::mem::replace(own, code);
            if self.holders.is_some() && before != code {
                self.hand_over(row, before, code);
            }
        }
    }

    /// A row has another value now.
    fn hand_over(&mut self, row: usize, before: u32, code: u32) {
        let (codes, count) = (self.codes.len(), self.cells.len());
        let Some(holders) = self.holders.as_mut().filter(|_| count <= HOLDERS_MAX) else {
            self.holders = None;
            return;
        };
        holders.resize(count, Bits::none(codes));
        if let Some(rows) = holders.get_mut(as_usize(before)) {
            rows.set(row, false);
        }
        if let Some(rows) = holders.get_mut(as_usize(code)) {
            rows.grow(codes);
            rows.set(row, true);
        }
    }

    /// Makes ready for being asked about the rows of a code, if there are not too many codes.
    pub(crate) fn know_holders(&mut self) {
        if self.holders.is_none() && self.cells.len() <= HOLDERS_MAX {
            self.holders = Some(Bits::of_each(&self.codes, self.cells.len()));
        }
    }

    /// The rows that have a code, if that is [known](Column::know_holders).
    pub(crate) fn holders(&self, code: u32) -> Option<&Bits> {
        self.holders.as_ref()?.get(as_usize(code))
    }

    /// The rows that have what a row has, if that is [known](Column::know_holders).
    pub(crate) fn alike(&self, row: usize) -> Option<&Bits> {
        self.holders(*self.codes.get(row)?)
    }

    /// The rows whose code in `truth` is true.
    pub(crate) fn rows_of(&self, truth: &[bool]) -> Bits {
        let Some(holders) = &self.holders else { return Bits::of_codes(&self.codes, truth) };
        let mut rows = Bits::none(self.codes.len());
        holders.iter().zip(truth).filter(|(_, is)| **is).for_each(|(own, _)| rows.or(own));
        rows
    }

    /// For each code a row that has it, if any has.
    pub(crate) fn examples(&self) -> Vec<Option<u32>> {
        if let Some(holders) = &self.holders {
            return holders.iter().map(|rows| rows.next(0)).collect();
        }
        let mut examples = vec![None; self.cells.len()];
        let mut left = examples.len();
        for (row, code) in (0..).zip(&self.codes) {
            if let Some(example) = examples.get_mut(as_usize(*code)).filter(|example| example.is_none()) {
                *example = Some(row);
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
        examples
    }

    /// The code of a value.
    fn code(&mut self, cell: Cell) -> u32 {
        self.has_unknown |= cell == Cell::Unknown;
        let next = as_u32(self.cells.len());
        let code = *self.of_cell.entry(cell).or_insert(next);
        if code == next {
            self.cells.push(cell);
            self.extremes.put(cell);
        }
        code
    }

    /// The rows whose value makes `truth` true.
    pub(crate) fn rows(&self, mut truth: impl FnMut(Cell) -> bool) -> Bits {
        let truths: Vec<bool> = self.cells.iter().map(|cell| truth(*cell)).collect();
        self.rows_of(&truths)
    }

    /// What stands here in an ad seen through a port.
    fn find<'p>(&mut self, ports: &'p Ports, via: usize) -> Option<&'p Expr> {
        match self.stands(ports, via) {
            Stands::Port(place) => ports.list.get(via).and_then(|port| port.attributes.at(place)),
            Stands::Body(place) => ports.body.at(place),
            Stands::Nowhere => None,
        }
    }

    fn stands(&mut self, ports: &Ports, via: usize) -> Stands {
        let port = ports.list.get(via).filter(|_| !ports.implicit);
        let shapes = (port.map_or(0, |port| port.attributes.shape_id()), ports.body.shape_id());
        if let Some((port, body, stands)) = self.last
            && (port, body) == shapes
        {
            return stands;
        }
        let in_port = port.and_then(|port| port.attributes.place(&self.name));
        let stands = match (in_port, ports.body.place(&self.name)) {
            (Some(place), _) => Stands::Port(place),
            (None, Some(place)) => Stands::Body(place),
            (None, None) => Stands::Nowhere,
        };
        self.last = Some((shapes.0, shapes.1, stands));
        stands
    }
}

/// The value of an ad's own expression if no partner has a say in it, and if it is found out within the work that is left;
/// what is done is subtracted from that.
pub(crate) fn own_value(
    (ports, via): (&Ports, usize),
    (expr, in_port): (&Expr, bool),
    words: &mut StringTable,
    context: &Context,
    work: &mut usize,
) -> Cell {
    if let Kind::Literal(value) = expr.kind() {
        return words.cell(value);
    }
    if *work == 0 || !closed(expr, ports, in_port.then_some(via), work) {
        return Cell::Unknown;
    }
    let mut env = Env::new();
    let body = env.frame(&ports.body, None);
    let frame = match ports.list.get(via).filter(|_| in_port && !ports.implicit) {
        Some(port) => env.frame(&port.attributes, Some(body)),
        None => body,
    };
    let mut bill = Bill::default();
    // What is not done within a part of the bounds is left to the evaluator with all of them.
    let value = eval_billed(expr, &env, frame, context, &mut bill);
    let fuel: u64 = bill.drain().map(|(_, fuel)| fuel).sum();
    *work = work.saturating_sub(usize::try_from(fuel).unwrap_or(usize::MAX));
    value.map_or(Cell::Unknown, |value| words.cell(&value))
}
