//! A Job's workload into the expressions of its environment, or into what is wrong with it, as far as can be said without the
//! API server.

use std::collections::BTreeMap;

use classad::Expr;
use k8s_openapi::api::batch::v1::JobTemplateSpec;
use serde_json::Value;

use super::{Rejected, text};
use crate::conditions::reasons;
use crate::{GROUP, Job, Workload};

/// The prefix of annotations of pods that say what the gang is.
const VARIABLES: &str = "env.gangmatch.dev";

/// What the environment of a Job's containers is made of, by name.
///
/// # Errors
/// If one of them is no expression, or its name is none of an environment variable.
pub fn environment(job: &Job) -> Result<BTreeMap<String, Expr>, Rejected> {
    let mut all = BTreeMap::new();
    for (name, source) in job.spec.workload.iter().flat_map(|workload| &workload.env) {
        let place = format!("spec.workload.env.{name}");
        if !is_variable(name) {
            let message =
                format!("{place}: found the name `{name}`; write letters, digits and underscores, no digit first");
            return Err(Rejected::new(reasons::WORKLOAD_INVALID, &message));
        }
        all.insert(name.clone(), text::expression(&place, source, &mut Vec::new())?);
    }
    Ok(all)
}

fn is_variable(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// Whether the workload is one.
///
/// # Errors
/// The first thing in it that the API server would refuse, or that cannot be under a claim.
pub(super) fn check(job: &Job) -> Result<(), Rejected> {
    environment(job)?;
    let Some(Workload { job_template: Some(template), .. }) = &job.spec.workload else { return Ok(()) };
    template_problem(template).map_or(Ok(()), |problem| {
        let message = format!("spec.workload.jobTemplate{problem}");
        Err(Rejected::new(reasons::WORKLOAD_INVALID, &message))
    })
}

/// What is wrong with a template, after its path.
fn template_problem(template: &BTreeMap<String, Value>) -> Option<String> {
    if let Some(name) = template.keys().find(|name| !["metadata", "spec"].contains(&name.as_str())) {
        return Some(format!(".{name}: a JobTemplateSpec has metadata and spec only"));
    }
    let whole = Value::Object(template.iter().map(|(name, value)| (name.clone(), value.clone())).collect());
    if let Err(error) = serde_json::from_value::<JobTemplateSpec>(whole.clone()) {
        return Some(format!(": no JobTemplateSpec: {error}"));
    }
    let has = |path: &str| whole.pointer(path).is_some_and(|value| !value.is_null());
    for (path, why) in [
        ("/spec/selector", "the batch Job's own controller makes the selector; take it out"),
        ("/spec/manualSelector", "the batch Job's own controller makes the selector; take it out"),
        ("/spec/managedBy", "another controller would not say when the work ends; take it out"),
        ("/spec/template/spec/nodeName", "the node is the claimed machine's; take it out"),
        ("/metadata/ownerReferences", "the batch Job goes with its Match; take it out"),
        ("/metadata/finalizers", "the batch Job goes with its Match; take it out"),
        ("/spec/template/metadata/ownerReferences", "the pods are the batch Job's; take it out"),
        ("/spec/template/metadata/finalizers", "the pods are the batch Job's; take it out"),
    ] {
        if has(path) {
            return Some(format!("{}: {why}", path.replace('/', ".")));
        }
    }
    if let Some(place) = reserved_key(&whole) {
        return Some(format!("{place}: labels and annotations of {GROUP} are written by the controller; take it out"));
    }
    let containers = whole.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    if containers.is_none_or(Vec::is_empty) {
        return Some(".spec.template.spec.containers: found none; write at least one with name and image".to_owned());
    }
    let policy = whole.pointer("/spec/template/spec/restartPolicy").and_then(Value::as_str).unwrap_or("Always");
    (!["Never", "OnFailure"].contains(&policy))
        .then(|| format!(".spec.template.spec.restartPolicy: found {policy}; write Never or OnFailure"))
}

/// The place of a label or an annotation by which the controller, or an admission policy, would take what is made for what it is not.
fn reserved_key(template: &Value) -> Option<String> {
    for (path, place) in [("/metadata", ".metadata"), ("/spec/template/metadata", ".spec.template.metadata")] {
        for field in ["labels", "annotations"] {
            let all = template.pointer(path).and_then(|metadata| metadata.get(field)).and_then(Value::as_object);
            let is_ours = |key: &&String| {
                let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
                prefix == GROUP || prefix == VARIABLES
            };
            if let Some(key) = all.into_iter().flat_map(|all| all.keys()).find(is_ours) {
                return Some(format!("{place}.{field}.{key}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(template: Value) -> Option<String> {
        template_problem(&serde_json::from_value(template).unwrap())
    }

    #[test]
    fn a_template_is_looked_at_before_anything_is_claimed_for_it() {
        let pod = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
        let good = json!({"restartPolicy": "Never", "containers": [{"name": "sim", "image": "sim:1"}]});
        let with =
            |own: Value, pods: Value| json!({"metadata": own, "spec": {"template": {"metadata": pods, "spec": good}}});
        assert_eq!(problem(pod(good.clone())), None);
        let others = json!({"labels": {"team": "eda", "e2e.gangmatch.dev/ends": "1s"}, "annotations": {"a": "b"}});
        assert_eq!(problem(with(others.clone(), others)), None);
        let table = [
            (json!({"template": {}}), ".template: a JobTemplateSpec has metadata and spec only"),
            (json!({"spec": {"completions": "two"}}), ": no JobTemplateSpec: "),
            (pod(json!({})), ".spec.template.spec.containers: found none"),
            (pod(json!({"containers": good["containers"]})), ".spec.template.spec.restartPolicy: found Always"),
            (json!({"spec": {"managedBy": "me", "template": {"spec": good}}}), ".spec.managedBy: "),
            (with(json!({"ownerReferences": []}), json!({})), ".metadata.ownerReferences: "),
            (with(json!({"finalizers": ["a.dev/b"]}), json!({})), ".metadata.finalizers: "),
            (with(json!({}), json!({"finalizers": ["a.dev/b"]})), ".spec.template.metadata.finalizers: "),
            (with(json!({"labels": {"gangmatch.dev/ad": "a"}}), json!({})), ".metadata.labels.gangmatch.dev/ad: "),
            (
                with(json!({}), json!({"labels": {"gangmatch.dev/match-uid": "u"}})),
                ".spec.template.metadata.labels.gangmatch.dev/match-uid: ",
            ),
            (
                with(json!({"annotations": {"gangmatch.dev/created-by": "a"}}), json!({})),
                ".metadata.annotations.gangmatch.dev/created-by: ",
            ),
        ];
        for (template, begins) in table {
            let found = problem(template).unwrap();
            assert!(found.starts_with(begins), "{found}");
        }
    }

    #[test]
    fn variables_have_names_of_variables() {
        assert!(["A", "_b1", "LM_LICENSE_FILE"].into_iter().all(is_variable));
        assert!(!["", "1A", "A-B", "A.B", "Ä"].into_iter().any(is_variable));
    }
}
