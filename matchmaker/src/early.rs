//! Finds the expressions of a port that can be evaluated before the ad's earlier ports are bound.
//!
//! A candidate may be bound through any of its ports, but an expression of port q may read the labels of ports before q,
//! whose partners are still to be found. Where it does not, a refusal can be had at once instead of after a search below.

use std::collections::{BTreeMap, BTreeSet};

use classad::{Ad, Expr, Name, is_reflective};

/// Which names of a port depend on partners at earlier ports. Too many may be named, never too few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Early {
    /// Names whose value may change with those partners: their labels, `Members`, and the port's attributes that read one.
    late: BTreeSet<String>,
    /// Some of them are attributes of the port, other than those that are evaluated once for a whole set.
    late_attributes: bool,
    /// All words in the port's expressions.
    reads: BTreeSet<String>,
    /// Expressions that can read a name which is not written in them.
    opaque: bool,
}

impl Early {
    /// Of a port that is written out, with the labels of the ports before it.
    pub(crate) fn of<'l>(port: &Ad, earlier: impl Iterator<Item = &'l Name>) -> Early {
        let mut late: BTreeSet<String> = earlier.map(|label| label.as_str().to_ascii_lowercase()).collect();
        if !late.is_empty() {
            late.insert("members".to_owned());
        }
        if late.is_empty() {
            return Early::reading(port, false);
        }
        // Which attributes read a word; each late one is looked up once.
        let mut readers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, expr) in port.iter() {
            let name = name.as_str().to_ascii_lowercase();
            for word in words(expr) {
                readers.entry(word).or_default().push(name.clone());
            }
        }
        let mut pending: Vec<String> = late.iter().cloned().collect();
        let mut late_attributes = false;
        while let Some(word) = pending.pop() {
            for name in readers.remove(&word).unwrap_or_default() {
                late_attributes |= !OF_SETS.contains(&name.as_str());
                if late.insert(name.clone()) {
                    pending.push(name);
                }
            }
        }
        let odd = late.iter().any(|name| !is_word(name));
        Early { late, late_attributes, ..Early::reading(port, odd) }
    }

    /// Of the implicit port: the whole ad can read its partner, and no port comes before it.
    pub(crate) fn implicit(ad: &Ad) -> Early {
        Early::reading(ad, false)
    }

    fn reading(ad: &Ad, odd: bool) -> Early {
        let reads: BTreeSet<String> = ad.iter().flat_map(|(_, expr)| words(expr)).collect();
        let reflective =
            ad.iter().any(|(_, expr)| is_reflective(expr)) || INDIRECT.iter().any(|name| reads.contains(*name));
        Early { late: BTreeSet::new(), late_attributes: false, reads, opaque: odd || reflective }
    }

    /// Whether this port's own constraint can be looked at early. What it reads of `other`, the port it is bound to, may
    /// lead back to it.
    pub(crate) fn own(&self, other: &Early) -> bool {
        !self.late.contains("constraint") && !self.late.contains("requirements") && self.seen_from(other)
    }

    /// Whether nothing in the port depends on partners at earlier ports, but for what is said of a whole set.
    pub(crate) fn stands_alone(&self) -> bool {
        !self.opaque && !self.late_attributes
    }

    /// Whether the port's count may depend on partners at earlier ports.
    pub(crate) fn has_late_count(&self) -> bool {
        self.opaque || ["count", "mincount", "maxcount"].iter().any(|name| self.late.contains(*name))
    }

    /// Whether some name depends on partners at earlier ports.
    pub(crate) fn has_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// Whether an expression of this port, or of its partner, may read what depends on partners at earlier ports.
    pub(crate) fn may_read_late(&self, expr: &Expr) -> bool {
        self.has_late() && (self.opaque || is_reflective(expr) || !self.late.is_disjoint(&words(expr)))
    }

    /// Whether the constraint of a port that binds this one can be looked at early.
    pub(crate) fn seen_from(&self, other: &Early) -> bool {
        !self.opaque && !other.opaque && self.late.is_disjoint(&other.reads)
    }
}

/// Attributes of a counted port that are evaluated once for a whole set.
const OF_SETS: [&str; 5] = ["count", "mincount", "maxcount", "groupconstraint", "grouprank"];

/// Functions that evaluate the expression of an attribute elsewhere than where it stands.
const INDIRECT: [&str; 2] = ["evalineachcontext", "countmatches"];

fn is_word(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Every word in the text of an expression: all names that it reads, and the words in its strings.
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
        let own = |port: &str| early(port).own(&early("[Label = x; Constraint = x.App == 1]"));
        assert!(own("[Label = license; Host = cpu.Name; Constraint = license.App == Cmd]"));
        assert!(!own("[Label = license; Constraint = license.Host == CPU.Name]"));
        assert!(!own("[Label = license; Host = cpu.Name; Constraint = license.Host == Host]"));
        assert!(!own("[Label = license; Constraint = eval(strcat(\"c\", \"pu.Name\")) is 1]"));
        assert!(!own("[Label = license; Constraint = countMatches(Wish, {license}) == 1]"));
    }

    #[test]
    fn so_does_one_that_may_read_back_what_the_partner_reads_of_it() {
        let license = early("[Label = license; Host = cpu.Name; Constraint = license.Echo == 1]");
        assert!(!license.own(&early("[Label = x; Echo = x.Host]")));
        assert!(license.own(&early("[Label = x; Echo = x.Other]")));
    }

    #[test]
    fn so_does_one_that_reads_what_depends_on_it() {
        let through = early("[Label = license; Host = cpu.Name; Seats = 1]");
        assert!(!through.seen_from(&early("[Label = x; Constraint = x.Host == \"foo\"]")));
        assert!(through.seen_from(&early("[Label = x; Constraint = x.Seats == 1]")));
        assert!(!through.seen_from(&early("[Label = x; Constraint = size(x.Members) == 1]")));
        let whole = parse_ad("[Requirements = Wish; Wish = other.Host == 1]", Dialect::Gangmatch).unwrap();
        assert!(!through.seen_from(&Early::implicit(&whole)));
    }

    #[test]
    fn nothing_comes_late_where_no_port_comes_before() {
        let port = parse_ad("[Label = cpu; Constraint = countMatches(Wish, cpu.L) == 1]", Dialect::Gangmatch).unwrap();
        let (constraint, none) = (port.get("Constraint").unwrap(), std::iter::empty());
        assert!(!Early::of(&port, none).may_read_late(constraint));
        assert!(early("[Label = license; Constraint = countMatches(Wish, {license}) == 1]").may_read_late(constraint));
    }

    #[test]
    fn a_name_that_is_no_word_could_be_overlooked() {
        let odd = early("[Label = license; 'the host' = cpu.Name]");
        assert!(!odd.seen_from(&early("[Label = x; Constraint = x.Seats == 1]")));
    }
}
