//! Trees into what they need and what they can be: the names they read, the conditions they join, what never holds.

mod cost;
mod domain;
mod lint;
mod never;
mod spelling;

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::ad::Ad;
use crate::diagnostic::Span;
use crate::eval::eval;
use crate::eval::limits::{Context, Limits};
use crate::eval::scope::Env;
use crate::expr::{BinaryOp, Call, Expr, Kind};
use crate::name::Name;
use crate::value::Value;

pub use cost::{Cost, cost};
pub use lint::{lint, lint_ad};
pub use never::{Never, contradictions, never_true};
pub use spelling::similar;

/// The references an expression makes, each as the path written: `other.Memory` is `[other, Memory]`, a bare `Memory` is
/// `[Memory]`. A path ends where something else than a name stands (`a[0].b` reads `[a]`). Conservative: names that an ad
/// inside the expression defines itself are listed too, and so is what is never reached. What `eval("...")` reads is not
/// seen; see [`is_reflective`].
#[must_use]
pub fn references(expr: &Expr) -> Vec<Vec<Name>> {
    let mut found: Vec<Vec<Name>> = Vec::new();
    // Most expressions read few names; of many, looking through all of them would take the square of their number.
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

/// How many names are looked through one by one.
const FEW: usize = 16;

/// The names of `a.b.c`; none if the expression is something else.
fn path(expr: &Expr) -> Option<Vec<Name>> {
    written_path(expr).ok().map(|(names, _)| names)
}

/// The names of `a.b.c`, and whether it begins with a dot. Of anything else that ends in such names, as in `f(x).b.c`, what
/// stands before them.
fn written_path(expr: &Expr) -> Result<(Vec<Name>, bool), Option<&Expr>> {
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
fn path_span(expr: &Expr, place: usize, name: &Name) -> Span {
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

/// Functions that depend on more than the values of their arguments: on the context, on texts that are read at run time, or
/// on expressions that are evaluated elsewhere.
const IMPURE: [&str; 24] = [
    "time",
    "currentTime",
    "dayTime",
    "timeZoneOffset",
    "absTime",
    "formatTime",
    "splitTime",
    "getYear",
    "getMonth",
    "getDayOfYear",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDays",
    "getHours",
    "getMinutes",
    "getSeconds",
    "random",
    "eval",
    "unparse",
    "unresolved",
    "userHome",
    "userMap",
    "evalInEachContext",
    "countMatches",
];

/// Whether the value of a call depends on the values of its arguments alone: on no clock, no chance, no surroundings.
#[must_use]
pub fn is_pure(call: &Call) -> bool {
    call.builtin().is_none_or(|builtin| !IMPURE.contains(&builtin.name))
}

/// The value of an expression that has the same one everywhere and always: it reads no name, no clock and no chance. Also none
/// if working it out takes much more than reading it.
#[must_use]
pub fn constant(expr: &Expr) -> Option<Value> {
    const FUEL_OF_A_NODE: u64 = 32;
    const FUEL_OF_A_CALL: u64 = 2_560;
    let mut fuel = 0_u64;
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        fuel += FUEL_OF_A_NODE;
        match expr.kind() {
            Kind::Attribute { .. } => return None,
            Kind::Call(call) if !is_pure(call) => return None,
            Kind::Call(call) => {
                fuel += FUEL_OF_A_CALL;
                pending.extend(call.arguments.iter());
            }
            _ => pending.extend(expr.children()),
        }
    }
    let nothing = Ad::new();
    let mut env = Env::new();
    let frame = env.frame(&nothing, None);
    let limits = Limits::default();
    let limits = Limits { fuel: fuel.min(limits.fuel), ..limits };
    eval(expr, &env, frame, &Context { limits, ..Context::default() }).ok()
}
