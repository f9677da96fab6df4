//! Nodes and classes in, Machines out.

use std::collections::BTreeSet;

use crds::ad::machine_ad;
use crds::{MachineClass, Res};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{check_class as check, machine_of_node as machine};
use crate::node::NodeFacts;

fn class(spec: &Value) -> MachineClass {
    let metadata = json!({"name": "lab", "uid": "u-lab", "generation": 1});
    let value =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "MachineClass", "metadata": metadata, "spec": spec});
    serde_json::from_value(value).unwrap()
}

fn node() -> NodeFacts {
    let node = json!({
        "metadata": {"name": "n1", "labels": {"pool": "lab", "topology.kubernetes.io/zone": "z1"}},
        "spec": {"taints": [{"key": "lab", "value": "eda", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "2"},
            "nodeInfo": {"architecture": "amd64", "kernelVersion": "6.1"},
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}],
        },
    });
    serde_json::from_value(node).map(|node| NodeFacts::of(&node)).unwrap()
}

#[test]
fn a_node_and_a_class_give_a_machine() {
    let spec = json!({
        "selector": {}, "namespace": "grid", "owner": "raman",
        "constraint": "other.Owner != \"riffraff\"", "rank": "other.Nice",
        "attributes": {"zone": "mine", "Group": "cs"}, "expressions": {"KFlops": "Cpus * 1000"},
        "capacity": {"cpus": "Cpus - 2", "gpus": "Resources.'nvidia.com/gpu'", "slots": 4},
        "tolerations": [{"key": "lab", "operator": "Exists"}],
    });
    let made = machine(&class(&spec), &node()).unwrap();
    assert_eq!((made.name_any().as_str(), made.namespace().as_deref()), ("n1", Some("grid")));
    assert_eq!(made.spec.node_name.as_deref(), Some("n1"));
    assert_eq!(made.metadata.owner_references.as_ref().unwrap()[0].uid, "u-lab");
    assert_eq!(made.spec.ad.owner.as_deref(), Some("raman"));
    assert_eq!(made.spec.capacity, [("cpus", 14), ("gpus", 2), ("slots", 4)].map(|(k, v)| (k.to_owned(), v)).into());
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
        check(&class(&spec)).map_err(|problem| problem.message)
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
    let plain = machine(&class(&json!({"selector": {}, "namespace": "grid"})), &node()).unwrap();
    assert_eq!(plain.spec.capacity, Res::from([("slots".to_owned(), 1)]));
    let wrong = json!({"selector": {}, "namespace": "grid", "constraint": "other.Memory >"});
    assert!(machine(&class(&wrong), &node()).unwrap_err().message.starts_with("spec.constraint: line 1"));
}

#[test]
fn a_dynamic_attribute_of_the_class_is_the_agents_and_not_the_nodes() {
    let spec =
        json!({"selector": {}, "namespace": "grid", "dynamicAttributes": [{"name": "memory", "type": "Integer"}]});
    let made = machine(&class(&spec), &node()).unwrap();
    let attributes = made.spec.ad.attributes.unwrap();
    assert_eq!(attributes.get("Memory"), None, "what an agent publishes would lose to it");
    assert_eq!(attributes.get("Cpus"), Some(&json!(16)));
}

#[test]
fn the_page_lists_what_a_node_has() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/nodes.md")).unwrap();
    let table = page.split("## Attributes of a node").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<&str> = rows.flat_map(|row| row.split(" | ").next().unwrap().split(['`', ',', ' '])).collect();
    let spec = json!({"selector": {}, "namespace": "grid", "tolerations": [{"operator": "Exists"}]});
    let made = super::machine_attributes(&class(&spec), &super::some_node());
    let set_by_the_system = ["Name", "NodeName"].map(str::to_owned);
    let expected: BTreeSet<String> = made.into_keys().chain(set_by_the_system).collect();
    assert_eq!(
        listed.into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect::<BTreeSet<_>>(),
        expected
    );
}
