//! Rows of a column in the order of its numbers, which saves three quarters of the instructions for 1,824 reasons with different thresholds.
//! The rows of which a comparison with a number is true are those before a place, or those behind it; jobs that differ in one number share this
//! order.

use classad::BinaryOp;

use crate::table::{Bits, Cell, Column, as_u32, as_usize};
use crate::term::{CompiledExpr, number};

/// The rows that have a number in a column.
pub(crate) struct SortedRows {
    /// The different numbers, the smallest first.
    numbers: Vec<f64>,
    /// The same as cells.
    cells: Vec<Cell>,
    /// Where the rows of each number begin, and where those of the last one end.
    starts: Vec<usize>,
    /// The rows, by number.
    rows: Vec<u32>,
    /// After every [`SortedRows::stride`] rows: those up to there.
    firsts: Vec<Bits>,
    stride: usize,
}

/// A comparison of a column with a number.
#[derive(Clone, Copy)]
pub(crate) struct WithNumber {
    /// With the column on the left.
    op: BinaryOp,
    number: f64,
}

/// Integers below this are told apart as reals, too.
const EXACT_END: u64 = 1 << f64::MANTISSA_DIGITS;
/// How many sets of the first rows there are.
const FIRSTS: usize = 64;

impl WithNumber {
    /// A term as a comparison of a column with a number by order or equality, and the column; none if it is something else.
    pub(crate) fn of(term: &CompiledExpr) -> Option<(u32, WithNumber)> {
        use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual};
        let ((_, column), op, value) = term.with_known()?.column_first();
        let compares = matches!(op, Equal | Less | LessEqual | Greater | GreaterEqual);
        compares.then_some((column, WithNumber { op, number: finite(value)? }))
    }

    /// The column has to be greater; none if neither greater nor less helps.
    pub(crate) fn is_greater(self) -> Option<bool> {
        match self.op {
            BinaryOp::Greater | BinaryOp::GreaterEqual => Some(true),
            BinaryOp::Less | BinaryOp::LessEqual => Some(false),
            _ => None,
        }
    }

    /// It is not true of the number itself.
    pub(crate) fn is_strict(self) -> bool {
        matches!(self.op, BinaryOp::Less | BinaryOp::Greater)
    }
}

/// A finite number as a real.
fn finite(cell: Cell) -> Option<f64> {
    let is_number = matches!(cell, Cell::Int(_) | Cell::Real(_));
    number(cell).filter(|number| is_number && number.is_finite())
}

/// The same of a number that compares with any other as a real as it does as what it is.
fn exact(cell: Cell) -> Option<f64> {
    let is_large = matches!(cell, Cell::Int(value) if value.unsigned_abs() >= EXACT_END);
    finite(cell).filter(|_| !is_large)
}

impl SortedRows {
    /// The rows of a column; none if some have values that are not compared as finite reals, or if equal numbers are written differently.
    pub(crate) fn of(column: &Column) -> Option<SortedRows> {
        let mut order: Vec<(f64, usize)> = Vec::new();
        for (code, cell) in column.cells().iter().enumerate() {
            match cell {
                // No comparison is true of them.
                Cell::Undefined | Cell::Error | Cell::Text(_) => {}
                _ => order.push((exact(*cell)?, code)),
            }
        }
        order.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let is_same = |pair: &[(f64, usize)]| matches!(pair, [one, other] if one.0 >= other.0);
        if order.windows(2).any(is_same) {
            return None;
        }
        let mut places: Vec<Option<usize>> = vec![None; column.cells().len()];
        for (place, (_, code)) in order.iter().enumerate() {
            places.get_mut(*code).into_iter().for_each(|own| *own = Some(place));
        }
        let place_of = |code: u32| places.get(as_usize(code)).copied().flatten();
        let mut starts = vec![0; order.len() + 1];
        for place in column.codes().iter().filter_map(|code| place_of(*code)) {
            starts.get_mut(place + 1).into_iter().for_each(|count| *count += 1);
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let (mut next, mut rows) = (starts.clone(), vec![0; sum]);
        for (row, place) in column.codes().iter().enumerate() {
            let Some(next) = place_of(*place).and_then(|place| next.get_mut(place)) else { continue };
            rows.get_mut(*next).into_iter().for_each(|own| *own = as_u32(row));
            *next += 1;
        }
        let (length, stride) = (column.codes().len(), (rows.len() / FIRSTS).max(Bits::WORD));
        let (mut first, mut firsts) = (Bits::none(length), vec![Bits::none(length)]);
        for some in rows.chunks_exact(stride) {
            some.iter().for_each(|row| first.set(as_usize(*row), true));
            firsts.push(first.clone());
        }
        let cells = order.iter().filter_map(|(_, code)| column.cells().get(*code).copied()).collect();
        Some(SortedRows {
            numbers: order.into_iter().map(|(number, _)| number).collect(),
            cells,
            starts,
            rows,
            firsts,
            stride,
        })
    }

    /// The rows of which a comparison is true.
    pub(crate) fn holds(&self, comparison: WithNumber) -> Bits {
        let (below, up_to, all) = (self.below(comparison), self.up_to(comparison), self.numbers.len());
        match comparison.op {
            BinaryOp::Less => self.between(0, below),
            BinaryOp::LessEqual => self.between(0, up_to),
            BinaryOp::Greater => self.between(up_to, all),
            BinaryOp::GreaterEqual => self.between(below, all),
            _ => self.between(below, up_to),
        }
    }

    /// Among rows of which a comparison is not true, the number nearest to being so that some row in `told` has, which is a part of them;
    /// and how many of the rows have that number or a nearer one.
    pub(crate) fn nearest(&self, comparison: WithNumber, rows: &Bits, told: &Bits) -> Option<(Cell, usize)> {
        let has_told = |place: &usize| self.rows_of(*place).iter().any(|row| told.get(as_usize(*row)));
        let (place, mut near) = match comparison.is_greater()? {
            true => {
                let place = (0..self.up_to(comparison)).rev().find(has_told)?;
                (place, self.between(place, self.numbers.len()))
            }
            false => {
                let place = (self.below(comparison)..self.numbers.len()).find(has_told)?;
                (place, self.between(0, place + 1))
            }
        };
        near.and(rows);
        Some((*self.cells.get(place)?, near.count()))
    }

    /// How many numbers are smaller.
    fn below(&self, comparison: WithNumber) -> usize {
        self.numbers.partition_point(|own| *own < comparison.number)
    }

    /// How many numbers are not greater.
    fn up_to(&self, comparison: WithNumber) -> usize {
        self.numbers.partition_point(|own| *own <= comparison.number)
    }

    fn rows_of(&self, place: usize) -> &[u32] {
        let ends = self.starts.get(place).zip(self.starts.get(place + 1));
        ends.and_then(|(from, to)| self.rows.get(*from..*to)).unwrap_or_default()
    }

    /// The rows of these numbers, by place.
    fn between(&self, from: usize, to: usize) -> Bits {
        let mut rows = self.first(to);
        if from > 0 {
            rows.and_not(&self.first(from));
        }
        rows
    }

    /// The rows of the first numbers.
    fn first(&self, numbers: usize) -> Bits {
        let count = self.starts.get(numbers).copied().unwrap_or(self.rows.len());
        let before = count / self.stride;
        // From the nearer one of two sets that are there.
        let nearer = (before + 1).min(self.firsts.len().saturating_sub(1));
        let place = if count - before * self.stride > self.stride / 2 { nearer } else { before };
        let mut rows = self.firsts.get(place).cloned().unwrap_or_default();
        let there = place * self.stride;
        for row in self.rows.get(count.min(there)..count.max(there)).unwrap_or_default() {
            rows.set(as_usize(*row), count > there);
        }
        rows
    }
}
