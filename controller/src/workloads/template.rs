//! A Job's template and a gang into the batch Job that works for the claim, suspended.

use std::collections::BTreeMap;

use crds::{ANNOTATION_CREATOR, ANNOTATION_MADE, ANNOTATION_MATCH, ANNOTATION_MEMBERS, LABEL_MATCH_UID};
use serde_json::{Map, Value, json};

use crate::workloads::Gang;
use crate::workloads::place::{list, placement, taken};

/// The batch Job, as it is sent. The template is kept as it is written, known here or not; what a claim needs is added.
///
/// It has no owner: the garbage collector would delete it without waiting for its pods. What ends it is the end of the claim,
/// so it does not take itself away either.
pub(crate) fn batch_job(template: &BTreeMap<String, Value>, gang: &Gang) -> Value {
    let mut template: Map<String, Value> = template.clone().into_iter().collect();
    let mut metadata = taken(&mut template, "metadata");
    let made = [(ANNOTATION_MADE, gang.job.clone()), (ANNOTATION_MEMBERS, gang.members())];
    let owner = gang.owner.iter().map(|owner| (ANNOTATION_CREATOR, owner.clone()));
    mark(&mut metadata, gang, &made.into_iter().chain(owner).collect::<Vec<_>>());
    metadata.insert("name".to_owned(), json!(gang.key.name));
    metadata.insert("namespace".to_owned(), json!(gang.key.namespace));
    let mut spec = taken(&mut template, "spec");
    spec.insert("suspend".to_owned(), json!(true));
    spec.remove("ttlSecondsAfterFinished");
    one_pod_a_node(&mut spec, gang.nodes().len());
    let mut pod = taken(&mut spec, "template");
    let mut pod_metadata = taken(&mut pod, "metadata");
    mark(&mut pod_metadata, gang, &[]);
    let mut pod_spec = taken(&mut pod, "spec");
    pod_spec.extend(placement(&pod_spec, gang));
    let environment = gang.environment();
    for kind in ["containers", "initContainers"] {
        for container in pod_spec.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
            add_environment(container, &environment);
        }
    }
    pod.insert("metadata".to_owned(), Value::Object(pod_metadata));
    pod.insert("spec".to_owned(), Value::Object(pod_spec));
    spec.insert("template".to_owned(), Value::Object(pod));
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
}

/// The claim's label, and which Match it is for people.
fn mark(metadata: &mut Map<String, Value>, gang: &Gang, more: &[(&str, String)]) {
    let mut labels = taken(metadata, "labels");
    labels.insert(LABEL_MATCH_UID.to_owned(), json!(gang.uid));
    metadata.insert("labels".to_owned(), Value::Object(labels));
    let mut annotations = taken(metadata, "annotations");
    annotations.insert(ANNOTATION_MATCH.to_owned(), json!(gang.key.name));
    annotations.extend(more.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    metadata.insert("annotations".to_owned(), Value::Object(annotations));
}

/// With several machines there is one pod on each, numbered, unless the template says itself how many there are.
fn one_pod_a_node(spec: &mut Map<String, Value>, nodes: usize) {
    if nodes > 1 && !spec.contains_key("completions") {
        spec.insert("completionMode".to_owned(), json!("Indexed"));
        spec.insert("completions".to_owned(), json!(nodes));
        spec.insert("parallelism".to_owned(), json!(nodes));
    }
}

/// Adds variables to the environment of a container. What it sets itself stays as it is. Values come from offers, too: kubelet would replace
/// `$(NAME)` in them by other variables of the container, such as its secrets, and reads `$$` as `$`.
fn add_environment(container: &mut Value, variables: &[(String, String)]) {
    let Value::Object(container) = container else { return };
    let mut environment = list(container, "env");
    for (name, value) in variables {
        if !environment.iter().any(|known| known.get("name").and_then(Value::as_str) == Some(name.as_str())) {
            environment.push(json!({"name": name, "value": value.replace('$', "$$")}));
        }
    }
    container.insert("env".to_owned(), Value::Array(environment));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::gang::Seat;
    use crds::OfferKind;
    use pool::ObjectKey;

    fn gang(nodes: &[&str]) -> Gang {
        let seat = |node: &&str| Seat {
            path: vec!["cpu".to_owned()],
            kind: OfferKind::Machine.to_string(),
            key: ObjectKey::new("grid", node),
            uid: "u1".to_owned(),
            node: Some((*node).to_owned()),
            ..Seat::default()
        };
        Gang {
            key: ObjectKey::new("ns", "sim-1234"),
            uid: "u-match".to_owned(),
            job: "sim".to_owned(),
            owner: Some("raman".to_owned()),
            seats: nodes.iter().map(seat).collect(),
            asked: vec![("LICENSE".to_owned(), "1@l".to_owned())],
        }
    }

    fn made(template: Value, gang: &Gang) -> Value {
        batch_job(&serde_json::from_value(template).unwrap(), gang)
    }

    #[test]
    fn a_value_of_an_offer_reads_no_other_variable() {
        let secret = json!({"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}});
        let mut container = json!({"name": "c", "env": [secret]});
        add_environment(&mut container, &[("SERVER".to_owned(), "27000@$(DB_PASSWORD).evil $$ 5$".to_owned())]);
        assert_eq!(container["env"][1]["value"], "27000@$$(DB_PASSWORD).evil $$$$ 5$$");
    }

    #[test]
    fn a_template_becomes_a_suspended_batch_job_of_the_claim() {
        let container = json!({"name": "c", "env": [{"name": "LICENSE", "value": "mine"}]});
        let batch = made(
            json!({
                "metadata": {"labels": {"team": "eda"}, "name": "other"},
                "spec": {
                    "backoffLimit": 2, "ttlSecondsAfterFinished": 5, "suspend": false,
                    "template": {"spec": {"restartPolicy": "Never", "containers": [container], "newField": 1}},
                },
            }),
            &gang(&["n1"]),
        );
        let at = |path: &str| batch.pointer(path).unwrap_or(&Value::Null).clone();
        assert_eq!((at("/metadata/name"), at("/metadata/namespace")), (json!("sim-1234"), json!("ns")));
        assert_eq!(at("/metadata/labels"), json!({"team": "eda", "gangmatch.dev/match-uid": "u-match"}));
        assert_eq!(at("/metadata/annotations/gangmatch.dev~1members"), "Machine/grid/n1/u1");
        assert_eq!(at("/metadata/annotations/gangmatch.dev~1created-by"), "raman", "for policies that look at users");
        assert_eq!(at("/metadata/ownerReferences"), Value::Null);
        assert_eq!((at("/spec/suspend"), at("/spec/backoffLimit")), (json!(true), json!(2)));
        assert_eq!((at("/spec/ttlSecondsAfterFinished"), at("/spec/completions")), (Value::Null, Value::Null));
        let pod = "/spec/template";
        assert_eq!(at(&format!("{pod}/metadata/labels/gangmatch.dev~1match-uid")), "u-match");
        assert_eq!(at(&format!("{pod}/spec/newField")), 1, "what is not known here is kept");
        assert!(at(&format!("{pod}/spec/affinity")).is_object());
        let env = at(&format!("{pod}/spec/containers/0/env"));
        let value =
            |name: &str| env.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["value"].clone();
        assert_eq!(value("LICENSE"), "mine", "what the container sets itself stays");
        assert_eq!((value("GANGMATCH_MATCH"), value("GANGMATCH_CPU_NODE")), (json!("sim-1234"), json!("n1")));
        assert_eq!(at(&format!("{pod}/spec/initContainers")), Value::Null);
    }

    #[test]
    fn several_machines_get_a_pod_each_unless_the_template_counts_itself() {
        let template = |completions: Value| {
            let mut spec = json!({"template": {"spec": {"containers": []}}});
            if !completions.is_null() {
                spec["completions"] = completions;
            }
            json!({"spec": spec})
        };
        let batch = made(template(Value::Null), &gang(&["n1", "n2"]));
        assert_eq!(
            (&batch["spec"]["completions"], &batch["spec"]["parallelism"], &batch["spec"]["completionMode"]),
            (&json!(2), &json!(2), &json!("Indexed"))
        );
        let batch = made(template(json!(5)), &gang(&["n1", "n2"]));
        assert_eq!((&batch["spec"]["completions"], &batch["spec"]["completionMode"]), (&json!(5), &Value::Null));
    }
}
