//! What a node has, what a job wants, and what the nodes of a subtree have at most.

use std::collections::BTreeSet;

/// The resources that have sizes, in the order of [`Sizes`].
pub const RESOURCES: [&str; 3] = ["cpu", "memory", "disk"];

/// An amount of each resource, in units of its own.
pub type Sizes = [f64; RESOURCES.len()];

/// What a node has.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// How much it has of each resource. The speed of its CPU decides how long a job runs on it.
    pub sizes: Sizes,
    /// Its operating system, where nodes have different ones.
    pub system: Option<Box<str>>,
}

impl Spec {
    /// A node without an operating system to tell it from others by.
    #[must_use]
    pub fn new(sizes: Sizes) -> Spec {
        Spec { sizes, system: None }
    }
}

/// What a job wants of one node, all of it at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Want {
    /// The least of each resource; 0 is any.
    pub sizes: Sizes,
    /// The operating system; none is any.
    pub system: Option<Box<str>>,
}

impl Want {
    /// A job that runs on any operating system.
    #[must_use]
    pub fn new(sizes: Sizes) -> Want {
        Want { sizes, system: None }
    }

    /// Whether a node can run the job.
    #[must_use]
    pub fn is_met_by(&self, spec: &Spec) -> bool {
        suffice(&spec.sizes, &self.sizes) && (self.system.is_none() || self.system == spec.system)
    }

    /// How many of the sizes it limits.
    #[must_use]
    pub fn constraints(&self) -> usize {
        self.sizes.iter().filter(|size| **size > 0.0).count()
    }
}

/// What the nodes of a subtree have at most, resource by resource (the paper's *Aggregated Maximum Available Resources*, section 4.2). It
/// speaks of what nodes are, not of how busy they are.
///
/// The maxima may come from different nodes, so an aggregate that meets a request proves nothing; one that does not meet it proves that
/// no node below does.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The largest size of each resource.
    pub sizes: Sizes,
    /// Every operating system there is. (The paper only says that discrete resources are modelled.)
    pub systems: BTreeSet<Box<str>>,
}

impl Aggregate {
    /// That of one node alone.
    #[must_use]
    pub fn of(spec: &Spec) -> Aggregate {
        Aggregate { sizes: spec.sizes, systems: spec.system.iter().cloned().collect() }
    }

    /// Adds another subtree.
    pub fn merge(&mut self, other: &Aggregate) {
        for (own, others) in self.sizes.iter_mut().zip(other.sizes) {
            *own = own.max(others);
        }
        self.systems.extend(other.systems.iter().cloned());
    }

    /// Whether some node below may meet a request.
    #[must_use]
    pub fn may_meet(&self, want: &Want) -> bool {
        suffice(&self.sizes, &want.sizes) && want.system.as_ref().is_none_or(|system| self.systems.contains(system))
    }
}

fn suffice(have: &Sizes, want: &Sizes) -> bool {
    have.iter().zip(want).all(|(have, want)| have >= want)
}
