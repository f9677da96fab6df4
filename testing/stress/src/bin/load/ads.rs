//! Numbers into the ads of a load.

use crds::{Job, License, Machine, MachineClass};
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use testbed::control_plane::stages::RUNS_FOR;

/// An object of ours from its spec.
pub(crate) fn object<K: serde::de::DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> anyhow::Result<K> {
    let written =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    Ok(serde_json::from_value(written)?)
}

pub(crate) fn machine(number: usize, slots: usize) -> anyhow::Result<Machine> {
    let spec = json!({"attributes": {"Arch": "INTEL", "Memory": 4096}, "capacity": {"slots": slots},
        "constraint": "other.Type == \"Job\" && other.Memory <= Memory"});
    object("Machine", &format!("m{number}"), &spec)
}

pub(crate) fn license(number: usize, seats: usize) -> anyhow::Result<License> {
    let spec =
        json!({"attributes": {"App": "sim"}, "capacity": {"seats": seats}, "constraint": "other.Type == \"Job\""});
    object("License", &format!("l{number}"), &spec)
}

/// A node on which kwok lets pods run.
pub(crate) fn node(number: usize) -> anyhow::Result<Node> {
    let name = format!("n{number}");
    let amounts = json!({"cpu": "32", "memory": "256Gi", "pods": "110"});
    let labels = json!({"kubernetes.io/hostname": name, "pool": "load"});
    let metadata = json!({"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}});
    let status = json!({"capacity": amounts, "allocatable": amounts});
    Ok(serde_json::from_value(json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}))?)
}

/// The class that makes Machines of these nodes, for one job each.
pub(crate) fn class(namespace: &str) -> anyhow::Result<MachineClass> {
    let spec = json!({"selector": {"matchLabels": {"pool": "load"}}, "namespace": namespace,
        "attributes": {"Arch": "INTEL"}, "constraint": "other.Type == \"Job\" && other.Memory <= Memory"});
    object("MachineClass", "load", &spec)
}

/// A job with a pod that runs for so many seconds.
pub(crate) fn working_job(name: &str, seconds: u64) -> anyhow::Result<Job> {
    let container = json!({"name": "sim", "image": "sim:1"});
    let pod = json!({"metadata": {"annotations": {RUNS_FOR: format!("{seconds}s")}},
        "spec": {"restartPolicy": "Never", "containers": [container]}});
    let mut job = job(name)?;
    job.spec.workload =
        Some(serde_json::from_value(json!({"jobTemplate": {"spec": {"backoffLimit": 0, "template": pod}}}))?);
    Ok(job)
}

/// A job that needs a machine and a license.
pub(crate) fn job(name: &str) -> anyhow::Result<Job> {
    let spec = json!({"attributes": {"App": "sim", "Memory": 1024}, "ports": [
        {"label": "cpu", "constraint": "cpu.Type == \"Machine\" && cpu.Arch == \"INTEL\"", "rank": "cpu.Memory"},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == App"}]});
    object("Job", name, &spec)
}

/// A job that needs so many machines at one port, and a license with so many seats for each.
pub(crate) fn job_of_a_set(name: &str, count: usize, seats: usize) -> anyhow::Result<Job> {
    let spec = json!({"attributes": {"App": "sim", "Memory": 1024}, "ports": [
        {"label": "node", "count": count, "constraint": "node.Type == \"Machine\" && node.Arch == \"INTEL\""},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == App",
            "request": {"seats": format!("{seats} * size(node)")}}]});
    object("Job", name, &spec)
}
