//! Turns the specs of a namespace and random numbers into the next edit, and into what the API server must answer.

use std::collections::BTreeMap;

use sampling::Random;
use serde_json::{Value, json};

use super::values;
use super::world::Id;
use crate::schema::{self, Schemas};

/// The names of the jobs.
pub(crate) const JOBS: [&str; 3] = ["a", "b", "c"];

/// Something that a user does.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// Sets fields of a spec, or removes them.
    Set {
        id: Id,
        fields: Vec<(String, Option<Value>)>,
        must_refuse: bool,
        why: String,
    },
    Delete(Id),
    /// Creates an ad of this spec where there is none.
    Create(Id, Value),
    /// Deletes it and creates it again in the same breath.
    Replace(Id, Value),
    /// Deletes the Matches of a job.
    DeleteMatches(String),
}

/// The ads with which each sequence begins. There is less than all jobs want at once.
pub(crate) fn first_ads(random: &mut Random) -> BTreeMap<Id, Value> {
    let mut all = BTreeMap::new();
    for (number, name) in ["m1", "m2"].into_iter().enumerate() {
        let spec = json!({"attributes": {"Memory": 2048 * (number + 1), "App": "sim"}, "constraint": "other.Type == \"Job\"",
            "capacity": {"slots": 1 + random.below(2)}});
        all.insert(("Machine", name.to_owned()), spec);
    }
    for (number, name) in ["l1", "l2"].into_iter().enumerate() {
        let spec = json!({"attributes": {"App": "sim", "Price": number}, "constraint": "other.Type == \"Job\"",
            "capacity": {"seats": 1 + random.below(2)}});
        all.insert(("License", name.to_owned()), spec);
    }
    let retry = json!({"backoffSeconds": 0, "maxBackoffSeconds": 0});
    for name in ["a", "b"] {
        let ports = json!([{"label": "cpu", "constraint": "cpu.Type == \"Machine\"", "rank": "cpu.Memory"},
            {"label": "license", "constraint": "license.Type == \"License\"", "rank": "-license.Price"}]);
        all.insert(("Job", name.to_owned()), json!({"attributes": {"App": "sim"}, "ports": ports, "retry": retry}));
    }
    let single = json!({"attributes": {"App": "sim"}, "constraint": "other.Type == \"Machine\"", "retry": retry});
    all.insert(("Job", "c".to_owned()), single);
    all
}

/// The next edit: a valid one, or one that the schema, a rule or the controller says no to.
pub(crate) fn next(specs: &BTreeMap<Id, Value>, schemas: &Schemas, random: &mut Random) -> Edit {
    let first = first_ads(random);
    let gone: Vec<&Id> = first.keys().filter(|id| !specs.contains_key(*id)).collect();
    if let Some(id) = random.pick(&gone).filter(|_| random.happens(400)) {
        return Edit::Create((*id).clone(), first[*id].clone());
    }
    let ids: Vec<&Id> = specs.keys().collect();
    let Some(id) = random.pick(&ids).map(|id| (*id).clone()) else {
        return Edit::DeleteMatches("a".to_owned());
    };
    match random.below(20) {
        0 | 1 => Edit::Delete(id),
        2 | 3 => Edit::Replace(id.clone(), if random.happens(500) { specs[&id].clone() } else { first[&id].clone() }),
        4 | 5 => Edit::DeleteMatches((*random.pick(&JOBS).unwrap()).to_owned()),
        6..=10 => forbidden(&id, &specs[&id], schemas, random),
        11 | 12 => switch(&id, random),
        _ => change(&id, &specs[&id], schemas, random),
    }
}

fn set(id: &Id, fields: Vec<(String, Option<Value>)>, why: &str) -> Edit {
    Edit::Set { id: id.clone(), fields, must_refuse: false, why: why.to_owned() }
}

/// What holds a job or an offer back, or lets it go.
fn switch(id: &Id, random: &mut Random) -> Edit {
    let (field, value) = match (id.0, random.below(4)) {
        ("Job", 0) => ("done", json!(true)),
        ("Job", 1) => ("priority", json!(random.between(-1000, 1000))),
        ("Job", _) => ("suspend", json!(random.happens(500))),
        (_, 0 | 1) => ("stopPolicy", json!(*random.pick(&["None", "Hold", "HoldAndDrain"]).unwrap())),
        ("License", _) => ("capacity", json!({"seats": random.below(3)})),
        _ => ("capacity", json!({"slots": random.below(3)})),
    };
    set(id, vec![(field.to_owned(), Some(value))], "switch")
}

/// A field of the schema becomes another valid value, or is removed. Together with other fields it may still break a rule.
fn change(id: &Id, spec: &Value, schemas: &Schemas, random: &mut Random) -> Edit {
    let schema = schemas.of(id.0, "spec");
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    loop {
        let name = *random.pick(&names).unwrap();
        let mut fields = values::of(id.0, name, schema, random);
        // The pause after a refusal stays none: a job that waits for its end is not at rest.
        if random.happens(150) && spec.get(name).is_some() && name != "retry" {
            fields = vec![(name.clone(), None)];
            if ["owner", "nodeName", "done"].contains(&name.as_str()) {
                continue;
            }
        }
        fields.retain(|(name, value)| value.is_some() || spec.get(name).is_some());
        if !fields.is_empty() {
            let mut after = spec.clone();
            apply(&mut after, &fields);
            let rule = broken_rule(&after);
            let why = rule.unwrap_or("change").to_owned();
            return Edit::Set { id: id.clone(), fields, must_refuse: rule.is_some(), why };
        }
    }
}

/// Sets the fields in a spec as it is known here.
pub(crate) fn apply(spec: &mut Value, fields: &[(String, Option<Value>)]) {
    let all = spec.as_object_mut().unwrap();
    for (name, value) in fields {
        match value {
            Some(value) => all.insert(name.clone(), value.clone()),
            None => all.remove(name),
        };
    }
}

/// Which of the rules on a whole spec it breaks: those of `crds/src/rules.rs` that valid values can break together.
fn broken_rule(spec: &Value) -> Option<&'static str> {
    let has = |name: &str| spec.get(name).is_some();
    if has("classad") && ["attributes", "expressions", "constraint", "rank", "request", "ports"].into_iter().any(has) {
        Some("classad and fields")
    } else if has("ports") && ["constraint", "rank", "request"].into_iter().any(has) {
        Some("ports and a constraint")
    } else if spec["claimPolicy"] == "Agent" && !has("agent") {
        Some("no agent")
    } else {
        None
    }
}

/// What the API server must refuse.
fn forbidden(id: &Id, spec: &Value, schemas: &Schemas, random: &mut Random) -> Edit {
    let schema = schemas.of(id.0, "spec");
    let refused = |field: &str, value: Option<Value>, why: &str| Edit::Set {
        id: id.clone(),
        fields: vec![(field.to_owned(), value)],
        must_refuse: true,
        why: why.to_owned(),
    };
    let twice = json!([{"label": "cpu"}, {"label": "CPU"}]);
    let rule = match (id.0, random.below(8)) {
        ("Job", 0) if spec["done"] == true => refused("done", Some(json!(false)), "done is final"),
        ("Job", 0) => refused("workload", Some(json!({})), "neither template nor reference"),
        ("Machine", 0) => refused("nodeName", Some(json!("node-1")), "nodeName is immutable"),
        ("License", 0) => refused("sharedBy", Some(json!("x".repeat(4097))), "too long"),
        (_, 1) => refused("ports", Some(twice), "one label twice"),
        (_, 2) => refused("ports", Some(json!([{"label": "Target"}])), "a reserved label"),
        (_, 5) => refused("owner", Some(json!("mallory")), "an owner stays"),
        (_, 3) => refused("noSuchField", Some(json!(1)), "no such field"),
        (kind, 4) if kind != "Job" => refused("allowedNamespaces", Some(json!({"from": "Selector"})), "no selector"),
        _ => {
            let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
            let name = *random.pick(&names).unwrap();
            let (value, why) = schema::invalid(&schema["properties"][name], random).unwrap();
            refused(name, Some(value), &why)
        }
    };
    // The policy puts the owner back before the schema is asked, whatever is written.
    match rule {
        Edit::Set { id, fields, why, .. } if fields[0].0 == "owner" => {
            Edit::Set { id, fields, must_refuse: false, why }
        }
        other => other,
    }
}
