//! A gang into where its pods may run: on its nodes and on no others, one on each.

use crds::LABEL_MATCH_UID;
use serde_json::{Map, Value, json};

use crate::workloads::Gang;
use crate::workloads::gang::Seat;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// The affinity and the tolerations of a pod specification, with the gang's added; what its author wrote stays in force
/// beside them. Nothing, if no member of the gang is a node.
pub(crate) fn placement(pod_spec: &Map<String, Value>, gang: &Gang) -> Map<String, Value> {
    let nodes = gang.nodes();
    if nodes.is_empty() {
        return Map::new();
    }
    let mut pod_spec = pod_spec.clone();
    let mut affinity = taken(&mut pod_spec, "affinity");
    let on_nodes = require_nodes(taken(&mut affinity, "nodeAffinity"), &nodes);
    affinity.insert("nodeAffinity".to_owned(), Value::Object(on_nodes));
    if nodes.len() > 1 {
        let apart = keep_apart(taken(&mut affinity, "podAntiAffinity"), &gang.uid);
        affinity.insert("podAntiAffinity".to_owned(), Value::Object(apart));
    }
    let tolerations = tolerations(&mut pod_spec, &gang.seats);
    let mut placed = Map::from_iter([("affinity".to_owned(), Value::Object(affinity))]);
    if !tolerations.is_empty() {
        placed.insert("tolerations".to_owned(), Value::Array(tolerations));
    }
    placed
}

/// Removes the scheduling gate of this name from a pod specification. Whether it was there.
pub(super) fn remove_gate(pod_spec: &mut Map<String, Value>, name: &str) -> bool {
    let mut gates = list(pod_spec, "schedulingGates");
    let before = gates.len();
    gates.retain(|gate| gate.get("name").and_then(Value::as_str) != Some(name));
    let was_there = gates.len() < before;
    if !gates.is_empty() {
        pod_spec.insert("schedulingGates".to_owned(), Value::Array(gates));
    }
    was_there
}

/// The tolerations of a pod specification, taken out, with those of these seats added.
pub(super) fn tolerations<'s>(
    pod_spec: &mut Map<String, Value>,
    seats: impl IntoIterator<Item = &'s Seat>,
) -> Vec<Value> {
    let mut all = list(pod_spec, "tolerations");
    for allowed in seats.into_iter().flat_map(|seat| &seat.tolerations) {
        if !all.contains(allowed) {
            all.push(allowed.clone());
        }
    }
    all
}

/// Terms are alternatives, and what is in one term must all hold: so every term of the author is there once for each node. A
/// field selector names exactly one node.
fn require_nodes(mut affinity: Map<String, Value>, nodes: &[&str]) -> Map<String, Value> {
    let mut required = taken(&mut affinity, REQUIRED);
    let mut written = list(&mut required, "nodeSelectorTerms");
    if written.is_empty() {
        written.push(json!({}));
    }
    let mut terms = Vec::new();
    for (term, node) in written.iter().flat_map(|term| nodes.iter().map(move |node| (term, node))) {
        let mut term = term.as_object().cloned().unwrap_or_default();
        let mut fields = list(&mut term, "matchFields");
        fields.push(json!({"key": "metadata.name", "operator": "In", "values": [node]}));
        term.insert("matchFields".to_owned(), Value::Array(fields));
        terms.push(Value::Object(term));
    }
    affinity.insert(REQUIRED.to_owned(), json!({"nodeSelectorTerms": terms}));
    affinity
}

/// No two pods of one claim on one node.
fn keep_apart(mut anti_affinity: Map<String, Value>, match_uid: &str) -> Map<String, Value> {
    let mut terms = list(&mut anti_affinity, REQUIRED);
    let of_claim = json!({"matchLabels": {LABEL_MATCH_UID: match_uid}});
    terms.push(json!({"labelSelector": of_claim, "topologyKey": "kubernetes.io/hostname"}));
    anti_affinity.insert(REQUIRED.to_owned(), Value::Array(terms));
    anti_affinity
}

/// A field that is an object, taken out; an empty one, if it is none.
pub(super) fn taken(fields: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match fields.remove(name) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// A field that is a list, taken out.
pub(super) fn list(fields: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    match fields.remove(name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(nodes: &[&str]) -> Gang {
        let seat = |node: &&str| Seat {
            node: Some((*node).to_owned()),
            tolerations: vec![json!({"key": "lab", "operator": "Exists"})],
            ..Seat::default()
        };
        Gang { uid: "u".to_owned(), seats: nodes.iter().map(seat).collect(), ..Gang::default() }
    }

    fn placed(spec: Value, gang: &Gang) -> Value {
        Value::Object(placement(spec.as_object().unwrap(), gang))
    }

    fn field(node: &str) -> Value {
        json!({"key": "metadata.name", "operator": "In", "values": [node]})
    }

    #[test]
    fn one_node_is_required_by_name() {
        let found = placed(json!({"containers": []}), &on(&["n1"]));
        let terms = json!([{"matchFields": [field("n1")]}]);
        assert_eq!(
            found,
            json!({
                "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}},
                "tolerations": [{"key": "lab", "operator": "Exists"}],
            })
        );
        assert_eq!(placed(json!({}), &Gang::default()), json!({}), "where no member is a node nothing is said");
    }

    #[test]
    fn what_the_author_wrote_stays_in_force() {
        let preferred = json!([{"weight": 1}]);
        let term = |key: &str| json!({"matchExpressions": [{"key": key, "operator": "Exists"}]});
        let spec = json!({
            "affinity": {"nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
                REQUIRED: {"nodeSelectorTerms": [term("a"), term("b")]},
            }},
            "tolerations": [{"key": "lab", "operator": "Exists"}, {"key": "own"}],
        });
        let found = placed(spec, &on(&["n1"]));
        let terms = found.pointer(&format!("/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms")).unwrap();
        let keys = |place: usize| terms[place]["matchExpressions"][0]["key"].clone();
        assert_eq!((keys(0), keys(1)), (json!("a"), json!("b")));
        assert!(terms.as_array().unwrap().iter().all(|term| term["matchFields"] == json!([field("n1")])));
        assert_eq!(
            found.pointer("/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution"),
            Some(&preferred)
        );
        assert_eq!(found["tolerations"], json!([{"key": "lab", "operator": "Exists"}, {"key": "own"}]));
    }

    #[test]
    fn several_nodes_get_one_pod_each() {
        let found = placed(json!({}), &on(&["n1", "n2"]));
        let terms = found.pointer(&format!("/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms")).unwrap();
        assert_eq!(terms, &json!([{"matchFields": [field("n1")]}, {"matchFields": [field("n2")]}]));
        let apart = found.pointer(&format!("/affinity/podAntiAffinity/{REQUIRED}/0")).unwrap();
        assert_eq!(apart["labelSelector"]["matchLabels"], json!({LABEL_MATCH_UID: "u"}));
    }
}
