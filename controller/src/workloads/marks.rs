//! What a claim writes into the pods of a workload that was there before it, and takes off again.

use crds::{ANNOTATION_MATCH, ANNOTATION_PLACEMENT, LABEL_MATCH_UID};
use serde_json::{Map, Value, json};

use crate::workloads::Gang;
use crate::write::patch::Ops;
use crate::write::work_requests::Raw;

/// Annotation of a workload that was there before the claim: the placement of its pods before the claim.
pub(super) const PLACED_BEFORE: &str = "gangmatch.dev/placed-before";
/// The prefix of the annotations from which the pods of such a workload can read the variables of the gang.
const VARIABLE: &str = "env.gangmatch.dev/";

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

/// What was kept of the placement before the claim, if anything was.
pub(super) fn kept_placement(current: &Raw) -> Option<Value> {
    let kept = current.metadata.annotations.as_ref()?.get(PLACED_BEFORE)?;
    serde_json::from_str(kept).ok()
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

/// The fields of the object at this path; none, if there is none.
pub(super) fn fields(object: &Value, path: &str) -> Map<String, Value> {
    object.pointer(path).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Those of the fields at this path that have one of these names.
pub(super) fn fields_among(object: &Value, path: &str, names: &[&str]) -> Map<String, Value> {
    let mut all = fields(object, path);
    all.retain(|name, _| names.contains(&name.as_str()));
    all
}
