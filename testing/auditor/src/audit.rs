//! One revision after the other into violations and figures.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::Decision;

use crate::world::decision;
use crate::{Change, Object, ObjectKind, Past, Step, Violation, World, checks};

/// How much was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Revisions of objects of ours.
    pub revisions: usize,
    /// The same, by kind.
    pub by_kind: BTreeMap<&'static str, usize>,
    /// Claims that were committed.
    pub committed: usize,
    /// Claims that were aborted.
    pub aborted: usize,
    /// Claims that ended after they had stood.
    pub released: usize,
}

/// The state of an audit: what is there, what was, and what was broken.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    world: World,
    past: Past,
    violations: Vec<Violation>,
    figures: Figures,
    revision: i64,
}

impl Audit {
    /// Takes the next revision.
    pub fn take(&mut self, change: &Change) {
        self.revision = self.revision.max(change.revision);
        let before = self.world.apply(change);
        self.count(before.as_deref(), change);
        self.past.remember(before.as_deref(), change);
        let step = Step {
            revision: change.revision,
            key: &change.key,
            before: before.as_deref(),
            after: change.object.as_deref(),
            world: &self.world,
            past: &self.past,
        };
        self.violations.extend(checks::all(&step));
    }

    /// Notes what could not even be read.
    pub fn unreadable(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// What was broken so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How much was looked at so far.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The objects as they are now.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The last revision that was taken.
    #[must_use]
    pub fn revision(&self) -> i64 {
        self.revision
    }

    fn count(&mut self, before: Option<&Object>, change: &Change) {
        self.figures.revisions += 1;
        *self.figures.by_kind.entry(change.key.kind.name()).or_default() += 1;
        let said = |object: Option<&Object>| object.and_then(Object::found).map(decision);
        let after = said(change.object.as_deref());
        if change.key.kind != ObjectKind::Match || said(before) == after {
            return;
        }
        match after {
            Some(Decision::Committed) => self.figures.committed += 1,
            Some(Decision::Aborted) => self.figures.aborted += 1,
            Some(Decision::Released) => self.figures.released += 1,
            Some(Decision::Pending) | None => {}
        }
    }
}

impl FromIterator<Change> for Audit {
    fn from_iter<T: IntoIterator<Item = Change>>(changes: T) -> Audit {
        let mut audit = Audit::default();
        changes.into_iter().for_each(|change| audit.take(&change));
        audit
    }
}

impl Change {
    /// A state of an object.
    #[must_use]
    pub fn put(revision: i64, key: crate::Key, object: Object) -> Change {
        Change { revision, key, object: Some(Arc::new(object)) }
    }

    /// The end of an object.
    #[must_use]
    pub fn delete(revision: i64, key: crate::Key) -> Change {
        Change { revision, key, object: None }
    }
}
