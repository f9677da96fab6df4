//! Which objects have changed since the last call: only these have to be looked at again.

use std::collections::BTreeSet;

use crds::{OfferKind, WorkKind};

use crate::key::ObjectKey;
use crate::objects::Objects;

/// The objects that have changed. One that is listed may be as it was; one that is not listed is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Jobs.
    pub jobs: BTreeSet<ObjectKey>,
    /// Machines: the objects, the liveness of their agents, or their nodes.
    pub machines: BTreeSet<ObjectKey>,
    /// Licenses: the objects, or the liveness of their agents.
    pub licenses: BTreeSet<ObjectKey>,
    /// Matches.
    pub matches: BTreeSet<ObjectKey>,
    /// Uids of jobs whose Matches have changed.
    pub roots: BTreeSet<String>,
    /// Workloads, by kind and key.
    pub workloads: BTreeSet<(WorkKind, ObjectKey)>,
    /// Uids of Matches whose workloads or pods have changed.
    pub worked: BTreeSet<String>,
    /// Whether labels of namespaces have changed, on which every offer may depend.
    pub namespaces: bool,
    /// Whether accounts or the PoolPolicy have changed, other than in their status.
    pub policy: bool,
    /// The names of accounts that have changed, be it their status only.
    pub accounts: BTreeSet<String>,
    /// Whether a cycle could come to something else than before: more than the reports on jobs, or their workloads, has changed.
    pub changes_cycle: bool,
}

impl Changes {
    /// Whether nothing has changed.
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
    /// All objects, as if each had changed.
    pub fn everything(&self) -> Changes {
        Changes {
            jobs: self.jobs.iter().map(|(key, _)| key.clone()).collect(),
            machines: self.machines.iter().map(|(key, _)| key.clone()).collect(),
            licenses: self.licenses.iter().map(|(key, _)| key.clone()).collect(),
            matches: self.matches.keys().cloned().collect(),
            roots: BTreeSet::new(),
            workloads: BTreeSet::new(),
            worked: self.workloads.labelled().map(|(uid, _)| uid.to_owned()).collect(),
            namespaces: true,
            policy: true,
            accounts: self.accounts.keys().cloned().collect(),
            changes_cycle: true,
        }
    }

    /// What has changed since this was called last.
    pub fn take_changes(&mut self) -> Changes {
        self.forget_freed();
        let (matches, roots) = self.matches.take_changes();
        let (workloads, worked) = self.workloads.take_changes();
        let (jobs, by_jobs) = self.jobs.take_changes();
        let (machines, by_machines) = self.machines.take_changes();
        let (licenses, by_licenses) = self.licenses.take_changes();
        let namespaces = self.namespaces.take_changed();
        let (policy, accounts) = self.accounts.take_changes();
        let changes_cycle = by_jobs || by_machines || by_licenses || namespaces || policy || !matches.is_empty();
        Changes {
            jobs,
            machines,
            licenses,
            matches,
            roots,
            workloads,
            worked,
            namespaces,
            policy,
            accounts,
            changes_cycle,
        }
    }
}
