//! Manifests and what becomes of them: the ad, the warnings, or the sentence that says what to change.

use serde_json::{Value as Json, json};

use super::{Advertised, MESSAGE_LENGTH_MAX, NotAccepted, WARNINGS_MAX, job_ad, license_ad, machine_ad};
use crate::{Job, License, Machine};

mod forms;
mod mistakes;
mod private;
mod system;

fn object(kind: &str, metadata: &Json, spec: &Json, status: &Json) -> Json {
    let mut meta = json!({"name": "sim", "namespace": "grid", "uid": "u-1"});
    meta.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": meta, "spec": spec, "status": status})
}

fn job(spec: Json) -> Result<Advertised, NotAccepted> {
    job_ad(&serde_json::from_value::<Job>(object("Job", &json!({}), &spec, &json!({}))).unwrap())
}

fn machine(spec: Json, status: Json) -> Result<Advertised, NotAccepted> {
    machine_ad(&serde_json::from_value::<Machine>(object("Machine", &json!({}), &spec, &status)).unwrap())
}

fn license(spec: Json) -> Result<Advertised, NotAccepted> {
    license_ad(&serde_json::from_value::<License>(object("License", &json!({}), &spec, &json!({}))).unwrap())
}

/// The attribute as HTCondor would print it.
fn shown(found: &Advertised, name: &str) -> String {
    found.ad.get(name).map_or_else(|| "absent".to_owned(), |expr| expr.canonical())
}

fn refused(spec: Json) -> (&'static str, String) {
    let found = job(spec).unwrap_err();
    assert!(found.message.len() <= MESSAGE_LENGTH_MAX && !found.message.contains('\n'), "{}", found.message);
    (found.reason, found.message)
}

/// The spec is refused for this reason, and the message has all these parts.
fn check_refused(spec: Json, reason: &str, parts: &[&str]) {
    let (found, message) = refused(spec);
    assert_eq!(found, reason, "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

fn check_warned(found: &Advertised, parts: &[&str]) {
    let fits = |warning: &&String| parts.iter().all(|part| warning.contains(part));
    assert!(found.warnings.iter().any(|warning| fits(&warning)), "{parts:?} in no warning of {:#?}", found.warnings);
}

#[test]
fn ports_that_are_not_well_formed_say_what_to_write() {
    for name in ["label", "Constraint", "REQUIREMENTS", "rank", "Request"] {
        let field = if name == "REQUIREMENTS" { "constraint".to_owned() } else { name.to_ascii_lowercase() };
        check_refused(
            json!({"ports": [{"label": "a", "attributes": {name: 1}}]}),
            "InvalidPort",
            &[&format!("spec.ports[0].attributes.{name}: "), &format!("write it as spec.ports[0].{field}")],
        );
    }
    check_refused(
        json!({"ports": [{"label": "a"}, {"label": "A"}]}),
        "InvalidPort",
        &["spec.ports[1]", "`A`", "port 0"],
    );
    check_refused(json!({"ports": [{"label": "Self"}]}), "InvalidPort", &["spec.ports[0]", "`Self`", "`cpu`"]);
    check_refused(json!({"ports": [{"label": "1a"}]}), "InvalidPort", &["spec.ports[0]", "`1a`", "letter"]);
    check_refused(json!({"ports": [{"label": ""}]}), "InvalidPort", &["spec.ports[0]"]);
    check_refused(
        json!({"ports": [{"label": "a"}], "constraint": "true"}),
        "InvalidPort",
        &["spec.constraint", "spec.ports[0].constraint"],
    );
    check_refused(json!({"expressions": {"Ports": "{}"}}), "InvalidPort", &["spec.expressions.Ports", "spec.ports"]);
    let many: Vec<Json> = (0..9).map(|index| json!({"label": format!("p{index}")})).collect();
    check_refused(json!({"ports": many}), "InvalidPort", &["found 9 ports", "at most 8"]);
}

#[test]
fn ports_in_text_are_checked_alike() {
    let refused = |text: &str, parts: &[&str]| check_refused(json!({"classad": text}), "InvalidPort", parts);
    refused("[ Ports = 3 ]", &["spec.classad: Ports: found `3`", "[ Label = cpu"]);
    refused("[ Ports = { 3 } ]", &["spec.classad: Ports[0]: found `3`"]);
    refused("[ Ports = { [ Rank = 0 ] } ]", &["spec.classad: Ports[0]: found no Label", "`Label = cpu`"]);
    refused("[ Ports = { [ Label = 1 + 1 ] } ]", &["spec.classad: Ports[0]", "`1 + 1`"]);
    refused("[ Ports = { [ Label = a ], [ Label = \"A\" ] } ]", &["spec.classad: Ports[1]", "port 0"]);
    refused("[ Ports = { [ Label = other ] } ]", &["`other`"]);
    refused(
        "[ Ports = { [ Label = a; Constraint = 1; Requirements = 1 ] } ]",
        &["spec.classad: Ports[0]", "remove one"],
    );
    let ad = job(json!({"classad": "[ Requirements = true; Ports = { [ Label = a ] } ]"})).unwrap();
    check_warned(&ad, &["spec.classad: Requirements: has no effect"]);
}

#[test]
fn there_is_one_form_of_an_ad() {
    check_refused(json!({"classad": "[]", "rank": 1}), "ParseError", &["spec.rank", "spec.classad"]);
    check_refused(json!({"classad": "[]", "ports": []}), "ParseError", &["spec.ports", "spec.classad"]);
}
