//! Words into the ads that the plays are about.

use crds::{Job, LABEL_AD, License, Machine};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use testbed::control_plane::stages::ENDS;

/// An object of ours from its spec.
pub(crate) fn object<K: serde::de::DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> K {
    let written =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    match serde_json::from_value(written) {
        Ok(object) => object,
        Err(error) => unreadable(&error),
    }
}

#[expect(clippy::panic, reason = "the manifests of this file are constants but for names and numbers")]
fn unreadable(error: &serde_json::Error) -> ! {
    panic!("a manifest of testing/stress/src/ads.rs cannot be read: {error}")
}

/// A machine that takes any job.
#[must_use]
pub fn machine(name: &str) -> Machine {
    let spec = json!({"attributes": {"Arch": "INTEL", "Memory": 4096}, "constraint": "other.Type == \"Job\""});
    object("Machine", name, &spec)
}

/// A license with so many seats, valid anywhere.
#[must_use]
pub fn license(name: &str, seats: u64) -> License {
    let spec =
        json!({"attributes": {"App": "sim"}, "constraint": "other.Type == \"Job\"", "capacity": {"seats": seats}});
    object("License", name, &spec)
}

/// A job that needs a machine and a license.
#[must_use]
pub fn job(name: &str) -> Job {
    let spec = json!({"attributes": {"App": "sim"}, "retry": {"backoffSeconds": 1, "maxBackoffSeconds": 2}, "ports": [
        {"label": "cpu", "constraint": "cpu.Type == \"Machine\" && cpu.Memory >= 1024"},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == App"}]});
    object("Job", name, &spec)
}

/// A job that needs so many machines at one port, and a license with a seat for each.
#[must_use]
pub fn job_of_a_set(name: &str, count: usize) -> Job {
    let spec = json!({"attributes": {"App": "sim"}, "retry": {"backoffSeconds": 1, "maxBackoffSeconds": 2}, "ports": [
        {"label": "cpu", "count": count, "constraint": "cpu.Type == \"Machine\" && cpu.Memory >= 1024"},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == App", "request": {"seats": "size(cpu)"}}]});
    object("Job", name, &spec)
}

/// A node on which kwok lets pods run.
#[must_use]
pub fn node(name: &str) -> Node {
    let amounts = json!({"cpu": "32", "memory": "256Gi", "pods": "110"});
    let written = json!({"apiVersion": "v1", "kind": "Node", "status": {"capacity": amounts, "allocatable": amounts},
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}, "annotations": {"kwok.x-k8s.io/node": "fake"}}});
    match serde_json::from_value(written) {
        Ok(node) => node,
        Err(error) => unreadable(&error),
    }
}

/// The same machine, if it is a node.
#[must_use]
pub fn machine_on(name: &str, node: &str) -> Machine {
    let mut machine = machine(name);
    machine.spec.node_name = Some(node.to_owned());
    machine
}

/// How the pods of a job end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// By themselves, well, as soon as they are ready.
    Well,
    /// When somebody ends them.
    Never,
}

/// A pod without its name.
fn pod(ends: Ends) -> serde_json::Value {
    let annotations = match ends {
        Ends::Well => json!({}),
        Ends::Never => json!({ENDS: "never"}),
    };
    let containers = json!([{"name": "sim", "image": "sim:1"}]);
    json!({"metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": containers}})
}

/// The same job, with a batch Job of one pod.
#[must_use]
pub fn working_job(name: &str, ends: Ends) -> Job {
    let mut job = job(name);
    match serde_json::from_value(json!({"jobTemplate": {"spec": {"backoffLimit": 0, "template": pod(ends)}}})) {
        Ok(workload) => job.spec.workload = Some(workload),
        Err(error) => unreadable(&error),
    }
    job
}

/// The same job, as an ad that others name by a label: it asks for nothing itself.
#[must_use]
pub fn ad(name: &str) -> Job {
    let mut job = job(name);
    job.spec.suspend = true;
    job
}

/// A batch Job that names an ad.
#[must_use]
pub fn labelled_batch(name: &str, ad: &str, ends: Ends) -> Batch {
    let written = json!({"metadata": {"name": name, "labels": {LABEL_AD: ad}}, "spec": {"backoffLimit": 0, "template": pod(ends)}});
    match serde_json::from_value(written) {
        Ok(batch) => batch,
        Err(error) => unreadable(&error),
    }
}

/// A Pod that names an ad.
#[must_use]
pub fn labelled_pod(name: &str, ad: &str, ends: Ends) -> Pod {
    let mut pod = match serde_json::from_value::<Pod>(pod(ends)) {
        Ok(pod) => pod,
        Err(error) => unreadable(&error),
    };
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.labels = Some([(LABEL_AD.to_owned(), ad.to_owned())].into());
    pod
}
