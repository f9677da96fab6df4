//! Warns of amounts of memory that are written in bytes, where MiB count.

use classad::{BinaryOp, Expr, Kind, Value};

/// A larger number of MiB than machines have (16 TiB): it was probably meant in bytes.
pub(super) const MEBIBYTES_MAX: i64 = 1 << 24;

/// What to say of a number that is compared with the memory of a partner, or requested of it, and is too large for MiB.
pub(super) fn warning(place: &str, found: &str, number: i64) -> Option<String> {
    (number >= MEBIBYTES_MAX).then(|| {
        let meant = number.saturating_add((1 << 20) - 1) >> 20;
        format!("{place}: {found} counts MiB, and {number} MiB are more than any machine has; if bytes are meant, write {meant}")
    })
}

/// The comparisons of a constraint with too much memory, in words.
pub(super) fn warnings(place: &str, constraint: &Expr) -> Vec<String> {
    let (mut found, mut pending) = (Vec::new(), vec![constraint]);
    while let Some(expr) = pending.pop() {
        if let Kind::Binary { op, left, right } = expr.kind()
            && is_comparison(*op)
        {
            let one = [(left, right), (right, left)].into_iter().find_map(|(memory, number)| {
                warning(place, &format!("`{}`", memory_of_partner(memory)?), whole(number)?)
            });
            found.extend(one);
        }
        pending.extend(expr.children());
    }
    found
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual};
    matches!(op, Equal | Greater | GreaterEqual | Less | LessEqual)
}

/// `cpu.Memory`, as it is written.
fn memory_of_partner(expr: &Expr) -> Option<String> {
    match expr.unparenthesized().kind() {
        Kind::Select { name, .. } if name.as_str().eq_ignore_ascii_case("Memory") => Some(expr.to_string()),
        _ => None,
    }
}

fn whole(number: &Expr) -> Option<i64> {
    match number.as_literal()? {
        Value::Integer(number) => Some(*number),
        Value::Real(number) if *number >= 0.0 && *number < 9.0e18 => format!("{number:.0}").parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use classad::{Dialect, parse_expr};

    use super::warnings;

    #[test]
    fn m10_memory_in_bytes_is_told_and_memory_in_mib_is_not() {
        let said = |text: &str| warnings("spec.constraint", &parse_expr(text, Dialect::Gangmatch).unwrap());
        let expected = "spec.constraint: `other.Memory` counts MiB, and 4294967296 MiB are more than any machine has; if bytes are meant, \
                        write 4096";
        assert_eq!(said("other.Type == \"Machine\" && other.Memory >= 4Gi"), [expected]);
        assert_eq!(said("4G < cpu.memory").len(), 1);
        for fine in ["other.Memory >= 4096", "cpu.Memory >= ImageSize", "cpu.Memory / 32M > 1", "cpu.Disk > 4Gi"] {
            assert!(said(fine).is_empty(), "{fine}");
        }
    }
}
