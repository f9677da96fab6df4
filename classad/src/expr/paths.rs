//! References: the paths of names that an expression reads.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::{Expr, Kind};
use crate::diagnostic::Span;
use crate::name::Name;

/// The references of an expression, each as the path that is written: `other.Memory` is `[other, Memory]`, a bare `Memory` is
/// `[Memory]`. A path ends at anything that is not a name (`a[0].b` reads `[a]`). The list is conservative: it contains names that
/// an ad inside the expression defines itself, and references that are never reached. It does not contain what `eval("...")`
/// reads; see [`is_reflective`](crate::is_reflective).
#[must_use]
pub fn references(expr: &Expr) -> Vec<Vec<Name>> {
    let mut found: Vec<Vec<Name>> = Vec::new();
    // Most expressions read few names. With many, a linear search would take quadratic time.
    let mut many: HashSet<Vec<Name>, RandomState> = HashSet::default();
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match written_path(expr) {
            Ok((path, _)) => {
                let known = if many.is_empty() { found.contains(&path) } else { many.contains(&path) };
                if known {
                    continue;
                }
                if found.len() == FEW {
                    many.extend(found.iter().cloned());
                }
                if found.len() >= FEW {
                    many.insert(path.clone());
                }
                found.push(path);
            }
            Err(Some(base)) => pending.push(base),
            Err(None) => pending.extend(expr.children().into_iter().rev()),
        }
    }
    found
}

/// How many names are searched one by one.
const FEW: usize = 16;

/// The names of `a.b.c`; `None` for other expressions.
pub(crate) fn path(expr: &Expr) -> Option<Vec<Name>> {
    written_path(expr).ok().map(|(names, _)| names)
}

/// The names of `a.b.c`, and whether it begins with a dot. The error of another expression that ends in such names, as
/// `f(x).b.c`, is what precedes them.
pub(crate) fn written_path(expr: &Expr) -> Result<(Vec<Name>, bool), Option<&Expr>> {
    let mut names = Vec::new();
    let mut inner = expr.unparenthesized();
    loop {
        match inner.kind() {
            Kind::Attribute { name, absolute } => {
                names.push(name.clone());
                names.reverse();
                return Ok((names, *absolute));
            }
            Kind::Select { base, name } => {
                names.push(name.clone());
                inner = base.unparenthesized();
            }
            _ => return Err((!names.is_empty()).then_some(inner)),
        }
    }
}

/// Where the name at `place` of a path stands in the text.
pub(crate) fn path_span(expr: &Expr, place: usize, name: &Name) -> Span {
    let mut chain = Vec::new();
    let mut inner = expr.unparenthesized();
    while let Kind::Select { base, .. } = inner.kind() {
        chain.push(inner.span());
        inner = base.unparenthesized();
    }
    chain.push(inner.span());
    match chain.iter().rev().nth(place) {
        // A selection ends with its name.
        Some(span) if place > 0 => Span::new(span.end.saturating_sub(name.as_str().len()), span.end),
        Some(span) => *span,
        None => expr.span(),
    }
}
