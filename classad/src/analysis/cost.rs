//! Computes a bound of what one evaluation of an expression can cost.

use crate::expr::{Expr, Kind};

/// What an expression takes by itself; the attributes it refers to, each evaluated once, come on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Evaluation visits at most so many nodes, if no string is evaluated and no list or ad is looked into twice.
    pub steps: u64,
    /// At most so many operators, references and calls are open at a time: beyond
    /// [`Limits::depth`](crate::Limits::depth), evaluation may run out.
    pub depth: usize,
}

/// A bound of what evaluating `expr` takes.
#[must_use]
pub fn cost(expr: &Expr) -> Cost {
    let mut cost = Cost::default();
    let mut pending = vec![(expr, 1)];
    while let Some((expr, depth)) = pending.pop() {
        let expr = expr.unparenthesized();
        cost.steps += 1;
        let open = match expr.kind() {
            Kind::Literal(_) | Kind::List(_) | Kind::Ad(_) => depth,
            _ => depth + 1,
        };
        cost.depth = cost.depth.max(open - 1);
        pending.extend(expr.children().into_iter().map(|part| (part, open)));
    }
    cost
}
