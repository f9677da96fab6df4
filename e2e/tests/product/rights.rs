//! Turns the chart's values about workloads into rights, and a controller that has few of them into one that still does the rest.

use serde_json::json;
use testbed::control_plane::processes::Signal;
use testbed::product;

use crate::stage::{Namespace, Stage, job, license, machine};

/// A job that has a batch Job made for it.
fn with_workload(name: &str) -> String {
    let container = json!({"name": "sim", "image": "sim:1"});
    let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "constraint": "other.Type == \"License\"", "workload": {"jobTemplate": {"spec": {"template": pod}}}}})
    .to_string()
}

/// A batch Job with the label that has it held.
fn labelled(name: &str) -> String {
    let container = json!({"name": "sim", "image": "sim:1"});
    let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"gangmatch.dev/ad": "any"}},
        "spec": {"template": pod}})
    .to_string()
}

/// Whether a batch Job with the label is held from its creation on.
fn is_held(here: &Namespace) -> bool {
    let create = ["create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.suspend}"];
    here.kubectl(&create, Some(&labelled("mine"))) == "true"
}

/// Whether the chart lets the controller do it.
fn may(here: &Namespace, arguments: &[&str]) -> bool {
    let kubeconfig = product::controller_kubeconfig(here.access()).unwrap().display().to_string();
    let all = [&["--kubeconfig", &kubeconfig, "auth", "can-i"], arguments].concat();
    here.access().kubectl(&all, None).unwrap().status.success()
}

/// A claim without a workload, from its making to its end.
fn plain_claim(here: &Namespace) {
    here.apply(&[machine("m"), license("l", "plain", 1, 1), job("plain", "plain")].concat());
    here.wait("gmj/plain", "Claimed");
    here.delete("gmj/plain");
    here.until("the seats to be free", || (here.entries("gmm/m") + here.entries("gml/l") == 0).then_some(()));
}

#[test]
fn workloads_are_started_where_the_chart_gives_the_right_and_nothing_else_stops_elsewhere() {
    let stage = Stage::own_with(&["eda", "web"], &["workloads.namespaces={eda}"]);
    let [eda, web] = ["eda", "web"].map(|name| Namespace { stage, name: name.to_owned() });
    for right in [["list", "pods"], ["create", "jobs.batch"], ["create", "jobs.gangmatch.dev"]] {
        let in_namespace = |namespace| may(&eda, &[&right[..], &["-n", namespace]].concat());
        assert_eq!(["eda", "web"].map(in_namespace), [true, false], "{right:?}");
        assert!(!may(&eda, &[&right[..], &["-A"]].concat()), "{right:?}");
    }
    // Where it may, a batch Job is made and started; it goes with its job.
    eda.apply(&(license("l", "sim", 1, 1) + &with_workload("works")));
    eda.until("a batch Job that is started", || {
        eda.list("jobs.batch").iter().any(|batch| batch.pointer("/spec/suspend") == Some(&json!(false))).then_some(())
    });
    eda.until("the policies to hold what is labelled", || is_held(&eda).then_some(()));
    assert!(!is_held(&web), "nobody would ever let it go");
    eda.delete("gmj/works");
    eda.until("the seat to be free", || (eda.entries("gml/l") == 0).then_some(()));
    assert!(eda.list("jobs.batch").is_empty());
    // Where it may not, a job that wants one is told whom to ask; others are claimed as ever.
    web.apply(&(license("other", "sim", 1, 1) + &with_workload("asks")));
    let message = web.shows("gmj/asks", "Accepted", "WorkloadsDisabled");
    assert!(message.ends_with("add `web` to the chart's value workloads.namespaces"), "{message}");
    web.merge("gmj/asks", r#"{"spec": {"workload": null}}"#);
    web.shows("gmj/asks", "Accepted", "Accepted");
    web.delete("gmj/asks");
    plain_claim(&web);
    // And so everywhere, if there are to be none.
    product::install_chart(web.access(), &["workloads.enabled=false"]).unwrap();
    stage.controller.end(Signal::Terminate).unwrap();
    let kubeconfig = product::controller_kubeconfig(web.access()).unwrap();
    let controller = product::start_controller(web.access(), &kubeconfig, &[]).unwrap();
    eda.until("its right to be taken", || (!may(&eda, &["list", "pods", "-n", "eda"])).then_some(()));
    eda.apply(&with_workload("late"));
    let message = eda.wait_reason("gmj/late", "Accepted", "WorkloadsDisabled");
    assert!(message.ends_with("set the chart's value workloads.enabled to true"), "{message}");
    plain_claim(&web);
    drop(controller);
}
