//! A Job's workload into the expressions of its environment, or into what is wrong with it, as far as can be said without the
//! API server.

use std::collections::BTreeMap;

use classad::{Expr, is_identifier};
use k8s_openapi::api::batch::v1::JobTemplateSpec;
use serde::Deserialize as _;
use serde_json::Value;

use super::draft::Draft;
use super::{NotAccepted, message, text};
use crate::conditions::reasons;
use crate::{GROUP, Job, Workload};

/// The longest time, in seconds, that a pod of a claim gets to end, whatever it asks for.
pub const GRACE_SECONDS_MAX: i64 = 3600;

/// The most containers of a template.
const CONTAINERS_MAX: usize = 64;

/// Where metadata are in a template.
const METADATA: [(&str, &str); 2] =
    [("/metadata", ".metadata"), ("/spec/template/metadata", ".spec.template.metadata")];

/// The prefix of annotations of pods that say what the gang is.
const VARIABLES: &str = "env.gangmatch.dev";

/// What the environment of a Job's containers is made of, by name.
///
/// # Errors
/// If one of them is no expression, or its name is none of an environment variable.
pub fn environment(job: &Job) -> Result<BTreeMap<String, Expr>, NotAccepted> {
    let mut all = BTreeMap::new();
    for (name, source) in job.spec.workload.iter().flat_map(|workload| &workload.env) {
        let place = format!("spec.workload.env.{name}");
        if !is_identifier(name) {
            let message =
                format!("{place}: found the name `{name}`; write letters, digits and underscores, no digit first");
            return Err(NotAccepted::new(reasons::WORKLOAD_INVALID, &message));
        }
        all.insert(name.clone(), text::expression(&place, source, &mut Vec::new())?);
    }
    Ok(all)
}

/// Whether the workload is one; warns of fields that the API server does not know and leaves out.
///
/// # Errors
/// The first thing in it that the API server would refuse, or that cannot be under a claim.
pub(super) fn check(job: &Job, draft: &mut Draft) -> Result<(), NotAccepted> {
    environment(job)?;
    let Some(Workload { job_template: Some(template), .. }) = &job.spec.workload else { return Ok(()) };
    let whole = Value::Object(template.iter().map(|(name, value)| (name.clone(), value.clone())).collect());
    let read = read_template(&whole).map_err(|problem| {
        NotAccepted::new(reasons::WORKLOAD_INVALID, &format!("spec.workload.jobTemplate{problem}"))
    })?;
    if let Ok(known) = serde_json::to_value(read) {
        unknown_fields("spec.workload.jobTemplate", &whole, &known, &mut draft.warnings);
    }
    Ok(())
}

/// Warns of the fields of a template that are lost when it is read.
fn unknown_fields(place: &str, written: &Value, known: &Value, warnings: &mut Vec<String>) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match (written, known) {
        (Value::Object(written), Value::Object(known)) => {
            for (name, value) in written.iter().filter(|(_, value)| !is_empty(value)) {
                let place = message::path(place, name);
                match known.get(name) {
                    Some(known) => unknown_fields(&place, value, known, warnings),
                    None => {
                        warnings.push(format!("{place}: there is no such field, so it has no effect; correct its name"))
                    }
                }
            }
        }
        (Value::Array(written), Value::Array(known)) => {
            for (index, (value, known)) in written.iter().zip(known).enumerate() {
                unknown_fields(&format!("{place}[{index}]"), value, known, warnings);
            }
        }
        _ => {}
    }
}

/// Reads a template.
///
/// # Errors
/// What is wrong with it, after its path.
fn read_template(whole: &Value) -> Result<JobTemplateSpec, String> {
    let mut names = whole.as_object().into_iter().flat_map(serde_json::Map::keys);
    if let Some(name) = names.find(|name| !["metadata", "spec"].contains(&name.as_str())) {
        return Err(format!(".{name}: a JobTemplateSpec has only metadata and spec; remove it"));
    }
    let read =
        JobTemplateSpec::deserialize(whole).map_err(|error| format!(": not a valid JobTemplateSpec: {error}"))?;
    template_problem(whole).map_or(Ok(read), Err)
}

/// What of a template cannot be under a claim, after its path.
fn template_problem(whole: &Value) -> Option<String> {
    let has = |path: &str| whole.pointer(path).is_some_and(|value| !value.is_null());
    for (path, why) in [
        ("/spec/selector", "Kubernetes sets the selector of a batch Job; remove it"),
        ("/spec/manualSelector", "Kubernetes sets the selector of a batch Job; remove it"),
        ("/spec/managedBy", "the Job controller of Kubernetes must manage the batch Job; remove it"),
        ("/spec/template/spec/nodeName", "gangmatch chooses the node; remove it"),
    ] {
        if has(path) {
            return Some(format!("{}: {why}", path.replace('/', ".")));
        }
    }
    if let Some(problem) = metadata_problem(whole).or_else(|| grace_problem(whole)) {
        return Some(problem);
    }
    if let Some(place) = reserved_key(whole) {
        return Some(format!("{place}: only the controller can set labels and annotations of {GROUP}; remove it"));
    }
    let containers = whole.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    if containers.is_none_or(Vec::is_empty) {
        return Some(".spec.template.spec.containers: found none; write at least one with name and image".to_owned());
    }
    let count = |name: &str| whole.pointer(name).and_then(Value::as_array).map_or(0, Vec::len);
    let all = count("/spec/template/spec/containers").saturating_add(count("/spec/template/spec/initContainers"));
    if all > CONTAINERS_MAX {
        return Some(format!(
            ".spec.template.spec.containers: found {all}, initContainers included; write at most {CONTAINERS_MAX}: each gets all \
             variables of the gang"
        ));
    }
    let policy = whole.pointer("/spec/template/spec/restartPolicy").and_then(Value::as_str).unwrap_or("Always");
    (!["Never", "OnFailure"].contains(&policy))
        .then(|| format!(".spec.template.spec.restartPolicy: found {policy}; write Never or OnFailure"))
}

/// What metadata say that a template may not: all but labels and annotations. An API server gives back some of it, times above all, in a
/// form in which not even the API server itself can read it.
fn metadata_problem(template: &Value) -> Option<String> {
    for (path, place) in METADATA {
        let all = template.pointer(path).and_then(Value::as_object);
        let is_other =
            |(name, value): &(&String, &Value)| !["labels", "annotations"].contains(&name.as_str()) && !value.is_null();
        if let Some((name, _)) = all.into_iter().flatten().find(is_other) {
            let why = match name.as_str() {
                "ownerReferences" | "finalizers" if place == ".metadata" => {
                    "gangmatch deletes the batch Job with its Match"
                }
                "ownerReferences" | "finalizers" => "the batch Job owns its pods",
                _ => "a template can have only labels and annotations",
            };
            return Some(format!("{place}.{name}: {why}; remove it"));
        }
    }
    None
}

/// A time to end that is longer than a pod may keep the seats of others.
fn grace_problem(template: &Value) -> Option<String> {
    let pod = template.pointer("/spec/template/spec")?;
    let list = |name: &'static str| pod.get(name).and_then(Value::as_array).into_iter().flatten().enumerate();
    let containers = ["initContainers", "containers"].into_iter().flat_map(|name| {
        list(name).flat_map(move |(index, container)| {
            ["livenessProbe", "startupProbe"]
                .into_iter()
                .filter_map(move |probe| Some((format!(".{name}[{index}].{probe}"), container.get(probe)?)))
        })
    });
    let (place, seconds) = std::iter::once((String::new(), pod)).chain(containers).find_map(|(place, fields)| {
        let seconds = fields.get("terminationGracePeriodSeconds")?.as_i64()?;
        (seconds > GRACE_SECONDS_MAX).then_some((place, seconds))
    })?;
    Some(format!(
        ".spec.template.spec{place}.terminationGracePeriodSeconds: found {seconds}; write {GRACE_SECONDS_MAX} or less: other \
         jobs may have to wait that long for the seats of its pods"
    ))
}

/// The place of a label or an annotation by which the controller, or an admission policy, would take what is made for what it is not.
fn reserved_key(template: &Value) -> Option<String> {
    for (path, place) in METADATA {
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
        read_template(&template).err()
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
            (json!({"template": {}}), ".template: a JobTemplateSpec has only metadata and spec; remove it"),
            (json!({"spec": {"completions": "two"}}), ": not a valid JobTemplateSpec: "),
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
    fn a_field_of_a_template_that_does_not_exist_is_warned_of() {
        let pod = |more: Value| {
            let mut container = json!({"name": "sim", "image": "sim:1", "env": [], "args": ["1"], "resources": {}});
            container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"restartPolicy": "Never", "nodeSelector": {"pool": "lab"}, "containers": [container]})
        };
        let warnings = |spec: Value| {
            let spec = json!({"constraint": "other.Cpus > 1", "workload": {"jobTemplate": {"spec": spec}}});
            let object =
                json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec});
            let job: Job = serde_json::from_value(object).unwrap();
            let mut draft = Draft::default();
            check(&job, &mut draft).unwrap();
            draft.warnings
        };
        let limits = json!({"resources": {"requests": {"cpu": "500m"}}, "livenessProbe": {"tcpSocket": {"port": 80}}});
        assert_eq!(warnings(json!({"completions": 0, "template": {"spec": pod(limits)}})), Vec::<String>::new());
        let place = "spec.workload.jobTemplate.spec";
        let wrong = json!({"suspnd": true, "template": {"spec": pod(json!({"cmd": ["sim"]}))}});
        let told = ["suspnd", "template.spec.containers[0].cmd"];
        let told =
            told.map(|field| format!("{place}.{field}: there is no such field, so it has no effect; correct its name"));
        assert_eq!(warnings(wrong), told);
    }

    #[test]
    fn e2_a_template_has_labels_and_annotations_and_no_other_metadata() {
        let pod = json!({"restartPolicy": "Never", "containers": [{"name": "sim", "image": "sim:1"}]});
        let with = |own: Value, pods: Value| {
            problem(json!({"metadata": own, "spec": {"template": {"metadata": pods, "spec": pod}}}))
        };
        let hostile = [
            ("creationTimestamp", json!("0000-01-01T00:00:00+23:00")),
            ("creationTimestamp", json!("2026-11-21T14:00:00Z")),
            ("deletionTimestamp", json!("2026-11-21T14:00:00Z")),
            ("deletionGracePeriodSeconds", json!(3)),
            ("managedFields", json!([{"time": "2026-11-21T14:00:00Z"}])),
            ("managedFields", json!([])),
            ("name", json!("n")),
            ("namespace", json!("n")),
            ("generateName", json!("n")),
            ("generation", json!(1)),
            ("resourceVersion", json!("1")),
            ("uid", json!("u")),
            ("selfLink", json!("s")),
            ("other", json!("o")),
        ];
        for (name, value) in hostile {
            for (found, place) in [
                (with(json!({name: value}), json!({})), format!(".metadata.{name}: ")),
                (with(json!({}), json!({name: value})), format!(".spec.template.metadata.{name}: ")),
            ] {
                let found = found.unwrap();
                assert!(found.starts_with(&place) && found.ends_with("; remove it"), "{found}");
            }
        }
        let printed = json!({"creationTimestamp": null, "labels": {"team": "eda"}});
        assert_eq!(with(printed.clone(), printed), None, "as `kubectl create job --dry-run=client -o yaml` writes it");
    }

    #[test]
    fn e7_a_template_gives_its_pods_an_hour_to_end_at_most() {
        let spec = |more: Value| {
            let mut pod = json!({"restartPolicy": "Never", "containers": [{"name": "sim", "image": "sim:1"}]});
            pod.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            problem(json!({"spec": {"template": {"spec": pod}}}))
        };
        for seconds in [0, 30, GRACE_SECONDS_MAX] {
            assert_eq!(spec(json!({"terminationGracePeriodSeconds": seconds})), None);
        }
        for seconds in [GRACE_SECONDS_MAX + 1, 1_000_000_000, i64::MAX] {
            let found = spec(json!({"terminationGracePeriodSeconds": seconds})).unwrap();
            let expected =
                format!(".spec.template.spec.terminationGracePeriodSeconds: found {seconds}; write 3600 or less: ");
            assert!(found.starts_with(&expected), "{found}");
        }
        for (list, probe) in [("containers", "livenessProbe"), ("initContainers", "startupProbe")] {
            let container =
                json!({"name": "sim", "image": "sim:1", probe: {"terminationGracePeriodSeconds": 1_000_000_000}});
            let found = spec(json!({list: [container]})).unwrap();
            let expected =
                format!(".spec.template.spec.{list}[0].{probe}.terminationGracePeriodSeconds: found 1000000000;");
            assert!(found.starts_with(&expected), "{found}");
        }
    }

    #[test]
    fn variables_have_names_of_variables() {
        assert!(["A", "_b1", "LM_LICENSE_FILE"].into_iter().all(is_identifier));
        assert!(!["", "1A", "A-B", "A.B", "Ä"].into_iter().any(is_identifier));
    }
}
