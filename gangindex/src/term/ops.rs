//! Operators on cells: those that matter for speed. What is not done here is done by the evaluator on the same values.

use std::cmp::Ordering;

use classad::{BinaryOp, UnaryOp};

use crate::table::{Cell, StringTable};

/// Longer texts are put in order by the evaluator, which is paid for that.
const COMPARED_MAX: usize = 4096;

/// The truth of a condition, or the value that it makes of everything around it.
pub(crate) fn truth(cell: Cell) -> Result<bool, Cell> {
    match cell {
        Cell::Bool(truth) => Ok(truth),
        Cell::Int(number) => Ok(number != 0),
        Cell::Real(bits) => Ok(f64::from_bits(bits) != 0.0),
        Cell::Undefined | Cell::Unknown => Err(cell),
        Cell::Error | Cell::Text(_) | Cell::Residual(_) => Err(Cell::Error),
    }
}

/// Whether a constraint with this value holds.
pub(crate) fn is_true(cell: Cell, words: &StringTable) -> bool {
    match cell {
        Cell::Residual(_) => words.value(cell).is_some_and(|value| value.is_true()),
        cell => truth(cell) == Ok(true),
    }
}

/// What the left side of `&&` or `||` decides alone; or that it cannot be known.
pub(crate) fn decided(op: BinaryOp, left: Cell) -> Option<Cell> {
    let absorbing = match op {
        BinaryOp::And => false,
        BinaryOp::Or => true,
        _ => return (left == Cell::Unknown).then_some(Cell::Unknown),
    };
    match truth(left) {
        Ok(truth) if truth == absorbing => Some(Cell::Bool(absorbing)),
        Ok(_) | Err(Cell::Undefined) => None,
        Err(cell) => Some(cell),
    }
}

/// An operator with two operands, of which the left does not decide alone.
pub(crate) fn binary(op: BinaryOp, left: Cell, right: Cell, words: &StringTable) -> Option<Cell> {
    if right == Cell::Unknown {
        return Some(Cell::Unknown);
    }
    match op {
        BinaryOp::And => return Some(join(left, right, false)),
        BinaryOp::Or => return Some(join(left, right, true)),
        BinaryOp::Is => return identical(left, right).map(Cell::Bool),
        BinaryOp::Isnt => return identical(left, right).map(|same| Cell::Bool(!same)),
        _ => {}
    }
    match (left, right) {
        (Cell::Error, _) | (_, Cell::Error) => return Some(Cell::Error),
        (Cell::Undefined, _) | (_, Cell::Undefined) => return Some(Cell::Undefined),
        _ => {}
    }
    match op {
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => compare(op, left, right, words),
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide => arithmetic(op, left, right),
        _ => None,
    }
}

/// `!x` and `-x`.
pub(crate) fn unary(op: UnaryOp, operand: Cell) -> Option<Cell> {
    match (op, operand) {
        (_, Cell::Unknown) => Some(Cell::Unknown),
        (UnaryOp::Not, operand) => Some(match truth(operand) {
            Ok(truth) => Cell::Bool(!truth),
            Err(cell) => cell,
        }),
        (UnaryOp::Minus, Cell::Int(number)) => Some(Cell::Int(number.wrapping_neg())),
        (UnaryOp::Minus, Cell::Real(bits)) => Some(real(-f64::from_bits(bits))),
        _ => None,
    }
}

/// `&&` (absorbing false) or `||` (absorbing true), once the left side is undefined or does not decide.
fn join(left: Cell, right: Cell, absorbing: bool) -> Cell {
    match truth(right) {
        Err(cell) => cell,
        Ok(truth) if truth == absorbing => Cell::Bool(absorbing),
        Ok(_) if left == Cell::Undefined => Cell::Undefined,
        Ok(truth) => Cell::Bool(truth),
    }
}

/// `is`; lists, times and lengths of time are for the evaluator.
fn identical(left: Cell, right: Cell) -> Option<bool> {
    match (left, right) {
        (Cell::Residual(_), _) | (_, Cell::Residual(_)) => None,
        (Cell::Real(left), Cell::Real(right)) => Some(f64::from_bits(left) == f64::from_bits(right)),
        _ => Some(left == right),
    }
}

fn compare(op: BinaryOp, left: Cell, right: Cell, words: &StringTable) -> Option<Cell> {
    let ordering = match (left, right) {
        (Cell::Text(left), Cell::Text(right)) => match op {
            BinaryOp::Equal => return Some(Cell::Bool(words.same_folded(left, right))),
            BinaryOp::NotEqual => return Some(Cell::Bool(!words.same_folded(left, right))),
            _ => {
                let (left, right) = (words.str(words.folded(left)), words.str(words.folded(right)));
                if left.len().min(right.len()) > COMPARED_MAX {
                    return None;
                }
                Some(left.cmp(right))
            }
        },
        (Cell::Residual(_), _) | (_, Cell::Residual(_)) => return None,
        (Cell::Text(_), _) | (_, Cell::Text(_)) => return Some(Cell::Error),
        (Cell::Int(left), Cell::Int(right)) => Some(left.cmp(&right)),
        _ => number(left)?.partial_cmp(&number(right)?),
    };
    Some(Cell::Bool(match op {
        BinaryOp::Equal => ordering == Some(Ordering::Equal),
        BinaryOp::NotEqual => ordering != Some(Ordering::Equal),
        BinaryOp::Less => ordering == Some(Ordering::Less),
        BinaryOp::LessEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        BinaryOp::Greater => ordering == Some(Ordering::Greater),
        _ => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
    }))
}

/// A number as a real; booleans count 0 and 1.
pub(crate) fn number(cell: Cell) -> Option<f64> {
    match cell {
        Cell::Bool(truth) => Some(f64::from(u8::from(truth))),
        #[expect(clippy::as_conversions, reason = "the language itself compares integers with reals as reals")]
        Cell::Int(number) => Some(number as f64),
        Cell::Real(bits) => Some(f64::from_bits(bits)),
        _ => None,
    }
}

fn arithmetic(op: BinaryOp, left: Cell, right: Cell) -> Option<Cell> {
    let integer = |cell| match cell {
        Cell::Int(number) => Some(number),
        Cell::Bool(truth) => Some(i64::from(truth)),
        _ => None,
    };
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return Some(match op {
            BinaryOp::Add => Cell::Int(left.wrapping_add(right)),
            BinaryOp::Subtract => Cell::Int(left.wrapping_sub(right)),
            BinaryOp::Multiply => Cell::Int(left.wrapping_mul(right)),
            _ if right == 0 => Cell::Error,
            _ => Cell::Int(left.saturating_div(right)),
        });
    }
    let (left, right) = (number(left)?, number(right)?);
    let result = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        _ => left / right,
    };
    Some(if result == f64::INFINITY { Cell::Error } else { real(result) })
}

fn real(number: f64) -> Cell {
    Cell::Real(number.to_bits())
}
