//! Requests about the objects of claims: what the server returns goes into the cache. Machines and Licenses are treated alike.

use claiming::Decision;
use crds::{Job, License, Machine, Match, OfferKind};
use pool::{ObjectKey, Objects, WorkloadObject};

use crate::claims::view::{Leg, View, decision_of};
use crate::context::Context;
use crate::write::answer::Answer;
use crate::write::requests::ObjectPatch;

/// A member of a claim, as a write has returned it.
#[derive(Clone, Debug)]
pub(super) enum Member {
    Job(Box<Job>),
    Machine(Box<Machine>),
    License(Box<License>),
}

impl Member {
    /// Caches it among these objects.
    pub(super) fn put_into(self, objects: &mut Objects) {
        match self {
            Member::Job(job) => objects.put(*job),
            Member::Machine(machine) => objects.put(*machine),
            Member::License(license) => objects.put(*license),
        }
    }

    /// Whether its ledger has an entry of the claim of the Match with this uid.
    pub(super) fn has_entry(&self, uid: &str) -> bool {
        let status = match self {
            Member::Job(_) => None,
            Member::Machine(machine) => machine.status.as_ref(),
            Member::License(license) => license.status.as_ref(),
        };
        status.is_some_and(|status| status.claims.contains_key(uid))
    }
}

impl Context {
    /// Patches the status of an offer.
    pub(super) async fn patch_offer(&self, leg: &Leg, patch: &ObjectPatch) -> Answer<Member> {
        let key = &leg.key;
        match leg.kind {
            OfferKind::Machine => {
                self.patch_status::<Machine>(key, patch).await.map(|found| Member::Machine(found.into()))
            }
            OfferKind::License => {
                self.patch_status::<License>(key, patch).await.map(|found| Member::License(found.into()))
            }
        }
    }

    /// Reads an offer at the server.
    pub(super) async fn read_offer(&self, kind: OfferKind, key: &ObjectKey) -> Answer<()> {
        match kind {
            OfferKind::Machine => self.read::<Machine>(key).await,
            OfferKind::License => self.read::<License>(key).await,
        }
    }

    /// Reads a Match at the server.
    pub(super) async fn read_match(&self, key: &ObjectKey) -> Answer<Match> {
        self.cluster.get::<Match>(key).await.inspect(|found| self.cache.update(|all| all.matches.put(found.clone())))
    }

    /// Whether the server says that a claim is committed.
    pub(super) async fn is_committed(&self, view: &View) -> bool {
        let Answer::Done(found) = self.read_match(&view.key).await else { return false };
        found.metadata.uid.as_deref() == Some(view.uid.as_str()) && decision_of(&found) == Decision::Committed
    }

    /// Lists all offers at the server.
    pub(super) async fn list_offers(&self) -> Answer<()> {
        let machines = self.cluster.each::<Machine>(|one| self.cache.update(|all| all.put(one))).await;
        let Answer::Done(()) = machines else { return machines };
        self.cluster.each::<License>(|one| self.cache.update(|all| all.put(one))).await
    }

    /// Caches a workload.
    pub(super) fn learn_work(&self, work: WorkloadObject) {
        self.cache.update(|all| {
            all.workloads.put(work);
        });
    }
}
