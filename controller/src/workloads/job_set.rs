//! A JobSet that is suspended, let go and given back.
//!
//! Of its templates the JobSet's own webhook lets labels, annotations, node selectors and tolerations be changed while it is
//! suspended, and no affinity. So its pods are bound by the label `kubernetes.io/hostname` of the node.

use serde_json::{Map, Value, json};

use crate::workloads::Gang;
use crate::workloads::gang::{HOSTNAME, Seat};
use crate::workloads::patches::{PLACED_BEFORE, bring_in_line, fields, kept_placement, mark_pods, unmark_pods};
use crate::workloads::place::{list, taken};
use crate::write::patch::Ops;
use crate::write::work_requests::Raw;

/// The fields of a pod specification that say where it may run, as far as claims change them.
const PLACEMENT: [&str; 2] = ["nodeSelector", "tolerations"];

/// Lets it go, and says in the same patch where each replicated job may run: on the machine at the port of its name; if there is no
/// such port, on the gang's first.
pub(super) fn start(mut ops: Ops, current: &Raw, gang: &Gang) -> Ops {
    let before = placed_before(current);
    let kept: Vec<Value> = before.iter().cloned().map(Value::Object).collect();
    ops = ops.add(&["metadata", "annotations", PLACED_BEFORE], Value::Array(kept).to_string());
    for ((number, job), before) in jobs(current).iter().enumerate().zip(before) {
        let number = number.to_string();
        let path = ["spec", "replicatedJobs", &number, "template", "spec", "template"];
        ops = mark_pods(ops, &path, fields(job, POD_TEMPLATE), gang);
        let wanted = match seat(job, gang) {
            Some(seat) => placed(before, seat),
            None => before,
        };
        let (now, path) = (fields(job, POD_SPEC), [&path[..], &["spec"]].concat());
        ops = bring_in_line(ops, &path, &PLACEMENT, &now, &wanted);
    }
    ops.replace(&["spec", "suspend"], false)
}

/// Puts labels, annotations and placement back as they were.
pub(super) fn restore(mut ops: Ops, current: &Raw) -> Ops {
    for ((number, job), before) in jobs(current).iter().enumerate().zip(placed_before(current)) {
        let number = number.to_string();
        let path = ["spec", "replicatedJobs", &number, "template", "spec", "template"];
        ops = unmark_pods(ops, &path, fields(job, POD_TEMPLATE));
        let (now, path) = (fields(job, POD_SPEC), [&path[..], &["spec"]].concat());
        ops = bring_in_line(ops, &path, &PLACEMENT, &now, &before);
    }
    ops
}

const POD_TEMPLATE: &str = "/template/spec/template";
const POD_SPEC: &str = "/template/spec/template/spec";

fn jobs(current: &Raw) -> &[Value] {
    current.spec.pointer("/replicatedJobs").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The placement of each replicated job before any claim: as it was kept, else as it is.
fn placed_before(current: &Raw) -> Vec<Map<String, Value>> {
    let now = jobs(current).iter().map(|job| {
        let mut all = fields(job, POD_SPEC);
        all.retain(|name, _| PLACEMENT.contains(&name.as_str()));
        all
    });
    match kept_placement(current) {
        Some(Value::Array(kept)) => kept.into_iter().map(|one| fields(&one, "")).collect(),
        _ => now.collect(),
    }
}

/// The machine of a replicated job: at the port of its name, whatever its case.
fn seat<'g>(job: &Value, gang: &'g Gang) -> Option<&'g Seat> {
    let name = job.get("name").and_then(Value::as_str).unwrap_or_default();
    let nodes = || gang.seats.iter().filter(|seat| seat.node.is_some());
    let named = |seat: &&Seat| seat.path.last().is_some_and(|label| label.replace('_', "-").eq_ignore_ascii_case(name));
    nodes().find(named).or_else(|| nodes().next())
}

fn placed(mut before: Map<String, Value>, seat: &Seat) -> Map<String, Value> {
    let mut selector = taken(&mut before, "nodeSelector");
    selector.insert(HOSTNAME.to_owned(), json!(seat.hostname));
    before.insert("nodeSelector".to_owned(), Value::Object(selector));
    let mut tolerations = list(&mut before, "tolerations");
    tolerations.extend(seat.tolerations.iter().cloned());
    if !tolerations.is_empty() {
        before.insert("tolerations".to_owned(), Value::Array(tolerations));
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::{hand_back, start_taken, take_over};
    use crate::write::requests::ObjectPatch;
    use crds::WorkKind;
    use json_patch::Patch;
    use pool::ObjectKey;

    fn apply(object: &mut Value, change: ObjectPatch) {
        let ObjectPatch::Json(Patch(ops)) = change else { panic!("unguarded") };
        json_patch::patch(object, &ops).unwrap();
    }

    fn raw(object: &Value) -> Raw {
        serde_json::from_value(object.clone()).unwrap()
    }

    #[test]
    fn each_replicated_job_runs_on_the_machine_at_the_port_of_its_name_and_is_given_back_as_it_was() {
        let seat = |label: &str, node: &str| Seat {
            path: vec![label.to_owned()],
            node: Some(node.to_owned()),
            hostname: Some(format!("{node}.lab")),
            tolerations: vec![json!({"key": "lab"})],
            ..Seat::default()
        };
        let seats = vec![seat("head", "n1"), seat("Work_er", "n2")];
        let gang = Gang { key: ObjectKey::new("ns", "m"), uid: "u-m".to_owned(), seats, ..Gang::default() };
        let job = |name: &str, spec: Value| {
            json!({"name": name, "template": {"spec": {"template": {"metadata": {"labels": {"a": "b"}, "annotations": {}},
                "spec": spec}}}})
        };
        let before = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": "s", "uid": "u", "resourceVersion": "1", "labels": {}, "annotations": {}},
            "spec": {"suspend": true, "replicatedJobs": [job("work-er", json!({"nodeSelector": {"ssd": "yes"}})),
                job("head", json!({"tolerations": [{"key": "own"}]})), job("viewer", json!({}))]}});
        let mut object = before.clone();
        let taken = take_over(WorkKind::JobSet, &raw(&object).metadata, &gang);
        apply(&mut object, taken);
        let started = start_taken(WorkKind::JobSet, &raw(&object), ("u", "1"), &gang);
        apply(&mut object, started);
        assert_eq!(object["spec"]["suspend"], false);
        let pod = |object: &Value, number: usize| {
            object["spec"]["replicatedJobs"][number]["template"]["spec"]["template"].clone()
        };
        assert_eq!(pod(&object, 0)["spec"]["nodeSelector"], json!({"ssd": "yes", HOSTNAME: "n2.lab"}));
        assert_eq!(pod(&object, 1)["spec"]["nodeSelector"], json!({HOSTNAME: "n1.lab"}));
        assert_eq!(pod(&object, 1)["spec"]["tolerations"], json!([{"key": "own"}, {"key": "lab"}]));
        assert_eq!(
            pod(&object, 2)["spec"]["nodeSelector"],
            json!({HOSTNAME: "n1.lab"}),
            "of no port: the first machine"
        );
        assert_eq!(pod(&object, 2)["metadata"]["labels"], json!({"a": "b", "gangmatch.dev/match-uid": "u-m"}));
        object["spec"]["suspend"] = json!(true);
        let back = hand_back(WorkKind::JobSet, &raw(&object), "u-m");
        apply(&mut object, back);
        assert_eq!(object, before);
    }
}
