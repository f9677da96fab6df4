//! Each reason that a condition of a Machine or a License can have.

use serde_json::{Value, json};

use crate::stage::{Stage, license};

/// A machine that stands for this node.
fn on_node(name: &str, node: &str) -> String {
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": {"name": name},
        "spec": {"nodeName": node, "constraint": "other.Type == \"Job\""}})
    .to_string()
}

/// A job that needs a license.
fn wants(name: &str) -> String {
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name},
        "spec": {"constraint": "other.Type == \"License\""}})
    .to_string()
}

#[test]
fn reasons_of_a_machine_and_its_node() {
    let here = Stage::shared().namespace("nodes");
    let cluster = |arguments: &[&str]| here.access().kubectl_text(arguments, None).unwrap();
    let node = format!("node-{}", here.name);
    here.apply(&on_node("m", &node));
    here.shows("gmm/m", "Ready", "NodeMissing");
    let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}});
    here.access().apply(&object.to_string()).unwrap();
    here.shows("gmm/m", "Ready", "NodeNotReady");
    let is_ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}).to_string();
    cluster(&["patch", "node", &node, "--subresource=status", "--type=merge", "-p", &is_ready]);
    here.shows("gmm/m", "Ready", "Available");
    cluster(&["cordon", &node]);
    here.shows("gmm/m", "Ready", "NodeCordoned");
    cluster(&["uncordon", &node]);
    here.shows("gmm/m", "Ready", "Available");
    here.apply(&on_node("younger", &node));
    here.shows("gmm/younger", "Ready", "DuplicateNode");
    here.delete("gmm/m");
    here.shows("gmm/younger", "Ready", "Available");
    cluster(&["delete", "node", &node]);
}

#[test]
fn reasons_of_a_license_its_owner_and_its_claims() {
    let here = Stage::shared().namespace("seats");
    let set = |spec: &Value| here.merge("gml/l", &json!({ "spec": spec }).to_string());
    here.apply(&license("l", "sim", 2, 1));
    for (wrong, type_, reason, right) in [
        (json!({"stopPolicy": "Hold"}), "Ready", "Draining", json!({"stopPolicy": "None"})),
        (json!({"stopPolicy": "HoldAndDrain"}), "Ready", "Evicting", json!({"stopPolicy": "None"})),
        (json!({"constraint": "a and b"}), "Ready", "NotAccepted", json!({"constraint": "other.Type == \"Job\""})),
        (json!({"constraint": "a and b"}), "Accepted", "ParseError", json!({"constraint": "other.Type == \"Job\""})),
    ] {
        here.shows("gml/l", "Ready", "Available");
        set(&wrong);
        here.shows("gml/l", type_, reason);
        set(&right);
    }
    here.shows("gml/l", "Accepted", "Accepted");
    set(&json!({"allowedNamespaces": {"from": "All"}}));
    let message = here.shows("gml/l", "Ready", "NamespaceNotTrusted");
    assert!(message.contains("lacks the label gangmatch.dev/offers=cluster"), "{message}");
    set(&json!({"allowedNamespaces": null}));
    here.shows("gml/l", "Ready", "Available");

    here.apply(&wants("a"));
    here.shows("gml/l", "Ready", "Claimed");
    here.apply(&wants("b"));
    here.shows("gml/l", "Ready", "Full");
    set(&json!({"capacity": {"seats": 1}}));
    here.shows("gml/l", "Overcommitted", "ClaimsExceedCapacity");
    set(&json!({"capacity": {"seats": 2}}));
    here.shows("gml/l", "Overcommitted", "WithinCapacity");
    here.delete("gmj/a");
    here.shows("gml/l", "Ready", "Claimed");
    here.delete("gmj/b");
    here.shows("gml/l", "Ready", "Available");
}
