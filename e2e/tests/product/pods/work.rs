//! Turns jobs with a workload into pods on the claimed nodes, and everything that can happen to them into what the claim makes of it.

use serde_json::{Value, json};
use testbed::control_plane::processes::Signal;
use testbed::control_plane::stages::{ENDS, RUNS_FOR};
use testbed::product::create_fake_node;

use crate::stage::{Namespace, Stage, condition, license, name, text};

/// How the pods of a workload end.
#[derive(Clone, Copy)]
enum Ends {
    Well,
    Badly,
    Never,
}

/// A node of this test, and a machine of the same name that is it.
fn node(here: &Namespace, name: &str) -> String {
    let node = format!("{name}-{}", here.name);
    create_fake_node(here.access(), &node).unwrap();
    here.apply(&format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: Machine, metadata: {{name: {name}}}, spec: {{nodeName: {node}}}}}"
    ));
    node
}

fn template(ends: Ends) -> Value {
    let annotations = match ends {
        Ends::Well => json!({RUNS_FOR: "1s"}),
        Ends::Badly => json!({ENDS: "failed"}),
        Ends::Never => json!({ENDS: "never"}),
    };
    let container = json!({"name": "sim", "image": "sim:1", "env": [{"name": "OWN", "value": "1"}]});
    json!({"spec": {"backoffLimit": 0, "template": {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }}})
}

/// A job that needs machines and a license of `sim`, and has a template.
fn job(name: &str, machines: &[&str], workload: &Value) -> String {
    let mut ports: Vec<Value> = machines
        .iter()
        .map(|label| json!({"label": label, "constraint": format!("{label}.Type == \"Machine\"")}))
        .collect();
    ports.push(json!({"label": "license", "constraint": "license.Type == \"License\" && license.App == \"sim\""}));
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name},
        "spec": {"ports": ports, "workload": workload}})
    .to_string()
}

fn pods(here: &Namespace) -> Vec<Value> {
    here.list("pods")
}

fn running(here: &Namespace) -> Vec<Value> {
    pods(here).into_iter().filter(|pod| text(pod, "/status/phase") == "Running").collect()
}

fn free(here: &Namespace, offers: &[&str]) {
    here.until("all seats to be free", || offers.iter().all(|offer| here.entries(offer) == 0).then_some(()));
}

#[test]
fn a_job_whose_workload_is_not_held_or_not_there_is_told_so() {
    let here = Stage::with_pods().namespace("waits");
    node(&here, "m1");
    node(&here, "m2");
    let mut running: Value = serde_json::from_str(&batch("runs", Ends::Never)).unwrap();
    running["spec"]["suspend"] = json!(false);
    here.apply(&running.to_string());
    for (name, named) in [("one", "runs"), ("two", "missing")] {
        let spec = json!({"constraint": "other.Type == \"Machine\"", "workload": {"workloadRef": {"name": named}}});
        let job =
            json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": spec});
        here.apply(&job.to_string());
    }
    for (name, words) in [
        ("one", "the batch Job `runs` is not held: set its spec.suspend to true"),
        ("two", "the batch Job `missing` does not exist in this namespace: create it"),
    ] {
        here.until(words, || here.kubectl(&["describe", "gmj", name], None).contains(words).then_some(()));
    }
    // Who does so gets what he wants.
    here.merge("job.batch/runs", r#"{"spec": {"suspend": true}}"#);
    here.apply(&batch("missing", Ends::Never));
    here.wait("gmj/one", "jsonpath={.status.phase}=Running");
    here.wait("gmj/two", "jsonpath={.status.phase}=Running");
}

/// When this writer has last changed the status of an object, in seconds since 1970: the API server's own word.
fn written_at(object: &Value, is_writer: impl Fn(&str) -> bool) -> Option<i64> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array)?;
    let status = entries.iter().filter(|entry| text(entry, "/subresource") == "status");
    let times = status.filter(|entry| is_writer(&text(entry, "/manager"))).map(|entry| text(entry, "/time"));
    times.filter_map(|time| time.parse::<jiff::Timestamp>().ok()).map(jiff::Timestamp::as_second).max()
}

/// An object with the fields that say who has written it.
fn with_writers(here: &Namespace, object: &str) -> Value {
    serde_json::from_str(&here.kubectl(&["get", object, "--show-managed-fields", "-o", "json"], None)).unwrap()
}

#[test]
fn seats_are_back_five_seconds_after_the_end_of_the_last_pod() {
    let here = Stage::with_pods().namespace("back");
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    let mut waits: Vec<i64> = (1..=5)
        .map(|number| {
            let name = format!("j{number}");
            here.apply(&job(&name, &["cpu"], &json!({"jobTemplate": template(Ends::Well)})));
            here.wait_reason(&format!("gmj/{name}"), "Finished", "Completed");
            free(&here, &["gmm/m", "gml/l"]);
            let pod = pods(&here).iter().map(crate::stage::name).find(|found| found.starts_with(&name)).unwrap();
            let ended = written_at(&with_writers(&here, &format!("pod/{pod}")), |writer| writer.contains("kwok"));
            let freed = written_at(&with_writers(&here, "gml/l"), |writer| writer == "gangmatch");
            freed.expect("the ledger was written") - ended.expect("kwok has written its end")
        })
        .collect();
    waits.sort_unstable();
    println!("seats back after the end of their pod, in seconds of the API server's clock: {waits:?}");
    assert!(waits[2] <= 5, "half of them wait longer than they may: {waits:?}");
}

#[test]
pub(crate) fn a_template_runs_on_the_claimed_node_with_the_gang_in_its_environment_and_its_end_ends_the_claim() {
    let here = Stage::with_pods().namespace("runs");
    let node = node(&here, "m");
    here.apply(&license("l", "sim", 1, 7));
    let workload = json!({"jobTemplate": template(Ends::Well), "env": {"PRICE": "license.Price * 2"}});
    here.apply(&job("j", &["cpu"], &workload));
    here.wait("gmj/j", "Started");
    let batch = here.list("jobs.batch").remove(0);
    assert_eq!(name(&batch), name(&here.list("gmatch").remove(0)), "named as its Match");
    assert!(batch.pointer("/metadata/ownerReferences").is_none());
    let pod = pods(&here).remove(0);
    assert_eq!(text(&pod, "/spec/nodeName"), node);
    let env = pod.pointer("/spec/containers/0/env").unwrap().as_array().unwrap();
    let value = |name: &str| env.iter().find(|one| one["name"] == name).map(|one| text(one, "/value"));
    assert_eq!(value("OWN").as_deref(), Some("1"));
    assert_eq!(value("PRICE").as_deref(), Some("14"));
    assert_eq!(value("GANGMATCH_MATCH"), Some(name(&batch)));
    assert_eq!(value("GANGMATCH_CPU_NODE"), Some(node));
    assert_eq!(value("GANGMATCH_LICENSE_NAME").as_deref(), Some("l"));
    assert_eq!(value("GANGMATCH_LICENSE_SEATS").as_deref(), Some("1"));
    here.shows("gmj/j", "Finished", "Completed");
    here.wait("gmj/j", "jsonpath={.status.phase}=Succeeded");
    free(&here, &["gmm/m", "gml/l"]);
    let job = here.get("gmj/j");
    assert_eq!(condition(&job, "Started").1, "WorkloadStarted", "it is still said that it ran");
    assert_eq!(text(&job, "/status/workload/name"), name(&batch));
    assert_eq!(text(&here.list("gmatch").remove(0), "/status/reason"), "Completed");
    here.delete("gmj/j");
    here.until("the batch Job to go with its Match", || here.list("jobs.batch").is_empty().then_some(()));
}

#[test]
fn work_that_fails_finishes_its_job_badly() {
    let here = Stage::with_pods().namespace("fails");
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": template(Ends::Badly)})));
    let message = here.shows("gmj/j", "Finished", "WorkloadFailed");
    assert!(message.contains("backoff limit"), "{message}");
    here.wait("gmj/j", "jsonpath={.status.phase}=Failed");
    free(&here, &["gmm/m", "gml/l"]);
}

#[test]
fn a_template_that_is_none_is_refused_before_anything_is_claimed() {
    let here = Stage::with_pods().namespace("invalid");
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    let mut wrong = template(Ends::Well);
    wrong["spec"]["template"]["spec"]["restartPolicy"] = json!("Always");
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": wrong})));
    let message = here.wait_reason("gmj/j", "Accepted", "WorkloadInvalid");
    assert_eq!(
        message,
        "spec.workload.jobTemplate.spec.template.spec.restartPolicy: found Always; write Never or OnFailure"
    );
    // What only the API server knows is said by it, and the seats are given back.
    let mut unknown = template(Ends::Well);
    unknown["spec"]["template"]["spec"]["containers"][0]["name"] = json!("No Name");
    here.apply(&job("k", &["cpu"], &json!({"jobTemplate": unknown})));
    let message = here.wait_reason("gmj/k", "Finished", "WorkloadFailed");
    assert!(message.starts_with("the batch Job was refused: ") && message.contains("No Name"), "{message}");
    here.shows("gmj/k", "Started", "WorkloadRefused");
    free(&here, &["gmm/m", "gml/l"]);
}

#[test]
fn a_suspended_job_stops_its_work_and_begins_again_with_another() {
    let here = Stage::with_pods().namespace("pause");
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": template(Ends::Never)})));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    let first = name(&here.list("jobs.batch").remove(0));
    here.merge("gmj/j", r#"{"spec": {"suspend": true}}"#);
    free(&here, &["gmm/m", "gml/l"]);
    assert!(running(&here).is_empty(), "no seat is free while a pod runs");
    here.until("the batch Job to be deleted", || here.list("jobs.batch").is_empty().then_some(()));
    here.merge("gmj/j", r#"{"spec": {"suspend": false}}"#);
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    assert_ne!(name(&here.list("jobs.batch").remove(0)), first);
}

#[test]
fn a_job_deleted_at_work_gives_its_seats_back_after_its_last_pod() {
    let here = Stage::with_pods().namespace("cut");
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": template(Ends::Never)})));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    // A pod that takes its time: its end is not believed before it is there.
    let pod = name(&running(&here).remove(0));
    here.merge(&format!("pod/{pod}"), r#"{"metadata": {"finalizers": ["e2e.gangmatch.dev/slow"]}}"#);
    here.delete("gmj/j");
    here.until("the batch Job to be deleted", || here.list("jobs.batch").is_empty().then_some(()));
    assert_eq!((here.entries("gmm/m"), here.entries("gml/l")), (1, 1), "the pod is still there");
    let finalizers = here.get(&format!("pod/{pod}")).pointer("/metadata/finalizers").cloned().unwrap_or_default();
    assert_eq!(finalizers, json!(["e2e.gangmatch.dev/slow"]));
    here.merge(&format!("pod/{pod}"), r#"{"metadata": {"finalizers": null}}"#);
    free(&here, &["gmm/m", "gml/l"]);
}

#[test]
fn work_that_its_user_deletes_is_not_begun_again() {
    let here = Stage::with_pods().namespace("axed");
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": template(Ends::Never)})));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    here.kubectl(&["delete", "jobs.batch", "--all"], None);
    let message = here.wait_reason("gmj/j", "Finished", "WorkloadFailed");
    assert_eq!(message, "the workload is not there any more");
    free(&here, &["gmm/m", "gml/l"]);
    assert!(running(&here).is_empty());
}

#[test]
fn a_pod_that_cannot_start_in_time_is_tried_elsewhere_and_the_machine_is_remembered() {
    let here = Stage::with_pods().namespace("stuck");
    let full = node(&here, "a");
    here.access().kubectl_text(&["taint", "node", &full, "reserved=yes:NoSchedule"], None).unwrap();
    here.apply(&license("l", "sim", 1, 1));
    let workload = json!({"jobTemplate": template(Ends::Never), "startTimeoutSeconds": 2});
    here.apply(&job("j", &["cpu"], &workload));
    here.until("the pod to wait", || (pods(&here).len() == 1).then_some(()));
    let other = node(&here, "b");
    here.until("the work to run elsewhere", || {
        let found = running(&here);
        found.first().filter(|pod| text(pod, "/spec/nodeName") == other).map(|_| ())
    });
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    let job = here.get("gmj/j");
    assert_eq!(text(&job, "/status/refusals/0/name"), "a");
    assert_eq!(text(&job, "/status/refusals/0/reason"), "StartTimedOut");
    assert_eq!(text(&job, "/status/members"), format!("cpu={0}/b license={0}/l", here.name));
}

#[test]
fn starts_that_take_too_long_count_and_where_no_machine_is_to_blame_the_job_pauses() {
    let here = Stage::with_pods().namespace("late");
    here.apply(&license("l", "sim", 1, 1));
    let mut nowhere = template(Ends::Never);
    nowhere["spec"]["template"]["spec"]["nodeSelector"] = json!({"e2e.gangmatch.dev/no-such": "label"});
    let workload = json!({"jobTemplate": nowhere, "startTimeoutSeconds": 1});
    let mut late: Value = serde_json::from_str(&job("j", &[], &workload)).unwrap();
    late["spec"]["retry"] = json!({"limit": 1, "backoffSeconds": 6, "maxBackoffSeconds": 6});
    here.apply(&late.to_string());
    here.wait_reason("gmj/j", "Matched", "BackingOff");
    let message = here.wait_reason("gmj/j", "Finished", "RetryLimitReached");
    here.shows("gmj/j", "Claimed", "StartTimedOut");
    assert!(message.starts_with("rejected 2 times, spec.retry.limit is 1; the last time StartTimedOut"), "{message}");
    free(&here, &["gml/l"]);
}

#[test]
fn two_gangs_that_race_for_the_last_node_run_one_after_the_other() {
    let here = Stage::with_pods().namespace("race");
    let node = node(&here, "m");
    here.apply(&license("l", "sim", 2, 1));
    let of = |name: &str| job(name, &["cpu"], &json!({"jobTemplate": template(Ends::Never)}));
    here.apply(&format!("{}\n---\n{}", of("a"), of("b")));
    let first = here.until("one of them to run", || {
        let all = here.list("gmj");
        all.iter().find(|job| text(job, "/status/phase") == "Running").map(name)
    });
    let second = if first == "a" { "b" } else { "a" };
    here.wait_reason(&format!("gmj/{second}"), "Matched", "WaitingForCapacity");
    assert_eq!((here.entries("gmm/m"), here.entries("gml/l"), running(&here).len()), (1, 1, 1));
    here.merge(&format!("gmj/{first}"), r#"{"spec": {"done": true}}"#);
    here.wait(&format!("gmj/{second}"), "jsonpath={.status.phase}=Running");
    assert_eq!(text(&running(&here).remove(0), "/spec/nodeName"), node);
}

#[test]
fn on_a_machine_that_is_drained_work_goes_on_and_none_begins() {
    let here = Stage::with_pods().namespace("drain");
    let node = node(&here, "m");
    here.apply(&license("l", "sim", 2, 1));
    let of = |name: &str| job(name, &["cpu"], &json!({"jobTemplate": template(Ends::Never)}));
    here.apply(&of("a"));
    here.wait("gmj/a", "jsonpath={.status.phase}=Running");
    here.merge("gmm/m", r#"{"spec": {"stopPolicy": "Hold"}}"#);
    here.wait_reason("gmm/m", "Ready", "Draining");
    here.apply(&of("b"));
    let why = here.wait_reason("gmj/b", "Matched", "OffersUnavailable");
    let closed = format!("Machine {}/m (draining, stopPolicy is Hold) would match, but is not available", here.name);
    assert!(why.ends_with(&closed), "{why}");
    assert_eq!(text(&running(&here).remove(0), "/spec/nodeName"), node, "its work goes on");
    assert_eq!(text(&here.get("gmj/a"), "/status/phase"), "Running");
    here.merge("gmj/a", r#"{"spec": {"done": true}}"#);
    free(&here, &["gmm/m", "gml/l"]);
    here.merge("gmm/m", r#"{"spec": {"stopPolicy": "None"}}"#);
    here.wait("gmj/b", "jsonpath={.status.phase}=Running");
}

#[test]
fn what_the_owner_of_a_node_tolerates_its_pods_tolerate() {
    let here = Stage::with_pods().namespace("leave");
    let tainted = node(&here, "m");
    here.access().kubectl_text(&["taint", "node", &tainted, "lab=eda:NoSchedule"], None).unwrap();
    let allowed = json!({"spec": {"attributes": {"Tolerations": [{"Key": "lab", "Operator": "Exists"}]}}});
    here.merge("gmm/m", &allowed.to_string());
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": template(Ends::Well)})));
    here.wait_reason("gmj/j", "Finished", "Completed");
}

#[test]
fn a_gang_of_two_machines_gets_a_pod_on_each() {
    let here = Stage::with_pods().namespace("two");
    let nodes = [node(&here, "a"), node(&here, "b")];
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("j", &["head", "worker"], &json!({"jobTemplate": template(Ends::Never)})));
    here.until("two pods to run", || (running(&here).len() == 2).then_some(()));
    let mut where_: Vec<String> = running(&here).iter().map(|pod| text(pod, "/spec/nodeName")).collect();
    where_.sort();
    assert_eq!(where_, nodes);
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    free(&here, &["gmm/a", "gmm/b", "gml/l"]);
    assert!(running(&here).is_empty());
}

#[test]
fn a_set_of_machines_gets_a_pod_on_each_and_knows_them_as_lists() {
    let here = Stage::with_pods().namespace("a-set");
    let nodes: Vec<String> = ["m1", "m2", "m3", "m4"].iter().map(|name| node(&here, name)).collect();
    here.apply(&license("l", "sim", 8, 1));
    let ports = json!([{"label": "node", "count": 3, "constraint": "node.Type == \"Machine\""},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == \"sim\"",
            "request": {"seats": "2 * size(node)"}}]);
    let workload = json!({"jobTemplate": template(Ends::Never), "env": {"HOSTS": "node.Name"}});
    let job = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"ports": ports, "workload": workload}});
    here.apply(&job.to_string());
    here.until("three pods to run", || (running(&here).len() == 3).then_some(()));
    let mut on: Vec<String> = running(&here).iter().map(|pod| text(pod, "/spec/nodeName")).collect();
    on.sort();
    assert_eq!(on, nodes[..3], "one on each of the claimed nodes");
    let batch = here.list("jobs.batch").remove(0);
    assert_eq!(
        (batch.pointer("/spec/completions"), text(&batch, "/spec/completionMode")),
        (Some(&json!(3)), "Indexed".into())
    );
    let environment = batch.pointer("/spec/template/spec/containers/0/env").cloned().unwrap();
    let said = |name: &str| {
        let found = environment.as_array().unwrap().iter().find(|one| text(one, "/name") == name);
        found.map(|one| text(one, "/value")).unwrap_or_default()
    };
    assert_eq!(said("HOSTS"), "m1,m2,m3");
    assert_eq!((said("GANGMATCH_NODE_NAME"), said("GANGMATCH_NODE_COUNT")), ("m1,m2,m3".into(), "3".into()));
    assert_eq!(said("GANGMATCH_NODE_NODE"), nodes[..3].join(","));
    assert_eq!((said("GANGMATCH_NODE_SLOTS"), said("GANGMATCH_LICENSE_SEATS")), ("1,1,1".into(), "6".into()));
    // One machine is lost: the whole gang ends, and begins again elsewhere.
    here.delete("gmm/m2");
    let replaced = || {
        let members = text(&here.get("gmj/j"), "/status/members");
        (members.contains("node=3:")
            && text(&here.get("gmj/j"), "/status/phase") == "Running"
            && here.entries("gmm/m4") == 1)
            .then_some(())
    };
    here.until("another set to run", replaced);
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    free(&here, &["gmm/m1", "gmm/m3", "gmm/m4", "gml/l"]);
}

#[test]
fn work_that_ends_while_no_controller_runs_is_found_ended() {
    let stage = Stage::own_with_pods();
    let here = stage.namespace("away");
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": template(Ends::Well)})));
    here.until("the work to be started", || (!pods(&here).is_empty()).then_some(()));
    stage.controller.end(Signal::Kill).unwrap();
    let batch = format!("job.batch/{}", name(&here.list("jobs.batch").remove(0)));
    here.wait(&batch, "Complete");
    assert_eq!((here.entries("gmm/m"), here.entries("gml/l")), (1, 1), "held until somebody looks");
    stage.controller.restart().unwrap();
    here.wait_reason("gmj/j", "Finished", "Completed");
    free(&here, &["gmm/m", "gml/l"]);
    assert_eq!(here.list("jobs.batch").len(), 1, "it was not begun again");
}

/// A batch Job that somebody has made for himself, suspended.
fn batch(name: &str, ends: Ends) -> String {
    let mut spec = template(ends)["spec"].clone();
    spec["suspend"] = json!(true);
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}).to_string()
}

#[test]
fn a_batch_job_that_is_there_is_started_on_the_claimed_node_and_its_end_ends_the_claim() {
    let here = Stage::with_pods().namespace("taken");
    let node = node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&batch("mine", Ends::Well));
    here.apply(&job("j", &["cpu"], &json!({"workloadRef": {"name": "mine"}})));
    let pod = here.until("its pod", || pods(&here).into_iter().next());
    let variable = |pod: &Value, name: &str| text(pod, &format!("/metadata/annotations/env.gangmatch.dev~1{name}"));
    assert_eq!(variable(&pod, "GANGMATCH_CPU_NODE"), node);
    assert_eq!(variable(&pod, "GANGMATCH_LICENSE_NAME"), "l");
    here.wait_reason("gmj/j", "Finished", "Completed");
    assert_eq!(text(&pods(&here).remove(0), "/spec/nodeName"), node);
    free(&here, &["gmm/m", "gml/l"]);
    here.delete("gmj/j");
    here.until("the Match to be collected", || here.list("gmatch").is_empty().then_some(()));
    assert_eq!(text(&here.get("job.batch/mine"), "/metadata/name"), "mine", "it is not ours to delete");
}

#[test]
pub(crate) fn a_batch_job_that_is_there_is_suspended_at_the_release_and_started_elsewhere() {
    let here = Stage::with_pods().namespace("lent");
    let first = node(&here, "a");
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&batch("mine", Ends::Never));
    here.apply(&job("j", &["cpu"], &json!({"workloadRef": {"name": "mine"}})));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    assert_eq!(text(&running(&here).remove(0), "/spec/nodeName"), first);
    here.merge("gmm/a", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    free(&here, &["gmm/a", "gml/l"]);
    assert!(running(&here).is_empty());
    let mine = here.get("job.batch/mine");
    assert_eq!(mine.pointer("/spec/suspend"), Some(&json!(true)));
    assert!(mine.pointer("/metadata/labels/gangmatch.dev~1match-uid").is_none());
    let second = node(&here, "b");
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    assert_eq!(text(&running(&here).remove(0), "/spec/nodeName"), second);
    assert_eq!(text(&here.get("gmj/j"), "/status/workload/name"), "mine");
}

#[test]
fn an_unmodified_batch_job_with_a_label_is_held_until_its_gang_is_claimed() {
    let here = Stage::with_pods().namespace("label");
    here.apply(&license("l", "sim", 1, 1));
    // The ad is a Job that is suspended itself: it only says what is needed.
    let mut ad: Value = serde_json::from_str(&job("needs-sim", &["cpu"], &json!(null))).unwrap();
    ad["spec"].as_object_mut().unwrap().remove("workload");
    ad["spec"]["suspend"] = json!(true);
    here.apply(&ad.to_string());
    let mut mine: Value = serde_json::from_str(&batch("mine", Ends::Well)).unwrap();
    mine["metadata"]["labels"] = json!({"gangmatch.dev/ad": "needs-sim"});
    mine["spec"].as_object_mut().unwrap().remove("suspend");
    // without any annotation, which `apply` would bring
    here.create(&mine.to_string());
    let derived = here
        .until("a Job that asks for it", || here.list("gmj").iter().map(name).find(|name| name.starts_with("mine-")));
    let gmj = format!("gmj/{derived}");
    here.wait_reason(&gmj, "Matched", "NoCandidates");
    assert_eq!(text(&here.get(&gmj), "/spec/owner"), "admin", "its creator, not the controller");
    assert_eq!(here.get("job.batch/mine").pointer("/spec/suspend"), Some(&json!(true)), "held by the policy");
    let forged = json!({"metadata": {"annotations": {"gangmatch.dev/created-by": "root"}}});
    here.merge("job.batch/mine", &forged.to_string());
    assert_eq!(text(&here.get("job.batch/mine"), "/metadata/annotations/gangmatch.dev~1created-by"), "admin");
    here.apply(&batch("later", Ends::Never).replace(
        "\"metadata\":{\"name\"",
        "\"metadata\":{\"annotations\":{\"gangmatch.dev/created-by\":\"root\"},\"name\"",
    ));
    here.kubectl(&["label", "job.batch/later", "gangmatch.dev/ad=nobody"], None);
    assert_eq!(text(&here.get("job.batch/later"), "/metadata/annotations/gangmatch.dev~1created-by"), "admin");
    assert!(pods(&here).is_empty());
    let node = node(&here, "m");
    here.wait_reason(&gmj, "Finished", "Completed");
    assert_eq!(text(&pods(&here).remove(0), "/spec/nodeName"), node);
    free(&here, &["gmm/m", "gml/l"]);
    here.kubectl(&["delete", "job.batch", "mine"], None);
    here.until("the Job to go with it", || (here.list("gmj").len() == 1).then_some(()));
}

#[test]
fn m8_m12_a_running_job_that_is_cancelled_says_so_and_where_it_ran_and_goes_when_its_time_is_over() {
    let here = Stage::with_pods().namespace("cancel");
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": template(Ends::Never)})));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    here.shows("gmj/j", "Started", "WorkloadStarted");
    let claimed = here.get("gmj/j");
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    here.shows("gmj/j", "Finished", "Cancelled");
    let ended = here.get("gmj/j");
    assert_eq!(text(&ended, "/status/phase"), "Cancelled");
    let members = format!("cpu={0}/m license={0}/l", here.name);
    assert_eq!(
        (text(&ended, "/status/members"), text(&claimed, "/status/members")),
        (members.clone(), members.clone())
    );
    assert_eq!(text(&ended, "/status/lastMatch"), text(&claimed, "/status/claim/match"));
    let columns = here.kubectl(&["get", "gmj/j", "-o", "wide"], None);
    assert!([&members, &text(&ended, "/status/lastMatch")].iter().all(|word| columns.contains(*word)), "{columns}");
    free(&here, &["gmm/m", "gml/l"]);
    here.merge("gmj/j", r#"{"spec": {"ttlSecondsAfterFinished": 1}}"#);
    here.until("the job and its Matches to be deleted", || {
        (here.list("gmj").is_empty() && here.list("gmatch").is_empty()).then_some(())
    });
}

#[test]
fn m9_what_the_pods_request_is_what_the_claim_holds_and_a_contradiction_is_refused() {
    let here = Stage::with_pods().namespace("asks");
    let node = node(&here, "m");
    here.merge("gmm/m", r#"{"spec": {"capacity": {"slots": null, "cpus": 16, "memory": 65536}}}"#);
    here.apply(&license("l", "sim", 2, 1));
    let mut pods = template(Ends::Never);
    pods["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"requests": {"cpu": "1500m", "memory": "2Gi"}});
    here.apply(&job("j", &["cpu"], &json!({"jobTemplate": pods})));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
    let machine = here.get("gmm/m");
    let held = machine.pointer("/status/claims").and_then(Value::as_object).unwrap().values().next().unwrap().clone();
    assert_eq!(
        (held["allocation"].clone(), text(&machine, "/spec/nodeName")),
        (json!({"cpus": 2, "memory": 2048}), node)
    );
    let mut asks = serde_json::from_str::<Value>(&job("k", &["cpu"], &json!({"jobTemplate": pods}))).unwrap();
    asks["spec"]["ports"][0]["request"] = json!({"cpus": 1, "memory": "2Gi"});
    here.apply(&asks.to_string());
    let message = here.wait_reason("gmj/k", "Accepted", "WorkloadInvalid");
    assert!(
        message.contains("its pods request 2 of cpus on each node, and spec.ports[0].request.cpus only 1"),
        "{message}"
    );
}
