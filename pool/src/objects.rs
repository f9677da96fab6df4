//! All objects known now, by kind and key: what watch events and answers to writes have shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{AdKind, Job, License, Machine, MachineClass, Member, OfferKind};
use kube::ResourceExt;
use matchmaker::AdKey;

use crate::ads::Advertises;
use crate::agents::AgentLiveness;
use crate::budget::{Budget, Limits};
use crate::key::ObjectKey;
use crate::known_accounts::KnownAccounts;
use crate::known_namespaces::KnownNamespaces;
use crate::matches::Matches;
use crate::node::{NodeFacts, Nodes};
use crate::offer_ref::OfferRef;
use crate::store::{AdStore, OwnerTrust, is_newer};
use crate::workload_scope::WorkloadScope;
use crate::workloads::Workloads;

/// Everything known now: the cache of the controller, or the manifests of the offline tools.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// The jobs.
    pub jobs: AdStore<Job>,
    /// The machines.
    pub machines: AdStore<Machine>,
    /// The licenses.
    pub licenses: AdStore<License>,
    /// The Matches.
    pub matches: Matches,
    /// The labels of all namespaces.
    pub namespaces: KnownNamespaces,
    /// Batch Jobs, JobSets and pods.
    pub workloads: Workloads,
    /// The nodes; `None`: nodes are not watched, and `spec.nodeName` of a Machine is believed.
    pub nodes: Option<Arc<Nodes>>,
    /// The classes that make Machines of nodes, by name.
    pub classes: BTreeMap<String, Arc<MachineClass>>,
    /// The accounts, by name, and the PoolPolicy.
    pub accounts: KnownAccounts,
    /// What is known of the agents of offers, by kind and key of the offer. An agent that is not in it is not known yet.
    pub agents: Arc<BTreeMap<(OfferKind, ObjectKey), AgentLiveness>>,
    /// Namespaces whose offers are excluded for some time, but for their own jobs: they were too expensive to evaluate.
    pub costly_offers: BTreeSet<String>,
    /// The claims that are to be released for nominations, by the uids of their Matches, and what is said of it.
    pub preempted: BTreeMap<String, Preemptor>,
}

/// The job that a claim is released for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preemptor {
    /// The job.
    pub job: ObjectKey,
    /// What the job of the claim is told.
    pub message: String,
}

/// A kind whose objects are cached with their ads.
pub trait Stored: Advertises {
    /// The cached objects of this kind.
    fn store_mut(objects: &mut Objects) -> &mut AdStore<Self>;
}

impl Stored for Job {
    fn store_mut(objects: &mut Objects) -> &mut AdStore<Job> {
        &mut objects.jobs
    }
}

impl Stored for Machine {
    fn store_mut(objects: &mut Objects) -> &mut AdStore<Machine> {
        &mut objects.machines
    }
}

impl Stored for License {
    fn store_mut(objects: &mut Objects) -> &mut AdStore<License> {
        &mut objects.licenses
    }
}

impl Objects {
    /// An empty cache.
    pub fn new(owners: OwnerTrust) -> Objects {
        let mut objects = Objects::default();
        objects.jobs.owners = owners;
        objects.machines.owners = owners;
        objects.licenses.owners = owners;
        objects
    }

    /// With workloads in these namespaces only.
    #[must_use]
    pub fn with_workloads_in(mut self, scope: WorkloadScope) -> Objects {
        self.jobs.workload_scope = scope.clone();
        self.workloads.scope = scope;
        self
    }

    /// With so much memory for large ads, of each kind.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Objects {
        self.jobs.budget = Budget::within(limits);
        self.machines.budget = Budget::within(limits);
        self.licenses.budget = Budget::within(limits);
        self
    }

    /// Caches an object that has an ad, as [`AdStore::put`] does.
    pub fn put<K: Stored>(&mut self, object: K) {
        K::store_mut(self).put(object);
    }

    /// Caches a node as it was seen. Returns whether anything has changed.
    pub fn put_node(&mut self, node: NodeFacts) -> bool {
        let nodes = self.known_nodes();
        if nodes.get(&node.name).is_some_and(|held| **held == node) {
            return false;
        }
        Arc::make_mut(nodes).insert(node.name.clone(), Arc::new(node.clone()));
        self.machines.touch_node(&node.name);
        true
    }

    /// Caches a class as it was seen, unless a newer state of it is cached. Returns whether that changed anything.
    pub fn put_class(&mut self, class: MachineClass) -> bool {
        let known = self.classes.get(&class.name_any());
        if known.is_some_and(|known| is_newer(known.as_ref(), &class) || **known == class) {
            return false;
        }
        self.classes.insert(class.name_any(), Arc::new(class));
        true
    }

    /// Caches the answer to a write, unless the class has been deleted since.
    pub fn wrote_class(&mut self, class: MachineClass) {
        if self.classes.get(&class.name_any()).is_some_and(|known| known.uid() == class.uid()) {
            self.put_class(class);
        }
    }

    /// Removes a node.
    pub fn remove_node(&mut self, name: &str) {
        if let Some(nodes) = self.nodes.as_mut().filter(|nodes| nodes.contains_key(name)) {
            Arc::make_mut(nodes).remove(name);
            self.machines.touch_node(name);
        }
    }

    /// Removes all nodes but those whose names `keep` accepts. From the first call on, a Machine needs its node to exist.
    pub fn retain_nodes(&mut self, keep: impl Fn(&str) -> bool) {
        let gone: Vec<String> = self.known_nodes().keys().filter(|name| !keep(name)).cloned().collect();
        gone.iter().for_each(|name| self.remove_node(name));
    }

    /// The nodes. From the first call on, `spec.nodeName` of a Machine is checked against them.
    fn known_nodes(&mut self) -> &mut Arc<Nodes> {
        if self.nodes.is_none() {
            self.machines.touch_all_nodes();
        }
        self.nodes.get_or_insert_default()
    }

    /// Replaces what is known of all agents. Returns whether that changed anything.
    pub fn apply_agents(&mut self, lives: BTreeMap<(OfferKind, ObjectKey), AgentLiveness>) -> bool {
        if *self.agents == lives {
            return false;
        }
        let before = std::mem::replace(&mut self.agents, Arc::new(lives));
        let now = self.agents.clone();
        let differs = |(name, life): &(&(OfferKind, ObjectKey), &AgentLiveness)| before.get(*name) != Some(*life);
        let gone = before.iter().filter(|(name, _)| !now.contains_key(*name));
        for ((kind, key), _) in now.iter().filter(differs).chain(gone) {
            match kind {
                OfferKind::Machine => self.machines.touch(key.clone()),
                OfferKind::License => self.licenses.touch(key.clone()),
            }
        }
        true
    }

    /// Replaces the namespaces whose offers are excluded for some time.
    pub fn apply_costly_offers(&mut self, namespaces: BTreeSet<String>) {
        if self.costly_offers == namespaces {
            return;
        }
        let before = std::mem::replace(&mut self.costly_offers, namespaces);
        for namespace in before.symmetric_difference(&self.costly_offers) {
            self.machines.touch_namespace(namespace);
            self.licenses.touch_namespace(namespace);
        }
    }

    /// Copies an object from another cache, if this one does not have it.
    pub fn copy_missing(&mut self, kind: AdKind, key: &ObjectKey, from: &Objects) {
        match kind {
            AdKind::Job => self.jobs.copy_missing(key, &from.jobs),
            AdKind::Offer(OfferKind::Machine) => self.machines.copy_missing(key, &from.machines),
            AdKind::Offer(OfferKind::License) => self.licenses.copy_missing(key, &from.licenses),
        }
    }

    /// The offer of this kind and key; `None` for the name of a kind that is not a kind of offers.
    pub fn offer(&self, kind: impl TryInto<OfferKind>, key: &ObjectKey) -> Option<OfferRef<'_>> {
        match kind.try_into().ok()? {
            OfferKind::Machine => self.machines.get(key).map(OfferRef::from),
            OfferKind::License => self.licenses.get(key).map(OfferRef::from),
        }
    }

    /// The offer that a member of a Match names.
    pub fn offer_of(&self, member: &Member) -> Option<OfferRef<'_>> {
        self.offer(&member.kind, &ObjectKey::new(&member.namespace, &member.name))
    }

    /// The job that a member of a Match names; `None` if it was deleted, even if there is another one of this name.
    pub fn job_of(&self, member: &Member) -> Option<&Job> {
        let held = self.jobs.get(&ObjectKey::new(&member.namespace, &member.name))?;
        Some(held.object.as_ref()).filter(|job| job.metadata.uid.as_deref().unwrap_or_default() == member.uid)
    }

    /// Whether the ledger of the offer that a member of a Match names has the entry of this claim.
    pub fn has_entry(&self, member: &Member, uid: &str) -> bool {
        self.offer_of(member).is_some_and(|offer| offer.entry(uid).is_some())
    }

    /// The offer of an ad of the engine.
    pub fn offer_at(&self, ad: &AdKey) -> Option<OfferRef<'_>> {
        self.offer(&ad.kind, &ObjectKey::new(&ad.namespace, &ad.name))
    }

    /// What is known of the agent of the offer of this kind and key.
    pub fn agent(&self, kind: OfferKind, key: &ObjectKey) -> AgentLiveness {
        if self.agents.is_empty() {
            return AgentLiveness::default();
        }
        self.agents.get(&(kind, key.clone())).copied().unwrap_or_default()
    }

    /// All offers, machines first, by key.
    pub fn offers(&self) -> impl Iterator<Item = OfferRef<'_>> {
        let machines = self.machines.iter().map(|(_, held)| OfferRef::from(held));
        machines.chain(self.licenses.iter().map(|(_, held)| OfferRef::from(held)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn class(uid: &str, version: &str) -> MachineClass {
        let mut class = MachineClass::new(
            "c",
            serde_json::from_value(json!({"namespace": "grid", "selector": {}, "capacity": {}})).unwrap(),
        );
        (class.metadata.uid, class.metadata.resource_version) = (Some(uid.to_owned()), Some(version.to_owned()));
        class
    }

    #[test]
    fn no_answer_that_comes_late_brings_a_class_back_or_makes_it_older() {
        let mut all = Objects::default();
        assert!(all.put_class(class("u", "2")));
        assert!(!all.put_class(class("u", "1")) && !all.put_class(class("u", "2")));
        all.wrote_class(class("u", "3"));
        assert_eq!(all.classes["c"].metadata.resource_version.as_deref(), Some("3"));
        all.wrote_class(class("another", "4"));
        assert_eq!(all.classes["c"].metadata.uid.as_deref(), Some("u"));
        all.classes.clear();
        all.wrote_class(class("u", "5"));
        assert!(all.classes.is_empty());
    }
}
