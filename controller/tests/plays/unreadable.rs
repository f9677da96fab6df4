//! An object that cannot be read keeps nobody else out: neither when it is there at the beginning, nor when it comes later.

use http::Method;
use serde_json::{Value, json};

use crate::faults::Twist;
use crate::stage::{HERE, Stage};

fn node(stage: &mut Stage, name: &str, spec: &Value) {
    let metadata = json!({"name": name, "labels": {"pool": "lab"}});
    stage.post("/api/v1/nodes", &json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}));
}

/// A stage on which each node of the class becomes a Machine.
fn lab() -> Stage {
    let mut stage = Stage::new(None, Twist::None);
    let spec = json!({"namespace": HERE, "selector": {"matchLabels": {"pool": "lab"}},
        "constraint": "other.Type == \"Job\"", "capacity": {"slots": "2"}});
    let class = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "MachineClass", "metadata": {"name": "lab"}, "spec": spec});
    stage.post("/apis/gangmatch.dev/v1alpha1/machineclasses", &class);
    stage
}

fn becomes_a_machine(stage: &mut Stage, name: &'static str) {
    stage.until("the node has its Machine", |stage| stage.get("machines", name).is_some()).unwrap();
}

#[test]
fn one_that_comes_later_keeps_nobody_out() {
    let mut stage = lab();
    stage.start(&[]);
    node(&mut stage, "good", &json!({}));
    becomes_a_machine(&mut stage, "good");
    node(&mut stage, "bad", &json!("nonsense"));
    stage.pass(1_000);
    node(&mut stage, "after", &json!({}));
    becomes_a_machine(&mut stage, "after");
    assert!(stage.get("machines", "bad").is_none(), "nothing is known of it");
    stage.verdict().unwrap();
}

#[test]
fn one_that_was_there_before_keeps_nobody_out_and_comes_in_when_it_can_be_read() {
    let mut stage = lab();
    node(&mut stage, "bad", &json!("nonsense"));
    node(&mut stage, "good", &json!({}));
    stage.start(&[]);
    becomes_a_machine(&mut stage, "good");
    assert!(stage.get("machines", "bad").is_none(), "nothing is known of it");
    let mended = stage.ask(&Method::PATCH, "/api/v1/nodes/bad", &json!({"spec": {}}));
    assert!(mended.code < 300, "{}", mended.body);
    becomes_a_machine(&mut stage, "bad");
    stage.verdict().unwrap();
}
