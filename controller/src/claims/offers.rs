//! Objects of claims at the server: patched, read, listed; what comes back goes into the cache. Machines and licenses are treated
//! alike.

use claiming::Decision;
use crds::{Job, License, Machine, Match, OfferKind, OfferStatus};
use kube::core::NamespaceResourceScope;
use pool::{Lean, ObjectKey, Objects, WorkObject};

use crate::claims::view::{Leg, View, decision_of};
use crate::context::Context;
use crate::write::answer::Answer;
use crate::write::requests::ObjectPatch;

/// An offer as a write has left it.
#[derive(Clone, Debug)]
pub(super) enum Offer {
    Machine(Machine),
    License(License),
}

impl Offer {
    /// Puts it among these objects.
    pub(super) fn put_into(self, objects: &mut Objects) {
        match self {
            Offer::Machine(machine) => objects.machines.put(machine),
            Offer::License(license) => objects.licenses.put(license),
        }
    }

    fn status(&self) -> Option<&OfferStatus> {
        match self {
            Offer::Machine(machine) => machine.status.as_ref(),
            Offer::License(license) => license.status.as_ref(),
        }
    }

    /// Whether its ledger has an entry of a claim.
    pub(super) fn has_entry(&self, uid: &str) -> bool {
        self.status().is_some_and(|status| status.claims.contains_key(uid))
    }
}

impl Context {
    /// Patches an offer of either kind.
    pub(super) async fn patch_offer(&self, leg: &Leg, patch: &ObjectPatch) -> Answer<Offer> {
        if leg.kind == OfferKind::Machine.as_str() {
            let answer = self.cluster.patch_status::<Machine>(&leg.key, patch).await;
            answer.map(|machine| {
                self.cache.update(|all| all.machines.put(machine.clone()));
                Offer::Machine(machine)
            })
        } else {
            let answer = self.cluster.patch_status::<License>(&leg.key, patch).await;
            answer.map(|license| {
                self.cache.update(|all| all.licenses.put(license.clone()));
                Offer::License(license)
            })
        }
    }

    /// Reads an offer at the server.
    pub(super) async fn read_offer(&self, leg: &Leg) -> Answer<()> {
        if leg.kind == OfferKind::Machine.as_str() {
            self.read::<Machine>(&leg.key, |all, found| all.machines.put(found)).await
        } else {
            self.read::<License>(&leg.key, |all, found| all.licenses.put(found)).await
        }
    }

    /// Reads a job at the server.
    pub(super) async fn read_job(&self, key: &ObjectKey) -> Answer<()> {
        self.read::<Job>(key, |all, job| all.jobs.put(job)).await
    }

    /// Reads a Match at the server.
    pub(super) async fn read_match(&self, key: &ObjectKey) -> Answer<Match> {
        let answer = self.cluster.get::<Match>(key).await;
        answer.map(|found| {
            self.cache.update(|all| all.put_match(found.clone()));
            found
        })
    }

    /// Whether the server says that a claim stands.
    pub(super) async fn stands(&self, view: &View) -> bool {
        let Answer::Done(found) = self.read_match(&view.key).await else { return false };
        found.metadata.uid.as_deref() == Some(view.uid.as_str()) && decision_of(&found) == Decision::Committed
    }

    /// Reads an object at the server.
    async fn read<K>(&self, key: &ObjectKey, put: impl FnOnce(&mut Objects, K)) -> Answer<()>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        self.cluster.get::<K>(key).await.map(|found| self.cache.update(|all| put(all, found)))
    }

    /// Lists all offers at the server.
    pub(super) async fn list_offers(&self) -> Answer<()> {
        let machines = self.cluster.each::<Machine>(|one| self.cache.update(|all| all.machines.put(one))).await;
        let Answer::Done(()) = machines else { return machines };
        self.cluster.each::<License>(|one| self.cache.update(|all| all.licenses.put(one))).await
    }

    /// Puts a workload into the cache.
    pub(super) fn learn_work(&self, work: WorkObject) {
        self.cache.update(|all| {
            all.works.put(work);
        });
    }
}
