//! Computes how deep one evaluation of an expression can go.

use crate::expr::{Expr, Kind};

/// How many operators, references and calls are open at a time at most when `expr` is evaluated: beyond
/// [`Limits::depth`](crate::Limits::depth), evaluation may run out. The attributes that it refers to come on top.
#[must_use]
pub fn depth(expr: &Expr) -> usize {
    let (mut deepest, mut pending) = (0, vec![(expr, 1)]);
    while let Some((expr, depth)) = pending.pop() {
        let expr = expr.unparenthesized();
        let open = depth + usize::from(!matches!(expr.kind(), Kind::Literal(_) | Kind::List(_) | Kind::Ad(_)));
        deepest = deepest.max(open - 1);
        pending.extend(expr.children().into_iter().map(|part| (part, open)));
    }
    deepest
}
