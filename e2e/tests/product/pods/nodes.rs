//! Turns nodes and a class of them into Machines, and what happens to a node into what is offered of it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testbed::control_plane::stages::ENDS;

use crate::idle::writes;
use crate::refusal::{hold_up_reserves, lift};
use crate::stage::{Namespace, Stage, condition, license, name, text};

/// Nodes of one test: they carry a label with the name of its namespace.
pub(crate) fn nodes(here: &Namespace, names: &[&str]) {
    let node = |name: &&str| {
        let amounts = json!({"cpu": "7900m", "memory": "32Gi", "pods": "110", "example.com/fpga": "2"});
        let name = format!("{name}-{}", here.name);
        let labels = json!({"kubernetes.io/hostname": name, "test": here.name, "topology.kubernetes.io/zone": "z1"});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"}}, "status": {"capacity": amounts, "allocatable": amounts}})
    };
    let list = json!({"apiVersion": "v1", "kind": "List", "items": names.iter().map(node).collect::<Vec<_>>()});
    here.access().apply(&list.to_string()).unwrap();
}

/// The class of the nodes of this test.
pub(crate) fn class(here: &Namespace, more: &Value) -> String {
    let mut spec = json!({"namespace": here.name, "selector": {"matchLabels": {"test": here.name}}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "MachineClass", "metadata": {"name": here.name}, "spec": spec})
        .to_string()
}

fn node_of(here: &Namespace, name: &str) -> String {
    format!("{name}-{}", here.name)
}

pub(crate) fn machine_of(here: &Namespace, name: &str) -> String {
    format!("gmm/{}", node_of(here, name))
}

/// Waits until the machine of a node is there and offered.
pub(crate) fn offered(here: &Namespace, node: &str) {
    let wanted = node_of(here, node);
    here.until("the Machine of the node", || here.list("gmm").iter().any(|one| name(one) == wanted).then_some(()));
    here.wait(&machine_of(here, node), "Ready");
}

fn cluster(here: &Namespace, arguments: &[&str]) -> String {
    here.access().kubectl_text(arguments, None).unwrap()
}

/// A job that needs one machine, runs on it until it is deleted, and says where.
fn job(name: &str, constraint: &str) -> String {
    let pod = json!({"metadata": {"annotations": {ENDS: "never"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]}});
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "constraint": constraint, "workload": {"jobTemplate": {"spec": {"template": pod}}}}})
    .to_string()
}

#[test]
pub(crate) fn nodes_become_machines_by_themselves_and_go_with_their_nodes() {
    let here = Stage::with_pods().namespace("class");
    nodes(&here, &["a", "b"]);
    let mut more = json!({"constraint": "other.Type == \"Job\"", "capacity": {"cpus": "Cpus - 1", "fpgas": "Resources.'example.com/fpga'"},
        "attributes": {"Group": "cs"}, "expressions": {"Speed": "Cpus * 10"}});
    here.access().apply(&class(&here, &more)).unwrap();
    offered(&here, "b");
    offered(&here, "a");
    let machine = here.get(&machine_of(&here, "a"));
    assert_eq!(machine.pointer("/spec/capacity"), Some(&json!({"cpus": 6, "fpgas": 2})));
    assert_eq!(text(&machine, "/spec/nodeName"), node_of(&here, "a"));
    assert_eq!(text(&machine, "/spec/owner"), "admin", "the owner of the class, not the controller");
    let attribute = |name: &str| machine.pointer(&format!("/spec/attributes/{name}")).cloned().unwrap_or_default();
    assert_eq!((attribute("Cpus"), attribute("Memory"), attribute("Zone")), (json!(7), json!(32768), json!("z1")));
    assert_eq!(attribute("NodeLabels").get("test"), Some(&json!(here.name)));
    here.wait(&format!("gmc/{}", here.name), "jsonpath={.status.machines}=2");
    here.apply(&job("j", "other.Speed == 70 && other.Zone == \"z1\" && other.Group == \"cs\""));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    // The class changes its mind, a node its labels: the Machines follow.
    more["rank"] = json!("1");
    here.access().apply(&class(&here, &more)).unwrap();
    let rank = "jsonpath={.spec.rank}=1";
    here.wait(&machine_of(&here, "a"), rank);
    cluster(&here, &["label", "node", &node_of(&here, "a"), "topology.kubernetes.io/zone=z2", "--overwrite"]);
    here.wait(&machine_of(&here, "a"), "jsonpath={.spec.attributes.Zone}=z2");
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    // A node goes: so does its Machine, and whoever works there is matched elsewhere.
    let used = text(&here.list("pods").remove(0), "/spec/nodeName");
    cluster(&here, &["delete", "node", &used]);
    here.until("the Machine to go", || (here.list("gmm").len() == 1).then_some(()));
    // Pods of a node that is gone count as running until Kubernetes' collector ends them, after a minute; and until the scheduler knows
    // that the node is gone, it may place another pod there.
    here.until("the work to run on the other node", || {
        let pods = here.list("pods");
        let is_there = |pod: &&Value| text(pod, "/spec/nodeName") == used;
        for pod in pods.iter().filter(is_there) {
            let name = text(pod, "/metadata/name");
            here.kubectl(
                &["delete", "pod", &name, "--force", "--grace-period=0", "--ignore-not-found", "--wait=false"],
                None,
            );
        }
        pods.iter().find(|pod| text(pod, "/status/phase") == "Running" && !is_there(pod)).map(|_| ())
    });
    cluster(&here, &["delete", "gmc", &here.name]);
    here.until("the Machines to go with their class", || here.list("gmm").is_empty().then_some(()));
}

#[test]
fn a_cordoned_or_silent_node_is_not_offered_and_comes_back() {
    let here = Stage::with_pods().namespace("cordon");
    nodes(&here, &["a"]);
    here.access().apply(&class(&here, &json!({}))).unwrap();
    let (node, machine) = (node_of(&here, "a"), machine_of(&here, "a"));
    offered(&here, "a");
    cluster(&here, &["cordon", &node]);
    let message = here.wait_reason(&machine, "Ready", "NodeCordoned");
    assert_eq!(message, format!("node {node} is cordoned"));
    here.wait(&machine, "jsonpath={.status.state}=Unavailable");
    here.apply(&job("j", "true"));
    here.wait_reason("gmj/j", "Matched", "OffersUnavailable");
    cluster(&here, &["uncordon", &node]);
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    // Who works there is not put out by a cordon.
    cluster(&here, &["cordon", &node]);
    here.wait_reason(&machine, "Ready", "NodeCordoned");
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
}

#[test]
fn a_node_cordoned_between_match_and_commit_is_not_taken() {
    let here = Stage::with_pods().namespace("between");
    nodes(&here, &["a"]);
    here.access().apply(&class(&here, &json!({}))).unwrap();
    here.apply(&license("cheap", "sim", 1, 1));
    offered(&here, "a");
    here.wait("gml/cheap", "Ready");
    let policy = hold_up_reserves(&here);
    here.apply(&crate::stage::job("j", "sim"));
    here.until("the machine to be reserved", || (here.entries(&machine_of(&here, "a")) == 1).then_some(()));
    cluster(&here, &["cordon", &node_of(&here, "a")]);
    here.wait_reason(&machine_of(&here, "a"), "Ready", "NodeCordoned");
    lift(&here, &policy);
    here.until("the Match to be aborted", || {
        let found = here.list("gmatch").into_iter().next()?;
        (text(&found, "/status/decision") == "Aborted")
            .then(|| assert_eq!(text(&found, "/status/reason"), "NotAllowed"))
    });
    here.until("the machine to be free", || (here.entries(&machine_of(&here, "a")) == 0).then_some(()));
    cluster(&here, &["uncordon", &node_of(&here, "a")]);
    here.wait("gmj/j", "Claimed");
}

#[test]
fn of_two_machines_that_are_one_node_the_older_is_offered() {
    let here = Stage::with_pods().namespace("double");
    nodes(&here, &["a"]);
    let machine = |name: &str| {
        format!(
            "{{apiVersion: gangmatch.dev/v1alpha1, kind: Machine, metadata: {{name: {name}}}, spec: {{nodeName: {}}}}}",
            node_of(&here, "a")
        )
    };
    here.apply(&machine("first"));
    here.wait("gmm/first", "Ready");
    // Times are whole seconds; of two of one second the smaller uid counts as the older.
    here.apply(&machine("second"));
    here.until("one of them to be refused", || {
        let refused = here.with_reason("gmm", "Ready", "DuplicateNode");
        (refused.len() == 1).then_some(())
    });
    let ghost = machine("ghost").replace(&node_of(&here, "a"), "no-such-node");
    here.apply(&ghost);
    here.wait_reason("gmm/ghost", "Ready", "NodeMissing");
    for one in ["j", "k", "l"] {
        here.apply(&job(one, "true"));
    }
    here.until("one job to run", || {
        let running = here.list("gmj").into_iter().filter(|job| text(job, "/status/phase") == "Running");
        (running.count() == 1).then_some(())
    });
    here.until("the others to wait", || {
        let waits = here.with_reason("gmj", "Matched", "WaitingForCapacity");
        (waits.len() == 2).then_some(())
    });
}

#[test]
fn of_two_gangs_that_race_for_the_last_node_one_runs_and_the_other_follows() {
    let here = Stage::with_pods().namespace("race");
    nodes(&here, &["a"]);
    here.access().apply(&class(&here, &json!({}))).unwrap();
    offered(&here, "a");
    here.apply(&format!("{}\n---\n{}", job("j", "true"), job("k", "true")));
    let first = here.until("one of them to run", || {
        let all = here.list("gmj");
        all.iter().find(|job| text(job, "/status/phase") == "Running").map(name)
    });
    let second = if first == "j" { "k" } else { "j" };
    assert_eq!(here.list("pods").len(), 1, "no pod was ever made for the other");
    here.merge(&format!("gmj/{first}"), r#"{"spec": {"done": true}}"#);
    here.wait(&format!("gmj/{second}"), "jsonpath={.status.phase}=Running");
}

#[test]
fn a_machine_that_is_drained_lets_its_work_end_and_takes_no_more() {
    let here = Stage::with_pods().namespace("drain");
    nodes(&here, &["a"]);
    here.access().apply(&class(&here, &json!({"capacity": {"slots": 2}}))).unwrap();
    let machine = machine_of(&here, "a");
    offered(&here, "a");
    here.apply(&job("j", "true"));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    here.merge(&machine, r#"{"spec": {"stopPolicy": "Hold"}}"#);
    here.wait(&machine, "jsonpath={.status.state}=Draining");
    here.apply(&job("k", "true"));
    here.wait_reason("gmj/k", "Matched", "OffersUnavailable");
    assert_eq!(text(&here.get("gmj/j"), "/status/phase"), "Running");
    assert_eq!(text(&here.get(&machine), "/spec/stopPolicy"), "Hold", "the class leaves that alone");
    here.merge(&machine, r#"{"spec": {"stopPolicy": "None"}}"#);
    here.wait("gmj/k", "jsonpath={.status.phase}=Running");
}

#[test]
fn a_class_that_cannot_be_read_says_so_and_who_may_not_offer_nodes_makes_none() {
    let here = Stage::with_pods().namespace("wrong");
    nodes(&here, &["a"]);
    here.access().apply(&class(&here, &json!({"constraint": "other.Memory >"}))).unwrap();
    let gmc = format!("gmc/{}", here.name);
    let message = here.wait_reason(&gmc, "Accepted", "ParseError");
    assert!(message.starts_with("spec.constraint: line 1, column "), "{message}");
    assert!(here.list("gmm").is_empty());
    here.access().apply(&class(&here, &json!({"constraint": "true"}))).unwrap();
    offered(&here, "a");
    here.wait_reason(&gmc, "Accepted", "Accepted");
    let role = format!("classes-{}", here.name);
    cluster(&here, &["create", "clusterrole", &role, "--verb=create,get", "--resource=machineclasses.gangmatch.dev"]);
    cluster(&here, &["create", "clusterrolebinding", &role, &format!("--clusterrole={role}"), "--user=eve"]);
    let other = class(&here, &json!({})).replace(&format!("\"name\":\"{}\"", here.name), "\"name\":\"eves\"");
    let refused = here.until("the right to create to be known", || {
        let output = here.access().kubectl(&["create", "--as=eve", "-f", "-"], Some(&other)).unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (!said.contains("cannot create resource")).then_some(said)
    });
    assert!(refused.contains("a MachineClass needs the verb advertise on all nodes"), "{refused}");
}

#[test]
fn many_nodes_cost_no_steady_writes() {
    const NODES: usize = 80;
    const QUIET: Duration = Duration::from_secs(15);
    let stage = Stage::with_pods();
    let Some(plane) = stage.cluster.control_plane() else {
        eprintln!("SKIPPED: writes are counted in the audit log of a control plane of our own");
        return;
    };
    let here = stage.namespace("many");
    let names: Vec<String> = (0..NODES).map(|number| format!("n{number}")).collect();
    nodes(&here, &names.iter().map(String::as_str).collect::<Vec<_>>());
    here.access().apply(&class(&here, &json!({}))).unwrap();
    here.until("every node to be offered", || {
        let ready = here.list("gmm").iter().filter(|machine| condition(machine, "Ready").0 == "True").count();
        (ready == NODES).then_some(())
    });
    let mut before = writes(plane, &here.name);
    here.until("the writes to cease", || {
        let now = writes(plane, &here.name);
        let same = now.len() == before.len();
        before = now;
        same.then_some(())
    });
    let creates = before.iter().filter(|write| write.starts_with("create ") && write.contains("/machines")).count();
    assert_eq!(creates, NODES);
    let begun = Instant::now();
    here.until("a while to pass", || {
        let now = writes(plane, &here.name);
        let new: Vec<&String> = now.iter().skip(before.len()).collect();
        assert!(new.is_empty(), "written while nothing happened: {new:?}");
        (begun.elapsed() >= QUIET).then_some(())
    });
}

#[test]
fn b1_a_class_whose_namespace_does_not_exist_says_so_until_it_does() {
    let here = Stage::with_pods().namespace("nowhere");
    nodes(&here, &["n"]);
    let missing = format!("{}-later", here.name);
    here.access().apply(&class(&here, &json!({"namespace": missing}))).unwrap();
    let message = here.wait_reason(&format!("machineclass/{}", here.name), "Accepted", "NamespaceMissing");
    assert!(message.contains(&format!("create it: kubectl create namespace {missing}")), "{message}");
    cluster(&here, &["create", "namespace", &missing]);
    here.wait_reason(&format!("machineclass/{}", here.name), "Accepted", "Accepted");
    cluster(&here, &["delete", "machineclass", &here.name]);
}
