//! Ranks that are true or false into numbers.

use classad::{Dialect, Expr, Kind, UnaryOp, Value, parse_expr};

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

/// A rank as it counts in HTCondor, where true is 1 and false is 0. Here both are 0.
pub(super) fn counted(rank: String) -> String {
    match parse_expr(&rank, Dialect::Gangmatch) {
        Ok(expr) if is_truth(&expr) && matches!(expr.kind(), Kind::Parenthesized(_)) => format!("{rank} ? 1 : 0"),
        Ok(expr) if is_truth(&expr) => format!("({rank}) ? 1 : 0"),
        _ => rank,
    }
}

/// Whether the outermost operator of an expression gives true or false.
fn is_truth(expr: &Expr) -> bool {
    match expr.unparenthesized().kind() {
        Kind::Literal(Value::Boolean(_)) | Kind::Unary { op: UnaryOp::Not, .. } => true,
        Kind::Binary { op, .. } => op.gives_truth(),
        Kind::Call(call) => PREDICATES.iter().any(|name| name.eq_ignore_ascii_case(call.function.as_str())),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_true_or_false_is_written_as_a_number_and_numbers_stay() {
        for (rank, number) in [
            ("true", "(true) ? 1 : 0"),
            ("(other.Owner == \"ann\")", "(other.Owner == \"ann\") ? 1 : 0"),
            ("A is undefined || B", "(A is undefined || B) ? 1 : 0"),
            ("!A", "(!A) ? 1 : 0"),
            ("StringListMember(\"a\", B)", "(StringListMember(\"a\", B)) ? 1 : 0"),
            ("versionge(A, \"9\")", "(versionge(A, \"9\")) ? 1 : 0"),
        ] {
            assert_eq!(counted(rank.to_owned()), number);
        }
        for rank in
            ["0", "machine.KFlops", "10 * (A == 1)", "A == 1 ? 7 : 2", "-Memory", "size(A)", "ifThenElse(A, 1, 2)"]
        {
            assert_eq!(counted(rank.to_owned()), rank);
        }
    }

    #[test]
    fn every_function_that_gives_true_or_false_exists() {
        let names: Vec<&str> = classad::BUILTINS.iter().map(|function| function.name).collect();
        assert!(PREDICATES.iter().all(|name| names.contains(name)), "{names:?}");
    }
}
