//! A port into what of it can be looked at before the ad's earlier ports are bound.
//!
//! A candidate may be bound through any of its ports, but an expression of port q may read the labels of ports before q,
//! whose partners are still to be found. Where it does not, a refusal can be had at once instead of after a search below.

use std::collections::BTreeSet;

use classad::{Ad, Expr, Name, is_reflective};

/// Which names of a port depend on partners at earlier ports. Too many may be named, never too few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Early {
    /// Names whose value may change with those partners: their labels, `Members`, and the port's attributes that read one.
    late: BTreeSet<String>,
    /// All words in the port's expressions.
    reads: BTreeSet<String>,
    /// Expressions that can read a name which is not written in them.
    opaque: bool,
}

impl Early {
    pub(crate) fn of<'l>(port: &Ad, earlier: impl Iterator<Item = &'l Name>) -> Early {
        let mut late: BTreeSet<String> = earlier.map(|label| label.as_str().to_ascii_lowercase()).collect();
        if !late.is_empty() {
            late.insert("members".to_owned());
        }
        let attributes: Vec<(String, BTreeSet<String>)> =
            port.iter().map(|(name, expr)| (name.as_str().to_ascii_lowercase(), words(expr))).collect();
        loop {
            let reads_late = |(name, reads): &&(String, BTreeSet<String>)| !late.contains(name) && !reads.is_disjoint(&late);
            let found: Vec<String> = attributes.iter().filter(reads_late).map(|(name, _)| name.clone()).collect();
            if found.is_empty() {
                break;
            }
            late.extend(found);
        }
        let opaque = port.iter().any(|(_, expr)| is_reflective(expr));
        Early { late, reads: attributes.into_iter().flat_map(|(_, reads)| reads).collect(), opaque }
    }

    /// Whether this port's own constraint can be looked at early.
    pub(crate) fn own(&self) -> bool {
        !self.opaque && !self.late.contains("constraint") && !self.late.contains("requirements")
    }

    /// Whether the constraint of a port that binds this one can be looked at early.
    pub(crate) fn seen_from(&self, other: &Early) -> bool {
        !self.opaque && !other.opaque && self.late.is_disjoint(&other.reads)
    }
}

/// Every word in the text of an expression, strings and comments' neighbours included: more than its names.
fn words(expr: &Expr) -> BTreeSet<String> {
    let text = expr.to_string().to_ascii_lowercase();
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    parts.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use classad::{Dialect, parse_ad};

    fn early(port: &str) -> Early {
        Early::of(&parse_ad(port, Dialect::Gangmatch).unwrap(), [Name::new("cpu")].iter())
    }

    #[test]
    fn a_constraint_that_reads_an_earlier_label_comes_late() {
        assert!(early("[Label = license; Host = cpu.Name; Constraint = license.App == Cmd]").own());
        assert!(!early("[Label = license; Constraint = license.Host == CPU.Name]").own());
        assert!(!early("[Label = license; Host = cpu.Name; Constraint = license.Host == Host]").own());
        assert!(!early("[Label = license; Constraint = eval(strcat(\"c\", \"pu.Name\")) is 1]").own());
    }

    #[test]
    fn so_does_one_that_reads_what_depends_on_it() {
        let through = early("[Label = license; Host = cpu.Name; Seats = 1]");
        assert!(!through.seen_from(&early("[Label = x; Constraint = x.Host == \"foo\"]")));
        assert!(through.seen_from(&early("[Label = x; Constraint = x.Seats == 1]")));
        assert!(!through.seen_from(&early("[Label = x; Constraint = size(x.Members) == 1]")));
    }
}
