//! Machines and licenses, treated alike: patched, read anew, listed; what comes back goes into the picture of the world.

use crds::{License, Machine, OfferKind};
use kube::core::NamespaceResourceScope;
use pool::{Lean, ObjectKey, Objects};

use crate::claims::drive::Driver;
use crate::claims::group::Offer;
use crate::claims::view::Leg;
use crate::write::answer::Answer;
use crate::write::requests::ObjectPatch;

impl Driver {
    /// Patches an offer of either kind and takes in what came back.
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

    /// Reads an offer as it is now.
    pub(super) async fn read_offer(&self, leg: &Leg) -> Answer<()> {
        if leg.kind == OfferKind::Machine.as_str() {
            self.read::<Machine>(&leg.key, |all, found| all.machines.put(found)).await
        } else {
            self.read::<License>(&leg.key, |all, found| all.licenses.put(found)).await
        }
    }

    /// Reads an object as it is now.
    pub(super) async fn read<K>(&self, key: &ObjectKey, put: impl FnOnce(&mut Objects, K)) -> Answer<()>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        self.cluster.get::<K>(key).await.map(|found| self.cache.update(|all| put(all, found)))
    }

    /// Lists all offers as they are now, not as a cache has them.
    pub(super) async fn list_offers(&self) -> Answer<()> {
        let machines = self.cluster.each::<Machine>(|one| self.cache.update(|all| all.machines.put(one))).await;
        let Answer::Done(()) = machines else { return machines };
        self.cluster.each::<License>(|one| self.cache.update(|all| all.licenses.put(one))).await
    }
}
