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
    }
}
