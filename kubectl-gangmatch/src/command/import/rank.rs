//! Ranks that are true or false into numbers.

use classad::{Dialect, Kind, is_condition, parse_expr};

/// A rank as it counts in HTCondor, where true is 1 and false is 0. Here both are 0.
pub(super) fn counted(rank: String) -> String {
    match parse_expr(&rank, Dialect::Gangmatch) {
        Ok(expr) if is_condition(&expr) && matches!(expr.kind(), Kind::Parenthesized(_)) => format!("{rank} ? 1 : 0"),
        Ok(expr) if is_condition(&expr) => format!("({rank}) ? 1 : 0"),
        _ => rank,
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
            ("ifThenElse(A, true, B > 2)", "(ifThenElse(A, true, B > 2)) ? 1 : 0"),
            ("A ? true : false", "(A ? true : false) ? 1 : 0"),
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
}
