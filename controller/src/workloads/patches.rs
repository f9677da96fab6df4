//! What is done to a batch Job, as guarded patches.

use crds::{ANNOTATION_MATCH, ANNOTATION_MEMBERS, LABEL_MATCH_UID};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::api::{Change, Raw};
use crate::patch::Ops;
use crate::workloads::{Gang, placement};

/// Puts a claim's label on a batch Job that is still suspended: exactly the version that was read.
pub(crate) fn take_over(read: &ObjectMeta, match_uid: &str, match_name: &str) -> Change {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let mut ops = Ops::default()
        .test(&["metadata", "uid"], text(&read.uid))
        .test(&["metadata", "resourceVersion"], text(&read.resource_version));
    ops = put(ops, &["metadata", "labels"], read.labels.is_some(), LABEL_MATCH_UID, match_uid);
    ops = put(ops, &["metadata", "annotations"], read.annotations.is_some(), ANNOTATION_MATCH, match_name);
    Change::Json(ops.build())
}

/// One key of a map that may not be there.
fn put(ops: Ops, path: &[&str], is_there: bool, key: &str, value: &str) -> Ops {
    match is_there {
        true => ops.add(&[path, &[key]].concat(), value),
        false => ops.add(path, json!({key: value})),
    }
}

/// Starts a batch Job that was made for the claim, if it is the one that was read.
pub(crate) fn start_made(uid: &str) -> Change {
    Change::Json(Ops::default().test(&["metadata", "uid"], uid).replace(&["spec", "suspend"], false).build())
}

/// Starts a batch Job that somebody else has made, and says in the same patch where its pods may run: exactly the version that
/// was read. Of its template only labels, annotations and placement can be changed, and only as long as it is suspended. How
/// it was placed before is kept, to be put back.
pub(crate) fn start_taken(current: &Raw, read: (&str, &str), gang: &Gang) -> Change {
    let before = placed_before(current);
    let mut ops = Ops::default()
        .test(&["metadata", "uid"], read.0)
        .test(&["metadata", "resourceVersion"], read.1)
        .add(&["metadata", "annotations", ANNOTATION_MEMBERS], gang.members())
        .add(&["metadata", "annotations", PLACED_BEFORE], Value::Object(before.clone()).to_string());
    let pod = ["spec", "template", "metadata"];
    let mut labels = fields(&current.spec, "/template/metadata/labels");
    labels.insert(LABEL_MATCH_UID.to_owned(), json!(gang.uid));
    let mut annotations = without_variables(&current.spec);
    annotations.insert(ANNOTATION_MATCH.to_owned(), json!(gang.key.name));
    annotations.extend(gang.environment().into_iter().map(|(name, value)| (format!("{VARIABLE}{name}"), json!(value))));
    if current.spec.pointer("/template/metadata").is_none() {
        ops = ops.add(&pod, json!({}));
    }
    ops = ops.add(&[&pod[..], &["labels"]].concat(), Value::Object(labels));
    ops = ops.add(&[&pod[..], &["annotations"]].concat(), Value::Object(annotations));
    let mut placed = before.clone();
    placed.extend(placement(&before, gang));
    Change::Json(place(ops, &current.spec, &placed).replace(&["spec", "suspend"], false).build())
}

/// Takes the claim's marks off again, as long as they are still this claim's, and places its pods as before.
pub(crate) fn hand_back(current: &Raw, match_uid: &str) -> Change {
    let label = ["metadata", "labels", LABEL_MATCH_UID];
    let uid = current.metadata.uid.clone().unwrap_or_default();
    let version = current.metadata.resource_version.clone().unwrap_or_default();
    let mut ops = Ops::default()
        .test(&["metadata", "uid"], uid)
        .test(&["metadata", "resourceVersion"], version)
        .test(&label, match_uid)
        .test(&["spec", "suspend"], true);
    let pod = ["spec", "template", "metadata"];
    let is_marked =
        |annotation: &str| current.metadata.annotations.iter().flatten().any(|(name, _)| name == annotation);
    if is_marked(PLACED_BEFORE) {
        let mut labels = fields(&current.spec, "/template/metadata/labels");
        labels.remove(LABEL_MATCH_UID);
        ops = ops.add(&[&pod[..], &["labels"]].concat(), Value::Object(labels));
        let annotations = Value::Object(without_variables(&current.spec));
        ops = ops.add(&[&pod[..], &["annotations"]].concat(), annotations);
        ops = place(ops, &current.spec, &placed_before(current));
    }
    for annotation in [PLACED_BEFORE, ANNOTATION_MEMBERS, ANNOTATION_MATCH] {
        if is_marked(annotation) {
            ops = ops.remove(&["metadata", "annotations", annotation]);
        }
    }
    Change::Json(ops.remove(&label).build())
}

/// Affinity and tolerations as they are before any claim: as they were kept, else as they are.
fn placed_before(current: &Raw) -> Map<String, Value> {
    let kept = current.metadata.annotations.as_ref().and_then(|all| all.get(PLACED_BEFORE));
    match kept.and_then(|text| serde_json::from_str(text).ok()) {
        Some(kept) => kept,
        None => {
            let mut all = fields(&current.spec, "/template/spec");
            all.retain(|name, _| PLACEMENT.contains(&name.as_str()));
            all
        }
    }
}

/// Brings the placement in line.
fn place(mut ops: Ops, spec: &Value, placed: &Map<String, Value>) -> Ops {
    let now = fields(spec, "/template/spec");
    for name in PLACEMENT {
        let path = ["spec", "template", "spec", name];
        ops = match (placed.get(name), now.get(name)) {
            (Some(wanted), found) if found != Some(wanted) => ops.add(&path, wanted.clone()),
            (None, Some(_)) => ops.remove(&path),
            _ => ops,
        };
    }
    ops
}

fn without_variables(spec: &Value) -> Map<String, Value> {
    let mut annotations = fields(spec, "/template/metadata/annotations");
    annotations.retain(|name, _| !name.starts_with(VARIABLE) && name != ANNOTATION_MATCH);
    annotations
}

fn fields(spec: &Value, path: &str) -> Map<String, Value> {
    spec.pointer(path).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The fields of a pod specification that say where it may run, as far as claims change them.
const PLACEMENT: [&str; 2] = ["affinity", "tolerations"];
/// Annotation of a batch Job that somebody else has made: its placement before the claim.
const PLACED_BEFORE: &str = "gangmatch.dev/placed-before";

/// What begins the names of annotations by which a pod that was made by somebody else can read its variables.
const VARIABLE: &str = "env.gangmatch.dev/";

/// Lets nothing more of a batch Job run.
pub(crate) fn suspend(uid: &str) -> Change {
    Change::Json(Ops::default().test(&["metadata", "uid"], uid).add(&["spec", "suspend"], true).build())
}

/// A suspended batch Job that has no start time can be changed again.
pub(crate) fn never_started() -> Change {
    Change::Merge(json!({"status": Map::from_iter([("startTime".to_owned(), Value::Null)])}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::gang::Seat;
    use json_patch::Patch;
    use pool::ObjectKey;

    fn apply(object: &mut Value, change: Change) {
        let Change::Json(Patch(ops)) = change else { panic!("unguarded") };
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
            let taken = take_over(&raw(&object).metadata, uid, "m");
            apply(&mut object, taken);
            assert_eq!(object["metadata"]["labels"][LABEL_MATCH_UID], uid);
            let started = start_taken(&raw(&object), ("u", "1"), &gang);
            apply(&mut object, started);
            let affinity = object["spec"]["template"]["spec"].get("affinity").map(Value::to_string);
            let named = |node: &str| affinity.as_ref().is_some_and(|text| text.contains(&format!("\"{node}\"")));
            assert_eq!([named("n1"), named("n2")], [node == Some("n1"), node == Some("n2")], "{affinity:?}");
            assert_eq!(object["spec"]["suspend"], false);
            object["spec"]["suspend"] = json!(true);
            if uid != "m1" {
                // of the first one its end was missed: the next claim begins from how it was all the same
                let back = hand_back(&raw(&object), uid);
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
        for change in [start_made("u"), suspend("u"), take_over(&ObjectMeta::default(), "m", "m")] {
            let Change::Json(Patch(ops)) = change else { panic!("unguarded") };
            assert!(json_patch::patch(&mut other, &ops).is_err());
        }
    }
}
