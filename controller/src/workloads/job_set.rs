//! A JobSet that is suspended, let go and given back.
//!
//! Of its templates the JobSet's own webhook lets labels, annotations, node selectors, tolerations and scheduling gates be changed while
//! it is suspended, and no affinity. So its pods are bound by the label `kubernetes.io/hostname` of the node. The pods of a replicated job
//! with several machines are held by a gate until each is placed on one of them, see [`set_pod`](super::set_pod).

use crds::GATE_PLACE;
use serde_json::{Map, Value, json};

use crate::workloads::Gang;
use crate::workloads::gang::{HOSTNAME, Seat};
use crate::workloads::marks::{
    PLACED_BEFORE, bring_in_line, fields, fields_among, kept_placement, mark_pods, unmark_pods,
};
use crate::workloads::place::{list, taken, tolerations};
use crate::workloads::set_pod::Placement;
use crate::write::patch::Ops;
use crate::write::work_requests::Raw;

/// The fields of a pod specification that say where it may run, as far as claims change them.
const PLACEMENT: [&str; 3] = ["nodeSelector", "tolerations", "schedulingGates"];

/// Lets it go, and says in the same patch where each replicated job may run: on the machines at the port of its name; if there is no
/// such port, on those of the gang's first.
pub(super) fn start(mut ops: Ops, current: &Raw, gang: &Gang) -> Ops {
    let before = placed_before(current);
    let kept: Vec<Value> = before.iter().cloned().map(Value::Object).collect();
    ops = ops.add(&["metadata", "annotations", PLACED_BEFORE], Value::Array(kept).to_string());
    for ((number, job), before) in jobs(current).iter().enumerate().zip(before) {
        let number = number.to_string();
        let path = ["spec", "replicatedJobs", &number, "template", "spec", "template"];
        let seats = seats(job, gang);
        let each = (seats.len() > 1).then(|| Placement::of(job, &seats).text());
        ops = mark_pods(ops, &path, fields(job, POD_TEMPLATE), gang, each);
        let wanted = placed(before, &seats);
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
    let now = jobs(current).iter().map(|job| fields_among(job, POD_SPEC, &PLACEMENT));
    match kept_placement(current) {
        Some(Value::Array(kept)) => kept.into_iter().map(|one| fields(&one, "")).collect(),
        _ => now.collect(),
    }
}

/// The machines of a replicated job: those at the port of its name, whatever its case.
fn seats<'g>(job: &Value, gang: &'g Gang) -> Vec<&'g Seat> {
    let name = job.get("name").and_then(Value::as_str).unwrap_or_default();
    let nodes = || gang.seats.iter().filter(|seat| seat.node.is_some());
    let named = |seat: &&Seat| seat.path.last().is_some_and(|label| label.replace('_', "-").eq_ignore_ascii_case(name));
    let Some(first) = nodes().find(named).or_else(|| nodes().next()) else { return Vec::new() };
    nodes().filter(|seat| seat.path == first.path).collect()
}

fn placed(mut before: Map<String, Value>, seats: &[&Seat]) -> Map<String, Value> {
    if let [only] = seats {
        let mut selector = taken(&mut before, "nodeSelector");
        selector.insert(HOSTNAME.to_owned(), json!(only.hostname));
        before.insert("nodeSelector".to_owned(), Value::Object(selector));
    }
    let tolerations = tolerations(&mut before, seats.iter().copied());
    let mut gates = list(&mut before, "schedulingGates");
    if seats.len() > 1 {
        gates.push(json!({"name": GATE_PLACE}));
    }
    for (name, items) in [("tolerations", tolerations), ("schedulingGates", gates)] {
        if !items.is_empty() {
            before.insert(name.to_owned(), Value::Array(items));
        }
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

    fn gang(machines: &[(&str, &str)]) -> Gang {
        let seat = |(label, node): &(&str, &str)| Seat {
            path: vec![(*label).to_owned()],
            node: Some((*node).to_owned()),
            hostname: Some(format!("{node}.lab")),
            tolerations: vec![json!({"key": "lab"})],
            ..Seat::default()
        };
        let seats = machines.iter().map(seat).collect();
        Gang { key: ObjectKey::new("ns", "m"), uid: "u-m".to_owned(), seats, ..Gang::default() }
    }

    fn job(name: &str, spec: Value) -> Value {
        json!({"name": name, "template": {"spec": {"template": {"metadata": {"labels": {"a": "b"}, "annotations": {}},
            "spec": spec}}}})
    }

    fn set(jobs: &[Value]) -> Value {
        json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": "s", "uid": "u", "resourceVersion": "1", "labels": {}, "annotations": {}},
            "spec": {"suspend": true, "replicatedJobs": jobs}})
    }

    fn started(before: &Value, gang: &Gang) -> Value {
        let mut object = before.clone();
        let taken = take_over(WorkKind::JobSet, &raw(&object).metadata, gang);
        apply(&mut object, taken);
        let started = start_taken(WorkKind::JobSet, &raw(&object), ("u", "1"), gang);
        apply(&mut object, started);
        assert_eq!(object["spec"]["suspend"], false);
        object
    }

    fn given_back(mut object: Value) -> Value {
        object["spec"]["suspend"] = json!(true);
        let back = hand_back(WorkKind::JobSet, &raw(&object), "u-m");
        apply(&mut object, back);
        object
    }

    fn pod(object: &Value, number: usize) -> Value {
        object["spec"]["replicatedJobs"][number]["template"]["spec"]["template"].clone()
    }

    #[test]
    fn the_pods_of_a_replicated_job_with_several_machines_are_held_until_each_is_placed() {
        let gang = gang(&[("work", "n1"), ("work", "n2"), ("head", "n3")]);
        let mut work = job("work", json!({"schedulingGates": [{"name": "own.dev/gate"}]}));
        work["template"]["spec"]["parallelism"] = json!(2);
        let before = set(&[work, job("head", json!({})), job("viewer", json!({}))]);
        let object = started(&before, &gang);
        let gates = json!([{"name": "own.dev/gate"}, {"name": GATE_PLACE}]);
        assert_eq!(pod(&object, 0)["spec"], json!({"schedulingGates": gates, "tolerations": [{"key": "lab"}]}));
        let placement =
            |number: usize| pod(&object, number)["metadata"]["annotations"]["gangmatch.dev/placement"].clone();
        assert_eq!(placement(0), r#"{"hostnames":["n1.lab","n2.lab"],"podsPerJob":2}"#);
        assert_eq!(pod(&object, 1)["spec"]["nodeSelector"], json!({HOSTNAME: "n3.lab"}));
        assert_eq!(placement(1), Value::Null);
        assert_eq!(
            placement(2),
            r#"{"hostnames":["n1.lab","n2.lab"],"podsPerJob":1}"#,
            "of no port: the first machines"
        );
        assert_eq!(given_back(object), before);
    }

    #[test]
    fn each_replicated_job_runs_on_the_machine_at_the_port_of_its_name_and_is_given_back_as_it_was() {
        let gang = gang(&[("head", "n1"), ("Work_er", "n2")]);
        let before = set(&[
            job("work-er", json!({"nodeSelector": {"ssd": "yes"}})),
            job("head", json!({"tolerations": [{"key": "own"}]})),
            job("viewer", json!({})),
        ]);
        let object = started(&before, &gang);
        assert_eq!(pod(&object, 0)["spec"]["nodeSelector"], json!({"ssd": "yes", HOSTNAME: "n2.lab"}));
        assert_eq!(pod(&object, 1)["spec"]["nodeSelector"], json!({HOSTNAME: "n1.lab"}));
        assert_eq!(pod(&object, 1)["spec"]["tolerations"], json!([{"key": "own"}, {"key": "lab"}]));
        assert_eq!(
            pod(&object, 2)["spec"]["nodeSelector"],
            json!({HOSTNAME: "n1.lab"}),
            "of no port: the first machine"
        );
        assert_eq!(pod(&object, 2)["metadata"]["labels"], json!({"a": "b", "gangmatch.dev/match-uid": "u-m"}));
        assert_eq!(given_back(object), before);
    }
}
