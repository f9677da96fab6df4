//! Turns random objects of every kind, made by the schema that the API server has, into a comparison with the Rust types: what the one accepts the
//! other accepts, and nothing is lost between them.
//!
//! All writes are dry runs. `ROUND_TRIPS=1000` makes that many objects of each kind.

mod rules;

use std::collections::BTreeMap;

use crds::{Account, Job, License, Machine, MachineClass, Match};
use sampling::Random;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::{Requests, ServerRefusal};

use crate::paths::GROUP;
use crate::schema::{self, Schemas};
use crate::stage::{Stage, name};

/// How many objects of each kind the suite makes.
const OBJECTS: u64 = 60;

/// A kind: its name, its name in paths, and how an object of it is read and written again by the Rust type.
struct Kind {
    name: &'static str,
    plural: &'static str,
    through: fn(&Value) -> Result<Value, String>,
}

const KINDS: [Kind; 6] = [
    Kind { name: "Job", plural: "jobs", through: through::<Job> },
    Kind { name: "Machine", plural: "machines", through: through::<Machine> },
    Kind { name: "License", plural: "licenses", through: through::<License> },
    Kind { name: "MachineClass", plural: "machineclasses", through: through::<MachineClass> },
    Kind { name: "Match", plural: "matches", through: through::<Match> },
    Kind { name: "Account", plural: "accounts", through: through::<Account> },
];

fn through<K: Serialize + DeserializeOwned>(object: &Value) -> Result<Value, String> {
    // As text, as the API server sends it: numbers are read otherwise than from a value.
    let read: K = serde_json::from_str(&object.to_string()).map_err(|error| error.to_string())?;
    Ok(json!(read))
}

struct Ground {
    requests: &'static Requests,
    schemas: Schemas,
    namespace: String,
}

impl Ground {
    fn new() -> Ground {
        let here = Stage::shared().namespace("round-trip");
        let requests = here.access().requests().unwrap();
        let schemas = Schemas::read(requests);
        Ground { requests, schemas, namespace: here.name }
    }

    fn path(&self, kind: &Kind) -> String {
        if ["MachineClass", "Account"].contains(&kind.name) {
            format!("{GROUP}/{}", kind.plural)
        } else {
            format!("{GROUP}/namespaces/{}/{}", self.namespace, kind.plural)
        }
    }

    fn create(&self, kind: &Kind, object: &Value) -> Result<Value, ServerRefusal> {
        self.requests.create(&format!("{}?dryRun=All&fieldValidation=Strict", self.path(kind)), object)
    }
}

fn object(kind: &Kind, spec: &Value) -> Value {
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind.name, "metadata": {"generateName": "r-"}, "spec": spec})
}

fn count() -> u64 {
    std::env::var("ROUND_TRIPS").map_or(OBJECTS, |text| text.parse().unwrap())
}

/// Whether the Rust type gives back what it has read: all of it, but for defaults of the schema and for empty lists, maps and texts, some of which
/// it leaves out.
fn is_given_back(schema: &Value, read: &Value, written: &Value) -> bool {
    let is_empty = |value: &Value| [json!([]), json!({}), json!("")].contains(value);
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            let kept = |(name, value): (&String, &Value)| {
                let inner = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                match written.get(name) {
                    Some(other) => is_given_back(inner, value, other),
                    None => is_empty(value) || inner.get("default") == Some(value),
                }
            };
            // A vote or a number of a status that is absent is read, and written, as the one that it then means.
            let added = |(name, value): (&String, &Value)| {
                read.contains_key(name) || [json!("Pending"), json!(0)].contains(value)
            };
            read.iter().all(kept) && written.iter().all(added)
        }
        (Value::Array(read), Value::Array(written)) => {
            let same = |(one, other)| is_given_back(&schema["items"], one, other);
            read.len() == written.len() && read.iter().zip(written).all(same)
        }
        _ => read == written,
    }
}

/// `whole` without what the API server adds to a spec: the owner, if it is not written.
fn without_stamp(whole: &Value, written: &Value) -> Value {
    let mut spec = whole["spec"].clone();
    if written["spec"].get("owner").is_none() {
        spec.as_object_mut().unwrap().remove("owner");
    }
    spec
}

fn check_spec(ground: &Ground, kind: &Kind, raw: &Value) -> Result<(), String> {
    let written = (kind.through)(raw).map_err(|error| format!("the Rust type does not read it: {error}"))?;
    let answer = ground.create(kind, &written).map_err(|refusal| format!("refused: {}", refusal.message))?;
    if without_stamp(&answer, &written) != written["spec"] {
        return Err(format!(
            "the API server keeps something else than the Rust type writes\n{}\n{}",
            answer["spec"], written["spec"]
        ));
    }
    let plain = ground.create(kind, raw).map_err(|refusal| format!("refused as it was made: {}", refusal.message))?;
    let schema = ground.schemas.of(kind.name, "spec");
    if !is_given_back(schema, &plain["spec"], &answer["spec"]) {
        return Err(format!("the defaults differ\n{}\n{}", plain["spec"], answer["spec"]));
    }
    for answer in [answer, plain] {
        let again =
            (kind.through)(&answer).map_err(|error| format!("the Rust type does not read the answer: {error}"))?;
        if !is_given_back(schema, &answer["spec"], &again["spec"]) {
            return Err(format!("not given back unchanged\n{}\n{}", answer["spec"], again["spec"]));
        }
    }
    Ok(())
}

#[test]
fn specs_go_through_the_api_server_and_the_rust_types_unchanged() {
    let ground = Ground::new();
    let mut made = BTreeMap::new();
    for kind in &KINDS {
        let mut random = Random::stream(1, kind.name);
        for number in 0..count() {
            let mut spec = schema::valid(ground.schemas.of(kind.name, "spec"), &mut random);
            rules::keep_those_of_a_spec(kind.name, &mut spec, &mut random);
            let raw = object(kind, &spec);
            check_spec(&ground, kind, &raw).unwrap_or_else(|why| panic!("{} {number}: {why}\nof {raw}", kind.name));
            *made.entry(kind.name).or_insert(0) += 1;
        }
    }
    println!("round trips of specs: {made:?}");
}

#[test]
fn what_the_schema_forbids_is_refused() {
    let ground = Ground::new();
    for kind in &KINDS {
        let mut random = Random::stream(2, kind.name);
        for number in 0..count() {
            let schema = ground.schemas.of(kind.name, "spec");
            let (spec, why) = schema::invalid(schema, &mut random).unwrap();
            let raw = object(kind, &spec);
            let Err(refusal) = ground.create(kind, &raw) else { panic!("{} {number} ({why}): {raw}", kind.name) };
            // The policy that writes the owner refuses what is no map before the schema does.
            let by_policy = refusal.code == 403 && !spec.is_object();
            assert!(by_policy || refusal.is_about_the_object(), "{} {number} ({why}): {refusal:?}", kind.name);
        }
    }
}

/// The numbers that a field may be written as: what the API server makes of them is what the Rust types read.
#[test]
fn numbers_that_the_api_server_accepts_are_read() {
    let ground = Ground::new();
    let numbers =
        "1.0 1e2 -0 -0.0 5e-1 9223372036854775807 9223372036854775808 -9223372036854775808 1e18 1e19 1e30 2147483648";
    let (mut accepted, mut unread) = (0, Vec::new());
    for text in numbers.split(' ') {
        let value: Value = serde_json::from_str(text).unwrap();
        for (kind, field, value) in [
            (0, "priority", value.clone()),
            (0, "activeDeadlineSeconds", value.clone()),
            (0, "rank", value.clone()),
            (0, "attributes", json!({"A": value})),
            (1, "capacity", json!({"slots": value})),
            (1, "expressions", json!({"A": value})),
            (2, "sharedBy", value.clone()),
            (2, "agent", json!({"username": "u", "leaseDurationSeconds": value})),
            (3, "capacity", json!({"slots": value})),
        ] {
            let kind = &KINDS[kind];
            let mut spec =
                if kind.name == "MachineClass" { json!({"selector": {}, "namespace": "n"}) } else { json!({}) };
            spec[field] = value;
            let Ok(answer) = ground.create(kind, &object(kind, &spec)) else { continue };
            accepted += 1;
            match (kind.through)(&answer) {
                Ok(again) if is_given_back(ground.schemas.of(kind.name, "spec"), &answer["spec"], &again["spec"]) => {}
                other => unread.push(format!("{} {field} {text}: {other:?}\nfrom {}", kind.name, answer["spec"])),
            }
        }
    }
    assert!(unread.is_empty() && accepted > 20, "{accepted} accepted, and of them:\n{}", unread.join("\n"));
}

#[test]
fn statuses_go_through_the_api_server_and_the_rust_types_unchanged() {
    let ground = Ground::new();
    let member = |id: u64| json!({"id": id, "kind": "k", "namespace": "n", "name": "x", "uid": format!("u{id}"), "generation": 1});
    let child = json!({"id": 1, "kind": "k", "namespace": "n", "name": "x", "uid": "u1", "generation": 1, "parent": 0});
    for kind in &KINDS {
        let spec = match kind.name {
            // Nothing writes statuses of these but this test, as far as that can be had.
            "Job" => json!({"suspend": true}),
            "MachineClass" => json!({"selector": {"matchLabels": {"round": "trip"}}, "namespace": ground.namespace}),
            "Match" => {
                json!({"attempt": 1, "cycle": {"id": "c", "time": "2026-01-01T00:00:00Z", "seed": 1}, "epoch": 1,
                "reserveTimeoutSeconds": 30, "summary": "", "rank": "0", "members": [member(0), child]})
            }
            _ => json!({"capacity": {"slots": 1_u64 << 40}, "stopPolicy": "Hold"}),
        };
        let made = ground.requests.create(&ground.path(kind), &object(kind, &spec)).unwrap();
        let path = format!("{}/{}", ground.path(kind), name(&made));
        let mut random = Random::stream(3, kind.name);
        for number in 0..count() {
            let mut status = schema::valid(ground.schemas.of(kind.name, "status"), &mut random);
            rules::keep_those_of_a_status(kind.name, &mut status);
            let mut raw = made.clone();
            raw["status"] = status;
            let written = (kind.through)(&raw).unwrap_or_else(|why| panic!("{} {number}: {why}\n{raw}", kind.name));
            let write = |status: &Value| {
                let patch = json!([{"op": "add", "path": "/status", "value": status}]);
                let answer = ground.requests.patch(&format!("{path}/status?dryRun=All&fieldValidation=Strict"), &patch);
                answer.unwrap_or_else(|refusal| panic!("{} {number}: {}\n{status}", kind.name, refusal.message))
            };
            let (answer, plain) = (write(&written["status"]), write(&raw["status"]));
            for answer in [&answer, &plain] {
                let again = (kind.through)(answer).unwrap();
                assert_eq!(again["status"], written["status"], "{} {number}", kind.name);
                let (read, again) = (&answer["status"], &again["status"]);
                let schema = ground.schemas.of(kind.name, "status");
                assert!(is_given_back(schema, read, again), "{} {number}\n{read}\n{again}", kind.name);
            }
        }
        ground.requests.delete(&path).unwrap();
    }
}
