//! Which objects are not what they were when somebody looked last: so that he need not look at all the others.

use std::collections::BTreeSet;

use crds::{OfferKind, WorkKind};

use crate::key::ObjectKey;
use crate::objects::Objects;

/// What has changed. An object that is said to have changed may be what it was; one that is not named is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Jobs.
    pub jobs: BTreeSet<ObjectKey>,
    /// Machines: they themselves, their agents' signs of life, or the nodes that they are.
    pub machines: BTreeSet<ObjectKey>,
    /// Licenses: they themselves, or their agents' signs of life.
    pub licenses: BTreeSet<ObjectKey>,
    /// Matches.
    pub matches: BTreeSet<ObjectKey>,
    /// Uids of jobs whose Matches have changed.
    pub roots: BTreeSet<String>,
    /// Workloads: kind and key.
    pub works: BTreeSet<(WorkKind, ObjectKey)>,
    /// Uids of Matches whose workloads or pods have changed.
    pub worked: BTreeSet<String>,
    /// Labels of namespaces, on which anything may depend.
    pub namespaces: bool,
}

impl Changes {
    /// Whether everything is what it was.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// The offers among them: kind and key.
    pub fn offers(&self) -> impl Iterator<Item = (OfferKind, &ObjectKey)> {
        let machines = self.machines.iter().map(|key| (OfferKind::Machine, key));
        machines.chain(self.licenses.iter().map(|key| (OfferKind::License, key)))
    }
}

impl Objects {
    /// Everything, as if all of it had changed.
    pub fn everything(&self) -> Changes {
        Changes {
            jobs: self.jobs.iter().map(|(key, _)| key.clone()).collect(),
            machines: self.machines.iter().map(|(key, _)| key.clone()).collect(),
            licenses: self.licenses.iter().map(|(key, _)| key.clone()).collect(),
            matches: self.matches.keys().cloned().collect(),
            roots: BTreeSet::new(),
            works: BTreeSet::new(),
            worked: self.works.labelled().map(|(uid, _)| uid.to_owned()).collect(),
            namespaces: true,
        }
    }

    /// What has changed since this was asked last.
    pub fn take_changes(&mut self) -> Changes {
        let (matches, roots) = self.matches.take_changes();
        let (works, worked) = self.works.take_changes();
        Changes {
            jobs: self.jobs.take_changes(),
            machines: self.machines.take_changes(),
            licenses: self.licenses.take_changes(),
            matches,
            roots,
            works,
            worked,
            namespaces: std::mem::take(&mut self.namespaces_changed),
        }
    }
}
