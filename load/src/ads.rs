//! Numbers into the ads of a load.

use crds::{Job, License, Machine};
use serde_json::{Value, json};

/// An object of ours from its spec.
fn object<K: serde::de::DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> anyhow::Result<K> {
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

/// A job that needs a machine and a license.
pub(crate) fn job(name: &str) -> anyhow::Result<Job> {
    let spec = json!({"attributes": {"App": "sim", "Memory": 1024}, "ports": [
        {"label": "cpu", "constraint": "cpu.Type == \"Machine\" && cpu.Arch == \"INTEL\"", "rank": "cpu.Memory"},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == App"}]});
    object("Job", name, &spec)
}
