//! Guarded patches of workloads, and of batch Jobs in particular.

use crds::{ANNOTATION_MATCH, ANNOTATION_MEMBERS, ANNOTATION_PLACEMENT, LABEL_MATCH_UID, WorkKind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::workloads::{Gang, job_set, placement, pod};
use crate::write::patch::Ops;
use crate::write::requests::ObjectPatch;
use crate::write::work_requests::Raw;

/// Annotation of a workload that was there before the claim: the placement of its pods before the claim.
pub(super) const PLACED_BEFORE: &str = "gangmatch.dev/placed-before";
/// The prefix of the annotations from which the pods of such a workload can read the variables of the gang.
const VARIABLE: &str = "env.gangmatch.dev/";
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

/// The claim's label and variables into the metadata of a pod template at this path, and where its pods are placed, if each of them is.
pub(super) fn mark_pods(
    mut ops: Ops,
    path: &[&str],
    template: Map<String, Value>,
    gang: &Gang,
    placement: Option<String>,
) -> Ops {
    let pod = [path, &["metadata"]].concat();
    let template = Value::Object(template);
    let mut labels = fields(&template, "/metadata/labels");
    labels.insert(LABEL_MATCH_UID.to_owned(), json!(gang.uid));
    let mut annotations = without_variables(&template);
    annotations.insert(ANNOTATION_MATCH.to_owned(), json!(gang.key.name));
    annotations.extend(variables(gang));
    annotations.extend(placement.map(|placement| (ANNOTATION_PLACEMENT.to_owned(), json!(placement))));
    if template.pointer("/metadata").is_none() {
        ops = ops.add(&pod, json!({}));
    }
    let ops = ops.add(&[&pod[..], &["labels"]].concat(), Value::Object(labels));
    ops.add(&[&pod[..], &["annotations"]].concat(), Value::Object(annotations))
}

/// Takes them off again.
pub(super) fn unmark_pods(ops: Ops, path: &[&str], template: Map<String, Value>) -> Ops {
    let pod = [path, &["metadata"]].concat();
    let template = Value::Object(template);
    let mut labels = fields(&template, "/metadata/labels");
    labels.remove(LABEL_MATCH_UID);
    let ops = ops.add(&[&pod[..], &["labels"]].concat(), Value::Object(labels));
    ops.add(&[&pod[..], &["annotations"]].concat(), Value::Object(without_variables(&template)))
}

/// The variables of the gang as annotations, which containers can read through the downward API.
pub(super) fn variables(gang: &Gang) -> impl Iterator<Item = (String, Value)> {
    gang.environment().into_iter().map(|(name, value)| (format!("{VARIABLE}{name}"), json!(value)))
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
        _ => {
            let mut all = fields(&current.spec, "/template/spec");
            all.retain(|name, _| PLACEMENT.contains(&name.as_str()));
            all
        }
    }
}

/// What was kept of the placement before the claim, if anything was.
pub(super) fn kept_placement(current: &Raw) -> Option<Value> {
    let kept = current.metadata.annotations.as_ref()?.get(PLACED_BEFORE)?;
    serde_json::from_str(kept).ok()
}

/// Brings the placement in line.
fn place(ops: Ops, spec: &Value, placed: &Map<String, Value>) -> Ops {
    let now = fields(spec, "/template/spec");
    bring_in_line(ops, &["spec", "template", "spec"], &PLACEMENT, &now, placed)
}

/// Makes the fields at this path what is wanted of them.
pub(super) fn bring_in_line(
    mut ops: Ops,
    path: &[&str],
    names: &[&str],
    now: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Ops {
    for name in names {
        let path = [path, &[*name]].concat();
        ops = match (wanted.get(*name), now.get(*name)) {
            (Some(wanted), found) if found != Some(wanted) => ops.add(&path, wanted.clone()),
            (None, Some(_)) => ops.remove(&path),
            _ => ops,
        };
    }
    ops
}

fn without_variables(template: &Value) -> Map<String, Value> {
    let mut annotations = fields(template, "/metadata/annotations");
    let is_ours = |name: &str| name.starts_with(VARIABLE) || [ANNOTATION_MATCH, ANNOTATION_PLACEMENT].contains(&name);
    annotations.retain(|name, _| !is_ours(name));
    annotations
}

pub(super) fn fields(object: &Value, path: &str) -> Map<String, Value> {
    object.pointer(path).and_then(Value::as_object).cloned().unwrap_or_default()
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
