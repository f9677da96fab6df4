//! Expressions whose values may change though no ad does: they read the clock or chance.

use classad::{Call, Children, Dialect, Expr, Kind, Value, is_pure, parse_expr};
use smallvec::smallvec;

/// Whether an expression reads the clock, chance, or a text that is not known.
pub(crate) fn reads_clock(expr: &Expr) -> bool {
    let is_clock = |name: &classad::Name| name == "CurrentTime";
    if let Kind::Literal(_) = expr.kind() {
        return false;
    }
    let mut pending: Children<'_> = smallvec![expr];
    while let Some(expr) = pending.pop() {
        match expr.kind() {
            Kind::Literal(_) => {}
            Kind::Attribute { name, .. } | Kind::Select { name, .. } if is_clock(name) => return true,
            Kind::Call(call) if calls_clock(call) => return true,
            _ => pending.extend(expr.children()),
        }
    }
    false
}

/// Whether a function reads more than its arguments and the ads.
fn calls_clock(call: &Call) -> bool {
    /// They read the ads only.
    const STEADY: [&str; 4] = ["unparse", "unresolved", "evalInEachContext", "countMatches"];
    if is_pure(call) || STEADY.iter().any(|name| call.function == *name) {
        return false;
    }
    let text = match &*call.arguments {
        [text] if call.function == "eval" => text.as_literal(),
        _ => None,
    };
    match text {
        Some(Value::String(text)) => parse_expr(text, Dialect::default()).map_or(true, |expr| reads_clock(&expr)),
        _ => true,
    }
}
