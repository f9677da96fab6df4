//! Turns claims that cannot end, ledgers that were wiped and rights that were taken into checks that others are served as before.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testbed::control_plane::processes::Signal;
use testbed::control_plane::stages::ENDS;
use testbed::product;

use crate::stage::{Namespace, Stage, job, license, machine, text};

/// More than are claimed at the same time.
const HANGING: usize = 66;
/// What another one's claim may take beside what it took before.
const SLACK: Duration = Duration::from_secs(2);
/// A ledger that was wiped is whole by then.
const WHOLE: Duration = Duration::from_secs(5);

/// A job with a pod that runs until it is deleted, on the machine of this name.
fn at_work(name: &str, machine: &str) -> String {
    let container = json!({"name": "sim", "image": "sim:1", "resources": {"requests": {"cpu": "10m"}}});
    let template = json!({"spec": {"template": {"metadata": {"annotations": {ENDS: "never"}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}}});
    let wants = format!("other.Type == \"Machine\" && other.Name == \"{machine}\"");
    let job = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name},
        "spec": {"constraint": wants, "workload": {"jobTemplate": template}}});
    format!("{job}\n---\n")
}

/// How long it takes until a job is claimed.
fn claims_one(here: &Namespace, name: &str) -> Duration {
    let begun = Instant::now();
    here.apply(&job(name, "sim"));
    here.wait(&format!("gmj/{name}"), "Claimed");
    begun.elapsed()
}

fn running(here: &Namespace) -> usize {
    here.list("pods").iter().filter(|pod| text(pod, "/status/phase") == "Running").count()
}

#[test]
fn b3_gangs_whose_pods_are_on_silent_kubelets_keep_no_other_tenant_waiting() {
    let stage = Stage::own_with_pods();
    let (here, other) = (stage.namespace("silent"), stage.namespace("other"));
    product::create_fake_node(here.access(), "silent").unwrap();
    let spec = json!({"nodeName": "silent", "capacity": {"slots": 100}});
    let offer =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "m"}, "spec": spec});
    here.apply(&offer.to_string());
    other.apply(&[machine("m"), machine("spare"), license("l", "sim", 2, 1)].concat());
    let before = claims_one(&other, "first");
    let all: Vec<String> = (0..HANGING).map(|number| at_work(&format!("j{number}"), "m")).collect();
    here.apply(&all.concat());
    here.until("all pods to run", || (running(&here) == HANGING).then_some(()));
    stage.cluster.processes().signal("kwok", Signal::Stop).unwrap();
    here.kubectl(&["delete", "gmj", "--all", "--wait=false"], None);
    let are_ending = || here.list("pods").iter().all(|pod| !text(pod, "/metadata/deletionTimestamp").is_empty());
    here.until("all pods to be told to end", || are_ending().then_some(()));
    let after = claims_one(&other, "second");
    println!("claimed in {before:?}, and in {after:?} while {HANGING} claims cannot end");
    assert!(after < before + SLACK, "{before:?} {after:?}");
    assert_eq!(here.entries("gmm/m"), HANGING, "their pods may still run");
    stage.cluster.processes().signal("kwok", Signal::Continue).unwrap();
    here.until("all seats to be back", || (here.entries("gmm/m") == 0).then_some(()));
}

#[test]
fn c_a_wiped_ledger_is_whole_within_five_seconds() {
    let here = Stage::attacked().namespace("wiped");
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
    let patch = r#"[{"op": "replace", "path": "/status/claims", "value": {}}]"#;
    for offers in [&["gml/l"][..], &["gmm/m", "gml/l"], &["gml/l", "gmm/m"], &["gmm/m"]] {
        let begun = Instant::now();
        for offer in offers {
            here.kubectl(&["patch", offer, "--subresource=status", "--type=json", "-p", patch], None);
        }
        here.until("the ledgers to be whole", || (here.entries("gml/l") + here.entries("gmm/m") == 2).then_some(()));
        println!("{offers:?} whole after {:?}", begun.elapsed());
        assert!(begun.elapsed() < WHOLE, "{offers:?}: {:?}", begun.elapsed());
    }
}

#[test]
fn c_without_its_rights_the_controller_is_not_ready_and_says_which_are_missing() {
    let stage = Stage::own();
    let here = stage.namespace("rights");
    let kubeconfig = product::controller_kubeconfig(stage.cluster).unwrap();
    let standby = product::start_controller(stage.cluster, &kubeconfig, &[]).unwrap();
    let binding = here.kubectl(&["get", "clusterrolebinding", "gangmatch", "-o", "json"], None);
    here.kubectl(&["delete", "clusterrolebinding", "gangmatch"], None);
    for controller in [&stage.controller, &standby] {
        let why = here.until("it to be not ready", || {
            product::get(controller.address(), "/readyz").ok().filter(|(status, _)| *status == 503)
        });
        assert!(why.1.contains("no right to list jobs.gangmatch.dev"), "{why:?}");
    }
    let mut again: Value = serde_json::from_str(&binding).unwrap();
    for name in ["resourceVersion", "uid", "creationTimestamp", "managedFields"] {
        again["metadata"].as_object_mut().unwrap().remove(name);
    }
    here.apply(&again.to_string());
    for controller in [&stage.controller, &standby] {
        controller.wait_until_ready().unwrap();
    }
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
}

#[test]
fn m6_an_eviction_is_a_warning_that_names_the_offer() {
    let here = Stage::attacked().namespace("warned");
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
    here.merge("gmm/m", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    let event = here.until("an Event", || {
        let all = here.list("events.events.k8s.io");
        all.into_iter().find(|event| text(event, "/reason") == "Evicted")
    });
    assert_eq!(text(&event, "/type"), "Warning");
    let note = text(&event, "/note");
    let expected =
        format!("Machine {}/m is being vacated: its owner has set spec.stopPolicy to HoldAndDrain", here.name);
    assert_eq!(note, expected);
}
