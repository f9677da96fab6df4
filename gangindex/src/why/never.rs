//! The conjuncts of a constraint that no ad can ever satisfy together.

use classad::{Expr, Limits, Name, Never, Value, contradictions, never_true};
use matchmaker::Ports;

use super::parts::{Asking, RootPart};
use crate::table::{StringTable, Table};
use crate::term::CompiledExpr;

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
    let conditions = parts.iter().enumerate().filter_map(|(place, part)| Some((place, condition(part, words)?)));
    let (places, conditions): (Vec<usize>, Vec<Expr>) = conditions.unzip();
    let place = |own: &Expr| places.get(conditions.iter().position(|condition| condition == own)?).copied();
    if let Some(alone) = conditions.iter().find(|condition| never_true(condition).is_some()) {
        return Some(vec![place(alone)?]);
    }
    match contradictions(&conditions).into_iter().next()? {
        Never::Contradiction { first, second, .. } => Some(vec![place(&first)?, place(&second)?]),
        _ => None,
    }
}

/// A conjunct as a condition on names that stand for columns, if it compares a column with a value.
fn condition(part: &RootPart, words: &StringTable) -> Option<Expr> {
    let term = match part {
        RootPart::Never => return Some(Expr::literal(Value::Boolean(false))),
        RootPart::Alone(term) | RootPart::Join(term) => term,
        RootPart::Always | RootPart::Opaque => return None,
    };
    let CompiledExpr::Binary(op, sides) = term else { return None };
    let side = |side: &CompiledExpr| match side {
        CompiledExpr::Column(var, column) => Some(Expr::attribute(Name::new(format!("column_{var}_{column}")))),
        CompiledExpr::Known(cell) => words.value(*cell).map(Expr::literal),
        _ => None,
    };
    let [left, right] = &**sides;
    Some(Expr::binary(*op, side(left)?, side(right)?))
}
