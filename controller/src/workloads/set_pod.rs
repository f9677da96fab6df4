//! The pods of a replicated job with several machines, each placed on one of them: the machine of a pod's number, so that a pod that is
//! created again comes to the same machine.
//!
//! All that is needed stands in the pod itself, in what it has of the template of its JobSet.

use crds::{ANNOTATION_PLACEMENT, Decision, GATE_PLACE};
use pool::{ObjectKey, Objects};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::workloads::gang::{HOSTNAME, Seat};
use crate::workloads::marks::{bring_in_line, fields};
use crate::workloads::place::{remove_gate, taken};
use crate::write::patch::Ops;
use crate::write::requests::ObjectPatch;
use crate::write::work_requests::Raw;

/// Labels of a pod: the number of its batch Job among those of the replicated job, and its own in the batch Job.
const JOB_INDEX: &str = "jobset.sigs.k8s.io/job-index";
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Where the pods of a replicated job are placed: what the annotation [`ANNOTATION_PLACEMENT`] says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Placement {
    /// What its machines say under the label `kubernetes.io/hostname`, in the order of the gang.
    hostnames: Vec<String>,
    /// How many pods each of its batch Jobs has.
    pods_per_job: usize,
}

impl Placement {
    /// The placement of a replicated job on these machines.
    pub(super) fn of(job: &Value, seats: &[&Seat]) -> Placement {
        let parallelism = job.pointer("/template/spec/parallelism").and_then(Value::as_u64).unwrap_or(1);
        Placement {
            hostnames: seats.iter().filter_map(|seat| seat.hostname.clone()).collect(),
            pods_per_job: usize::try_from(parallelism).unwrap_or(1).max(1),
        }
    }

    /// As it stands in the annotation.
    pub(super) fn text(&self) -> String {
        json!(self).to_string()
    }

    /// The machine of a pod. If there are more pods than machines, they begin with the first again.
    fn hostname(&self, current: &Raw) -> Option<&str> {
        let label = |name: &str| current.metadata.labels.as_ref()?.get(name)?.parse::<usize>().ok();
        let (job, pod) = (label(JOB_INDEX).unwrap_or(0), label(COMPLETION_INDEX).unwrap_or(0));
        let number = job.checked_mul(self.pods_per_job)?.checked_add(pod)?;
        self.hostnames.get(number.checked_rem(self.hostnames.len())?).map(String::as_str)
    }
}

/// A pod that is held until it is placed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unplaced {
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
}

/// The pods that are held until they are placed, as long as their claim holds: the seats of one that has ended may be others'.
pub(crate) fn unplaced(objects: &Objects) -> impl Iterator<Item = Unplaced> {
    let holds = |of: &str| objects.matches.by_uid(of).is_some_and(|found| found.decision() == Decision::Committed);
    let held = objects.workloads.unplaced().filter(move |(_, _, of)| holds(of));
    held.map(|(key, uid, _)| Unplaced { key: key.clone(), uid: uid.to_owned() })
}

/// Lets a pod go, on its machine: exactly the version that was read. None if it is not held, or does not say where it belongs.
pub(crate) fn place_pod(current: &Raw) -> Option<ObjectPatch> {
    let now = fields(&current.spec, "");
    let mut wanted: Map<String, Value> = now.clone();
    if !remove_gate(&mut wanted, GATE_PLACE) {
        return None;
    }
    let text = current.metadata.annotations.as_ref()?.get(ANNOTATION_PLACEMENT)?;
    let placement: Placement = serde_json::from_str(text).ok()?;
    let mut selector = taken(&mut wanted, "nodeSelector");
    selector.insert(HOSTNAME.to_owned(), json!(placement.hostname(current)?));
    wanted.insert("nodeSelector".to_owned(), Value::Object(selector));
    let ops = Ops::default()
        .test(&["metadata", "uid"], current.metadata.uid.as_deref()?)
        .test(&["metadata", "resourceVersion"], current.metadata.resource_version.as_deref()?);
    let ops = bring_in_line(ops, &["spec"], &["nodeSelector", "schedulingGates"], &now, &wanted);
    Some(ObjectPatch::Json(ops.build()))
}

#[cfg(test)]
mod tests {
    use crds::LABEL_MATCH_UID;
    use json_patch::Patch;

    use super::*;
    use crate::testing::fixtures::{MATCH_UID, found as found_match};

    fn pod(labels: Value, spec: Value) -> Value {
        let placement = json!({"hostnames": ["n1", "n2", "n3"], "podsPerJob": 2}).to_string();
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u", "resourceVersion": "1",
            "labels": labels, "annotations": {ANNOTATION_PLACEMENT: placement}}, "spec": spec})
    }

    fn placed(mut object: Value) -> Option<Value> {
        let ObjectPatch::Json(Patch(ops)) = place_pod(&serde_json::from_value(object.clone()).unwrap())? else {
            panic!("unguarded")
        };
        json_patch::patch(&mut object, &ops).unwrap();
        Some(object["spec"].clone())
    }

    fn held() -> Value {
        json!({"schedulingGates": [{"name": GATE_PLACE}]})
    }

    #[test]
    fn a_pod_comes_to_the_machine_of_its_number() {
        let node = |job: &str, pod_number: &str| {
            let spec = placed(pod(json!({JOB_INDEX: job, COMPLETION_INDEX: pod_number}), held())).unwrap();
            assert!(spec.get("schedulingGates").is_none());
            spec["nodeSelector"][HOSTNAME].as_str().unwrap().to_owned()
        };
        let numbered = [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")];
        assert_eq!(numbered.map(|(job, number)| node(job, number)), ["n1", "n2", "n3", "n1"]);
        let alone = placed(pod(json!({}), held())).unwrap();
        assert_eq!(alone["nodeSelector"], json!({HOSTNAME: "n1"}), "without a number: the first");
    }

    #[test]
    fn what_its_author_wrote_stays_in_force() {
        let gates = json!([{"name": "other.dev/gate"}, {"name": GATE_PLACE}]);
        let spec = placed(pod(json!({}), json!({"schedulingGates": gates, "nodeSelector": {"ssd": "yes"}}))).unwrap();
        let expected =
            json!({"schedulingGates": [{"name": "other.dev/gate"}], "nodeSelector": {"ssd": "yes", HOSTNAME: "n1"}});
        assert_eq!(spec, expected);
    }

    #[test]
    fn pods_are_placed_while_their_claim_holds() {
        let held = |decision: &str| {
            let mut objects = Objects::default();
            let mut found = pod(json!({LABEL_MATCH_UID: MATCH_UID}), held());
            found["metadata"]["namespace"] = json!("ns");
            objects.workloads.put_pod(&serde_json::from_value(found.clone()).unwrap());
            objects.matches.put(found_match(&json!({"decision": decision})));
            let placed: Vec<String> = unplaced(&objects).map(|pod| pod.uid).collect();
            found["spec"] = json!({});
            assert!(
                objects.workloads.put_pod(&serde_json::from_value(found).unwrap()),
                "that it is let go is a change"
            );
            assert_eq!(unplaced(&objects).count(), 0);
            placed
        };
        assert_eq!(held("Committed"), ["u"]);
        assert!(held("Released").is_empty() && held("Pending").is_empty());
    }

    #[test]
    fn a_pod_that_is_not_held_or_does_not_say_where_it_belongs_is_left_alone() {
        assert_eq!(placed(pod(json!({}), json!({}))), None);
        let mut vague = pod(json!({}), held());
        for text in ["", "{}", r#"{"hostnames": [], "podsPerJob": 1}"#] {
            vague["metadata"]["annotations"] = json!({ANNOTATION_PLACEMENT: text});
            assert_eq!(placed(vague.clone()), None, "{text}");
        }
        let far = usize::MAX.to_string();
        assert_eq!(placed(pod(json!({JOB_INDEX: far, COMPLETION_INDEX: far}), held())), None);
    }
}
