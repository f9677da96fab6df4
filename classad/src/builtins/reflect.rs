//! Functions of expressions instead of values.

use std::collections::BTreeSet;

use crate::builtins::pattern::{Wanted, compiled};
use crate::cache::CallCache;
use crate::eval::costs::READ;
use crate::eval::evaluator::{Bounded, Evaluator, Guest, Outcome};
use crate::eval::lazy::Lazy;
use crate::eval::lookup::{Found, Use};
use crate::eval::scope::ScopeId;
use crate::expr::paths::references;
use crate::expr::{Call, Expr, Kind};
use crate::hide::without_hidden;
use crate::text::parse_expr;

/// Steps of parsing, beside those for the text.
const PARSER: usize = 16;
/// Steps of a node that is searched for names.
const NODE: usize = 16;
/// Bytes of such a node.
const NODE_BYTES: usize = 64;

/// `ifThenElse(condition, then, otherwise)`: only the chosen one is evaluated.
pub(crate) fn if_then_else<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let [condition, then, otherwise] = &*call.arguments else { return Ok(Lazy::Error) };
    evaluator.choose(condition, then, otherwise, scope)
}

/// `debug(x)`: x; nothing is logged here.
pub(crate) fn debug<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    match &*call.arguments {
        [argument] => evaluator.eval(argument, scope),
        _ => Ok(Lazy::Error),
    }
}

/// `eval(x)`: the text of x, parsed as an expression and evaluated here.
pub(crate) fn eval<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let [argument] = &*call.arguments else { return Ok(Lazy::Error) };
    let value = evaluator.eval(argument, scope)?;
    let Ok(text) = evaluator.text(&value)? else { return Ok(Lazy::Error) };
    // A tree takes many times the room of its text.
    const STEPS: usize = 4;
    const BYTES: usize = 128;
    evaluator.spend(text.len().saturating_mul(STEPS).saturating_add(PARSER))?;
    evaluator.take(text.len().saturating_mul(BYTES))?;
    let Ok(expr) = parse_expr(&text, evaluator.context.dialect) else { return Ok(Lazy::Error) };
    let expr = evaluator.keep(expr);
    evaluator.eval(expr, scope)
}

/// The attribute that a call's first argument names; none if it is no bare name.
fn named<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Option<Found<'e>> {
    match call.arguments.first()?.kind() {
        Kind::Attribute { name, absolute } => Some(evaluator.look_up_bare(name, *absolute, scope)),
        _ => None,
    }
}

/// `unparse(attribute)`: the text of its expression; an empty one for what the ad has no expression of by that name alone.
pub(crate) fn unparse<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let is_path =
        |argument: &Expr| matches!(argument.kind(), Kind::Select { .. } | Kind::Attribute { absolute: true, .. });
    if call.arguments.first().is_some_and(is_path) {
        return evaluator.string("");
    }
    let text = match named(evaluator, call, scope) {
        None => return Ok(Lazy::Error),
        Some(Found::Attribute(expr, _)) => evaluator.printed(expr)?,
        Some(Found::Scope(scope)) => evaluator.written_text(&Lazy::Ad(scope))?,
        Some(found @ Found::Views(_)) => {
            let list = evaluator.value_of(found)?;
            evaluator.written_text(&list)?
        }
        Some(Found::Now | Found::Nothing) => String::new(),
    };
    evaluator.string(text)
}

/// `unresolved(attribute [, pattern])`: the names its expression needs that the ad does not have.
pub(crate) fn unresolved<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let (expr, at) = match named(evaluator, call, scope) {
        None => return Ok(Lazy::Error),
        Some(Found::Attribute(expr, at)) => (expr, at),
        Some(_) => return Ok(Lazy::Undefined),
    };
    let names = external(evaluator, expr, at)?;
    let Some(pattern) = call.arguments.get(1) else {
        return evaluator.string(names.join(","));
    };
    match evaluator.eval(pattern, scope)? {
        Lazy::String(pattern) => {
            let dialect = evaluator.context.dialect;
            let mut pay = |steps| evaluator.spend(steps);
            let Some(regex) = compiled(&CallCache::default(), (&pattern, "i"), Wanted::Truth, dialect, &mut pay)?
            else {
                return Ok(Lazy::Error);
            };
            for name in &names {
                evaluator.spend(regex.steps(name))?;
                if regex.is_match(name) {
                    return Ok(Lazy::Boolean(true));
                }
            }
            Ok(Lazy::Boolean(false))
        }
        Lazy::Undefined => Ok(Lazy::Undefined),
        _ => Ok(Lazy::Error),
    }
}

/// The names outside `scope` that `expr` needs, also through attributes inside; ordered by their full text.
fn external<'e>(evaluator: &mut Evaluator<'e>, expr: &'e Expr, scope: ScopeId) -> Bounded<Vec<String>> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![(expr, scope)];
    while let Some((expr, scope)) = pending.pop() {
        // Each node is looked at, and each name is kept as a text of its own.
        let nodes = expr.nodes_within(evaluator.left() / NODE);
        evaluator.spend(nodes.saturating_mul(NODE))?;
        evaluator.take(nodes.saturating_mul(NODE_BYTES))?;
        for reference in references(expr) {
            let letters = reference.iter().map(|name| name.as_str().len()).sum::<usize>();
            evaluator.spend(letters / READ)?;
            evaluator.take(letters.saturating_mul(2))?;
            // What stands behind a hidden name is hidden, too.
            let Some(start) = reference.first().filter(|name| !name.is_hidden()) else { continue };
            match evaluator.look_up(scope, start, Use::Selected) {
                Found::Attribute(inner, at) => {
                    if seen.insert((inner.id(), at.0)) {
                        pending.push((inner, at));
                    }
                }
                Found::Scope(_) | Found::Views(_) | Found::Now => {}
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
pub(crate) fn eval_in_each_context<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    match each_context(evaluator, call, scope)? {
        Ok(values) => evaluator.list(values),
        Err(instead) => Ok(instead),
    }
}

/// `countMatches(expr, ads)`: in how many ads of a list expr is true.
pub(crate) fn count_matches<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    match each_context(evaluator, call, scope)? {
        Ok(values) => Ok(Lazy::length(values.iter().filter(|value| value.truth() == Some(true)).count())),
        Err(Lazy::Undefined) => Ok(Lazy::Integer(0)),
        Err(instead) => Ok(instead),
    }
}

/// The values of the first argument in the ads of the second; or the value of the call if there is no such list.
fn each_context<'e>(
    evaluator: &mut Evaluator<'e>,
    call: &'e Call,
    scope: ScopeId,
) -> Bounded<Result<Vec<Lazy<'e>>, Lazy<'e>>> {
    let [expr, list] = &*call.arguments else { return Ok(Err(Lazy::Error)) };
    let (expr, home) = expression_meant(evaluator, expr, scope)?;
    let items = match evaluator.eval(list, scope)? {
        Lazy::Undefined => return Ok(Err(Lazy::Undefined)),
        Lazy::List(items) => evaluator.items(&items)?,
        _ => return Ok(Err(Lazy::Error)),
    };
    evaluator.take(items.len().saturating_mul(size_of::<Lazy<'_>>()))?;
    let mut values = Vec::new();
    let ((caller, is_lent), (own, _)) = (evaluator.author(scope), evaluator.author(home));
    let sees = if caller == own && !is_lent { Use::Bare } else { Use::Lent };
    let hides = evaluator.env.hides();
    let mut elsewhere = None;
    for item in &*items {
        values.push(match item {
            Lazy::Ad(host) => {
                let is_elsewhere = hides && evaluator.root_at_home(*host) != Some(own);
                let expr = match elsewhere {
                    _ if !is_elsewhere => expr,
                    Some(expr) => expr,
                    None => *elsewhere.insert(outside_its_ad(evaluator, expr, sees)?),
                };
                let guest = evaluator.guest_scope(Guest { host: *host, home, sees })?;
                evaluator.eval(expr, guest)?
            }
            Lazy::Undefined => Lazy::Undefined,
            _ => Lazy::Error,
        });
    }
    Ok(Ok(values))
}

/// The expression as it is evaluated in another ad, where `my.x` and `.x` with a hidden name would mean the hidden attribute of that ad. If
/// another ad calls for its evaluation, that could show by its own attributes what is hidden: then no hidden name has a value.
fn outside_its_ad<'e>(evaluator: &mut Evaluator<'e>, expr: &'e Expr, sees: Use) -> Bounded<&'e Expr> {
    let nodes = expr.nodes_within(evaluator.left() / NODE);
    evaluator.spend(nodes.saturating_mul(NODE))?;
    evaluator.take(nodes.saturating_mul(NODE_BYTES))?;
    Ok(evaluator.keep(without_hidden(expr, sees == Use::Bare)))
}

/// The expression to evaluate, and its scope. An attribute means its expression here:
/// `countMatches(MY.RequireGPUs, TARGET.AvailableGPUs)`.
fn expression_meant<'e>(evaluator: &mut Evaluator<'e>, expr: &'e Expr, scope: ScopeId) -> Bounded<(&'e Expr, ScopeId)> {
    let found = match expr.unparenthesized().kind() {
        Kind::Attribute { name, absolute } => evaluator.look_up_bare(name, *absolute, scope),
        Kind::Select { base, name } => match evaluator.eval(base, scope)? {
            Lazy::Ad(base) => evaluator.look_up(base, name, Use::Selected),
            _ => Found::Nothing,
        },
        _ => Found::Nothing,
    };
    Ok(match found {
        Found::Attribute(meant, home) => (meant, home),
        _ => (expr, scope),
    })
}
