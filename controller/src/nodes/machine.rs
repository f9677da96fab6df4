//! A node and the class it belongs to into its Machine.

use std::collections::BTreeMap;

use crds::ad::{Rejected, capacity, check_capacity, machine_ad};
use crds::{AdFields, Machine, MachineClass, MachineSpec, Res};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use pool::NodeFacts;
use serde_json::{Map, Value, json};

/// Names of attributes by labels that Kubernetes itself puts on nodes.
const WELL_KNOWN: [(&str, &str); 3] = [
    ("topology.kubernetes.io/zone", "Zone"),
    ("topology.kubernetes.io/region", "Region"),
    ("node.kubernetes.io/instance-type", "InstanceType"),
];
/// Names of attributes by resources that every node has.
const RESOURCES: [(&str, &str); 4] =
    [("cpu", "Cpus"), ("memory", "Memory"), ("ephemeral-storage", "Disk"), ("pods", "Pods")];

/// The Machine of a node.
///
/// # Errors
/// The class says something that is no ad, or no capacity.
pub(crate) fn machine(class: &MachineClass, node: &NodeFacts) -> Result<Machine, Rejected> {
    let attributes = attributes(class, node);
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
    Ok(machine)
}

/// Whether a class can make Machines at all, of whatever nodes.
///
/// # Errors
/// It says something that is no ad, or a capacity that no node has.
pub(crate) fn check(class: &MachineClass) -> Result<(), Rejected> {
    let some_node = some_node();
    check_capacity(&class.spec.capacity, &attributes(class, &some_node))?;
    machine(class, &some_node).map(drop)
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
fn attributes(class: &MachineClass, node: &NodeFacts) -> BTreeMap<String, Value> {
    let mut all = class.spec.ad.attributes.clone().unwrap_or_default();
    let taken: Vec<String> =
        all.keys().chain(class.spec.ad.expressions.iter().flatten().map(|(name, _)| name)).cloned().collect();
    let of_node = known(node).into_iter().chain(tolerations(class));
    all.extend(of_node.filter(|(name, _)| !taken.iter().any(|other| other.eq_ignore_ascii_case(name))));
    all
}

fn tolerations(class: &MachineClass) -> Option<(String, Value)> {
    let all: Vec<Value> = class.spec.tolerations.iter().map(crds::Toleration::ad).collect();
    (!all.is_empty()).then(|| ("Tolerations".to_owned(), Value::Array(all)))
}

/// What is known of the node.
fn known(node: &NodeFacts) -> Vec<(String, Value)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::changes::tests::{class, node};

    #[test]
    fn a_node_and_a_class_give_a_machine() {
        let spec = json!({
            "selector": {}, "namespace": "grid", "owner": "raman",
            "constraint": "other.Owner != \"riffraff\"", "rank": "other.Nice",
            "attributes": {"zone": "mine", "Group": "cs"}, "expressions": {"KFlops": "Cpus * 1000"},
            "capacity": {"cpus": "Cpus - 2", "gpus": "Resources.'nvidia.com/gpu'", "slots": 4},
            "tolerations": [{"key": "lab", "operator": "Exists"}],
        });
        let made = machine(&class("lab", 1, &spec), &node("n1")).unwrap();
        assert_eq!((made.name_any().as_str(), made.namespace().as_deref()), ("n1", Some("grid")));
        assert_eq!(made.spec.node_name.as_deref(), Some("n1"));
        assert_eq!(made.metadata.owner_references.as_ref().unwrap()[0].uid, "u-lab");
        assert_eq!(made.spec.ad.owner.as_deref(), Some("raman"));
        assert_eq!(
            made.spec.capacity,
            [("cpus", 14), ("gpus", 2), ("slots", 4)].map(|(k, v)| (k.to_owned(), v)).into()
        );
        let attributes = made.spec.ad.attributes.as_ref().unwrap();
        let expected = json!({
            "Arch": "amd64", "KernelVersion": "6.1", "Cpus": 16, "Memory": 65536,
            "Resources": {"nvidia.com/gpu": 2},
            "NodeLabels": {"pool": "lab", "topology.kubernetes.io/zone": "z1"},
            "Taints": [{"Key": "lab", "Value": "eda", "Effect": "NoSchedule"}],
            "Conditions": {"DiskPressure": false},
            "Tolerations": [{"Key": "lab", "Operator": "Exists"}],
            "zone": "mine", "Group": "cs",
        });
        assert_eq!(json!(attributes), expected, "and no Zone beside the class's own");
        let ad = machine_ad(&made).unwrap();
        assert!(ad.warnings.is_empty(), "{:?}", ad.warnings);
        assert!(ad.ad.get("KFlops").is_some());
    }

    #[test]
    fn m11_a_class_that_cannot_work_is_refused_without_any_node() {
        let refused = |more: Value| {
            let mut spec = json!({"selector": {}, "namespace": "grid"});
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            check(&class("lab", 1, &spec)).map_err(|rejected| rejected.message)
        };
        for (more, message) in [
            (
                json!({"capacity": {"cpus": "Cpu"}}),
                "spec.capacity.cpus: no node has an attribute `Cpu`; did you mean `Cpus`?",
            ),
            (json!({"capacity": {"cpus": "Cpus -"}}), "spec.capacity.cpus: line 1, "),
            (json!({"constraint": "other.Memory > 3 and true"}), "spec.constraint: line 1, "),
            (json!({"expressions": {"KFlops": "Cpus *"}}), "spec.expressions.KFlops: line 1, "),
            (json!({"constraint": 5}), "spec.constraint: found `5`, which is a number"),
        ] {
            let found = refused(more).unwrap_err();
            assert!(found.starts_with(message), "{found}");
        }
        for fine in [
            json!({}),
            json!({"capacity": {"cpus": "Cpus - 2", "gpus": "Resources.'x.com/gpu'", "slots": 4}}),
            json!({"attributes": {"Seats": 3}, "capacity": {"seats": "seats"}}),
        ] {
            assert_eq!(refused(fine), Ok(()));
        }
    }

    #[test]
    fn a_class_that_says_nothing_offers_one_slot_and_one_that_cannot_be_read_offers_nothing() {
        let plain = machine(&class("lab", 1, &json!({"selector": {}, "namespace": "grid"})), &node("n1")).unwrap();
        assert_eq!(plain.spec.capacity, Res::from([("slots".to_owned(), 1)]));
        let wrong = json!({"selector": {}, "namespace": "grid", "constraint": "other.Memory >"});
        assert!(
            machine(&class("lab", 1, &wrong), &node("n1")).unwrap_err().message.starts_with("spec.constraint: line 1")
        );
    }
}
