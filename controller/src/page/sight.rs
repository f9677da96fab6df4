//! What a viewer may list: the namespaces of each kind. Everything on a page goes through it.

use std::collections::{BTreeMap, BTreeSet};

/// The kinds of which a page shows objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Job,
    Machine,
    License,
    Match,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Job, Kind::Machine, Kind::License, Kind::Match];

    /// The kind of this name, as members of a gang have it.
    pub(crate) fn of(name: &str) -> Option<Kind> {
        match name {
            "Job" => Some(Kind::Job),
            "Machine" => Some(Kind::Machine),
            "License" => Some(Kind::License),
            "Match" => Some(Kind::Match),
            _ => None,
        }
    }

    /// The resource in requests.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Kind::Job => "jobs",
            Kind::Machine => "machines",
            Kind::License => "licenses",
            Kind::Match => "matches",
        }
    }
}

/// The namespaces in which a viewer may list a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// All of them: the viewer may list the kind in the whole cluster.
    Everywhere,
    /// These.
    In(BTreeSet<String>),
}

impl Default for Allowed {
    fn default() -> Allowed {
        Allowed::In(BTreeSet::new())
    }
}

/// What a viewer may list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) allowed: BTreeMap<Kind, Allowed>,
    /// More namespaces have objects than were asked about: the viewer has to name the others.
    pub(crate) is_partial: bool,
}

impl Sight {
    /// Whether the viewer may list a kind in a namespace.
    pub(crate) fn sees(&self, kind: Kind, namespace: &str) -> bool {
        match self.allowed.get(&kind) {
            Some(Allowed::Everywhere) => true,
            Some(Allowed::In(namespaces)) => namespaces.contains(namespace),
            None => false,
        }
    }

    /// Adds what is allowed besides.
    pub(crate) fn add(&mut self, more: Sight) {
        self.is_partial |= more.is_partial;
        for (kind, allowed) in more.allowed {
            match (self.allowed.entry(kind).or_default(), allowed) {
                (Allowed::In(known), Allowed::In(namespaces)) => known.extend(namespaces),
                (known, Allowed::Everywhere) => *known = Allowed::Everywhere,
                (Allowed::Everywhere, _) => {}
            }
        }
    }

    /// Whether the viewer may list a kind anywhere.
    pub(crate) fn sees_some(&self, kind: Kind) -> bool {
        match self.allowed.get(&kind) {
            Some(Allowed::Everywhere) => true,
            Some(Allowed::In(namespaces)) => !namespaces.is_empty(),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_seen_that_was_not_allowed() {
        let mut sight = Sight::default();
        assert!(!sight.sees_some(Kind::Job) && !sight.sees(Kind::Job, "a"));
        sight.allowed.insert(Kind::Job, Allowed::In(BTreeSet::from(["a".to_owned()])));
        sight.allowed.insert(Kind::Machine, Allowed::Everywhere);
        assert!(sight.sees(Kind::Job, "a") && !sight.sees(Kind::Job, "b") && !sight.sees(Kind::Match, "a"));
        assert!(sight.sees(Kind::Machine, "b") && sight.sees_some(Kind::Machine));
        let in_b = Allowed::In(BTreeSet::from(["b".to_owned()]));
        let allowed = [Kind::Job, Kind::Machine].map(|kind| (kind, in_b.clone())).into();
        sight.add(Sight { allowed, is_partial: false });
        assert!(sight.sees(Kind::Job, "a") && sight.sees(Kind::Job, "b") && sight.sees(Kind::Machine, "c"));
    }
}
