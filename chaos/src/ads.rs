//! Words into the ads that the plays are about.

use crds::{Job, License, Machine};
use serde_json::{Value, json};

/// An object of ours from its spec.
fn object<K: serde::de::DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> K {
    let written =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    match serde_json::from_value(written) {
        Ok(object) => object,
        Err(error) => unreadable(&error),
    }
}

#[expect(clippy::panic, reason = "the manifests of this file are constants but for names and numbers")]
fn unreadable(error: &serde_json::Error) -> ! {
    panic!("a manifest of chaos/src/ads.rs cannot be read: {error}")
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
