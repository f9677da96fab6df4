//! A node and the class it belongs to into its Machine.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::ad::{NotAccepted, capacity, check_capacity, machine_ad};
use crds::{AdFields, Machine, MachineClass, MachineSpec, Res};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use serde_json::{Map, Value, json};

use crate::consent::selects;
use crate::node::NodeFacts;

/// Names of attributes by labels that Kubernetes itself puts on nodes.
const WELL_KNOWN: [(&str, &str); 3] = [
    ("topology.kubernetes.io/zone", "Zone"),
    ("topology.kubernetes.io/region", "Region"),
    ("node.kubernetes.io/instance-type", "InstanceType"),
];
/// Names of attributes by allocatable resources that every node has. A resource listed here is not in `Resources`.
const RESOURCES: [(&str, &str); 4] =
    [("cpu", "Cpus"), ("memory", "Memory"), ("ephemeral-storage", "Disk"), ("pods", "Pods")];

/// Classes in the order in which nodes belong to them: the oldest first.
pub fn classes_in_order<'c>(all: impl Iterator<Item = &'c Arc<MachineClass>>) -> Vec<&'c Arc<MachineClass>> {
    let mut classes: Vec<&Arc<MachineClass>> = all.collect();
    classes.sort_by_key(|class| (class.metadata.creation_timestamp.clone(), class.name_any()));
    classes
}

/// The class that a node belongs to: of those in order, the first that selects it.
pub fn class_of_node<'c>(classes: &[&'c Arc<MachineClass>], node: &NodeFacts) -> Option<&'c Arc<MachineClass>> {
    classes.iter().find(|class| selects(&class.spec.selector, &node.labels)).copied()
}

/// The Machine of a node.
///
/// # Errors
/// The class says something that is no ad, or no capacity; or none of its resources is left of this node.
pub fn machine_of_node(class: &MachineClass, node: &NodeFacts) -> Result<Machine, NotAccepted> {
    let attributes = machine_attributes(class, node);
    let capacity = match class.spec.capacity.is_empty() {
        true => Res::from([("slots".to_owned(), 1)]),
        false => capacity(&class.spec.capacity, &attributes)?,
    };
    let ad = AdFields { attributes: Some(attributes), ..class.spec.ad.clone() };
    let spec = MachineSpec { ad, capacity, offer: class.spec.offer.clone(), node_name: Some(node.name.clone()) };
    let mut machine = Machine::new(&node.name, spec);
    machine.metadata.namespace = Some(class.spec.namespace.clone());
    machine.metadata.owner_references = Some(vec![OwnerReference {
        api_version: format!("{}/{}", crds::GROUP, crds::VERSION),
        kind: "MachineClass".to_owned(),
        name: class.name_any(),
        uid: class.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }]);
    machine_ad(&machine)?;
    if machine.spec.capacity.is_empty() {
        let message = format!(
            "spec.capacity: no resource remains for node {}: write expressions over its attributes whose values are whole numbers of at least 0",
            node.name
        );
        return Err(NotAccepted { reason: crds::conditions::reasons::INVALID_CAPACITY, message });
    }
    Ok(machine)
}

/// Whether a class can make Machines at all, of whatever nodes.
///
/// # Errors
/// It says something that is no ad, or a capacity that no node has.
pub fn check_class(class: &MachineClass) -> Result<(), NotAccepted> {
    let some_node = some_node();
    check_capacity(&class.spec.capacity, &machine_attributes(class, &some_node))?;
    match machine_of_node(class, &some_node) {
        // Another node may have some.
        Err(problem) if problem.reason == crds::conditions::reasons::INVALID_CAPACITY => Ok(()),
        made => made.map(drop),
    }
}

/// The names of all attributes that nodes may have.
pub fn node_attribute_names() -> Vec<String> {
    node_attributes(&some_node()).into_iter().map(|(name, _)| name).collect()
}

/// A node that has all that a node may have.
fn some_node() -> NodeFacts {
    NodeFacts {
        name: "node".to_owned(),
        labels: WELL_KNOWN.iter().map(|(label, _)| ((*label).to_owned(), "some".to_owned())).collect(),
        ready: true,
        schedulable: true,
        system: NodeFacts::SYSTEM.map(|(name, _)| (name, "some".to_owned())).into(),
        allocatable: RESOURCES.iter().map(|(resource, _)| ((*resource).to_owned(), 1 << 20)).collect(),
        taints: Vec::new(),
        conditions: BTreeMap::new(),
    }
}

/// What the class says, then what is known of the node under names that the class does not use.
fn machine_attributes(class: &MachineClass, node: &NodeFacts) -> BTreeMap<String, Value> {
    let mut all = class.spec.ad.attributes.clone().unwrap_or_default();
    let expressions = class.spec.ad.expressions.iter().flatten().map(|(name, _)| name);
    // An agent gives these their values; one from the node would win over it.
    let dynamic = class.spec.offer.dynamic_attributes.iter().map(|declared| &declared.name);
    let taken: Vec<String> = all.keys().chain(expressions).chain(dynamic).cloned().collect();
    let of_node = node_attributes(node).into_iter().chain(tolerations(class));
    all.extend(of_node.filter(|(name, _)| !taken.iter().any(|other| other.eq_ignore_ascii_case(name))));
    all
}

fn tolerations(class: &MachineClass) -> Option<(String, Value)> {
    let all: Vec<Value> = class.spec.tolerations.iter().map(crds::Toleration::ad).collect();
    (!all.is_empty()).then(|| ("Tolerations".to_owned(), Value::Array(all)))
}

/// The attributes of a node. `docs/nodes.md`, "Add an attribute", says where a new one goes.
fn node_attributes(node: &NodeFacts) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = Vec::new();
    let mut put = |name: &str, value: Value| all.push((name.to_owned(), value));
    for (name, text) in &node.system {
        put(name, json!(text));
    }
    for (resource, name) in RESOURCES {
        if let Some(amount) = node.allocatable.get(resource) {
            put(name, json!(amount));
        }
    }
    let special = node.allocatable.iter().filter(|(name, _)| !RESOURCES.iter().any(|(known, _)| known == name));
    put("Resources", map(special.map(|(name, amount)| (name.clone(), json!(amount)))));
    put("NodeLabels", map(node.labels.iter().map(|(name, value)| (name.clone(), json!(value)))));
    for (label, name) in WELL_KNOWN {
        if let Some(value) = node.labels.get(label) {
            put(name, json!(value));
        }
    }
    let taint = |[key, value, effect]: &[String; 3]| json!({"Key": key, "Value": value, "Effect": effect});
    put("Taints", Value::Array(node.taints.iter().map(taint).collect()));
    put("Conditions", map(node.conditions.iter().map(|(name, holds)| (name.clone(), json!(holds)))));
    all
}

/// A map whose names differ, whatever their case: of two that do not, the first.
fn map(pairs: impl Iterator<Item = (String, Value)>) -> Value {
    let mut all: Map<String, Value> = Map::new();
    for (name, value) in pairs {
        if !all.keys().any(|known| known.eq_ignore_ascii_case(&name)) {
            all.insert(name, value);
        }
    }
    Value::Object(all)
}
