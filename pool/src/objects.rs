//! All objects known now, by kind and key: what watch events and answers to writes have shown.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crds::ad::Rejected;
use crds::conditions::reasons;
use crds::{
    AdKind, Job, License, Machine, MachineClass, Match, Member, Offer, OfferFields, OfferKind, OfferStatus, Res,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use matchmaker::AdKey;

use crate::ads::{Advertises, Prepared, prepare};
use crate::agents::Life;
use crate::budget::{Budget, Granted, Limits, weight};
use crate::key::ObjectKey;
use crate::matches::Matches;
use crate::node::Nodes;
use crate::reach::Reach;
use crate::works::Works;

/// One object with its ad.
#[derive(Clone, Debug)]
pub struct Held<K> {
    /// The object.
    pub object: Arc<K>,
    /// Its ad, or why it has none.
    pub ad: Result<Arc<Prepared>, Rejected>,
}

/// Who vouches for `spec.owner`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnerTrust {
    /// The API server stamps it.
    #[default]
    Stamped,
    /// Nobody: it is taken out of every object, and `Owner` is undefined.
    None,
}

/// The objects of one kind.
#[derive(Clone, Debug)]
pub struct AdStore<K> {
    held: BTreeMap<ObjectKey, Held<K>>,
    /// Keys by the node that they are.
    by_node: BTreeMap<String, BTreeSet<ObjectKey>>,
    by_uid: BTreeMap<String, ObjectKey>,
    /// Those that have changed since somebody asked.
    changed: BTreeSet<ObjectKey>,
    deleted: Tombstones,
    owners: OwnerTrust,
    reach: Reach,
    budget: Budget,
}

impl<K> Default for AdStore<K> {
    fn default() -> Self {
        AdStore {
            held: BTreeMap::new(),
            by_node: BTreeMap::new(),
            by_uid: BTreeMap::new(),
            changed: BTreeSet::new(),
            deleted: Tombstones::default(),
            owners: OwnerTrust::default(),
            reach: Reach::default(),
            budget: Budget::default(),
        }
    }
}

impl<K> Held<K> {
    /// Whether only the object's bare bones are kept, since there is no room for the rest.
    pub fn is_stripped(&self) -> bool {
        let reason = self.ad.as_ref().err().map(|rejected| rejected.reason);
        matches!(reason, Some(reasons::AD_TOO_LARGE | reasons::NAMESPACE_OVER_BUDGET))
    }
}

impl<K: Advertises + Clone> AdStore<K> {
    /// Takes in an object as it was seen, unless what is held is newer. The ad is made anew only if it changed.
    pub fn put(&mut self, object: K) {
        self.take_in(object);
    }

    /// The same. Whether that was new: what was written comes back by watch. Who has managed which field is not kept.
    pub fn take_in(&mut self, mut object: K) -> bool {
        if self.owners == OwnerTrust::None {
            object.disown();
        }
        object.meta_mut().managed_fields = None;
        let key = ObjectKey::of(&object);
        let held = self.held.get(&key);
        let is_same = |held: &Held<K>| !held.is_stripped() && *held.object == object;
        let known = held.is_some_and(|held| is_newer(held.object.as_ref(), &object) || is_same(held));
        if known || self.deleted.holds(&object) {
            return false;
        }
        let ad = match held.filter(|held| !held.is_stripped() && held.object.same_ad(&object)) {
            Some(held) => held.ad.clone(),
            None => self.admit(&key, &mut object),
        };
        self.forget(&key);
        if let Some(node) = object.node() {
            self.by_node.entry(node.to_owned()).or_default().insert(key.clone());
            self.changed.extend(self.by_node.get(node).into_iter().flatten().cloned());
        }
        if let Some(uid) = object.meta().uid.clone() {
            self.by_uid.insert(uid, key.clone());
        }
        self.changed.insert(key.clone());
        self.held.insert(key, Held { object: Arc::new(object), ad });
        true
    }

    /// Its ad, if there is room for it; else the object loses what takes room.
    fn admit(&mut self, key: &ObjectKey, object: &mut K) -> Result<Arc<Prepared>, Rejected> {
        let size = object.size();
        if let Err(rejected) = size.check() {
            self.budget.release(key);
            object.strip();
            return Err(rejected);
        }
        let born = object.meta().creation_timestamp.as_ref().map_or(i64::MAX, |time| time.0.as_second());
        let Granted { evicted, refusal } = self.budget.request(key, born, weight(size));
        for other in evicted {
            self.put_out(&other);
        }
        if let Some(refusal) = refusal {
            object.strip();
            return Err(refusal);
        }
        self.introduce(object)
    }

    /// An object loses its ad to others for which there is no other room.
    fn put_out(&mut self, key: &ObjectKey) {
        let Some(held) = self.held.get_mut(key) else { return };
        let message = "spec: this large ad has made room for older ones, or for those of namespaces that have fewer: make it smaller, \
                       or delete some of the others; it is looked at again when there is room";
        Arc::make_mut(&mut held.object).strip();
        held.ad = Err(Rejected::new(reasons::NAMESPACE_OVER_BUDGET, message));
        self.changed.insert(key.clone());
    }

    /// Those of which only the bare bones are kept, and for which there is room by now: they are to be read once more.
    pub fn fitting(&mut self, most: usize) -> Vec<ObjectKey> {
        self.budget.fitting(most)
    }

    /// Its ad; none if what it wants cannot be had where it is.
    /// Who says whose an object is.
    pub fn owners(&self) -> OwnerTrust {
        self.owners
    }

    fn introduce(&self, object: &K) -> Result<Arc<Prepared>, Rejected> {
        let namespace = object.namespace().unwrap_or_default();
        let refusal = object.wants_work().then(|| self.reach.refusal(&namespace)).flatten();
        refusal.map_or_else(|| prepare(object).map(Arc::new), Err)
    }

    /// Takes an object out of the indexes. Others that are the same node are not what they were, either.
    fn forget(&mut self, key: &ObjectKey) {
        let Some(held) = self.held.get(key) else { return };
        if let Some(uid) = &held.object.meta().uid
            && self.by_uid.get(uid) == Some(key)
        {
            self.by_uid.remove(uid);
        }
        let Some(node) = held.object.node() else { return };
        if let Some(keys) = self.by_node.get_mut(node) {
            self.changed.extend(keys.iter().cloned());
            keys.remove(key);
            if keys.is_empty() {
                self.by_node.remove(node);
            }
        }
    }

    /// The objects that are this node have changed: it has.
    pub(crate) fn touch_node(&mut self, node: &str) {
        self.changed.extend(self.by_node.get(node).into_iter().flatten().cloned());
    }

    pub(crate) fn touch_all_nodes(&mut self) {
        self.changed.extend(self.by_node.values().flatten().cloned());
    }

    /// Something about this object has changed that is not in it.
    pub(crate) fn touch(&mut self, key: ObjectKey) {
        self.changed.insert(key);
    }

    pub(crate) fn take_changes(&mut self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut self.changed)
    }

    /// The object with this uid.
    pub fn by_uid(&self, uid: &str) -> Option<(&ObjectKey, &Held<K>)> {
        self.held.get_key_value(self.by_uid.get(uid)?)
    }

    /// The objects that are this node.
    pub fn of_node(&self, node: &str) -> impl Iterator<Item = &Held<K>> {
        self.by_node.get(node).into_iter().flatten().filter_map(|key| self.held.get(key))
    }

    fn copy_missing(&mut self, key: &ObjectKey, from: &AdStore<K>) {
        if let (None, Some(held)) = (self.held.get(key), from.held.get(key)) {
            let held = Held { object: held.object.clone(), ad: held.ad.clone() };
            self.held.insert(key.clone(), held);
        }
    }

    /// Forgets an object.
    pub fn remove(&mut self, key: &ObjectKey) {
        self.forget(key);
        self.budget.release(key);
        if self.held.remove(key).is_some() {
            self.changed.insert(key.clone());
        }
    }

    /// Forgets an object that was deleted: what was read of it before and comes in late does not bring it back.
    pub fn delete(&mut self, object: &K) {
        let key = ObjectKey::of(object);
        if self.held.get(&key).is_some_and(|held| held.object.uid() == object.uid()) {
            self.remove(&key);
        }
        self.deleted.take(object);
    }

    /// Forgets all objects that `keep` does not name.
    pub fn retain(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        let gone: Vec<ObjectKey> = self.held.keys().filter(|key| !keep(key)).cloned().collect();
        gone.iter().for_each(|key| self.remove(key));
    }

    /// The object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<&Held<K>> {
        self.held.get(key)
    }

    /// All objects, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Held<K>)> {
        self.held.iter()
    }
}

/// The uids of objects that were deleted last: more than can be deleted while an answer is under way.
#[derive(Clone, Debug, Default)]
struct Tombstones(Arc<Uids>);

#[derive(Clone, Debug, Default)]
struct Uids {
    known: BTreeSet<String>,
    in_order: VecDeque<String>,
}

impl Tombstones {
    const MOST: usize = 4096;

    fn take<K: ResourceExt>(&mut self, object: &K) {
        let Some(uid) = object.uid() else { return };
        let all = Arc::make_mut(&mut self.0);
        if all.known.insert(uid.clone()) {
            all.in_order.push_back(uid);
        }
        if all.in_order.len() > Tombstones::MOST
            && let Some(oldest) = all.in_order.pop_front()
        {
            all.known.remove(&oldest);
        }
    }

    fn holds<K: ResourceExt>(&self, object: &K) -> bool {
        !self.0.known.is_empty() && object.uid().is_some_and(|uid| self.0.known.contains(&uid))
    }
}

/// Whether `held` is a later state of the same object than `other`. Resource versions of one kind are ordered (KEP-5504).
fn is_newer<K: ResourceExt>(held: &K, other: &K) -> bool {
    let version = |object: &K| object.resource_version().and_then(|version| version.parse::<u64>().ok());
    match (version(held), version(other)) {
        (Some(held), Some(other)) => held > other,
        _ => false,
    }
}

/// Everything known now.
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
    /// Batch Jobs and pods.
    pub works: Works,
    /// The nodes; `None`: nobody looks at them, and whoever says that he is one is believed.
    pub nodes: Option<Arc<Nodes>>,
    /// The classes that make Machines of nodes, by name.
    pub classes: BTreeMap<String, Arc<MachineClass>>,
    /// What is known of the agents of offers, by kind and key. Whoever is not in it is not known yet.
    pub agents: Arc<BTreeMap<(OfferKind, ObjectKey), Life>>,
    pub(crate) namespaces_changed: bool,
    deleted: Tombstones,
}

/// An offer of either kind.
#[derive(Clone, Copy)]
pub enum OfferRef<'o> {
    /// A machine.
    Machine(&'o Held<Machine>),
    /// A license.
    License(&'o Held<License>),
}

impl<'o> OfferRef<'o> {
    /// Its kind.
    pub fn kind(self) -> OfferKind {
        match self {
            OfferRef::Machine(_) => OfferKind::Machine,
            OfferRef::License(_) => OfferKind::License,
        }
    }

    /// Its metadata.
    pub fn metadata(self) -> &'o ObjectMeta {
        match self {
            OfferRef::Machine(held) => &held.object.metadata,
            OfferRef::License(held) => &held.object.metadata,
        }
    }

    /// How it is taken.
    pub fn fields(self) -> &'o OfferFields {
        match self {
            OfferRef::Machine(held) => held.object.offer_fields(),
            OfferRef::License(held) => held.object.offer_fields(),
        }
    }

    /// How much there is.
    pub fn capacity(self) -> &'o Res {
        match self {
            OfferRef::Machine(held) => held.object.capacity(),
            OfferRef::License(held) => held.object.capacity(),
        }
    }

    /// What became of it.
    pub fn status(self) -> Option<&'o OfferStatus> {
        match self {
            OfferRef::Machine(held) => held.object.status.as_ref(),
            OfferRef::License(held) => held.object.status.as_ref(),
        }
    }

    /// The node it is, if any.
    pub fn node_name(self) -> Option<&'o str> {
        match self {
            OfferRef::Machine(held) => held.object.node_name(),
            OfferRef::License(_) => None,
        }
    }

    /// Its ad, or why it has none.
    pub fn ad(self) -> &'o Result<Arc<Prepared>, Rejected> {
        match self {
            OfferRef::Machine(held) => &held.ad,
            OfferRef::License(held) => &held.ad,
        }
    }

    /// Its key.
    pub fn key(self) -> ObjectKey {
        match self {
            OfferRef::Machine(held) => ObjectKey::of(held.object.as_ref()),
            OfferRef::License(held) => ObjectKey::of(held.object.as_ref()),
        }
    }

    /// The uid of the object.
    pub fn uid(self) -> &'o str {
        self.metadata().uid.as_deref().unwrap_or("")
    }
}

impl Objects {
    /// Nothing is known yet.
    pub fn new(owners: OwnerTrust) -> Objects {
        let mut objects = Objects::default();
        objects.jobs.owners = owners;
        objects.machines.owners = owners;
        objects.licenses.owners = owners;
        objects
    }

    /// With workloads in these namespaces only.
    #[must_use]
    pub fn reaching(mut self, reach: Reach) -> Objects {
        self.jobs.reach = reach.clone();
        self.works.reach = reach;
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

    /// Takes in a Match as it was seen, unless what is held is newer.
    pub fn put_match(&mut self, object: Match) {
        self.take_in_match(object);
    }

    /// The same. Whether that was new.
    pub fn take_in_match(&mut self, mut object: Match) -> bool {
        object.metadata.managed_fields = None;
        let key = ObjectKey::of(&object);
        let held = self.matches.get(&key);
        let known = held.is_some_and(|held| is_newer(held.as_ref(), &object) || **held == object);
        if known || self.deleted.holds(&object) {
            return false;
        }
        self.matches.put(key, object);
        true
    }

    /// Takes in the labels of a namespace; `None`: there is no such namespace. Whether that was new.
    pub fn take_in_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) -> bool {
        let before = match labels.clone() {
            Some(labels) => self.namespaces.insert(name.to_owned(), labels),
            None => self.namespaces.remove(name),
        };
        let is_new = before != labels;
        self.namespaces_changed |= is_new;
        is_new
    }

    /// Takes in what is known of all agents. Whether anything is new.
    pub fn take_in_agents(&mut self, lives: BTreeMap<(OfferKind, ObjectKey), Life>) -> bool {
        if *self.agents == lives {
            return false;
        }
        let before = std::mem::replace(&mut self.agents, Arc::new(lives));
        let now = self.agents.clone();
        let differs = |(name, life): &(&(OfferKind, ObjectKey), &Life)| before.get(*name) != Some(*life);
        let gone = before.iter().filter(|(name, _)| !now.contains_key(*name));
        for ((kind, key), _) in now.iter().filter(differs).chain(gone) {
            match kind {
                OfferKind::Machine => self.machines.touch(key.clone()),
                OfferKind::License => self.licenses.touch(key.clone()),
            }
        }
        true
    }

    /// Forgets a Match that was deleted, as [`AdStore::delete`] does.
    pub fn bury_match(&mut self, object: &Match) {
        let key = ObjectKey::of(object);
        if self.matches.get(&key).is_some_and(|held| held.uid() == object.uid()) {
            self.matches.remove(&key);
        }
        self.deleted.take(object);
    }

    /// Takes over an object that is not here, if it is there.
    pub fn copy_missing(&mut self, kind: AdKind, key: &ObjectKey, from: &Objects) {
        match kind {
            AdKind::Job => self.jobs.copy_missing(key, &from.jobs),
            AdKind::Offer(OfferKind::Machine) => self.machines.copy_missing(key, &from.machines),
            AdKind::Offer(OfferKind::License) => self.licenses.copy_missing(key, &from.licenses),
        }
    }

    /// The offer of this kind and key; none of a kind that is no offer's.
    pub fn offer(&self, kind: impl TryInto<OfferKind>, key: &ObjectKey) -> Option<OfferRef<'_>> {
        match kind.try_into().ok()? {
            OfferKind::Machine => self.machines.get(key).map(OfferRef::Machine),
            OfferKind::License => self.licenses.get(key).map(OfferRef::License),
        }
    }

    /// The offer that a Match names.
    pub fn offer_of(&self, member: &Member) -> Option<OfferRef<'_>> {
        self.offer(&member.kind, &ObjectKey::new(&member.namespace, &member.name))
    }

    /// The offer of an ad of the engine.
    pub fn offer_at(&self, ad: &AdKey) -> Option<OfferRef<'_>> {
        self.offer(&ad.kind, &ObjectKey::new(&ad.namespace, &ad.name))
    }

    /// What is known of the agent of the offer of this kind and key.
    pub fn agent(&self, kind: impl TryInto<OfferKind>, key: &ObjectKey) -> Life {
        if self.agents.is_empty() {
            return Life::default();
        }
        let known = kind.try_into().ok().and_then(|kind| self.agents.get(&(kind, key.clone())));
        known.copied().unwrap_or_default()
    }

    /// All offers, machines first, by key.
    pub fn offers(&self) -> impl Iterator<Item = OfferRef<'_>> {
        let machines = self.machines.iter().map(|(_, held)| OfferRef::Machine(held));
        machines.chain(self.licenses.iter().map(|(_, held)| OfferRef::License(held)))
    }
}
