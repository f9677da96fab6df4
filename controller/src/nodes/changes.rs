//! All nodes, classes and Machines into what is to be written so that every node of a class has its Machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::ad::NotAccepted;
use crds::{Machine, MachineClass, MachineSpec};
use kube::ResourceExt;
use pool::{Cached, NodeFacts, ObjectKey, Objects, check_class, class_of_node, classes_in_order, machine_of_node};

/// One write.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// There is none yet.
    Create(Box<Machine>),
    /// It is not what it should be: from what was seen to what it is to be.
    Replace { key: ObjectKey, version: String, from: Box<MachineSpec>, to: Box<MachineSpec> },
    /// Its node is gone, or does not belong to the class any more.
    Delete { key: ObjectKey, uid: String },
}

/// What a class has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) nodes: usize,
    pub(crate) machines: usize,
    /// Why not all of its nodes have Machines.
    pub(crate) problem: Option<NotAccepted>,
}

/// What was looked at, and need not be looked at again before something changes.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// Nodes in line: the very facts, the class and its generation, and the Machine's version.
    nodes: BTreeMap<String, (Arc<NodeFacts>, Stamp, String)>,
    /// Why classes cannot make any Machines.
    classes: BTreeMap<Stamp, Option<NotAccepted>>,
}

/// The uid of a class and its generation.
type Stamp = (String, i64);

/// What is to be written, and what is said of each class, by name.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) changes: Vec<Change>,
    pub(crate) tallies: BTreeMap<String, Tally>,
}

/// The plan. `settled` is what is in line already; it is brought up to date.
pub(crate) fn plan(objects: &Objects, settled: &mut Settled) -> Plan {
    let mut plan = Plan::default();
    let Some(nodes) = &objects.nodes else { return plan };
    let classes = classes_in_order(objects.classes.values());
    let problems = problems(&classes, settled);
    let tally = |class: &&Arc<MachineClass>| {
        let problem = problems.get(&stamp(class)).cloned().flatten().or_else(|| namespace_problem(class, objects));
        (class.name_any(), Tally { problem, ..Tally::default() })
    };
    plan.tallies = classes.iter().map(tally).collect();
    settled.classes = problems;
    let mut wanted: BTreeSet<ObjectKey> = BTreeSet::new();
    for node in nodes.values() {
        let Some(class) = class_of_node(&classes, node) else { continue };
        let Some(tally) = plan.tallies.get_mut(&class.name_any()) else { continue };
        tally.nodes += 1;
        wanted.insert(ObjectKey::new(&class.spec.namespace, &node.name));
        if settled.classes.get(&stamp(class)).is_some_and(Option::is_some)
            || namespace_problem(class, objects).is_some()
        {
            // Machines that it has made stay as they are.
            tally.machines +=
                usize::from(objects.machines.get(&ObjectKey::new(&class.spec.namespace, &node.name)).is_some());
            continue;
        }
        match change_of(class, node, objects, settled) {
            Ok(change) => {
                // one that is to be replaced is there
                tally.machines += usize::from(!matches!(change, Some(Change::Create(_))));
                plan.changes.extend(change);
            }
            Err(problem) => {
                tally.problem.get_or_insert(problem);
            }
        }
    }
    settled.nodes.retain(|name, _| nodes.contains_key(name));
    let ours: BTreeSet<String> = classes.iter().filter_map(|class| class.uid()).collect();
    for (key, held) in objects.machines.iter().filter(|(key, _)| !wanted.contains(key)) {
        let deleting = held.object.metadata.deletion_timestamp.is_some();
        if !deleting && class_of(&held.object).is_some_and(|uid| ours.contains(uid)) {
            plan.changes.push(Change::Delete { key: key.clone(), uid: held.object.uid().unwrap_or_default() });
        }
    }
    plan
}

fn stamp(class: &MachineClass) -> Stamp {
    (class.uid().unwrap_or_default(), class.metadata.generation.unwrap_or(0))
}

/// Why classes cannot make any Machines; what is known of them already is not found out again.
fn problems(classes: &[&Arc<MachineClass>], settled: &Settled) -> BTreeMap<Stamp, Option<NotAccepted>> {
    let of = |class: &Arc<MachineClass>| match settled.classes.get(&stamp(class)) {
        Some(known) => known.clone(),
        None => check_class(class).err(),
    };
    classes.iter().map(|class| (stamp(class), of(class))).collect()
}

/// What is wrong with the namespace of a class: no Machine can be created in one that does not exist.
fn namespace_problem(class: &MachineClass, objects: &Objects) -> Option<NotAccepted> {
    let namespace = &class.spec.namespace;
    // No cluster is without any namespace: then they are not known.
    if objects.namespaces.is_empty() || objects.namespaces.contains_key(namespace) {
        return None;
    }
    let message =
        format!("spec.namespace: there is no namespace `{namespace}`; create it: kubectl create namespace {namespace}");
    Some(NotAccepted { reason: crds::conditions::reasons::NAMESPACE_MISSING, message })
}

/// The uid of the class that has made a Machine.
fn class_of(machine: &Machine) -> Option<&str> {
    let mut owners = machine.metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.kind == "MachineClass").map(|owner| owner.uid.as_str())
}

/// The change to the Machine of one node; `None` if nothing is to be written.
fn change_of(
    class: &MachineClass,
    node: &Arc<NodeFacts>,
    objects: &Objects,
    settled: &mut Settled,
) -> Result<Option<Change>, NotAccepted> {
    let key = ObjectKey::new(&class.spec.namespace, &node.name);
    let held = objects.machines.get(&key);
    if held.is_some_and(Cached::is_stripped) {
        // what it says is not known here
        return Ok(None);
    }
    let held = held.map(|held| held.object.as_ref());
    let uid = class.uid().unwrap_or_default();
    let stamp = stamp(class);
    let version = held.and_then(ResourceExt::resource_version).unwrap_or_default();
    if settled
        .nodes
        .get(&node.name)
        .is_some_and(|(facts, of, seen)| Arc::ptr_eq(facts, node) && *of == stamp && *seen == version && held.is_some())
    {
        return Ok(None);
    }
    let mut made = machine_of_node(class, node)?;
    let Some(held) = held else { return Ok(Some(Change::Create(Box::new(made)))) };
    if class_of(held) != Some(uid.as_str()) {
        let message = format!(
            "{key}: a Machine with this name already exists and was not created by this class; delete it, or exclude its node"
        );
        return Err(NotAccepted { reason: crds::conditions::reasons::DUPLICATE_NODE, message });
    }
    made.spec.ad.owner.clone_from(&held.spec.ad.owner);
    made.spec.offer.stop_policy = held.spec.offer.stop_policy;
    if made.spec == held.spec {
        settled.nodes.insert(node.name.clone(), (node.clone(), stamp, version));
        return Ok(None);
    }
    Ok(Some(Change::Replace { key, version, from: Box::new(held.spec.clone()), to: Box::new(made.spec) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn class(name: &str, age: i64, spec: &Value) -> MachineClass {
        let created = jiff::Timestamp::from_second(1_000_000 - age).unwrap().to_string();
        let metadata = json!({"name": name, "uid": format!("u-{name}"), "generation": 1, "creationTimestamp": created});
        let value =
            json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "MachineClass", "metadata": metadata, "spec": spec});
        serde_json::from_value(value).unwrap()
    }

    fn node(name: &str) -> NodeFacts {
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        NodeFacts {
            name: name.to_owned(),
            labels: pairs(&[("pool", "lab"), ("topology.kubernetes.io/zone", "z1")]),
            ready: true,
            schedulable: true,
            system: [("Arch", "amd64".to_owned()), ("KernelVersion", "6.1".to_owned())].into(),
            allocatable: [("cpu", 16), ("memory", 65536), ("nvidia.com/gpu", 2)].map(|(k, v)| (k.to_owned(), v)).into(),
            taints: vec![["lab", "eda", "NoSchedule"].map(str::to_owned)],
            conditions: [("DiskPressure".to_owned(), false)].into(),
        }
    }

    /// Does what is asked, as the API server would; how many writes that was.
    fn carry_out(objects: &mut Objects, settled: &mut Settled) -> usize {
        let plan = plan(objects, settled);
        let count = plan.changes.len();
        for change in plan.changes {
            match change {
                Change::Create(machine) => {
                    let mut machine = *machine;
                    machine.metadata.uid = Some(format!("u-{}", machine.name_any()));
                    machine.metadata.resource_version = Some("1".to_owned());
                    objects.machines.put(machine);
                }
                Change::Replace { key, version, to, .. } => {
                    let mut machine = Machine::clone(&objects.machines.get(&key).unwrap().object);
                    assert_eq!(machine.metadata.resource_version.as_ref(), Some(&version));
                    machine.spec = *to;
                    machine.metadata.resource_version = Some((version.parse::<u64>().unwrap() + 1).to_string());
                    objects.machines.put(machine);
                }
                Change::Delete { key, .. } => objects.machines.remove(&key),
            }
        }
        count
    }

    fn with(objects: &mut Objects, class: MachineClass) {
        objects.classes.insert(class.name_any(), Arc::new(class));
    }

    #[test]
    fn five_thousand_nodes_cost_one_write_each_and_then_none() {
        let (mut objects, mut settled) = (Objects::default(), Settled::default());
        with(
            &mut objects,
            class("lab", 1, &json!({"selector": {"matchLabels": {"pool": "lab"}}, "namespace": "grid"})),
        );
        let all: Vec<NodeFacts> = (0..5000).map(|number| node(&format!("n{number}"))).collect();
        all.iter().for_each(|one| assert!(objects.put_node(one.clone())));
        assert_eq!(carry_out(&mut objects, &mut settled), 5000);
        for _ in 0..2 {
            // signs of life of every node
            all.iter().for_each(|one| assert!(!objects.put_node(one.clone())));
            let now = plan(&objects, &mut settled);
            assert_eq!(now.tallies["lab"], Tally { nodes: 5000, machines: 5000, problem: None });
            assert!(now.changes.is_empty());
        }
        assert_eq!(settled.nodes.len(), 5000);
        // a condition of one of them, a cordon of another
        objects.put_node(NodeFacts { conditions: [("DiskPressure".to_owned(), true)].into(), ..all[7].clone() });
        objects.put_node(NodeFacts { schedulable: false, ready: false, ..all[8].clone() });
        assert_eq!(carry_out(&mut objects, &mut settled), 1, "a cordon is no attribute");
        assert_eq!(plan(&objects, &mut settled).changes.len(), 0);
        // one leaves the class, one the cluster
        objects.put_node(NodeFacts { labels: BTreeMap::new(), ..all[9].clone() });
        objects.remove_node("n10");
        let now = plan(&objects, &mut settled);
        let gone = |change: &Change| matches!(change, Change::Delete { key, .. } if ["n9", "n10"].contains(&key.name.as_str()));
        assert!(now.changes.len() == 2 && now.changes.iter().all(gone), "{:?}", now.changes);
        // the class changes its mind: each is written once
        let other = json!({"selector": {"matchLabels": {"pool": "lab"}}, "namespace": "grid", "rank": "1"});
        let mut changed = class("lab", 1, &other);
        changed.metadata.generation = Some(2);
        with(&mut objects, changed);
        assert_eq!(carry_out(&mut objects, &mut settled), 4998 + 2);
        assert_eq!(plan(&objects, &mut settled).changes.len(), 0);
    }

    #[test]
    fn b1_a_class_whose_namespace_does_not_exist_says_so_until_it_does() {
        let (mut objects, mut settled) = (Objects::default(), Settled::default());
        objects.namespaces.apply("default", BTreeMap::new());
        with(&mut objects, class("lab", 1, &json!({"selector": {}, "namespace": "grid"})));
        objects.put_node(node("n1"));
        let now = plan(&objects, &mut settled);
        let problem = now.tallies["lab"].problem.clone().unwrap();
        assert_eq!((now.changes.len(), problem.reason), (0, "NamespaceMissing"));
        assert!(problem.message.starts_with("spec.namespace: there is no namespace `grid`; create it"), "{problem}");
        objects.namespaces.apply("grid", BTreeMap::new());
        let now = plan(&objects, &mut settled);
        assert_eq!((now.changes.len(), now.tallies["lab"].problem.clone()), (1, None));
    }

    #[test]
    fn a_node_belongs_to_the_oldest_class_that_means_it() {
        let (mut objects, mut settled) = (Objects::default(), Settled::default());
        with(&mut objects, class("younger", 1, &json!({"selector": {}, "namespace": "a"})));
        with(&mut objects, class("older", 2, &json!({"selector": {"matchLabels": {"pool": "lab"}}, "namespace": "b"})));
        objects.put_node(node("n1"));
        objects.put_node(NodeFacts { labels: BTreeMap::new(), ..node("n2") });
        carry_out(&mut objects, &mut settled);
        let keys: Vec<String> = objects.machines.iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(keys, ["a/n2", "b/n1"]);
    }

    #[test]
    fn m11_a_class_that_cannot_work_says_so_and_makes_nothing() {
        let (mut objects, mut settled) = (Objects::default(), Settled::default());
        let problem = |objects: &Objects, settled: &mut Settled| {
            let plan = plan(objects, settled);
            (plan.changes.len(), plan.tallies["lab"].problem.as_ref().map(|problem| problem.message.clone()))
        };
        objects.nodes = Some(Arc::default());
        with(&mut objects, class("lab", 1, &json!({"selector": {}, "namespace": "g", "capacity": {"cpus": "Cpu"}})));
        let said = Some("spec.capacity.cpus: no node has an attribute `Cpu`; did you mean `Cpus`?".to_owned());
        assert_eq!(problem(&objects, &mut settled), (0, said.clone()), "though it has no node");
        objects.put_node(node("n1"));
        assert_eq!(problem(&objects, &mut settled), (0, said), "and no Machine of capacity {{}} is made");
        let mut small = class("lab", 1, &json!({"selector": {}, "namespace": "g", "capacity": {"cpus": "Cpus - 99"}}));
        small.metadata.generation = Some(2);
        with(&mut objects, small);
        let (writes, said) = problem(&objects, &mut settled);
        assert!(writes == 0 && said.unwrap().starts_with("spec.capacity: no resource remains for node n1"));
    }

    #[test]
    fn what_people_do_to_a_machine_is_undone_but_for_its_offering_and_a_strangers_machine_is_left_alone() {
        let (mut objects, mut settled) = (Objects::default(), Settled::default());
        with(&mut objects, class("lab", 1, &json!({"selector": {}, "namespace": "grid"})));
        objects.put_node(node("n1"));
        carry_out(&mut objects, &mut settled);
        let key = ObjectKey::new("grid", "n1");
        let mut edited = Machine::clone(&objects.machines.get(&key).unwrap().object);
        edited.spec.offer.stop_policy = crds::StopPolicy::Hold;
        edited.spec.capacity = [("slots".to_owned(), 9)].into();
        edited.metadata.resource_version = Some("2".to_owned());
        objects.machines.put(edited.clone());
        carry_out(&mut objects, &mut settled);
        let now = &objects.machines.get(&key).unwrap().object.spec;
        assert_eq!((now.offer.stop_policy, now.capacity["slots"]), (crds::StopPolicy::Hold, 1));
        edited.metadata.owner_references = None;
        edited.metadata.resource_version = Some("9".to_owned());
        objects.machines.put(edited);
        let plan = plan(&objects, &mut settled);
        assert!(plan.changes.is_empty());
        let problem = plan.tallies["lab"].problem.as_ref().unwrap();
        assert!(problem.message.starts_with("grid/n1: a Machine with this name already exists"), "{problem}");
    }
}
