//! Turns unmodified Pods and JobSets with a label into work on the claimed nodes, held until their gang is claimed.

use serde_json::{Value, json};
use testbed::control_plane::stages::ENDS;
use testbed::product::create_fake_node;

use crate::stage::{Namespace, Stage, license, name, text};

pub(crate) const HELD: &str = "/metadata/labels/gangmatch.dev~1match-uid";

/// A node of this test, and a machine that is it.
pub(crate) fn node(here: &Namespace, name: &str) -> String {
    let node = format!("{name}-{}", here.name);
    create_fake_node(here.access(), &node).unwrap();
    here.apply(&format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: Machine, metadata: {{name: {name}}}, spec: {{nodeName: {node}}}}}"
    ));
    node
}

/// A Job that only says what is needed: machines and a license of `sim`.
pub(crate) fn ad(here: &Namespace, machines: &[&str]) {
    let mut ports: Vec<Value> = machines
        .iter()
        .map(|label| json!({"label": label, "constraint": format!("{label}.Type == \"Machine\"")}))
        .collect();
    ports.push(json!({"label": "license", "constraint": "license.Type == \"License\" && license.App == \"sim\""}));
    let spec = json!({"suspend": true, "ports": ports, "retry": {"backoffSeconds": 1, "maxBackoffSeconds": 1}});
    let job =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "needs-sim"}, "spec": spec});
    here.apply(&job.to_string());
    here.apply(&license("l", "sim", 1, 1));
}

fn pod(name: &str, ad: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"gangmatch.dev/ad": ad}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [{"name": "sim", "image": "sim:1"}]}})
}

pub(crate) fn gates(pod: &Value) -> Vec<String> {
    let gates = pod.pointer("/spec/schedulingGates").and_then(Value::as_array).cloned().unwrap_or_default();
    gates.iter().map(|gate| text(gate, "/name")).collect()
}

/// The Job that was made to ask for what is called so.
pub(crate) fn derived(here: &Namespace, of: &str) -> String {
    let begins = format!("{of}-");
    let found = here
        .until("a Job that asks for it", || here.list("gmj").iter().map(name).find(|name| name.starts_with(&begins)));
    format!("gmj/{found}")
}

pub(crate) fn free(here: &Namespace, offers: &[&str]) {
    here.until("all seats to be free", || offers.iter().all(|offer| here.entries(offer) == 0).then_some(()));
}

/// What a kubelet or a controller would say.
pub(crate) fn say(here: &Namespace, object: &str, status: &Value) {
    let patch = json!({"status": status}).to_string();
    here.kubectl(&["patch", object, "--subresource=status", "--type=merge", "-p", &patch], None);
}

/// A Pod that runs under a claim, on a node of its own.
fn running(here: &Namespace, name: &str) -> (String, String) {
    let node = with_node(here);
    here.create(&pod(name, "needs-sim").to_string());
    let job = derived(here, name);
    here.wait(&job, "jsonpath={.status.phase}=Running");
    assert_eq!(text(&here.get(&format!("pod/{name}")), "/spec/nodeName"), node);
    (job, node)
}

#[test]
fn a_labelled_pod_is_held_until_its_gang_is_claimed_and_its_end_ends_the_claim() {
    let here = Stage::with_pods().namespace("gate");
    ad(&here, &["cpu"]);
    // its own gate and its own affinity stay in force
    let mut mine = pod("mine", "needs-sim");
    let term = json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]});
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}});
    mine["spec"]["affinity"] = json!({"nodeAffinity": required});
    mine["spec"]["schedulingGates"] = json!([{"name": "e2e.gangmatch.dev/later"}]);
    here.create(&mine.to_string());
    let held = here.get("pod/mine");
    assert_eq!(gates(&held), ["e2e.gangmatch.dev/later", "gangmatch.dev/hold"]);
    assert_eq!(text(&held, "/metadata/annotations/gangmatch.dev~1created-by"), "admin");
    let job = derived(&here, "mine");
    here.wait_reason(&job, "Matched", "NoCandidates");
    assert_eq!(text(&here.get(&job), "/spec/owner"), "admin", "its creator, not the controller");
    assert_eq!(text(&here.get("pod/mine"), "/status/phase"), "Pending");
    let node = node(&here, "m");
    here.wait(&job, "Claimed");
    here.until("its gate to be taken away", || {
        (gates(&here.get("pod/mine")) == ["e2e.gangmatch.dev/later"]).then_some(())
    });
    let gateless = json!([{"op": "remove", "path": "/spec/schedulingGates"}]).to_string();
    here.kubectl(&["patch", "pod/mine", "--type=json", "-p", &gateless], None);
    here.wait(&job, "jsonpath={.status.phase}=Running");
    let pod = here.get("pod/mine");
    assert_eq!(text(&pod, "/spec/nodeName"), node);
    assert_eq!(text(&pod, "/metadata/annotations/env.gangmatch.dev~1GANGMATCH_LICENSE_NAME"), "l");
    assert_eq!((here.entries("gmm/m"), here.entries("gml/l")), (1, 1));
    say(&here, "pod/mine", &json!({"phase": "Succeeded"}));
    here.wait_reason(&job, "Finished", "Completed");
    free(&here, &["gmm/m", "gml/l"]);
    here.delete("pod/mine");
    here.until("the Job to go with it", || (here.list("gmj").len() == 1).then_some(()));
}

#[test]
fn a_labelled_pod_that_fails_finishes_its_job_badly() {
    let here = Stage::with_pods().namespace("low");
    let (job, _) = running(&here, "mine");
    say(&here, "pod/mine", &json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}));
    let message = here.wait_reason(&job, "Finished", "WorkloadFailed");
    assert_eq!(message, "Pod mine: Evicted: low on memory");
    free(&here, &["gmm/m", "gml/l"]);
}

#[test]
fn a_labelled_pod_that_is_evicted_keeps_its_seats_until_it_is_gone() {
    let here = Stage::with_pods().namespace("out");
    running(&here, "mine");
    here.merge("pod/mine", r#"{"metadata": {"finalizers": ["e2e.gangmatch.dev/slow"]}}"#);
    let path = format!("/api/v1/namespaces/{}/pods/mine/eviction", here.name);
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "mine", "namespace": here.name}});
    here.kubectl(&["create", "--raw", &path, "-f", "-"], Some(&eviction.to_string()));
    here.until("the claim to end", || {
        here.list("gmatch").iter().all(|found| text(found, "/status/decision") == "Released").then_some(())
    });
    assert_eq!((here.entries("gmm/m"), here.entries("gml/l")), (1, 1), "it is still there");
    here.merge("pod/mine", r#"{"metadata": {"finalizers": null}}"#);
    free(&here, &["gmm/m", "gml/l"]);
    here.until("the Job to go with it", || (here.list("gmj").len() == 1).then_some(()));
}

#[test]
pub(crate) fn a_labelled_pod_is_deleted_when_its_claim_ends_before_it() {
    let here = Stage::with_pods().namespace("taken-back");
    running(&here, "mine");
    here.merge("gmm/m", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    free(&here, &["gmm/m", "gml/l"]);
    assert!(here.list("pods").is_empty(), "no seat is free while it runs");
}

#[test]
fn a_workload_whose_ad_is_missing_is_told_so() {
    let here = Stage::with_pods().namespace("nobody");
    here.create(&pod("mine", "no-such-ad").to_string());
    let described = here.until("its Event", || {
        let described = here.kubectl(&["describe", "pod", "mine"], None);
        described.contains("AdMissing").then_some(described)
    });
    assert!(described.contains("job.gangmatch.dev `no-such-ad` does not exist in namespace"), "{described}");
    let mine = json!({"kind": "Pod", "name": "mine", "namespace": here.name, "missingJob": "no-such-ad"});
    assert!(here.held_for_nothing().contains(&mine));
    // Once the ad is there, all is well.
    ad(&here, &["cpu"]);
    here.kubectl(&["label", "pod", "mine", "--overwrite", "gangmatch.dev/ad=needs-sim"], None);
    here.wait_reason(&derived(&here, "mine"), "Matched", "NoCandidates");
    assert!(!here.held_for_nothing().iter().any(|held| held["namespace"] == here.name));
}

/// What kubectl describe says once it has this word in it.
fn told(here: &Namespace, object: &str, reason: &str) -> String {
    here.until(reason, || {
        let described = here.kubectl(&["describe", object], None);
        described.contains(reason).then_some(described)
    })
}

/// A node, a license, and the ad that asks for both.
fn with_node(here: &Namespace) -> String {
    ad(here, &["cpu"]);
    node(here, "m")
}

#[test]
fn a_label_that_comes_too_late_is_answered_by_what_to_do_instead() {
    let here = Stage::with_pods().namespace("too-late");
    let node = with_node(&here);
    let mut mine = pod("mine", "needs-sim");
    mine["metadata"].as_object_mut().unwrap().remove("labels");
    mine["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": node});
    let never = json!({"annotations": {ENDS: "never"}});
    let batch = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "late"},
        "spec": {"template": {"metadata": never, "spec": mine["spec"]}}});
    here.apply(&mine.to_string());
    here.apply(&batch.to_string());
    here.wait("pod/mine", "Ready");
    here.wait("job.batch/late", "jsonpath={.status.ready}=1");
    here.kubectl(&["label", "pod/mine", "job.batch/late", "gangmatch.dev/ad=needs-sim"], None);
    let described = told(&here, "pod/mine", "NotHeld");
    assert!(described.contains("create it again with the label"), "{described}");
    let described = told(&here, "job.batch/late", "NotHeld");
    assert!(described.contains("set spec.suspend to true"), "{described}");
    // Nothing was done to them, and nothing is left of it.
    assert_eq!((here.list("gmj").len(), here.list("gmatch").len()), (1, 0), "only the ad");
    assert_eq!(text(&here.get("pod/mine"), "/status/phase"), "Running");
    assert_eq!(here.get("job.batch/late").pointer("/status/ready"), Some(&json!(1)));
    // Whoever does what he was told gets his gang.
    here.merge("job.batch/late", r#"{"spec": {"suspend": true}}"#);
    let job = derived(&here, "late");
    here.wait(&job, "jsonpath={.status.phase}=Running");
    assert_eq!(here.entries("gml/l"), 1);
}

#[test]
fn a_workload_stays_held_when_its_job_is_finished_and_is_told_how_to_go_on() {
    let here = Stage::with_pods().namespace("in-vain");
    ad(&here, &["cpu"]);
    here.merge("gmj/needs-sim", r#"{"spec": {"matchTimeoutSeconds": 1}}"#);
    here.create(&pod("mine", "needs-sim").to_string());
    let job = derived(&here, "mine");
    here.wait_reason(&job, "Finished", "MatchTimedOut");
    let described = told(&here, "pod/mine", "JobFinished");
    let name = job.trim_start_matches("gmj/");
    assert!(described.contains(&format!("its job.gangmatch.dev `{name}` is finished")), "{described}");
    assert_eq!(gates(&here.get("pod/mine")), ["gangmatch.dev/hold"]);
    // As it says there: without that Job it is asked for once more.
    node(&here, "m");
    here.merge("gmj/needs-sim", r#"{"spec": {"matchTimeoutSeconds": null}}"#);
    here.delete(&job);
    here.until("its gate to be taken away", || gates(&here.get("pod/mine")).is_empty().then_some(()));
    here.wait(&job, "jsonpath={.status.phase}=Running");
}

/// The parts of JobSet's definition that matter here. Nobody plays its controller but the test.
pub(crate) fn define_job_sets(here: &Namespace) {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let job = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "replicas": {"type": "integer", "default": 1}, "template": open}});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"suspend": {"type": "boolean"}, "replicatedJobs": {"type": "array", "items": job,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}}},
        "status": open}});
    let version = json!({"name": "v1alpha2", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema}});
    let names = json!({"kind": "JobSet", "listKind": "JobSetList", "plural": "jobsets", "singular": "jobset"});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobsets.jobset.x-k8s.io", "annotations": {
            "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/jobset/issues/1"}},
        "spec": {"group": "jobset.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}});
    here.access().apply(&definition.to_string()).unwrap();
    served(here);
}

/// Waits until there are JobSets. `kubectl wait` fails at a definition that has no conditions yet.
pub(crate) fn served(here: &Namespace) {
    let list = ["-n", &here.name, "get", "jobsets.jobset.x-k8s.io", "-o", "name"];
    here.until("the kind to be served", || here.access().kubectl_text(&list, None).ok());
}

fn condition(type_: &str) -> Value {
    let now = "2026-11-21T14:00:00Z";
    json!([{"type": type_, "status": "True", "reason": "Played", "message": "", "lastTransitionTime": now}])
}

#[test]
pub(crate) fn a_labelled_job_set_runs_on_the_claimed_nodes_and_kinds_that_come_later_are_found() {
    let here = Stage::with_pods().namespace("sets");
    ad(&here, &["head", "worker"]);
    define_job_sets(&here);
    let job = |name: &str| {
        let containers = json!([{"name": "sim", "image": "sim:1"}]);
        let pod = json!({"spec": {"restartPolicy": "Never", "containers": containers}});
        json!({"name": name, "template": {"spec": {"template": pod}}})
    };
    let set = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "mine", "labels": {"gangmatch.dev/ad": "needs-sim"}},
        "spec": {"replicatedJobs": [job("worker"), job("head")]}});
    // a mutating policy knows a new kind a little later than the API server itself
    let create = || here.access().kubectl_text(&["-n", &here.name, "create", "-f", "-"], Some(&set.to_string())).ok();
    here.until("the policies to know JobSets", create);
    let mine = "jobset.jobset.x-k8s.io/mine";
    let before = here.get(mine).pointer("/spec").cloned();
    assert_eq!(before.as_ref().and_then(|spec| spec.get("suspend")), Some(&json!(true)), "held by the policy");
    say(&here, mine, &json!({"conditions": condition("Suspended")}));
    let asks = derived(&here, "mine");
    here.wait_reason(&asks, "Matched", "NoCandidates");
    let nodes = [node(&here, "a"), node(&here, "b")];
    let suspended = || here.get(mine).pointer("/spec/suspend").cloned();
    here.until("it to be let go", || (suspended() == Some(json!(false))).then_some(()));
    let started = here.get(mine);
    let of = |number: usize, path: &str| {
        text(&started, &format!("/spec/replicatedJobs/{number}/template/spec/template{path}"))
    };
    let members = text(&here.get(&asks), "/status/members");
    let head = if members.contains(&format!("head={}/a", here.name)) { 0 } else { 1 };
    let selector = "/spec/nodeSelector/kubernetes.io~1hostname";
    assert_eq!([of(1, selector), of(0, selector)], [nodes[head].clone(), nodes[1 - head].clone()], "{members}");
    let uid = of(0, HELD);
    assert_eq!((uid.as_str(), of(1, HELD)), (text(&started, HELD).as_str(), uid.clone()));
    // A pod of it runs; the JobSet's controller says so.
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine-head-0", "labels": {
        "gangmatch.dev/match-uid": uid}}, "spec": {"terminationGracePeriodSeconds": 1, "nodeName": nodes[0],
        "containers": [{"name": "sim", "image": "sim:1"}]}});
    here.create(&pod.to_string());
    let ready = json!([{"name": "head", "ready": 1, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0}]);
    say(&here, mine, &json!({"conditions": [], "replicatedJobsStatus": ready}));
    here.wait(&asks, "jsonpath={.status.phase}=Running");
    // An owner wants his machine back.
    here.merge("gmm/a", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    here.until("it to be suspended", || (suspended() == Some(json!(true))).then_some(()));
    assert_eq!(here.entries("gml/l"), 1, "its pod is still there");
    say(&here, mine, &json!({"conditions": condition("Suspended"), "replicatedJobsStatus": []}));
    here.delete("pod/mine-head-0");
    free(&here, &["gmm/a", "gmm/b", "gml/l"]);
    let back = here.get(mine);
    assert!(back.pointer(HELD).is_none(), "{back}");
    for number in 0..2 {
        let path = format!("/spec/replicatedJobs/{number}/template/spec/template/spec");
        assert_eq!(
            back.pointer(&path),
            before.as_ref().and_then(|spec| spec.pointer(path.trim_start_matches("/spec")))
        );
    }
    // And gives it again.
    here.merge("gmm/a", r#"{"spec": {"stopPolicy": "None"}}"#);
    here.until("it to be let go again", || (suspended() == Some(json!(false))).then_some(()));
    say(&here, mine, &json!({"conditions": condition("Completed")}));
    here.wait_reason(&asks, "Finished", "Completed");
    free(&here, &["gmm/a", "gmm/b", "gml/l"]);
}
