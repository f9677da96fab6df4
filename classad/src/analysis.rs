//! Static analysis of expressions: conjuncts, constants, contradictions, cost, warnings.

mod condition;
mod depth;
mod domain;
mod lint;
mod never;
mod range;

use crate::ad::Ad;
use crate::eval::eval;
use crate::eval::limits::{Context, Limits};
use crate::eval::scope::Env;
use crate::expr::{BinaryOp, Call, Expr, Kind};
use crate::name::Name;
use crate::value::Value;

pub use condition::is_condition;
pub use depth::depth;
pub use lint::{lint, lint_ad};
pub use never::{Never, contradictions, never_true};
pub use range::NumberRange;

/// Whether the expression can read names that are not written in it, so that [`references`](crate::references) is incomplete.
#[must_use]
pub fn is_reflective(expr: &Expr) -> bool {
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match expr.kind() {
            Kind::Call(call) if matches!(call.builtin_name(), "eval" | "unparse" | "unresolved") => return true,
            Kind::Subscript { index, .. } if index.as_literal().is_none() => return true,
            _ => pending.extend(expr.children()),
        }
    }
    false
}

/// The conjuncts of an expression: the operands of `&&` at its top, parentheses removed, in source order.
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

/// The text that an expression requires an attribute of a label to equal, as in `cpu.Type == "Machine"`, and the number of that conjunct.
#[must_use]
pub fn equated(expr: &Expr, label: &Name, attribute: &str) -> Option<(usize, String)> {
    let is_it = |side: &Expr| match side.unparenthesized().kind() {
        Kind::Select { base, name } => {
            base.as_attribute() == Some(label) && name.as_str().eq_ignore_ascii_case(attribute)
        }
        _ => false,
    };
    let text_in = |part: &Expr| {
        let Kind::Binary { op: BinaryOp::Equal | BinaryOp::Is, left, right } = part.unparenthesized().kind() else {
            return None;
        };
        let text = if is_it(left) { right } else { Some(left).filter(|_| is_it(right))? };
        match text.as_literal() {
            Some(Value::String(text)) => Some(text.to_string()),
            _ => None,
        }
    };
    conjuncts(expr).iter().enumerate().find_map(|(number, part)| Some((number, text_in(part)?)))
}

/// Whether the value of a call depends on the values of its arguments alone: not on the clock, random numbers or the scope.
#[must_use]
pub fn is_pure(call: &Call) -> bool {
    call.builtin().is_none_or(|builtin| builtin.pure)
}

/// The value of a constant expression: it reads no attribute, no clock and no random number. `None` for other expressions, and if
/// the evaluation takes much more than parsing.
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
