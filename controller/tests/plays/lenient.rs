//! Objects that Go writes and Rust does not read: whoever may write one in one namespace stops nobody by it.

use apiserver::Verb;
use http::Method;
use serde_json::{Value, json};

use crate::actors::{Agent, Says};
use crate::faults::Twist;
use crate::scenarios::{batch, job, license, machine};
use crate::stage::{HERE, Stage};

/// As an API server gives back `9999-12-31T23:59:59-23:59`.
const LATE: &str = "10000-01-01T23:58:59.000000Z";
const EARLY: &str = "-001-12-31T01:00:00Z";

/// Where each watched kind is, and what somebody has written there.
fn hostile(name: &str) -> Vec<(String, Value)> {
    let here = |group: &str, plural: &str| format!("/{group}/namespaces/{HERE}/{plural}");
    let lease = |name: &str| json!({"metadata": {"name": name}, "spec": {"holderIdentity": "a", "renewTime": LATE, "acquireTime": EARLY}});
    let labels = json!({"gangmatch.dev/match-uid": "nobody", "gangmatch.dev/ad": "none"});
    let template = json!({"metadata": {"creationTimestamp": EARLY}, "spec": {}});
    let ours = |plural: &str| here("apis/gangmatch.dev/v1alpha1", plural);
    let spec = json!({"constraint": "false"});
    vec![
        (here("apis/coordination.k8s.io/v1", "leases"), lease(name)),
        (here("apis/coordination.k8s.io/v1", "leases"), lease(&format!("gangmatch-machine-{name}"))),
        (
            "/api/v1/namespaces".to_owned(),
            json!({"metadata": {"name": name}, "status": {"conditions": [{"lastTransitionTime": LATE}]}}),
        ),
        (
            "/api/v1/nodes".to_owned(),
            json!({"metadata": {"name": name}, "spec": {"taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": LATE}]}}),
        ),
        (
            here("api/v1", "pods"),
            json!({"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"startTime": LATE}}),
        ),
        (
            here("apis/batch/v1", "jobs"),
            json!({"metadata": {"name": name}, "spec": {"suspend": true, "template": template}}),
        ),
        (
            ours("jobs"),
            json!({"kind": "Job", "apiVersion": "gangmatch.dev/v1alpha1", "metadata": {"name": name}, "spec": spec}),
        ),
        (
            ours("machines"),
            json!({"kind": "Machine", "apiVersion": "gangmatch.dev/v1alpha1", "metadata": {"name": name}, "spec": spec}),
        ),
    ]
}

/// Somebody writes all of them, and into the list of who has managed which field, too.
fn attack(stage: &mut Stage, name: &str) {
    for (path, object) in hostile(name) {
        stage.post(&path, &object);
        let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
        let metadata = json!({"managedFields": [{"manager": "m", "operation": "Update", "time": LATE}]});
        let patched = stage.ask(&Method::PATCH, &path, &json!({"metadata": metadata}));
        assert!(patched.code < 300 && patched.body["metadata"]["managedFields"][0]["time"] == LATE, "{}", patched.body);
        let patched = stage.ask(&Method::PATCH, &format!("{path}/status"), &json!({"status": {"startTime": EARLY}}));
        assert!(patched.code < 500, "{}", patched.body);
    }
}

/// A gang of a machine with an agent, whose Lease is watched, and a license.
fn claims(stage: &mut Stage, number: usize) {
    let name = format!("m-{number}");
    let mut asks = machine(&name, 9);
    asks["spec"]["claimPolicy"] = json!("Agent");
    asks["spec"]["agent"] = json!({"username": "somebody", "leaseDurationSeconds": 20});
    stage.create(&asks);
    stage.agents.insert(name, Agent { plural: "machines", says: Says::Yes, renewed_ms: None });
    let job_name = format!("j-{number}");
    stage.create(&job(&job_name, &json!({})));
    stage.until("it is claimed", move |stage| stage.phase(&job_name) == "Claimed").unwrap();
}

#[test]
fn e1_objects_with_odd_times_keep_nobody_out_whether_they_were_there_before_or_come_later() {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&license(9));
    attack(&mut stage, "before");
    stage.start(&[]);
    claims(&mut stage, 1);
    attack(&mut stage, "after");
    stage.pass(5_000);
    claims(&mut stage, 2);
    // agents are heard all the time, longer than they may be silent
    stage.pass(60_000);
    assert_eq!(["j-1", "j-2"].map(|job| stage.phase(job)), ["Claimed", "Claimed"]);
    claims(&mut stage, 3);
    stage.verdict().unwrap();
}

fn at_work() -> Stage {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&machine("m0", 9));
    stage.create(&license(1));
    stage.work_ends = false;
    stage.start(&["--stop-timeout-seconds=10"]);
    stage.create(&job("j", &batch()));
    stage.until("its work goes on", |stage| stage.phase("j") == "Running").unwrap();
    stage
}

fn pods() -> String {
    format!("/api/v1/namespaces/{HERE}/pods")
}

fn is_given_back(stage: &mut Stage) {
    stage
        .until("the seats are back", |stage| stage.entries("machines", "m0") + stage.entries("licenses", "l") == 0)
        .unwrap();
    stage.verdict().unwrap();
}

#[test]
fn e2_work_that_says_odd_things_gives_its_seats_back() {
    let mut stage = at_work();
    let odd = json!({"metadata": {"managedFields": [{"manager": "m", "time": LATE}]}});
    let batches = format!("/apis/batch/v1/namespaces/{HERE}/jobs");
    for all in [batches, pods()] {
        for object in stage.list(&all) {
            let path = format!("{all}/{}", object["metadata"]["name"].as_str().unwrap());
            assert!(stage.ask(&Method::PATCH, &path, &odd).code < 300);
            let template = json!({"spec": {"template": {"metadata": {"creationTimestamp": EARLY}}}});
            assert!(stage.ask(&Method::PATCH, &path, &template).code < 300);
            assert!(
                stage.ask(&Method::PATCH, &format!("{path}/status"), &json!({"status": {"startTime": LATE}})).code
                    < 300
            );
        }
    }
    stage.pass(1_000);
    assert_eq!(stage.phase("j"), "Running");
    stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
    is_given_back(&mut stage);
}

/// The API server refuses every patch of what its own JSON shows with a time that it does not read.
#[test]
fn e2_work_that_cannot_be_suspended_is_deleted_when_it_is_late() {
    let mut stage = at_work();
    stage.processes[0].wire.line().refuses = Some(|call| call.verb == Verb::Patch && call.group == "batch");
    let begun = stage.now_ms;
    stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
    is_given_back(&mut stage);
    let took_ms = stage.now_ms - begun;
    assert!((10_000..40_000).contains(&took_ms), "{took_ms}");
    assert_eq!(stage.list(&pods()).len(), 0);
}

#[test]
fn e2_a_template_with_other_metadata_is_not_accepted() {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&machine("m0", 9));
    stage.create(&license(1));
    stage.start(&[]);
    let mut work = batch();
    work["workload"]["jobTemplate"]["spec"]["template"]["metadata"] =
        json!({"creationTimestamp": "0000-01-01T00:00:00+23:00"});
    stage.create(&job("j", &work));
    stage
        .until("it is told why", |stage| {
            let job = stage.get("jobs", "j").unwrap_or_default();
            job.to_string()
                .contains("spec.template.metadata.creationTimestamp: a template can have only labels and annotations")
        })
        .unwrap();
    stage.pass(3_000);
    assert_eq!(stage.ours("matches").len(), 0);
}

/// A pod that somebody has deleted with thirty years to end has the time that its template gives it, once it is late.
#[test]
fn e7_a_pod_that_was_given_thirty_years_to_end_is_given_less_when_it_is_late() {
    for (own, expected) in [(1_000_000_000_i64, 3600), (60, 60)] {
        let mut stage = at_work();
        let pod = stage.list(&pods()).into_iter().next().unwrap();
        let path = format!("{}/{}", pods(), pod["metadata"]["name"].as_str().unwrap());
        let spec = json!({"terminationGracePeriodSeconds": own, "nodeName": "node"});
        assert!(stage.ask(&Method::PATCH, &path, &json!({"spec": spec})).code < 300);
        let long = json!({"gracePeriodSeconds": 1_000_000_000});
        assert!(stage.ask(&Method::DELETE, &path, &long).code < 300);
        let begun = stage.now_ms;
        stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
        let given = move |stage: &Stage| {
            let pod = stage.list(&pods()).into_iter().next().unwrap_or_default();
            pod["metadata"]["deletionGracePeriodSeconds"] == expected
        };
        stage.until("it is given less", given).unwrap();
        // the garbage collector may have given it what its template says before that
        let (took_ms, least_ms) = (stage.now_ms - begun, if own > expected { 10_000 } else { 0 });
        assert!((least_ms..20_000).contains(&took_ms), "{took_ms}");
        assert_eq!(stage.entries("machines", "m0"), 1, "it may still run");
        // once is enough
        let before = stage.requests();
        stage.pass(30_000);
        let all = stage.log.iter().rev().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(stage.requests() - before < 30, "{own}: {}\n{all}", stage.requests() - before);
        assert!(stage.ask(&Method::DELETE, &path, &json!({"gracePeriodSeconds": 0})).code < 300);
        is_given_back(&mut stage);
    }
}
