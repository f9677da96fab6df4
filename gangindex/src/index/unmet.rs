//! Conditions that no row meets, as far as the columns tell without a look at the rows: by the ranges of their numbers, or by their
//! values if these are few. Without this, a cycle with 200 jobs that each ask for a different amount of memory, more than any of 10,000 machines has, takes 716
//! instead of 17 million instructions. It is what a summary says of a pool, over the index instead of a summary.

use classad::{BinaryOp, NumberRange, UnaryOp};

use crate::table::{Cell, Table};
use crate::term::{CompiledExpr, Simple};

/// How many values of a column are looked at.
const VALUES_MAX: usize = 128;

/// What the value of a term may be, besides UNDEFINED and ERROR.
#[derive(Clone, Copy, Debug, Default)]
struct Values {
    /// Numbers and booleans, which count 0 and 1.
    numbers: Option<NumberRange>,
    texts: bool,
}

/// Whether a term on the attributes of one partner is true of no row. If not, it may still be true of none.
pub(super) fn is_unmet(term: &CompiledExpr, table: &Table) -> bool {
    !may_be(term, true, table)
}

/// Whether a term may have this truth in some row; in others it has the other one, or is UNDEFINED or an ERROR.
fn may_be(term: &CompiledExpr, truth: bool, table: &Table) -> bool {
    let is_possible = |part: &CompiledExpr| may_be(part, truth, table);
    match term {
        CompiledExpr::Unary(UnaryOp::Not, operand) => may_be(operand, !truth, table),
        // One side decides `a && b` if it is false, and `a || b` if it is true.
        CompiledExpr::Binary(op @ (BinaryOp::And | BinaryOp::Or), sides) if truth == (*op == BinaryOp::And) => {
            sides.iter().all(is_possible)
        }
        CompiledExpr::Binary(BinaryOp::And | BinaryOp::Or, sides) | CompiledExpr::Elvis(sides) => {
            sides.iter().any(is_possible)
        }
        CompiledExpr::Choice(parts) => parts.iter().skip(1).any(is_possible),
        CompiledExpr::Binary(op, sides) if is_comparison(*op) => {
            let [left, right] = &**sides;
            let both = values(left, table).zip(values(right, table));
            let may = both.is_none_or(|(left, right)| may_compare(*op, truth, left, right));
            may && !(truth && is_met_by_no_value(term, table))
        }
        _ => values(term, table).is_none_or(|values| values.may_be(truth)),
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Equal, Greater, GreaterEqual, Is, Isnt, Less, LessEqual, NotEqual};
    matches!(op, Equal | NotEqual | Is | Isnt | Less | LessEqual | Greater | GreaterEqual)
}

/// Whether a comparison may have this truth for two of the values. A text compares with no number.
fn may_compare(op: BinaryOp, truth: bool, left: Values, right: Values) -> bool {
    // `is` compares everything.
    if matches!(op, BinaryOp::Is | BinaryOp::Isnt) {
        return true;
    }
    let op = if truth { op } else { opposite(op) };
    left.texts && right.texts
        || left.numbers.zip(right.numbers).is_some_and(|(left, right)| left.may_compare(op, right))
}

/// The comparison of numbers that is true where another one is false.
fn opposite(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::GreaterEqual,
        BinaryOp::LessEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessEqual,
        BinaryOp::GreaterEqual => BinaryOp::Less,
        BinaryOp::Equal => BinaryOp::NotEqual,
        _ => BinaryOp::Equal,
    }
}

/// Whether a comparison of an attribute is true of none of its values, which are few.
fn is_met_by_no_value(term: &CompiledExpr, table: &Table) -> bool {
    let Some(simple) = Simple::of(term) else { return false };
    let Some(column) = term.columns().first().and_then(|column| table.columns.get(*column)) else { return false };
    let fails = |cell: &Cell| simple.holds(*cell, &table.words) == Some(Some(false));
    column.cells().len() <= VALUES_MAX && column.cells().iter().all(fails)
}

/// What a term may be; none if it may be anything.
fn values(term: &CompiledExpr, table: &Table) -> Option<Values> {
    match term {
        CompiledExpr::Known(cell) => Values::of(*cell),
        CompiledExpr::Column(_, column) => {
            let extremes = &table.columns.get(*column)?.extremes;
            (!extremes.are_open).then_some(Values { numbers: extremes.numbers, texts: extremes.has_texts })
        }
        CompiledExpr::Unary(UnaryOp::Minus, operand) => {
            let numbers = values(operand, table)?.numbers;
            Some(Values { numbers: some(numbers, NumberRange::negated)?, texts: false })
        }
        CompiledExpr::Binary(
            op @ (BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide),
            sides,
        ) => {
            let [left, right] = &**sides;
            let both = values(left, table)?.numbers.zip(values(right, table)?.numbers);
            Some(Values { numbers: some(both, |(left, right)| left.calculate(*op, right))?, texts: false })
        }
        CompiledExpr::Choice(parts) => {
            let [_, then, otherwise] = &**parts;
            Some(values(then, table)?.join(values(otherwise, table)?))
        }
        CompiledExpr::Elvis(sides) => {
            let [value, fallback] = &**sides;
            Some(values(value, table)?.join(values(fallback, table)?))
        }
        CompiledExpr::Now | CompiledExpr::Unary(..) | CompiledExpr::Binary(..) | CompiledExpr::Residual(_) => None,
    }
}

/// What a calculation makes of numbers, if there are any; the outer `None`: anything.
fn some<T>(numbers: Option<T>, calculate: impl Fn(T) -> Option<NumberRange>) -> Option<Option<NumberRange>> {
    numbers.map_or(Some(None), |numbers| calculate(numbers).map(Some))
}

impl Values {
    fn of(cell: Cell) -> Option<Values> {
        match cell {
            Cell::Undefined | Cell::Error => Some(Values::default()),
            Cell::Text(_) => Some(Values { numbers: None, texts: true }),
            _ => cell.range().map(|range| Values { numbers: Some(range), texts: false }),
        }
    }

    fn join(self, other: Values) -> Values {
        let numbers = match (self.numbers, other.numbers) {
            (Some(one), Some(two)) => Some(one.join(two)),
            (one, two) => one.or(two),
        };
        Values { numbers, texts: self.texts || other.texts }
    }

    /// As a condition, a text is an error, and of numbers only 0 is false.
    fn may_be(self, truth: bool) -> bool {
        let Some(NumberRange { min, max }) = self.numbers else { return false };
        if truth { min < 0.0 || max > 0.0 } else { min <= 0.0 && max >= 0.0 }
    }
}
