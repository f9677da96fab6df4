//! Guarded patches of workloads, and of batch Jobs in particular.

use crds::{ANNOTATION_MATCH, ANNOTATION_MEMBERS, LABEL_MATCH_UID, WorkKind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::workloads::marks::{
    PLACED_BEFORE, bring_in_line, fields, fields_among, kept_placement, mark_pods, unmark_pods,
};
use crate::workloads::{Gang, job_set, placement, pod};
use crate::write::patch::Ops;
use crate::write::requests::ObjectPatch;
use crate::write::work_requests::Raw;

/// The fields of a pod specification that say where it may run, as far as claims change them.
const PLACEMENT: [&str; 2] = ["affinity", "tolerations"];

/// Puts a claim's label on what is still held: exactly the version that was read. On a Pod it says which offers it is about, too:
/// that tells it from pods of batch Jobs.
pub(crate) fn take_over(kind: WorkKind, read: &ObjectMeta, gang: &Gang) -> ObjectPatch {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let mut ops = Ops::default()
        .test(&["metadata", "uid"], text(&read.uid))
        .test(&["metadata", "resourceVersion"], text(&read.resource_version));
    ops = put(ops, &["metadata", "labels"], read.labels.is_some(), LABEL_MATCH_UID, &gang.uid);
    ops = put(ops, &["metadata", "annotations"], read.annotations.is_some(), ANNOTATION_MATCH, &gang.key.name);
    if kind == WorkKind::Pod {
        ops = ops.add(&["metadata", "annotations", ANNOTATION_MEMBERS], gang.members());
    }
    ObjectPatch::Json(ops.build())
}

/// One key of a map that may not be there.
fn put(ops: Ops, path: &[&str], is_there: bool, key: &str, value: &str) -> Ops {
    match is_there {
        true => ops.add(&[path, &[key]].concat(), value),
        false => ops.add(path, json!({key: value})),
    }
}

/// Starts a batch Job that was made for the claim, if it is the one that was read.
pub(crate) fn start_made(uid: &str) -> ObjectPatch {
    ObjectPatch::Json(Ops::default().test(&["metadata", "uid"], uid).replace(&["spec", "suspend"], false).build())
}

/// Starts a workload that was there before the claim, and places it in the same patch: exactly the version that was read.
pub(crate) fn start_taken(kind: WorkKind, current: &Raw, read: (&str, &str), gang: &Gang) -> ObjectPatch {
    let ops = Ops::default()
        .test(&["metadata", "uid"], read.0)
        .test(&["metadata", "resourceVersion"], read.1)
        .add(&["metadata", "annotations", ANNOTATION_MEMBERS], gang.members());
    let ops = match kind {
        WorkKind::Job => start_batch(ops, current, gang),
        WorkKind::JobSet => job_set::start(ops, current, gang),
        WorkKind::Pod => pod::start(ops, current, gang),
    };
    ObjectPatch::Json(ops.build())
}

/// Of the template of a batch Job only labels, annotations and placement can be changed, and only as long as it is suspended. How
/// it was placed before is kept, to be put back.
fn start_batch(ops: Ops, current: &Raw, gang: &Gang) -> Ops {
    let before = placed_before(current);
    let kept = Value::Object(before.clone()).to_string();
    let ops = ops.add(&["metadata", "annotations", PLACED_BEFORE], kept);
    let ops = mark_pods(ops, &["spec", "template"], fields(&current.spec, "/template"), gang, None);
    let mut placed = before.clone();
    placed.extend(placement(&before, gang));
    place(ops, &current.spec, &placed).replace(&["spec", "suspend"], false)
}

/// Takes the claim's marks off again, as long as they are still this claim's and nothing runs, and places its pods as before.
pub(crate) fn hand_back(kind: WorkKind, current: &Raw, match_uid: &str) -> ObjectPatch {
    let label = ["metadata", "labels", LABEL_MATCH_UID];
    let uid = current.metadata.uid.clone().unwrap_or_default();
    let version = current.metadata.resource_version.clone().unwrap_or_default();
    let mut ops = Ops::default()
        .test(&["metadata", "uid"], uid)
        .test(&["metadata", "resourceVersion"], version)
        .test(&label, match_uid);
    if kind != WorkKind::Pod {
        ops = ops.test(&["spec", "suspend"], true);
    }
    let is_marked =
        |annotation: &str| current.metadata.annotations.iter().flatten().any(|(name, _)| name == annotation);
    if is_marked(PLACED_BEFORE) {
        ops = match kind {
            WorkKind::Job => restore_batch(ops, current),
            WorkKind::JobSet => job_set::restore(ops, current),
            WorkKind::Pod => ops,
        };
    }
    for annotation in [PLACED_BEFORE, ANNOTATION_MEMBERS, ANNOTATION_MATCH] {
        if is_marked(annotation) {
            ops = ops.remove(&["metadata", "annotations", annotation]);
        }
    }
    ObjectPatch::Json(ops.remove(&label).build())
}

fn restore_batch(ops: Ops, current: &Raw) -> Ops {
    let ops = unmark_pods(ops, &["spec", "template"], fields(&current.spec, "/template"));
    place(ops, &current.spec, &placed_before(current))
}

/// Affinity and tolerations as they are before any claim: as they were kept, else as they are.
fn placed_before(current: &Raw) -> Map<String, Value> {
    match kept_placement(current) {
        Some(Value::Object(kept)) => kept,
        _ => fields_among(&current.spec, "/template/spec", &PLACEMENT),
    }
}

/// Brings the placement in line.
fn place(ops: Ops, spec: &Value, placed: &Map<String, Value>) -> Ops {
    let now = fields(spec, "/template/spec");
    bring_in_line(ops, &["spec", "template", "spec"], &PLACEMENT, &now, placed)
}

/// Lets nothing more of a batch Job or a JobSet run.
pub(crate) fn suspend(uid: &str) -> ObjectPatch {
    ObjectPatch::Json(Ops::default().test(&["metadata", "uid"], uid).add(&["spec", "suspend"], true).build())
}

/// Takes the label of its claim off something that goes by itself.
pub(crate) fn let_go(uid: &str) -> ObjectPatch {
    ObjectPatch::Json(
        Ops::default().test(&["metadata", "uid"], uid).remove(&["metadata", "labels", LABEL_MATCH_UID]).build(),
    )
}

/// A suspended batch Job that has no start time can be changed again.
pub(crate) fn never_started() -> ObjectPatch {
    ObjectPatch::Merge(json!({"status": Map::from_iter([("startTime".to_owned(), Value::Null)])}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::gang::Seat;
    use json_patch::Patch;
    use pool::ObjectKey;

    fn apply(object: &mut Value, change: ObjectPatch) {
        let ObjectPatch::Json(Patch(ops)) = change else { panic!("unguarded") };
        json_patch::patch(object, &ops).unwrap();
    }

    fn raw(object: &Value) -> Raw {
        serde_json::from_value(object.clone()).unwrap()
    }

    fn gang(uid: &str, node: Option<&str>) -> Gang {
        let seat = Seat { path: vec!["cpu".to_owned()], node: node.map(str::to_owned), ..Seat::default() };
        Gang { key: ObjectKey::new("ns", "m"), uid: uid.to_owned(), seats: vec![seat], ..Gang::default() }
    }

    #[test]
    fn a_batch_job_that_was_lent_is_given_back_as_it_was() {
        let own = json!([{"key": "own", "operator": "Exists"}]);
        let before = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "mine", "uid": "u", "resourceVersion": "1"},
            "spec": {"suspend": true, "template": {
                "metadata": {"labels": {"job-name": "mine"}, "annotations": {"note": "1"}},
                "spec": {"tolerations": own},
            }},
        });
        let mut object = before.clone();
        for (uid, node) in [("m1", Some("n1")), ("m2", Some("n2")), ("m3", None)] {
            let gang = gang(uid, node);
            let taken = take_over(WorkKind::Job, &raw(&object).metadata, &gang);
            apply(&mut object, taken);
            assert_eq!(object["metadata"]["labels"][LABEL_MATCH_UID], uid);
            let started = start_taken(WorkKind::Job, &raw(&object), ("u", "1"), &gang);
            apply(&mut object, started);
            let affinity = object["spec"]["template"]["spec"].get("affinity").map(Value::to_string);
            let named = |node: &str| affinity.as_ref().is_some_and(|text| text.contains(&format!("\"{node}\"")));
            assert_eq!([named("n1"), named("n2")], [node == Some("n1"), node == Some("n2")], "{affinity:?}");
            assert_eq!(object["spec"]["suspend"], false);
            object["spec"]["suspend"] = json!(true);
            if uid != "m1" {
                // of the first one its end was missed: the next claim begins from how it was all the same
                let back = hand_back(WorkKind::Job, &raw(&object), uid);
                apply(&mut object, back);
                let mut expected = before.clone();
                expected["metadata"]["labels"] = json!({});
                expected["metadata"]["annotations"] = json!({});
                assert_eq!(object, expected);
            }
        }
    }

    #[test]
    fn only_what_was_read_is_taken_or_started() {
        let mut other = json!({"metadata": {"uid": "v", "resourceVersion": "2"}, "spec": {"suspend": true}});
        let taken = take_over(WorkKind::Job, &ObjectMeta::default(), &gang("m", None));
        for change in [start_made("u"), suspend("u"), taken] {
            let ObjectPatch::Json(Patch(ops)) = change else { panic!("unguarded") };
            assert!(json_patch::patch(&mut other, &ops).is_err());
        }
    }
}
