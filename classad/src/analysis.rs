//! Trees into what they need: the names they read, the conditions they join.

use crate::expr::{BinaryOp, Expr, Kind};
use crate::name::Name;

/// The references an expression makes, each as the path written: `other.Memory` is `[other, Memory]`, a bare `Memory` is
/// `[Memory]`. A path ends where something else than a name stands (`a[0].b` reads `[a]`). Conservative: names that an ad
/// inside the expression defines itself are listed too, and so is what is never reached. What `eval("...")` reads is not
/// seen; see [`is_reflective`].
#[must_use]
pub fn references(expr: &Expr) -> Vec<Vec<Name>> {
    let mut found = Vec::new();
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match path(expr) {
            Some(path) => {
                if !found.contains(&path) {
                    found.push(path);
                }
            }
            None => pending.extend(expr.children().into_iter().rev()),
        }
    }
    found
}

/// The names of `a.b.c`; none if the expression is something else.
fn path(expr: &Expr) -> Option<Vec<Name>> {
    let mut names = Vec::new();
    let mut inner = expr.unparenthesized();
    loop {
        match inner.kind() {
            Kind::Attribute { name, .. } => {
                names.push(name.clone());
                names.reverse();
                return Some(names);
            }
            Kind::Select { base, name } => {
                names.push(name.clone());
                inner = base.unparenthesized();
            }
            _ => return None,
        }
    }
}

/// Whether the expression can read names that are not written in it, so that [`references`] does not tell all.
#[must_use]
pub fn is_reflective(expr: &Expr) -> bool {
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match expr.kind() {
            Kind::Call(call)
                if matches!(call.builtin().map(|builtin| builtin.name), Some("eval" | "unparse" | "unresolved")) =>
            {
                return true;
            }
            Kind::Subscript { index, .. } if index.as_literal().is_none() => return true,
            _ => pending.extend(expr.children()),
        }
    }
    false
}

/// The conditions joined by `&&` at the top, seen through parentheses, in source order.
#[must_use]
pub fn conjuncts(expr: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match expr.unparenthesized().kind() {
            Kind::Binary { op: BinaryOp::And, left, right } => pending.extend([right, left]),
            _ => found.push(expr.clone()),
        }
    }
    found
}
