//! What the admission policies of the chart set when something is written.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::object::set_meta;

/// The label by which a workload names the ad that says what it needs.
const LABEL: &str = "gangmatch.dev/ad";
/// The annotation with the user who created a workload.
const CREATOR: &str = "gangmatch.dev/created-by";
/// The scheduling gate of a pod that is held.
const GATE: &str = "gangmatch.dev/hold";

/// The owner of a new object: the one that it names, because every user has all rights here, and otherwise the user who creates it.
pub(crate) fn creator(object: &Value, user: &str) -> String {
    let named = object.pointer("/spec/owner").and_then(Value::as_str).filter(|named| !named.is_empty());
    named.unwrap_or(user).to_owned()
}

/// The owner of an ad is the user who created it.
pub(crate) fn own(kind: &Kind, object: &mut Value, owner: &str) {
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    let is_ad = kind.schema.is_some() && kind.name != "Match";
    if let (Some(spec), true, false) = (spec, is_ad, owner.is_empty()) {
        spec.insert("owner".to_owned(), json!(owner));
    }
}

/// A batch Job or Pod with the label is held from its creation on, and annotated with the user who created it; one that a controller
/// has made belongs to another workload.
pub(crate) fn hold(kind: &Kind, object: &mut Value, user: &str) {
    let at = |path: &str| object.pointer(path).cloned();
    let labels = at("/metadata/labels").unwrap_or_default();
    let is_made = at("/metadata/ownerReferences").is_some();
    let is_batch = kind.group == "batch" && kind.plural == "jobs";
    let is_pod = kind.group.is_empty() && kind.plural == "pods";
    if user.is_empty() || is_made || labels.get(LABEL).is_none() || !(is_batch || is_pod) {
        return;
    }
    let mut annotations = at("/metadata/annotations").filter(Value::is_object).unwrap_or_else(|| json!({}));
    let mut gates = at("/spec/schedulingGates").filter(Value::is_array).unwrap_or_else(|| json!([]));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(CREATOR.to_owned(), json!(user));
    }
    set_meta(object, "annotations", annotations);
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if is_batch {
        spec.insert("suspend".to_owned(), json!(true));
    } else if let Some(all) = gates.as_array_mut().filter(|all| !all.iter().any(|gate| gate["name"] == GATE)) {
        all.push(json!({"name": GATE}));
        spec.insert("schedulingGates".to_owned(), gates);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    /// What becomes of a workload that this user creates.
    fn created(group: &str, plural: &str, user: &str, mut object: Value) -> Value {
        hold(Kinds::new().find(group, "v1", plural).unwrap(), &mut object, user);
        object
    }

    #[test]
    fn an_ad_belongs_to_the_user_whom_it_names_or_else_to_the_one_who_creates_it() {
        for (spec, owner) in [(json!({}), "ann"), (json!({"owner": ""}), "ann"), (json!({"owner": "bob"}), "bob")] {
            let mut object = json!({"spec": spec});
            let creator = creator(&object, "ann");
            own(Kinds::new().find(crds::GROUP, "v1alpha1", "jobs").unwrap(), &mut object, &creator);
            assert_eq!(object["spec"]["owner"], owner);
        }
    }

    #[test]
    fn labelled_workloads_are_held_in_the_name_of_their_creator_and_others_are_as_they_were() {
        let labelled = json!({"metadata": {"labels": {LABEL: "needs"}}, "spec": {"suspend": false}});
        let held = created("batch", "jobs", "ann", labelled.clone());
        assert_eq!(
            (&held["spec"]["suspend"], &held["metadata"]["annotations"][CREATOR]),
            (&json!(true), &json!("ann"))
        );
        let pod = created("", "pods", "ann", labelled.clone());
        assert_eq!(pod["spec"]["schedulingGates"], json!([{"name": GATE}]));
        assert_eq!(created("", "pods", "ann", pod.clone()), pod, "once");
        let mut made = labelled.clone();
        made["metadata"]["ownerReferences"] = json!([{"uid": "u"}]);
        for (user, other) in [("ann", json!({"metadata": {}, "spec": {}})), ("ann", made), ("", labelled)] {
            assert_eq!(created("batch", "jobs", user, other.clone()), other);
        }
    }
}
