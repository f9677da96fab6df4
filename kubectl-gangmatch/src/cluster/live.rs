//! What kubectl lists into the objects of a pool, with what is known of agents, nodes and namespaces only by the conditions that the
//! controller has set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::conditions::{find, reasons, types};
use crds::{Account, Job, License, Machine, MachineClass, Match, PoolPolicy};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use pool::{AgentLiveness, NodeFacts, ObjectKey, Objects, OfferRef, OwnerTrust};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::Failure;
use super::kubectl::{Kubectl, Scope};
use crate::offline::Sources;

/// A kind of object that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Job,
    Machine,
    License,
    Match,
    MachineClass,
    Account,
    PoolPolicy,
    /// Their labels say which of them may use an offer. Often a user may not list them; then the conditions of the offers are believed.
    Namespace,
}

impl Kind {
    /// Its resource, as kubectl takes it.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Kind::Job => "jobs.gangmatch.dev",
            Kind::Machine => "machines.gangmatch.dev",
            Kind::License => "licenses.gangmatch.dev",
            Kind::Match => "matches.gangmatch.dev",
            Kind::MachineClass => "machineclasses.gangmatch.dev",
            Kind::Account => "accounts.gangmatch.dev",
            Kind::PoolPolicy => "poolpolicies.gangmatch.dev",
            Kind::Namespace => "namespaces",
        }
    }

    /// Whether objects of the kind are in a namespace.
    fn is_namespaced(self) -> bool {
        !matches!(self, Kind::MachineClass | Kind::Account | Kind::PoolPolicy | Kind::Namespace)
    }
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) objects: Objects,
    /// The Matches as they were read: [`Objects`] leaves out the values of their members.
    pub(crate) matches: BTreeMap<ObjectKey, Match>,
    /// What is wrong with some objects.
    pub(crate) problems: Vec<String>,
    /// What is right but probably not meant.
    pub(crate) warnings: Vec<String>,
    /// Which objects could not be read, for people.
    pub(crate) notes: Vec<String>,
    /// The kinds that could be read in one namespace only, or not at all.
    pub(crate) partly: BTreeSet<Kind>,
    /// Where the objects were written, if they were read from files.
    pub(crate) sources: Sources,
}

impl Pool {
    /// The namespaces and names of its jobs, machines or licenses.
    pub(crate) fn names(&self, kind: Kind) -> Box<dyn Iterator<Item = (&str, &str)> + '_> {
        fn both(key: &ObjectKey) -> (&str, &str) {
            (key.namespace.as_str(), key.name.as_str())
        }
        match kind {
            Kind::Machine => Box::new(self.objects.machines.iter().map(|(key, _)| both(key))),
            Kind::License => Box::new(self.objects.licenses.iter().map(|(key, _)| both(key))),
            _ => Box::new(self.objects.jobs.iter().map(|(key, _)| both(key))),
        }
    }
}

/// The pool of a cluster. What may not be listed in all namespaces is listed in this one, or in that of the context.
///
/// # Errors
/// The cluster cannot be asked, or a kind may not be listed even in the namespace.
pub(crate) fn pool(kubectl: &Kubectl<'_>, namespace: Option<&str>, kinds: &[Kind]) -> anyhow::Result<Pool> {
    let resources: Vec<&str> = kinds.iter().map(|kind| kind.resource()).collect();
    let listed = kubectl.list(&resources, Scope::All, &[])?;
    let mut found = Pool { objects: Objects::new(OwnerTrust::Stamped), ..Pool::default() };
    let mut items = listed.items;
    let is_refused = |kind: &&Kind| {
        listed.failures.iter().filter_map(Failure::refused_resource).any(|resource| resource == kind.resource())
    };
    found.partly = kinds.iter().filter(is_refused).copied().collect();
    let narrower: Vec<Kind> = found.partly.iter().copied().filter(|kind| kind.is_namespaced()).collect();
    if !narrower.is_empty() {
        let namespace = namespace.map_or_else(|| kubectl.current_namespace(), str::to_owned);
        let resources: Vec<&str> = narrower.iter().map(|kind| kind.resource()).collect();
        let own = kubectl.list(&resources, Scope::One(&namespace), &[])?;
        if let Some(failure) = own.failures.into_iter().next() {
            return Err(failure.into());
        }
        items.extend(own.items);
        let names: Vec<&str> = narrower.iter().map(|kind| kind.resource().split('.').next().unwrap_or("")).collect();
        found.notes.push(format!(
            "only the {} of namespace {namespace} are shown: you may not list those of other namespaces",
            names.join(", ")
        ));
    }
    items.into_iter().for_each(|item| found.add(item));
    found.believe_conditions();
    Ok(found)
}

impl Pool {
    /// The pool of these objects, which were read elsewhere.
    pub(crate) fn of(items: Vec<Value>) -> Pool {
        let mut found = Pool { objects: Objects::new(OwnerTrust::Stamped), ..Pool::default() };
        items.into_iter().for_each(|item| found.add(item));
        found.believe_conditions();
        found
    }

    fn add(&mut self, item: Value) {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        let (api, kind) = (text("apiVersion"), text("kind"));
        match (api.split('/').next().unwrap_or(""), kind.as_str()) {
            ("gangmatch.dev", "Job") => self.parsed::<Job>(item, |pool, job| pool.objects.put(job)),
            ("gangmatch.dev", "Machine") => self.parsed::<Machine>(item, |pool, machine| pool.objects.put(machine)),
            ("gangmatch.dev", "License") => self.parsed::<License>(item, |pool, license| pool.objects.put(license)),
            ("gangmatch.dev", "Match") => self.parsed::<Match>(item, |pool, found| {
                pool.matches.insert(ObjectKey::of(&found), found.clone());
                pool.objects.matches.put(found);
            }),
            ("gangmatch.dev", "MachineClass") => self.parsed::<MachineClass>(item, |pool, class| {
                pool.objects.classes.insert(class.name_any(), Arc::new(class));
            }),
            ("gangmatch.dev", "Account") => self.parsed::<Account>(item, |pool, account| {
                pool.objects.accounts.apply(account);
            }),
            ("gangmatch.dev", "PoolPolicy") => self.parsed::<PoolPolicy>(item, |pool, policy| {
                pool.objects.accounts.apply_policy(policy);
            }),
            ("v1", "Namespace") => self.parsed::<Namespace>(item, |pool, namespace| {
                pool.objects.namespaces.apply(&namespace.name_any(), namespace.labels().clone());
            }),
            _ => {}
        }
    }

    fn parsed<K: DeserializeOwned>(&mut self, item: Value, put: impl FnOnce(&mut Pool, K)) {
        let text = |path: &str| item.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
        let name = format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        match serde_json::from_value::<K>(item) {
            Ok(object) => put(self, object),
            Err(error) => self.problems.push(format!("{name}: this version of the plugin cannot read it: {error}")),
        }
    }

    /// Agents, nodes and trust in namespaces, as the conditions of offers state them.
    fn believe_conditions(&mut self) {
        let (mut agents, mut nodes, mut trusted) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        for offer in self.objects.offers() {
            let ready = ready(offer);
            let reason = ready.map(|ready| ready.reason.as_str());
            if offer.fields.agent.is_some() {
                agents.insert((offer.kind, offer.key()), agent(offer));
            }
            nodes.extend(offer.node_name.and_then(|name| node(name, reason)));
            // An offer that accepts claims says why only those of its own namespace, if it is so.
            if ready.is_none_or(|ready| ready.status != "True" || ready.message.is_empty()) {
                trusted.insert(offer.key().namespace);
            }
        }
        self.objects.agents = Arc::new(agents);
        if self.objects.machines.iter().any(|(_, held)| held.object.spec.node_name.is_some()) {
            self.objects.retain_nodes(|_| true);
            nodes.into_iter().for_each(|node| {
                self.objects.put_node(node);
            });
        }
        if self.objects.namespaces.is_empty() {
            let label = || BTreeMap::from([("gangmatch.dev/offers".to_owned(), "cluster".to_owned())]);
            for name in trusted {
                self.objects.namespaces.apply(&name, label());
            }
        }
    }
}

fn ready<'o>(offer: OfferRef<'o>) -> Option<&'o Condition> {
    find(&offer.status?.conditions, types::READY)
}

fn agent(offer: OfferRef<'_>) -> AgentLiveness {
    let alive = offer.status.and_then(|status| find(&status.conditions, types::ALIVE));
    match alive.map(|alive| (alive.status.as_str(), alive.reason.as_str())) {
        Some(("True", _)) => AgentLiveness::Renewed,
        Some(("False", _)) => AgentLiveness::Expired,
        _ => AgentLiveness::Unknown,
    }
}

/// The node of a Machine; `None` if there is no such node.
fn node(name: &str, ready: Option<&str>) -> Option<NodeFacts> {
    if ready == Some(reasons::NODE_MISSING) {
        return None;
    }
    let is_ready = ready != Some(reasons::NODE_NOT_READY);
    let schedulable = ready != Some(reasons::NODE_CORDONED);
    Some(NodeFacts { name: name.to_owned(), ready: is_ready, schedulable, ..NodeFacts::default() })
}
