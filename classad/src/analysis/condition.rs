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

/// How many choices are looked into.
const CHOICES_MAX: usize = 16;

/// Whether the outermost operator or function of an expression answers true or false, or whatever it chooses from does.
#[must_use]
pub fn is_condition(expr: &Expr) -> bool {
    answers(expr, CHOICES_MAX)
}

fn answers(expr: &Expr, choices: usize) -> bool {
    let both = |one: &Expr, other: &Expr| choices > 0 && [one, other].iter().all(|one| answers(one, choices - 1));
    match expr.unparenthesized().kind() {
        Kind::Conditional { then, otherwise, .. } => both(then, otherwise),
        Kind::Elvis { value, fallback } => both(value, fallback),
        Kind::Call(call) if call.function.as_str().eq_ignore_ascii_case("ifThenElse") => {
            matches!(&*call.arguments, [_, then, otherwise] if both(then, otherwise))
        }
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
        for function in BUILTINS.iter().filter(|function| function.doc.starts_with("Whether")) {
            assert!(PREDICATES.contains(&function.name), "{}", function.name);
        }
    }
}
