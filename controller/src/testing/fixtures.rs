//! Short JSON into objects, for the tables of the tests.

use crds::{Job, License, Machine, Match};
use pool::{ObjectKey, Objects};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The uid of the Match in [`world`].
pub(crate) const MATCH_UID: &str = "u-match";

fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value, status: &Value) -> K {
    let api_version = "gangmatch.dev/v1alpha1";
    let metadata =
        json!({"name": name, "namespace": "ns", "uid": format!("u-{name}"), "generation": 1, "resourceVersion": "1"});
    let value = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": status});
    serde_json::from_value(value).unwrap()
}

/// A job of alice; without a constraint it takes any offer.
pub(crate) fn job(spec: &Value, status: &Value) -> Job {
    let mut spec = spec.clone();
    if ["classad", "ports", "request"].iter().all(|field| spec.get(field).is_none()) {
        spec.as_object_mut().unwrap().entry("constraint").or_insert(json!("true == true"));
    }
    spec.as_object_mut().unwrap().entry("owner").or_insert(json!("alice"));
    object("Job", "job", &spec, status)
}

pub(crate) fn machine(spec: &Value, status: &Value) -> Machine {
    object("Machine", "machine", spec, status)
}

pub(crate) fn license(spec: &Value, status: &Value) -> License {
    object("License", "license", spec, status)
}

/// The Match of the job `job`, which holds the machine and the license.
pub(crate) fn found(status: &Value) -> Match {
    let offer = |id: i32, kind: &str, name: &str, resource: &str| {
        json!({"id": id, "kind": kind, "namespace": "ns", "name": name, "uid": format!("u-{name}"), "generation": 1,
            "parent": 0, "parentPort": "p", "port": "other", "allocation": {resource: 1}})
    };
    let members = json!([
        {"id": 0, "kind": "Job", "namespace": "ns", "name": "job", "uid": "u-job", "generation": 1},
        offer(1, "Machine", "machine", "slots"),
        offer(2, "License", "license", "seats"),
    ]);
    let spec = json!({"attempt": 1, "cycle": {"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1}, "epoch": 0,
        "reserveTimeoutSeconds": 30, "summary": "cpu=ns/machine license=ns/license", "rank": "0", "members": members});
    object("Match", "match", &spec, status)
}

/// An entry of the Match in an offer's ledger.
pub(crate) fn entry(resource: &str) -> Value {
    json!({"claims": {MATCH_UID: {"match": "ns/match", "allocation": {resource: 1}, "vote": "Accepted"}}})
}

/// A claim that holds everything, and whose register says `decision`.
pub(crate) fn world(decision: &Value) -> Objects {
    let mut objects = Objects::default();
    objects.jobs.put(job(&json!({}), &json!({"claim": {"match": "match", "uid": MATCH_UID}})));
    objects.machines.put(machine(&json!({}), &entry("slots")));
    objects.licenses.put(license(&json!({}), &entry("seats")));
    objects.matches.put(found(decision));
    objects
}

/// The key of an object in the namespace of these objects.
pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("ns", name)
}
