//! What Go writes and Rust does not read, in every place where somebody can put it.

use crds::{Job, License, Machine, MachineClass, Match};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::core::watch::WatchEvent;
use kube::{Resource, ResourceExt};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::{JobSet, NodeFacts, WorkloadObject, has_finished};

/// Times as an API server gives them back, and what is no time at all.
fn hostile() -> Vec<Value> {
    let times = ["10000-01-01T23:58:59Z", "10000-01-01T23:58:59.000000Z", "-001-12-31T01:00:00Z", "yesterday", ""];
    times.iter().map(|time| json!(time)).chain([json!(5), json!({}), json!([]), json!(true), json!(0.5)]).collect()
}

/// Where somebody might put a time.
const PLACES: [&[&str]; 14] = [
    &["metadata", "creationTimestamp"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "managedFields", "0", "time"],
    &["spec", "renewTime"],
    &["spec", "acquireTime"],
    &["spec", "template", "metadata", "creationTimestamp"],
    &["spec", "template", "metadata", "managedFields", "0", "time"],
    &["spec", "taints", "0", "timeAdded"],
    &["spec", "replicatedJobs", "0", "template", "metadata", "creationTimestamp"],
    &["status", "startTime"],
    &["status", "completionTime"],
    &["status", "conditions", "0", "lastTransitionTime"],
    &["status", "conditions", "0", "lastProbeTime"],
    &["status", "conditions", "0", "lastHeartbeatTime"],
];

/// An object with a value in one place; what it has to have there is there, too.
fn with(name: &str, place: &[&str], value: &Value) -> Value {
    let mut object = json!({"metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "7"}, "spec": {},
        "status": {}});
    let mut at = &mut object;
    for (step, next) in place.iter().zip(place.iter().skip(1).map(Some).chain([None])) {
        let inner = match next {
            Some(&"0") => json!([{"key": "k", "effect": "e", "type": "Ready", "status": "True"}]),
            Some(_) => json!({}),
            None => value.clone(),
        };
        at = match step.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => {
                let fields = at.as_object_mut().unwrap();
                if next.is_none() || !fields.contains_key(*step) {
                    fields.insert((*step).to_owned(), inner);
                }
                &mut fields[*step]
            }
        };
    }
    object
}

fn listed(items: &[Value]) -> String {
    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": items}).to_string()
}

fn names<T: Resource>(all: &[T]) -> Vec<String> {
    all.iter().map(ResourceExt::name_any).collect()
}

/// A list and a watch of this kind go on after such an object, and it is known by its name.
fn reads<T: Resource<DynamicType = ()> + Clone + DeserializeOwned>(all: &[Value]) -> ObjectList<T> {
    let text = listed(all);
    let read: ObjectList<T> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let expected: Vec<&str> = all.iter().map(|object| object["metadata"]["name"].as_str().unwrap_or("")).collect();
    assert_eq!(names(&read.items), expected);
    for object in all {
        let line = json!({"type": "MODIFIED", "object": object}).to_string();
        let Ok(WatchEvent::Modified(found)) = serde_json::from_str::<WatchEvent<T>>(&line) else { panic!("{line}") };
        assert_eq!(found.resource_version().as_deref(), object["metadata"]["resourceVersion"].as_str());
    }
    read
}

/// Kinds of Kubernetes are read wherever such a time is.
fn is_always_read<T: Resource<DynamicType = ()> + Clone + DeserializeOwned>() {
    for place in PLACES {
        for value in hostile() {
            reads::<T>(&[with("bad", place, &value), with("good", &[], &json!(null))]);
        }
    }
}

#[test]
fn e1_no_time_makes_an_object_of_kubernetes_unreadable() {
    is_always_read::<Trimmed<Pod>>();
    is_always_read::<Trimmed<Namespace>>();
    is_always_read::<Trimmed<Node>>();
    is_always_read::<Trimmed<JobSet>>();
    is_always_read::<Trimmed<Batch>>();
    is_always_read::<Trimmed<Lease>>();
    is_always_read::<AgentLease>();
}

fn is_left_out_at_most<K: ReadTrimmed>(good: &Value) {
    let expected = serde_json::from_value::<Trimmed<K>>(good.clone()).is_ok();
    assert!(expected, "{good}");
    for place in PLACES {
        for value in hostile() {
            let mut bad = with("bad", place, &value);
            let odd = bad["spec"].clone();
            bad["spec"] = good["spec"].clone();
            bad["spec"]["odd"] = odd;
            reads::<Parsed<Trimmed<K>>>(&[bad.clone(), good.clone()]);
            let page = Page::<K>::read(&listed(&[bad, good.clone()])).unwrap();
            assert_eq!(names(&page.items).last().map(String::as_str), Some("good"));
        }
    }
}

#[test]
fn e1_an_object_of_ours_that_cannot_be_read_keeps_no_other_one_out() {
    let good =
        |spec: Value| json!({"metadata": {"name": "good", "namespace": "ns", "resourceVersion": "7"}, "spec": spec});
    is_left_out_at_most::<Job>(&good(json!({})));
    is_left_out_at_most::<Machine>(&good(json!({})));
    is_left_out_at_most::<License>(&good(json!({})));
    let cycle = json!({"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1});
    let spec = json!({"attempt": 1, "cycle": cycle, "epoch": 0, "reserveTimeoutSeconds": 30, "summary": "", "rank": "0", "members": []});
    is_left_out_at_most::<Match>(&good(spec));
    is_left_out_at_most::<MachineClass>(&good(json!({"namespace": "ns", "selector": {}})));
}

#[test]
fn e1_an_object_that_is_nested_too_deeply_is_left_out_and_the_others_are_read() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000));
    for place in ["spec", "status"] {
        let bad = format!(r#"{{"metadata": {{"name": "bad"}}, "{place}": {{"suspend": true, "ad": {deep}}}}}"#);
        let text =
            format!(r#"{{"metadata": {{}}, "items": [{bad}, {{"metadata": {{"name": "good"}}, "spec": {{}}}}]}}"#);
        let page = Page::<Job>::read(&text).unwrap();
        assert_eq!(names(&page.items).last().map(String::as_str), Some("good"));
        let read: ObjectList<Trimmed<Batch>> = serde_json::from_str(&text).unwrap();
        assert_eq!(names(&read.items), ["bad", "good"]);
    }
    let deep =
        format!(r#"{{"metadata": {{"name": "bad", "managedFields": [{deep}]}}, "spec": {{"holderIdentity": "a"}}}}"#);
    assert!(serde_json::from_str::<AgentLease>(&deep).unwrap().held.is_some());
    let template = format!(r#"{{"metadata": {{"name": "bad"}}, "spec": {{"workload": {{"jobTemplate": {deep}}}}}}}"#);
    let deep = serde_json::from_str::<Parsed<Trimmed<Job>>>(&template.replace("managedFields", "other")).unwrap();
    assert_eq!(deep.name_any(), "bad");
    assert!(deep.0.unwrap_err().error.contains("nested more deeply"), "the rest of it is not read as if it were all");
}

#[test]
fn e2_what_counts_of_work_is_read_whatever_else_it_says() {
    let time = "10000-01-01T23:58:59Z";
    let pod: Trimmed<Pod> = serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": {"gangmatch.dev/match-uid": "m", "odd": 5},
            "deletionTimestamp": time, "deletionGracePeriodSeconds": 9,
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "b", "uid": "v", "controller": true}, "odd"]},
        "spec": {"terminationGracePeriodSeconds": 5, "schedulingGates": [{"name": "gangmatch.dev/hold"}], "containers": "odd"},
        "status": {"phase": "Running", "startTime": time, "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": time}]}}))
    .unwrap();
    let work = WorkloadObject::of_pod(&pod.0);
    assert!(work.deleting && work.run.up && work.run.suspended && !has_finished(&pod.0));
    assert_eq!((work.marks.match_uid.as_deref(), work.marks.controller.unwrap().uid.as_str()), (Some("m"), "v"));
    assert_eq!(pod.0.spec.unwrap().termination_grace_period_seconds, Some(5));
    assert_eq!(pod.0.metadata.deletion_grace_period_seconds, Some(9));
    let batch: Trimmed<Batch> = serde_json::from_value(json!({
        "metadata": {"name": "b", "uid": "v", "labels": {"gangmatch.dev/match-uid": "m"}, "managedFields": [{"time": time}]},
        "spec": {"suspend": true, "template": {"metadata": {"creationTimestamp": time}}},
        "status": {"active": 2, "startTime": time, "conditions": [{"type": "Suspended", "status": "True", "lastProbeTime": time}]}}))
    .unwrap();
    let work = WorkloadObject::of_batch(&batch.0);
    assert_eq!(
        (work.run.suspended, work.run.rests, work.run.active, work.run.started),
        (true, true, 2, Some(0)),
        "a start time is there"
    );
}

#[test]
fn a_time_that_can_be_read_is_read() {
    let time = "2026-11-21T14:00:00Z";
    let batch =
        json!({"metadata": {"creationTimestamp": time, "deletionTimestamp": time}, "status": {"startTime": time}});
    let Trimmed(batch) = serde_json::from_value::<Trimmed<Batch>>(batch).unwrap();
    let lease = json!({"spec": {"renewTime": "2026-11-21T14:00:00.000001Z"}});
    let Trimmed(lease) = serde_json::from_value::<Trimmed<Lease>>(lease).unwrap();
    let at = batch.status.unwrap().start_time.unwrap().0;
    assert_eq!(at.to_string(), time);
    assert_eq!(
        [batch.metadata.creation_timestamp, batch.metadata.deletion_timestamp].map(|found| found.unwrap().0),
        [at, at]
    );
    assert_eq!(lease.spec.unwrap().renew_time.unwrap().0.as_microsecond(), at.as_microsecond() + 1);
}

#[test]
fn e1_a_lease_beats_whenever_it_says_something_else() {
    let held = |spec: Value| serde_json::from_value::<AgentLease>(json!({"spec": spec})).unwrap().held;
    let beat = |time: &str| held(json!({"holderIdentity": "a", "renewTime": time}));
    assert!(beat("10000-01-01T23:58:59.000000Z").is_some());
    assert_eq!(beat("10000-01-01T23:58:59.000000Z"), beat("10000-01-01T23:58:59.000000Z"));
    assert_ne!(beat("10000-01-01T23:58:59.000000Z"), beat("10000-01-01T23:59:59.000000Z"));
    for nobody in [json!(null), json!({}), json!({"holderIdentity": ""}), json!({"holderIdentity": 5}), json!("odd")] {
        assert_eq!(held(nobody), None);
    }
}

#[test]
fn metadata_that_are_written_back_keep_all_annotations() {
    let metadata = json!({"name": "l", "annotations": {"a.dev/b": "c", "gangmatch.dev/d": "e"}, "labels": {}});
    let lease: Trimmed<Lease> = serde_json::from_value(json!({"metadata": metadata.clone()})).unwrap();
    assert_eq!(serde_json::to_value(lease.meta()).unwrap(), metadata);
    assert_eq!(serde_json::to_value(trimmed_metadata(&metadata).unwrap()).unwrap(), metadata);
}

/// Any JSON, with the names that are read.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,8}".prop_map(|text| json!(text)),
        Just(json!("10000-01-01T23:58:59Z")),
    ];
    let names = "(name|namespace|uid|labels|annotations|ownerReferences|managedFields|finalizers|deletionTimestamp|suspend|phase\
        |creationTimestamp|conditions|type|status|schedulingGates|terminationGracePeriodSeconds|startTime|holderIdentity|renewTime\
        |taints|allocatable|nodeInfo|replicatedJobsStatus|active|template|metadata|spec|time|[a-z]{1,3})";
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::hash_map(names, inner, 0..6).prop_map(|all| json!(all)),
        ]
    })
}

proptest! {
    #[test]
    fn e1_no_object_makes_a_list_unreadable(metadata in anything(), spec in anything(), status in anything(), more in anything()) {
        let bad = json!({"metadata": metadata, "spec": spec, "status": status, "more": more});
        let text = listed(&[bad, with("good", &[], &json!(null))]);
        fn good<T: Resource + DeserializeOwned + Clone>(text: &str) -> bool {
            let list = serde_json::from_str::<ObjectList<T>>(text).unwrap();
            list.items.len() == 2 && list.items.last().is_some_and(|last| last.meta().name.as_deref() == Some("good"))
        }
        prop_assert!(good::<Trimmed<Pod>>(&text) && good::<Trimmed<Batch>>(&text) && good::<Trimmed<JobSet>>(&text));
        prop_assert!(good::<Trimmed<Lease>>(&text) && good::<AgentLease>(&text) && good::<Trimmed<Namespace>>(&text));
        prop_assert!(good::<Parsed<Trimmed<Node>>>(&text) && good::<Parsed<Trimmed<Job>>>(&text) && good::<Parsed<Trimmed<Match>>>(&text));
        prop_assert!(good::<Parsed<Trimmed<Machine>>>(&text) && good::<Parsed<Trimmed<MachineClass>>>(&text));
        let page = Page::<Job>::read(&text).unwrap();
        prop_assert!(page.items.iter().any(|job| job.metadata.name.as_deref() == Some("good")));
    }
}

#[test]
fn nothing_that_is_read_of_a_node_is_lost_when_it_is_trimmed() {
    let whole = json!({
        "metadata": {"name": "n", "labels": {"pool": "lab"}},
        "spec": {"unschedulable": true, "taints": [{"key": "lab", "value": "eda", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "4", "example.com/fpga": "1"},
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}],
            "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux", "kernelVersion": "6.1", "osImage": "Debian",
                "kubeletVersion": "v1.36", "containerRuntimeVersion": "containerd", "bootID": "b", "machineID": "m",
                "kubeProxyVersion": "", "systemUUID": "s"},
        },
    });
    let all = NodeFacts::of(&serde_json::from_value::<Node>(whole.clone()).unwrap());
    // Each field has another value than that of a node of which nothing is known: a new one is to have one, too.
    let NodeFacts { name, labels, ready, schedulable, system, allocatable, taints, conditions } = &all;
    assert!(*ready && !schedulable && name == "n" && labels.len() == 1);
    assert_eq!((system.len(), allocatable.len(), taints.len(), conditions.len()), (NodeFacts::SYSTEM.len(), 2, 1, 1));
    let trimmed: Trimmed<Node> = serde_json::from_str(&whole.to_string()).unwrap();
    assert_eq!(NodeFacts::of(&trimmed.0), all);
    let mut deleted = whole;
    deleted["spec"] = json!({});
    deleted["metadata"]["deletionTimestamp"] = json!("2026-11-21T14:00:00Z");
    let trimmed: Trimmed<Node> = serde_json::from_value(deleted).unwrap();
    assert!(!NodeFacts::of(&trimmed.0).schedulable);
}
