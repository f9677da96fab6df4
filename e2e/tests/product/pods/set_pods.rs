//! The pods of a JobSet that holds several machines at one port, each placed on one of them. The test plays JobSet's controller.

use serde_json::{Value, json};

use crate::pods::held::{HELD, define_job_sets, derived, free, gates, node, say};
use crate::stage::{Namespace, Stage, text};

const SET: &str = "jobset.jobset.x-k8s.io/mine";

/// A Job that only says that so many machines are needed.
pub(crate) fn machines(here: &Namespace, count: usize) {
    let port = json!({"label": "node", "count": count, "constraint": "node.Type == \"Machine\""});
    let spec = json!({"suspend": true, "ports": [port], "retry": {"backoffSeconds": 1, "maxBackoffSeconds": 1}});
    let job =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "machines"}, "spec": spec});
    here.apply(&job.to_string());
}

/// Creates a pod of the JobSet as its controllers would: as the template is now.
fn create_pod(here: &Namespace, number: usize) {
    let mut pod = here.get(SET).pointer("/spec/replicatedJobs/0/template/spec/template").cloned().unwrap();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!(format!("mine-{number}"));
    pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"] = json!(number.to_string());
    pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = json!("0");
    here.create(&pod.to_string());
}

fn suspended(here: &Namespace) -> Option<bool> {
    here.get(SET).pointer("/spec/suspend").and_then(Value::as_bool)
}

#[test]
fn each_pod_of_a_job_set_on_several_machines_is_placed_on_one_of_them() {
    let here = Stage::with_pods().namespace("set-pods");
    machines(&here, 2);
    define_job_sets(&here);
    let containers = json!([{"name": "sim", "image": "sim:1"}]);
    let pod = json!({"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": containers}});
    let job = json!({"name": "node", "replicas": 2, "template": {"spec": {"template": pod}}});
    let set = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "mine", "labels": {"gangmatch.dev/ad": "machines"}}, "spec": {"replicatedJobs": [job]}});
    let create = || here.access().kubectl_text(&["-n", &here.name, "create", "-f", "-"], Some(&set.to_string())).ok();
    here.until("the policies to know JobSets", create);
    let pod_spec = || here.get(SET).pointer("/spec/replicatedJobs/0/template/spec/template/spec").cloned();
    let before = pod_spec();
    say(
        &here,
        SET,
        &json!({"conditions": [{"type": "Suspended", "status": "True", "reason": "Played", "message": "",
        "lastTransitionTime": "2026-11-21T14:00:00Z"}]}),
    );
    let mut nodes = [node(&here, "a"), node(&here, "b")];
    let asks = derived(&here, "mine");
    here.until("it to be let go", || (suspended(&here) == Some(false)).then_some(()));
    (0..2).for_each(|number| create_pod(&here, number));
    let placed = |number: usize| {
        here.until("a pod to be placed", || {
            let pod = here.get(&format!("pod/mine-{number}"));
            let node = text(&pod, "/spec/nodeName");
            (!node.is_empty()).then(|| (node, gates(&pod), text(&pod, HELD)))
        })
    };
    let (one, other) = (placed(0), placed(1));
    let mut found = [one.0.clone(), other.0];
    let told = format!("{},{}", found[0], found[1]);
    found.sort();
    nodes.sort();
    assert_eq!((found, one.1.len(), other.1.len()), (nodes, 0, 0), "one on each, and nothing holds them any more");
    let annotation = "/metadata/annotations/env.gangmatch.dev~1GANGMATCH_NODE_NODE";
    assert_eq!(text(&here.get("pod/mine-0"), annotation), told, "the numbers are those of the lists");
    // A pod that is created again comes to the same machine.
    here.delete("pod/mine-0");
    create_pod(&here, 0);
    assert_eq!(placed(0).0, one.0);
    let ready = json!([{"name": "node", "ready": 2, "active": 2, "succeeded": 0, "failed": 0, "suspended": 0}]);
    say(&here, SET, &json!({"conditions": [], "replicatedJobsStatus": ready}));
    here.wait(&asks, "jsonpath={.status.phase}=Running");
    // An owner wants a machine back: the JobSet has its form of before.
    here.merge("gmm/a", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    here.until("it to be suspended", || (suspended(&here) == Some(true)).then_some(()));
    say(
        &here,
        SET,
        &json!({"conditions": [{"type": "Suspended", "status": "True", "reason": "Played", "message": "",
        "lastTransitionTime": "2026-11-21T14:00:00Z"}], "replicatedJobsStatus": []}),
    );
    (0..2).for_each(|number| here.delete(&format!("pod/mine-{number}")));
    free(&here, &["gmm/a", "gmm/b"]);
    assert_eq!(pod_spec(), before);
}
