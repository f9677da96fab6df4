//! A Pod that is held by a scheduling gate, let go.

use crds::GATE;
use serde_json::{Map, Value};

use crate::workloads::marks::{bring_in_line, fields, variables};
use crate::workloads::place::remove_gate;
use crate::workloads::{Gang, placement};
use crate::write::patch::Ops;
use crate::write::work_requests::Raw;

/// Takes the gate away, and says in the same patch on which node it may run: the API server lets the node affinity of a gated Pod
/// be narrowed, and nothing else of its affinity be changed. One Pod has one node: the gang's first.
pub(super) fn start(mut ops: Ops, current: &Raw, gang: &Gang) -> Ops {
    for (name, value) in variables(gang) {
        ops = ops.add(&["metadata", "annotations", &name], value);
    }
    let mut seats = gang.seats.clone();
    let first = seats.iter().position(|seat| seat.node.is_some());
    for (place, seat) in seats.iter_mut().enumerate() {
        seat.node.take_if(|_| first != Some(place));
    }
    let now = fields(&current.spec, "");
    let mut wanted: Map<String, Value> = now.clone();
    wanted.extend(placement(&now, &Gang { seats, ..gang.clone() }));
    remove_gate(&mut wanted, GATE);
    bring_in_line(ops, &["spec"], &["affinity", "tolerations", "schedulingGates"], &now, &wanted)
}

#[cfg(test)]
mod tests {
    use crate::workloads::gang::Seat;
    use crate::workloads::{Gang, hand_back, start_taken, take_over};
    use crate::write::requests::ObjectPatch;
    use crate::write::work_requests::Raw;
    use crds::WorkKind;
    use json_patch::Patch;
    use serde_json::{Value, json};

    fn started(spec: Value, gang: &Gang) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "uid": "u", "resourceVersion": "1", "annotations": {}}, "spec": spec});
        let raw: Raw = serde_json::from_value(object.clone()).unwrap();
        let ObjectPatch::Json(Patch(ops)) = start_taken(WorkKind::Pod, &raw, ("u", "1"), gang) else {
            panic!("unguarded")
        };
        json_patch::patch(&mut object, &ops).unwrap();
        object
    }

    fn gang(nodes: &[&str]) -> Gang {
        let seat = |node: &&str| Seat {
            path: vec![if *node == "n1" { "cpu" } else { "other" }.to_owned()],
            node: Some((*node).to_owned()),
            tolerations: vec![json!({"key": node, "operator": "Exists"})],
            ..Seat::default()
        };
        Gang { uid: "m".to_owned(), seats: nodes.iter().map(seat).collect(), ..Gang::default() }
    }

    #[test]
    fn a_pod_is_let_go_on_the_first_node_and_other_gates_stay() {
        let term = json!({"matchExpressions": [{"key": "ssd", "operator": "Exists"}]});
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}});
        let pod = started(
            json!({"schedulingGates": [{"name": "gangmatch.dev/hold"}, {"name": "other.dev/gate"}],
                "affinity": {"nodeAffinity": required}, "tolerations": [{"key": "own"}]}),
            &gang(&["n1", "n2"]),
        );
        assert_eq!(pod["spec"]["schedulingGates"], json!([{"name": "other.dev/gate"}]));
        let terms = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        let field = json!({"key": "metadata.name", "operator": "In", "values": ["n1"]});
        assert_eq!(terms, &json!([{"matchExpressions": term["matchExpressions"], "matchFields": [field]}]));
        assert!(pod["spec"]["affinity"].get("podAntiAffinity").is_none(), "that cannot be changed");
        assert_eq!(pod["spec"]["tolerations"][0], json!({"key": "own"}), "tolerations are only added");
        assert_eq!(pod["metadata"]["annotations"]["env.gangmatch.dev/GANGMATCH_CPU_NODE"], "n1");
    }

    #[test]
    fn a_pod_that_was_taken_over_and_not_let_go_is_given_back_as_it_was() {
        let before = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"schedulingGates": [{"name": "gangmatch.dev/hold"}]},
            "metadata": {"name": "p", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}, "annotations": {}}});
        let raw = |object: &Value| serde_json::from_value::<Raw>(object.clone()).unwrap();
        let mut object = before.clone();
        let mut apply = |change: ObjectPatch| {
            let ObjectPatch::Json(Patch(ops)) = change else { panic!("unguarded") };
            json_patch::patch(&mut object, &ops).unwrap();
            raw(&object)
        };
        let taken = apply(take_over(WorkKind::Pod, &raw(&before).metadata, &gang(&["n1"])));
        assert_eq!(taken.metadata.labels.as_ref().unwrap()["gangmatch.dev/match-uid"], "m");
        apply(hand_back(WorkKind::Pod, &taken, "m"));
        assert_eq!(object, before);
    }

    #[test]
    fn without_a_machine_that_is_a_node_only_the_gate_goes() {
        let pod = started(json!({"schedulingGates": [{"name": "gangmatch.dev/hold"}]}), &Gang::default());
        assert_eq!(pod["spec"], json!({}));
    }
}
