//! Proves that a condition is never true, where there is a simple proof.

use crate::analysis::domain::{self, Domain};
use crate::analysis::{conjuncts, constant};
use crate::expr::{BinaryOp, Expr, Kind};
use crate::value::Value;

/// How many nodes a condition may have to be looked at.
const NODES_MAX: usize = 4_000;

/// How many names conditions are compared by.
const SUBJECTS_MAX: usize = 256;

/// How deep the parts of a condition are looked at.
const NESTING_MAX: usize = 64;

/// Why a condition is never true.
#[derive(Clone, Debug, PartialEq)]
pub enum Never {
    /// It has always the same value, which does not count as true.
    Constant {
        /// The condition.
        condition: Expr,
        /// Its value.
        value: Value,
    },
    /// No value makes it true: `x == undefined`, `x == {1}`.
    Impossible {
        /// The comparison.
        condition: Expr,
    },
    /// Two conditions that must both hold exclude each other, together with others on the same name perhaps.
    Contradiction {
        /// The one that stands first.
        first: Expr,
        /// The one that leaves no value.
        second: Expr,
    },
    /// Every alternative of `a || b` or `c ? a : b` is never true.
    Alternatives {
        /// The whole.
        condition: Expr,
    },
}

/// Why `expr` is never true; none if it may be, as far as can be told without knowing any name.
///
/// ```
/// use classad::{Dialect, Never, never_true, parse_expr};
///
/// let expr = parse_expr("Arch == \"a\" && Memory > 5 && arch == \"b\"", Dialect::Gangmatch)?;
/// assert!(matches!(never_true(&expr), Some(Never::Contradiction { .. })));
/// assert_eq!(never_true(&parse_expr("x > 3 && x < 5", Dialect::Gangmatch)?), None);
/// # Ok::<(), classad::Diagnostics>(())
/// ```
#[must_use]
pub fn never_true(expr: &Expr) -> Option<Never> {
    // What no author writes by hand is not looked into.
    if expr.nodes_within(NODES_MAX) > NODES_MAX {
        return None;
    }
    never(expr, 0)
}

fn never(expr: &Expr, nesting: usize) -> Option<Never> {
    if nesting > NESTING_MAX {
        return None;
    }
    if let Some(value) = constant(expr) {
        return (!value.is_true()).then(|| Never::Constant { condition: expr.clone(), value });
    }
    let alternatives = || Some(Never::Alternatives { condition: expr.clone() });
    match expr.unparenthesized().kind() {
        Kind::Binary { op: BinaryOp::And, .. } => {
            let parts = conjuncts(expr);
            parts.iter().find_map(|part| never(part, nesting + 1)).or_else(|| contradictions(&parts).into_iter().next())
        }
        Kind::Binary { op: BinaryOp::Or, left, right } => {
            never(right, nesting + 1)?;
            never(left, nesting + 1)?;
            alternatives()
        }
        Kind::Conditional { condition, then, otherwise } => match constant(condition).as_ref().map(counts) {
            Some(Some(true)) => never(then, nesting + 1),
            Some(Some(false)) => never(otherwise, nesting + 1),
            Some(None) => Some(Never::Impossible { condition: expr.clone() }),
            None => {
                never(then, nesting + 1)?;
                never(otherwise, nesting + 1)?;
                alternatives()
            }
        },
        _ => {
            let (_, domain) = domain::condition(expr)?;
            domain.is_empty().then(|| Never::Impossible { condition: expr.clone() })
        }
    }
}

/// What a value counts as before `?`.
pub(crate) fn counts(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(truth) => Some(*truth),
        Value::Integer(number) => Some(*number != 0),
        Value::Real(number) => Some(*number != 0.0),
        _ => None,
    }
}

/// What conditions say about one name.
struct Subject<'c> {
    name: Expr,
    seen: Vec<(&'c Expr, Domain)>,
    /// What all of them leave; none after a contradiction.
    left: Option<Domain>,
}

/// The pairs among conditions joined by `&&` that exclude each other, at most one for each name.
#[must_use]
pub fn contradictions(conjuncts: &[Expr]) -> Vec<Never> {
    let mut found = Vec::new();
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for part in conjuncts {
        let Some((name, domain)) = domain::condition(part) else { continue };
        if domain.is_empty() || domain.is_large() {
            continue;
        }
        let Some(subject) = subjects.iter_mut().find(|subject| subject.name == name) else {
            if subjects.len() >= SUBJECTS_MAX {
                continue;
            }
            subjects.push(Subject { name, seen: vec![(part, domain.clone())], left: Some(domain) });
            continue;
        };
        let Some(before) = &subject.left else { continue };
        let both = before.and(&domain);
        if both.is_large() {
            continue;
        }
        if both.is_empty() {
            let culprit = subject.seen.iter().find(|(_, other)| other.and(&domain).is_empty());
            if let Some((first, _)) = culprit.or(subject.seen.last()) {
                found.push(Never::Contradiction { first: (*first).clone(), second: part.clone() });
            }
            subject.left = None;
        } else {
            subject.seen.push((part, domain));
            subject.left = Some(both);
        }
    }
    found
}
