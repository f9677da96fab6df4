//! Turns values that the schema allows one by one into objects that also keep the rules in CEL (`crds/src/rules.rs`).

use sampling::Random;
use serde_json::{Value, json};

/// Makes values that the schema allows one by one keep the rules on all of them together.
pub(super) fn keep_those_of_a_spec(kind: &str, spec: &mut Value, random: &mut Random) {
    if kind == "Match" {
        return make_a_tree(spec);
    }
    if kind == "Account" {
        return keep_those_of_an_account(spec);
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
            port["label"] = json!(format!("{}{number}", port["label"].as_str().unwrap()));
            keep_those_of_a_set(port.as_object_mut().unwrap(), random);
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
        let (one, other) =
            if random.happens(500) { ("jobTemplate", "workloadRef") } else { ("workloadRef", "jobTemplate") };
        workload.remove(one);
        if !workload.contains_key(other) {
            workload.insert(other.to_owned(), if other == "workloadRef" { json!({"name": "w"}) } else { json!({}) });
        }
        if let Some(name) = workload.get_mut("workloadRef").and_then(|reference| reference.get_mut("name")) {
            *name = json!(name.as_str().unwrap().chars().take(63).collect::<String>());
        }
    }
}

/// A port has a count, or both bounds, or nothing that is said of a set.
fn keep_those_of_a_set(port: &mut serde_json::Map<String, Value>, random: &mut Random) {
    let fields: &[&str] = match random.below(3) {
        0 => &["count"],
        1 => &["minCount", "maxCount"],
        _ => &[],
    };
    for field in ["count", "minCount", "maxCount"] {
        match fields.contains(&field) {
            true => drop(port.entry(field).or_insert_with(|| json!("N + 1"))),
            false => drop(port.remove(field)),
        }
    }
    if fields.is_empty() {
        ["same", "distinct", "groupConstraint", "groupRank"].iter().for_each(|name| drop(port.remove(*name)));
    }
}

/// A submitter has a namespace or an owner; the least amount of a quota is not larger than the largest.
fn keep_those_of_an_account(spec: &mut Value) {
    if spec["submitter"].as_object().is_some_and(serde_json::Map::is_empty) {
        spec["submitter"] = json!({"namespace": "n"});
    }
    for quota in spec.get_mut("quotas").and_then(Value::as_array_mut).into_iter().flatten() {
        if quota["min"].as_i64() > quota["max"].as_i64() && quota.get("max").is_some() {
            quota["min"] = quota["max"].clone();
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

/// Makes values of a status that the schema allows one by one keep the rules on all of them together, as a first status of an object.
pub(super) fn keep_those_of_a_status(kind: &str, status: &mut Value) {
    let all = status.as_object_mut().unwrap();
    match kind {
        "Job" if all.contains_key("finishedAt") => drop(all.remove("claim")),
        "Machine" | "License" => {
            if all.get("epoch").and_then(Value::as_i64).is_some_and(|epoch| epoch < 0) {
                all.remove("epoch");
            }
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
