//! All objects known now, by kind and key: what watch events and answers to writes have shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{Account, AdKind, Job, License, Machine, MachineClass, Match, Member, OfferKind, POOL_POLICY, PoolPolicy};
use kube::ResourceExt;
use matchmaker::AdKey;

use crate::account_index::AccountIndex;
use crate::ads::Advertises;
use crate::agents::AgentLiveness;
use crate::budget::{Budget, Limits};
use crate::key::ObjectKey;
use crate::known_policy::KnownPolicy;
use crate::matches::Matches;
use crate::node::{NodeFacts, Nodes};
use crate::offer_ref::OfferRef;
use crate::store::{AdStore, OwnerTrust, Tombstones, is_newer};
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
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// Batch Jobs, JobSets and pods.
    pub workloads: Workloads,
    /// The nodes; `None`: nodes are not watched, and `spec.nodeName` of a Machine is believed.
    pub nodes: Option<Arc<Nodes>>,
    /// The classes that make Machines of nodes, by name.
    pub classes: BTreeMap<String, Arc<MachineClass>>,
    /// The accounts, by name.
    pub accounts: BTreeMap<String, Arc<Account>>,
    pub(crate) account_index: AccountIndex,
    /// The PoolPolicy, and what counts of it.
    pub pool_policy: Option<KnownPolicy>,
    /// What is known of the agents of offers, by kind and key of the offer. An agent that is not in it is not known yet.
    pub agents: Arc<BTreeMap<(OfferKind, ObjectKey), AgentLiveness>>,
    /// Namespaces whose offers are excluded for some time, but for their own jobs: they were too expensive to evaluate.
    pub costly_offers: BTreeSet<String>,
    /// The claims that are to be released for nominations, by the uids of their Matches, and what is said of it.
    pub preempted: BTreeMap<String, Preemptor>,
    pub(crate) namespaces_changed: bool,
    /// Whether what accounts are and may have has changed.
    pub(crate) policy_changed: bool,
    /// The names of accounts that have changed, be it their status only.
    pub(crate) accounts_changed: BTreeSet<String>,
    deleted: Tombstones,
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

    /// Caches a Match as it was seen, unless the cached one is newer.
    pub fn put_match(&mut self, object: Match) {
        self.apply_match(object);
    }

    /// The same; returns whether that changed anything.
    pub fn apply_match(&mut self, mut object: Match) -> bool {
        object.metadata.managed_fields = None;
        // They are for people, and nothing here reads them.
        object.spec.members.iter_mut().for_each(|member| member.values.clear());
        let key = ObjectKey::of(&object);
        let held = self.matches.get(&key);
        let known = held.is_some_and(|held| is_newer(held.as_ref(), &object) || **held == object);
        if known || self.deleted.contains(&object) {
            return false;
        }
        self.matches.put(key, object);
        true
    }

    /// Caches the labels of a namespace; `None`: there is no such namespace. Returns whether that changed anything.
    pub fn apply_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) -> bool {
        let before = match labels.clone() {
            Some(labels) => self.namespaces.insert(name.to_owned(), labels),
            None => self.namespaces.remove(name),
        };
        let is_new = before != labels;
        self.namespaces_changed |= is_new;
        is_new
    }

    /// Caches an Account as it was seen. Returns whether that changed anything.
    pub fn apply_account(&mut self, mut account: Account) -> bool {
        account.metadata.managed_fields = None;
        let known = self.accounts.get(&account.name_any());
        if known.is_some_and(|known| is_newer(known.as_ref(), &account) || **known == account)
            || self.deleted.contains(&account)
        {
            return false;
        }
        self.policy_changed |= known.is_none_or(|known| {
            known.spec != account.spec || known.uid() != account.uid() || known.made_for() != account.made_for()
        });
        if let Some(before) = self.accounts.remove(&account.name_any()) {
            self.account_index.remove(&before);
        }
        self.account_index.add(&account);
        self.accounts_changed.insert(account.name_any());
        self.accounts.insert(account.name_any(), Arc::new(account));
        true
    }

    /// Removes an Account.
    pub fn remove_account(&mut self, name: &str) {
        if let Some(account) = self.accounts.remove(name) {
            self.account_index.remove(&account);
            self.policy_changed = true;
        }
        self.accounts_changed.insert(name.to_owned());
    }

    /// Removes an Account that was deleted; an older state of it that arrives late does not bring it back.
    pub fn delete_account(&mut self, account: &Account) {
        self.deleted.add(account);
        let name = account.name_any();
        if self.accounts.get(&name).is_some_and(|known| known.uid() == account.uid()) {
            self.remove_account(&name);
        }
    }

    /// Removes all Accounts but those whose names `keep` accepts.
    pub fn retain_accounts(&mut self, keep: impl Fn(&str) -> bool) {
        let gone: Vec<String> = self.accounts.keys().filter(|name| !keep(name)).cloned().collect();
        gone.iter().for_each(|name| self.remove_account(name));
    }

    /// Caches the PoolPolicy as it was seen. Returns whether that changed anything.
    pub fn apply_pool_policy(&mut self, mut policy: PoolPolicy) -> bool {
        policy.metadata.managed_fields = None;
        let known = self.pool_policy.as_ref();
        if policy.name_any() != POOL_POLICY
            || known.is_some_and(|known| is_newer(known.object.as_ref(), &policy) || *known.object == policy)
        {
            return false;
        }
        self.policy_changed |= known.is_none_or(|known| known.object.spec != policy.spec);
        self.pool_policy = Some(KnownPolicy::of(policy, known));
        true
    }

    /// Removes the PoolPolicy.
    pub fn remove_pool_policy(&mut self) {
        self.policy_changed |= self.pool_policy.take().is_some();
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

    /// Removes a Match that was deleted, as [`AdStore::delete`] does.
    pub fn delete_match(&mut self, object: &Match) {
        let key = ObjectKey::of(object);
        if self.matches.get(&key).is_some_and(|held| held.uid() == object.uid()) {
            self.matches.remove(&key);
        }
        self.deleted.add(object);
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
