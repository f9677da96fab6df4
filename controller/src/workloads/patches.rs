//! What is done to a batch Job, as guarded patches.

use crds::{ANNOTATION_MATCH, ANNOTATION_MEMBERS, LABEL_MATCH_UID};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::api::Change;
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
/// was read. Of its template only labels, annotations and placement can be changed, and only as long as it is suspended.
pub(crate) fn start_taken(spec: &Value, read: (&str, &str), gang: &Gang) -> Change {
    let fields = |path: &str| spec.pointer(path).and_then(Value::as_object).cloned().unwrap_or_default();
    let mut ops = Ops::default()
        .test(&["metadata", "uid"], read.0)
        .test(&["metadata", "resourceVersion"], read.1)
        .add(&["metadata", "annotations", ANNOTATION_MEMBERS], gang.members());
    let pod = ["spec", "template", "metadata"];
    let mut labels = fields("/template/metadata/labels");
    labels.insert(LABEL_MATCH_UID.to_owned(), json!(gang.uid));
    let mut annotations = fields("/template/metadata/annotations");
    annotations.retain(|name, _| !name.starts_with(VARIABLE));
    annotations.insert(ANNOTATION_MATCH.to_owned(), json!(gang.key.name));
    annotations.extend(gang.environment().into_iter().map(|(name, value)| (format!("{VARIABLE}{name}"), json!(value))));
    if fields("/template/metadata").is_empty() {
        ops = ops.add(&pod, json!({}));
    }
    ops = ops.add(&[&pod[..], &["labels"]].concat(), Value::Object(labels));
    ops = ops.add(&[&pod[..], &["annotations"]].concat(), Value::Object(annotations));
    for (name, value) in placement(&fields("/template/spec"), gang) {
        ops = ops.add(&["spec", "template", "spec", &name], value);
    }
    Change::Json(ops.replace(&["spec", "suspend"], false).build())
}

/// What begins the names of annotations by which a pod that was made by somebody else can read its variables.
const VARIABLE: &str = "env.gangmatch.dev/";

/// Lets nothing more of a batch Job run.
pub(crate) fn suspend(uid: &str) -> Change {
    Change::Json(Ops::default().test(&["metadata", "uid"], uid).add(&["spec", "suspend"], true).build())
}

/// Takes the claim's label off again, as long as it is still this claim's.
pub(crate) fn hand_back(uid: &str, match_uid: &str) -> Change {
    let label = ["metadata", "labels", LABEL_MATCH_UID];
    let ops = Ops::default().test(&["metadata", "uid"], uid).test(&label, match_uid).test(&["spec", "suspend"], true);
    Change::Json(ops.remove(&label).build())
}

/// A suspended batch Job that has no start time can be changed again.
pub(crate) fn never_started() -> Change {
    Change::Merge(json!({"status": Map::from_iter([("startTime".to_owned(), Value::Null)])}))
}
