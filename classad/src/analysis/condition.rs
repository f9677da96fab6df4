//! Tells expressions whose value is true or false.

use crate::expr::{Expr, Kind, UnaryOp};
use crate::value::Value;

/// Functions whose value is true or false.
const PREDICATES: [&str; 29] = [
    "allCompare",
    "anyCompare",
    "bool",
    "identicalMember",
    "isAbsTime",
    "isBoolean",
    "isClassAd",
    "isError",
    "isInteger",
    "isList",
    "isReal",
    "isRelTime",
    "isString",
    "isUndefined",
    "member",
    "regexp",
    "regexpMember",
    "stringListIMember",
    "stringListISubsetMatch",
    "stringListMember",
    "stringListSubsetMatch",
    "stringList_regexpMember",
    "stringListsIntersect",
    "versionEQ",
    "versionGE",
    "versionGT",
    "versionLE",
    "versionLT",
    "version_in_range",
];

/// Whether the outermost operator or function of an expression answers true or false.
#[must_use]
pub fn is_condition(expr: &Expr) -> bool {
    match expr.unparenthesized().kind() {
        Kind::Literal(Value::Boolean(_)) | Kind::Unary { op: UnaryOp::Not, .. } => true,
        Kind::Binary { op, .. } => op.gives_truth(),
        Kind::Call(call) => PREDICATES.iter().any(|name| name.eq_ignore_ascii_case(call.function.as_str())),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::PREDICATES;
    use crate::builtins::BUILTINS;

    #[test]
    fn every_function_that_gives_true_or_false_exists() {
        let names: Vec<&str> = BUILTINS.iter().map(|function| function.name).collect();
        assert!(PREDICATES.iter().all(|name| names.contains(name)), "{names:?}");
    }
}
