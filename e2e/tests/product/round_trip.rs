//! Turns random objects of every kind, made by the schema that the API server has, into a comparison with the Rust types: what the one accepts the
//! other accepts, and nothing is lost between them.
//!
//! All writes are dry runs. `ROUND_TRIPS=1000` makes that many objects of each kind.

use std::collections::BTreeMap;

use crds::{Job, License, Machine, MachineClass, Match};
use sampling::Random;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::requests::{GROUP, Refusal, Requests};
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

const KINDS: [Kind; 5] = [
    Kind { name: "Job", plural: "jobs", through: through::<Job> },
    Kind { name: "Machine", plural: "machines", through: through::<Machine> },
    Kind { name: "License", plural: "licenses", through: through::<License> },
    Kind { name: "MachineClass", plural: "machineclasses", through: through::<MachineClass> },
    Kind { name: "Match", plural: "matches", through: through::<Match> },
];

fn through<K: Serialize + DeserializeOwned>(object: &Value) -> Result<Value, String> {
    // As text, as the API server sends it: numbers are read otherwise than from a value.
    let read: K = serde_json::from_str(&object.to_string()).map_err(|error| error.to_string())?;
    Ok(json!(read))
}

struct Ground {
    requests: Requests,
    schemas: Schemas,
    namespace: String,
}

impl Ground {
    fn new() -> Ground {
        let here = Stage::shared().namespace("round-trip");
        let requests = Requests::of(here.access());
        let schemas = Schemas::read(&requests);
        Ground { requests, schemas, namespace: here.name }
    }

    fn path(&self, kind: &Kind) -> String {
        if kind.name == "MachineClass" {
            format!("{GROUP}/{}", kind.plural)
        } else {
            format!("{GROUP}/namespaces/{}/{}", self.namespace, kind.plural)
        }
    }

    fn create(&self, kind: &Kind, object: &Value) -> Result<Value, Refusal> {
        self.requests.create(&format!("{}?dryRun=All&fieldValidation=Strict", self.path(kind)), object)
    }
}

fn object(kind: &Kind, spec: &Value) -> Value {
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind.name, "metadata": {"generateName": "r-"}, "spec": spec})
}

fn count() -> u64 {
    std::env::var("ROUND_TRIPS").map_or(OBJECTS, |text| text.parse().unwrap())
}

/// Makes values that the schema allows one by one keep the rules on all of them together.
fn keep_the_rules(kind: &str, spec: &mut Value, random: &mut Random) {
    if kind == "Match" {
        return make_a_tree(spec);
    }
    let all = spec.as_object_mut().unwrap();
    let fields = ["attributes", "expressions", "constraint", "rank", "request", "ports"];
    if kind == "MachineClass" || random.happens(800) {
        all.remove("classad");
    }
    if all.contains_key("classad") {
        fields.iter().for_each(|name| drop(all.remove(*name)));
    }
    if let Some(ports) = all.get_mut("ports") {
        for (number, port) in ports.as_array_mut().unwrap().iter_mut().enumerate() {
            port["label"] = json!(format!("{}{number}", port["label"].as_str().unwrap().get(..9).unwrap_or("p")));
        }
        ["constraint", "rank", "request"].iter().for_each(|name| drop(all.remove(*name)));
    }
    if all.get("claimPolicy").is_some_and(|policy| policy == "Agent") && !all.contains_key("agent") {
        all.remove("claimPolicy");
    }
    if let Some(allowed) = all.get_mut("allowedNamespaces") {
        let has = allowed.get("selector").is_some();
        allowed["from"] = json!(if has { "Selector" } else { "All" });
    }
    if let Some(workload) = all.get_mut("workload").and_then(Value::as_object_mut) {
        let (one, other) = if random.happens(500) { ("jobTemplate", "workloadRef") } else { ("workloadRef", "jobTemplate") };
        workload.remove(one);
        if !workload.contains_key(other) {
            workload.insert(other.to_owned(), if other == "workloadRef" { json!({"name": "w"}) } else { json!({}) });
        }
        if let Some(name) = workload.get_mut("workloadRef").and_then(|reference| reference.get_mut("name")) {
            *name = json!(name.as_str().unwrap().chars().take(63).collect::<String>());
        }
    }
}

/// Parents come first, there is one root, and no member twice.
fn make_a_tree(spec: &mut Value) {
    for (number, member) in spec["members"].as_array_mut().unwrap().iter_mut().enumerate() {
        member["id"] = json!(number);
        member["uid"] = json!(format!("uid-{number}"));
        member.as_object_mut().unwrap().remove("parent");
        if number > 0 {
            member["parent"] = json!(number / 2);
        }
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
        return Err(format!("the API server keeps something else than the Rust type writes\n{}\n{}", answer["spec"], written["spec"]));
    }
    let plain = ground.create(kind, raw).map_err(|refusal| format!("refused as it was made: {}", refusal.message))?;
    if plain["spec"] != answer["spec"] {
        return Err(format!("the defaults differ\n{}\n{}", plain["spec"], answer["spec"]));
    }
    let again = (kind.through)(&answer).map_err(|error| format!("the Rust type does not read the answer: {error}"))?;
    if again["spec"] != answer["spec"] {
        return Err(format!("not given back unchanged\n{}\n{}", again["spec"], answer["spec"]));
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
            keep_the_rules(kind.name, &mut spec, &mut random);
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
            assert!([400, 422].contains(&refusal.code), "{} {number} ({why}): {refusal:?}", kind.name);
        }
    }
}

/// The numbers that a field may be written as: what the API server makes of them is what the Rust types read.
#[test]
fn numbers_that_the_api_server_accepts_are_read() {
    let ground = Ground::new();
    let numbers = "1.0 1e2 -0 -0.0 5e-1 9223372036854775807 9223372036854775808 -9223372036854775808 1e18 1e19 1e30 2147483648";
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
            let mut spec = if kind.name == "MachineClass" { json!({"selector": {}, "namespace": "n"}) } else { json!({}) };
            spec[field] = value;
            let Ok(answer) = ground.create(kind, &object(kind, &spec)) else { continue };
            accepted += 1;
            match (kind.through)(&answer) {
                Ok(again) if again["spec"] == answer["spec"] => {}
                other => unread.push(format!("{} {field} {text}: {other:?}\nfrom {}", kind.name, answer["spec"])),
            }
        }
    }
    assert!(unread.is_empty() && accepted > 20, "{accepted} accepted, and of them:\n{}", unread.join("\n"));
}

/// Makes values of a status that the schema allows one by one keep the rules on all of them together, as a first status of an object.
fn keep_the_rules_of_statuses(kind: &str, status: &mut Value) {
    let all = status.as_object_mut().unwrap();
    match kind {
        "Job" if all.contains_key("finishedAt") => drop(all.remove("claim")),
        "Machine" | "License" => {
            for (_, entry) in all.get_mut("claims").and_then(Value::as_object_mut).into_iter().flatten() {
                let entry = entry.as_object_mut().unwrap();
                ["share", "committed", "activity"].iter().for_each(|name| drop(entry.remove(*name)));
                entry.insert("allocation".to_owned(), json!({"slots": 1}));
            }
            for (_, seat) in all.get_mut("shared").and_then(Value::as_object_mut).into_iter().flatten() {
                *seat = json!({"slots": 2});
            }
        }
        "Match" if all.get("decision").is_some_and(|decision| decision == "Released") => {
            all.insert("decision".to_owned(), json!("Committed"));
        }
        _ => {}
    }
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
            "Match" => json!({"attempt": 1, "cycle": {"id": "c", "time": "2026-01-01T00:00:00Z", "seed": 1}, "epoch": 1,
                "reserveTimeoutSeconds": 30, "summary": "", "rank": "0", "members": [member(0), child]}),
            _ => json!({"capacity": {"slots": 1_u64 << 40}, "stopPolicy": "Hold"}),
        };
        let made = ground.requests.create(&ground.path(kind), &object(kind, &spec)).unwrap();
        let path = format!("{}/{}", ground.path(kind), name(&made));
        let mut random = Random::stream(3, kind.name);
        for number in 0..count() {
            let mut status = schema::valid(ground.schemas.of(kind.name, "status"), &mut random);
            keep_the_rules_of_statuses(kind.name, &mut status);
            let mut raw = made.clone();
            raw["status"] = status;
            let written = (kind.through)(&raw).unwrap_or_else(|why| panic!("{} {number}: {why}\n{raw}", kind.name));
            let write = |status: &Value| {
                let patch = json!([{"op": "add", "path": "/status", "value": status}]);
                let answer = ground.requests.patch(&format!("{path}/status?dryRun=All&fieldValidation=Strict"), &patch);
                answer.unwrap_or_else(|refusal| panic!("{} {number}: {}\n{status}", kind.name, refusal.message))
            };
            let (answer, plain) = (write(&written["status"]), write(&raw["status"]));
            assert_eq!(answer["status"], plain["status"], "{} {number}", kind.name);
            let again = (kind.through)(&answer).unwrap();
            assert_eq!(again["status"], written["status"], "{} {number}", kind.name);
        }
        ground.requests.delete(&path);
    }
}
