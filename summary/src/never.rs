//! Conjuncts that exclude each other, whatever the partner is.

use classad::{Expr, Kind, Never, contradictions, never_true};

use crate::closed::Side;

/// The place of the conjunct that leaves no partner, after those before it; none as far as the constraint and the job's own values tell.
///
/// `cpu.Memory >= Image && cpu.Memory < 100` gives 1 for a job with an `Image` of 200.
pub(crate) fn contradiction(conjuncts: &[Expr], side: &Side<'_>) -> Option<usize> {
    let known: Vec<Expr> = conjuncts.iter().map(|conjunct| with_own_values(conjunct, side)).collect();
    known.iter().position(|conjunct| never_true(conjunct).is_some()).or_else(|| {
        let Never::Contradiction { second, .. } = contradictions(&known).into_iter().next()? else { return None };
        known.iter().position(|conjunct| *conjunct == second)
    })
}

/// The same condition with values in the place of what depends on nothing but the job: of the whole, or of a side of a comparison.
fn with_own_values(conjunct: &Expr, side: &Side<'_>) -> Expr {
    let known = |expr: &Expr| side.value(expr).map(Expr::literal);
    known(conjunct).unwrap_or_else(|| match conjunct.unparenthesized().kind() {
        Kind::Binary { op, left, right } => {
            let [left, right] = [left, right].map(|operand| known(operand).unwrap_or_else(|| operand.clone()));
            Expr::binary(*op, left, right)
        }
        _ => conjunct.clone(),
    })
}

#[cfg(test)]
mod tests {
    use classad::{Dialect, Name, conjuncts, parse_ad, parse_expr};

    use super::*;
    use crate::scope::Scope;

    fn place(constraint: &str) -> Option<usize> {
        let job =
            parse_ad("[ Image = 200; Cmd = \"sim\"; Small = Image / 4; List = {1} ]", Dialect::Gangmatch).unwrap();
        let (labels, nothing) = ([Name::new("cpu")], classad::Ad::new());
        let parts = conjuncts(&parse_expr(constraint, Dialect::Gangmatch).unwrap());
        contradiction(&parts, &Scope::side(&job, Some(&nothing), &labels))
    }

    #[test]
    fn conjuncts_that_exclude_each_other_are_found() {
        assert_eq!(place("cpu.Memory >= Image && cpu.Disk > 5 && cpu.Memory < 100"), Some(2));
        assert_eq!(place("Small > cpu.Memory && cpu.Memory == Image"), Some(1));
        assert_eq!(place("cpu.App == Cmd && cpu.App == \"cad\""), Some(1));
        assert_eq!(place("cpu.Memory > 5 && cpu.Memory == undefined"), Some(1));
        assert_eq!([place("Image < 100"), place("List"), place("cpu.Memory > 5 && Cmd")], [Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn conjuncts_that_some_partner_may_meet_are_not() {
        for constraint in [
            "cpu.Memory >= Image && cpu.Memory < 201",
            "cpu.Memory >= Image && cpu.Disk < 100",
            "cpu.Memory >= Image || cpu.Memory < 100",
            "cpu.App == Cmd && cpu.App == \"SIM\"",
            "cpu.Memory >= cpu.Image && cpu.Memory < 100",
            "Image > 100",
        ] {
            assert_eq!(place(constraint), None, "{constraint}");
        }
    }
}
