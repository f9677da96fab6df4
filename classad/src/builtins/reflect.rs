//! Functions that look at expressions instead of values.

use std::collections::BTreeSet;

use crate::analysis;
use crate::builtins::convert::Text;
use crate::builtins::pattern::{self, Wanted};
use crate::eval::lazy::Lazy;
use crate::eval::lookup::{Found, Use};
use crate::eval::machine::{Bounded, Machine, Outcome, ScopeId};
use crate::expr::{Call, Expr, Kind};
use crate::text::parse_expr;

/// `ifThenElse(condition, then, otherwise)`: only the chosen one is evaluated.
pub(crate) fn if_then_else<'e>(machine: &mut Machine<'e>, _: &'e Expr, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let [condition, then, otherwise] = &*call.arguments else { return Ok(Lazy::Error) };
    match machine.eval(condition, scope)? {
        Lazy::Undefined => Ok(Lazy::Undefined),
        condition => match condition.truth() {
            Some(true) => machine.eval(then, scope),
            Some(false) => machine.eval(otherwise, scope),
            None => Ok(Lazy::Error),
        },
    }
}

/// `debug(x)`: x; nothing is logged here.
pub(crate) fn debug<'e>(machine: &mut Machine<'e>, _: &'e Expr, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    match &*call.arguments {
        [argument] => machine.eval(argument, scope),
        _ => Ok(Lazy::Error),
    }
}

/// `eval(x)`: the text of x read as an expression and evaluated here.
pub(crate) fn eval<'e>(machine: &mut Machine<'e>, _: &'e Expr, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let [argument] = &*call.arguments else { return Ok(Lazy::Error) };
    let value = machine.eval(argument, scope)?;
    let Text::Is(text) = machine.text(&value)? else { return Ok(Lazy::Error) };
    machine.spend(text.len())?;
    let Ok(expr) = parse_expr(&text, machine.context.dialect) else { return Ok(Lazy::Error) };
    let expr = machine.keep(expr);
    machine.eval(expr, scope)
}

/// The attribute that a call's first argument names; none if it is no bare name.
fn named<'e>(machine: &mut Machine<'e>, call: &'e Call, scope: ScopeId) -> Option<Found<'e>> {
    match call.arguments.first()?.kind() {
        Kind::Attribute { name, absolute: false } => Some(machine.look_up(scope, name, Use::Bare)),
        Kind::Attribute { name, absolute: true } => Some(machine.look_up(machine.root(scope), name, Use::Selected)),
        _ => None,
    }
}

/// `unparse(attribute)`: the text of its expression.
pub(crate) fn unparse<'e>(machine: &mut Machine<'e>, _: &'e Expr, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let text = match named(machine, call, scope) {
        None => return Ok(Lazy::Error),
        Some(Found::Attribute(expr, _)) => {
            machine.refuse_open(expr)?;
            expr.canonical()
        }
        Some(Found::Scope(scope)) => machine.written(&Lazy::Ad(scope)).canonical(),
        Some(Found::Now | Found::Nothing) => String::new(),
    };
    machine.charge(text.len())?;
    Ok(Lazy::string(text))
}

/// `unresolved(attribute [, pattern])`: the names its expression needs that the ad does not have.
pub(crate) fn unresolved<'e>(machine: &mut Machine<'e>, _: &'e Expr, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let (expr, at) = match named(machine, call, scope) {
        None => return Ok(Lazy::Error),
        Some(Found::Attribute(expr, at)) => (expr, at),
        Some(_) => return Ok(Lazy::Undefined),
    };
    let names = external(machine, expr, at)?;
    let Some(pattern) = call.arguments.get(1) else {
        return Ok(Lazy::string(names.join(",")));
    };
    match machine.eval(pattern, scope)? {
        Lazy::String(pattern) => Ok(match pattern::compile(&pattern, "i", Wanted::Truth, machine.context.dialect) {
            Some(regex) => Lazy::Boolean(names.iter().any(|name| regex.is_match(name))),
            None => Lazy::Error,
        }),
        Lazy::Undefined => Ok(Lazy::Undefined),
        _ => Ok(Lazy::Error),
    }
}

/// The names outside `scope` that `expr` needs, also through attributes inside; ordered by their full text.
fn external<'e>(machine: &mut Machine<'e>, expr: &'e Expr, scope: ScopeId) -> Bounded<Vec<String>> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![(expr, scope)];
    while let Some((expr, scope)) = pending.pop() {
        machine.spend(1)?;
        machine.refuse_open(expr)?;
        for reference in analysis::references(expr) {
            let Some(start) = reference.first() else { continue };
            match machine.look_up(scope, start, Use::Selected) {
                Found::Attribute(inner, at) => {
                    if seen.insert((inner.address(), at.0)) {
                        pending.push((inner, at));
                    }
                }
                Found::Scope(_) | Found::Now => {}
                Found::Nothing => {
                    let path: Vec<&str> = reference.iter().map(|name| name.as_str()).collect();
                    found.insert((path.join(".").to_ascii_lowercase(), bare(&path)));
                }
            }
        }
    }
    Ok(found.into_iter().map(|(_, name)| name).collect())
}

/// The name that counts: the one after `target` or `other`, else the first.
fn bare(path: &[&str]) -> String {
    let partner = |name: &str| name.eq_ignore_ascii_case("target") || name.eq_ignore_ascii_case("other");
    match path {
        [first, second, ..] if partner(first) => (*second).to_owned(),
        [first, ..] => (*first).to_owned(),
        [] => String::new(),
    }
}

/// `evalInEachContext(expr, ads)`: the value of expr in each ad of a list.
pub(crate) fn eval_in_each_context<'e>(
    machine: &mut Machine<'e>,
    _: &'e Expr,
    call: &'e Call,
    scope: ScopeId,
) -> Outcome<'e> {
    match each_context(machine, call, scope)? {
        Ok(values) => Ok(Lazy::list(values)),
        Err(instead) => Ok(instead),
    }
}

/// `countMatches(expr, ads)`: in how many ads of a list expr is true.
pub(crate) fn count_matches<'e>(machine: &mut Machine<'e>, _: &'e Expr, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    match each_context(machine, call, scope)? {
        Ok(values) => Ok(Lazy::length(values.iter().filter(|value| value.truth() == Some(true)).count())),
        Err(Lazy::Undefined) => Ok(Lazy::Integer(0)),
        Err(instead) => Ok(instead),
    }
}

/// The values of the first argument in the ads of the second, or the value that the whole has instead.
fn each_context<'e>(
    machine: &mut Machine<'e>,
    call: &'e Call,
    scope: ScopeId,
) -> Bounded<Result<Vec<Lazy<'e>>, Lazy<'e>>> {
    let [expr, list] = &*call.arguments else { return Ok(Err(Lazy::Error)) };
    let (expr, home) = expression_meant(machine, expr, scope)?;
    let items = match machine.eval(list, scope)? {
        Lazy::Undefined => return Ok(Err(Lazy::Undefined)),
        Lazy::List(items) => machine.items(&items)?,
        _ => return Ok(Err(Lazy::Error)),
    };
    let mut values = Vec::new();
    for item in items {
        values.push(match item {
            Lazy::Ad(inner) => {
                let inner = machine.as_guest(inner, home);
                machine.eval(expr, inner)?
            }
            Lazy::Undefined => Lazy::Undefined,
            _ => Lazy::Error,
        });
    }
    Ok(Ok(values))
}

/// An attribute stands for its expression here: `countMatches(MY.RequireGPUs, TARGET.AvailableGPUs)`. Also where the
/// expression stands.
fn expression_meant<'e>(machine: &mut Machine<'e>, expr: &'e Expr, scope: ScopeId) -> Bounded<(&'e Expr, ScopeId)> {
    let found = match expr.unparenthesized().kind() {
        Kind::Attribute { name, absolute: false } => machine.look_up(scope, name, Use::Bare),
        Kind::Attribute { name, absolute: true } => machine.look_up(machine.root(scope), name, Use::Selected),
        Kind::Select { base, name } => match machine.eval(base, scope)? {
            Lazy::Ad(base) => machine.look_up(base, name, Use::Selected),
            _ => Found::Nothing,
        },
        _ => Found::Nothing,
    };
    Ok(match found {
        Found::Attribute(meant, home) => (meant, home),
        _ => (expr, scope),
    })
}
