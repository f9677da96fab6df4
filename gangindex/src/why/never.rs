//! The conjuncts of a constraint that no ad can ever satisfy together.

use classad::{BinaryOp, Limits};
use matchmaker::Ports;

use super::parts::{Asking, RootPart};
use crate::table::{Cell, StringTable, Table};
use crate::term::{CompiledExpr, number};

/// The first port of a root whose constraint can never be true, and the conjuncts to blame: without any one of them it
/// could.
pub(crate) fn never(root: &Ports, limits: Limits) -> Option<(usize, Vec<usize>)> {
    // A table without rows: names are resolved, and no ad is looked at.
    let mut table = Table::new(limits);
    (0..root.list.len()).find_map(|port| {
        let asking = Asking { root, port, partner: None };
        let parts = asking.parts(&mut table);
        core(&parts.list, &table.words).map(|core| (port, core))
    })
}

/// The conjuncts that contradict themselves or each other.
fn core(parts: &[RootPart], words: &StringTable) -> Option<Vec<usize>> {
    let alone = parts.iter().position(|part| match part {
        RootPart::Never => true,
        RootPart::Alone(term) | RootPart::Join(term) => demand(term).is_some_and(|demand| demand.impossible()),
        RootPart::Always | RootPart::Opaque => false,
    });
    if let Some(alone) = alone {
        return Some(vec![alone]);
    }
    let mut demands: Vec<(usize, Comparison)> = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let (RootPart::Alone(term) | RootPart::Join(term)) = part else { continue };
        let Some(next) = demand(term) else { continue };
        let rival =
            demands.iter().find(|(_, other)| other.attribute == next.attribute && other.contradicts(&next, words));
        if let Some((other, _)) = rival {
            return Some(vec![*other, place]);
        }
        demands.push((place, next));
    }
    None
}

/// An attribute compared with a value.
struct Comparison {
    attribute: (u8, u32),
    op: BinaryOp,
    value: Cell,
}

fn demand(term: &CompiledExpr) -> Option<Comparison> {
    let (attribute, op, value) = term.with_known()?.column_first();
    let compares = is_comparison(op) || matches!(op, BinaryOp::Is | BinaryOp::Isnt);
    compares.then_some(Comparison { attribute, op, value })
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    matches!(op, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
}

/// Up to here every integer is a real.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl Comparison {
    /// Nothing compares with what is undefined or an error.
    fn impossible(&self) -> bool {
        is_comparison(self.op) && matches!(self.value, Cell::Undefined | Cell::Error)
    }

    /// The number that it is compared with; `is` a number implies `==`, too.
    fn number(&self) -> Option<f64> {
        let compares = is_comparison(self.op) || self.op == BinaryOp::Is;
        number(self.value).filter(|number| number.abs() < EXACT_MAX && compares)
    }

    fn contradicts(&self, other: &Comparison, words: &StringTable) -> bool {
        let missing =
            |demand: &Comparison| demand.op == BinaryOp::Is && matches!(demand.value, Cell::Undefined | Cell::Error);
        let compares = |demand: &Comparison| is_comparison(demand.op);
        if self.op == BinaryOp::Is && other.op == BinaryOp::Is {
            let told = |cell: Cell| !matches!(cell, Cell::Residual(_) | Cell::Real(_) | Cell::Unknown);
            return told(self.value) && told(other.value) && self.value != other.value;
        }
        if (missing(self) && compares(other)) || (missing(other) && compares(self)) {
            return true;
        }
        if let (Some(one), Some(two)) = (self.number(), other.number()) {
            // Between the two numbers, at them and beyond them nothing changes any more.
            let tried = [one, two, (one + two) / 2.0, one.min(two) - 1.0, one.max(two) + 1.0];
            return !tried.iter().any(|value| holds(self.op, *value, one) && holds(other.op, *value, two));
        }
        match (self.value, other.value) {
            (Cell::Text(_), _) if other.number().is_some() && compares(self) => true,
            (_, Cell::Text(_)) if self.number().is_some() && compares(other) => true,
            (Cell::Text(one), Cell::Text(two)) => match (self.op, other.op) {
                (BinaryOp::Equal, BinaryOp::Equal) => !words.same_folded(one, two),
                (BinaryOp::Equal, BinaryOp::NotEqual) | (BinaryOp::NotEqual, BinaryOp::Equal) => {
                    words.same_folded(one, two)
                }
                _ => false,
            },
            _ => false,
        }
    }
}

#[expect(clippy::float_cmp, reason = "as the language compares them")]
fn holds(op: BinaryOp, left: f64, right: f64) -> bool {
    match op {
        BinaryOp::Equal | BinaryOp::Is => left == right,
        BinaryOp::NotEqual => left != right,
        BinaryOp::Less => left < right,
        BinaryOp::LessEqual => left <= right,
        BinaryOp::Greater => left > right,
        _ => left >= right,
    }
}
