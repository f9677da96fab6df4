//! Turns a field of a spec into values for it: those that mean something to a gang, else any that its schema allows.

use sampling::Random;
use serde_json::{Value, json};

use crate::schema;

/// Expressions that do not parse: the API server takes them, and the condition `Accepted` says what is wrong.
pub(crate) const UNPARSABLE: [&str; 3] = ["other.Memory >=", "((1)", "Memory = = 3 \"x"];

fn one_of(random: &mut Random, all: &[&str]) -> Value {
    if random.happens(150) {
        return json!(*random.pick(&UNPARSABLE).unwrap());
    }
    json!(*random.pick(all).unwrap())
}

/// The port of a gang: of a machine or of a license.
pub(crate) fn port(random: &mut Random, label: &str) -> Value {
    let kind = if label.starts_with('l') { "License" } else { "Machine" };
    let more = one_of(random, &["true", "true", "LABEL.Memory >= 2048", "LABEL.App == \"sim\"", "LABEL.NoSuch > 3"]);
    let constraint = format!("LABEL.Type == \"{kind}\" && {}", more.as_str().unwrap());
    let mut port = json!({"label": label, "constraint": constraint.replace("LABEL", label)});
    if random.happens(500) {
        port["rank"] =
            json!(one_of(random, &["LABEL.Memory", "-LABEL.Price", "1/0"]).as_str().unwrap().replace("LABEL", label));
    }
    if random.happens(300) {
        port["request"] = request(random);
    }
    if random.happens(200) {
        port["count"] = random.pick(&[json!(1), json!(2), json!("1 + 1"), json!(0), json!("NoSuch")]).unwrap().clone();
        if random.happens(300) {
            port["same"] = json!(["App"]);
        }
    }
    port
}

fn ports(random: &mut Random) -> Value {
    let labels: &[&str] = random
        .pick(&[&["cpu", "license"][..], &["license", "cpu"], &["cpu"], &["license"], &["cpu", "cpu2"], &[]])
        .unwrap();
    labels.iter().map(|label| port(random, label)).collect()
}

fn request(random: &mut Random) -> Value {
    let amount = [json!(1), json!(2), json!("1"), json!("1 + 1"), json!(0), json!("undefined"), json!(UNPARSABLE[1])];
    let resource = random.pick(&["slots", "seats", "slots", "gpus"]).unwrap();
    json!({*resource: random.pick(&amount).unwrap().clone()})
}

fn amounts(random: &mut Random, kind: &str) -> Value {
    let own = if kind == "License" { "seats" } else { "slots" };
    let other = random.pick(&["cpus", "memory", "seats"]).unwrap();
    let (few, many) = (random.below(4), *random.pick(&[1, 1_i64 << 40]).unwrap());
    random
        .pick(&[json!({own: few}), json!({own: few}), json!({own: 1, *other: many}), json!({*other: 1}), json!({})])
        .unwrap()
        .clone()
}

fn attributes(random: &mut Random) -> Value {
    let memory = [json!(1024), json!(4096), json!("much"), json!(null), json!([1, {"a": 0.5}])];
    let app = ["sim", "sim", "cad"];
    let mut all =
        json!({"App": random.pick(&app).unwrap(), "Price": random.below(9), "Memory": random.pick(&memory).unwrap()});
    if random.happens(100) {
        all["mEmory"] = json!(1);
    }
    if random.happens(200) {
        all["Extra"] = schema::free(random, 2);
    }
    all
}

/// Fields that belong together, with a value that the API server accepts for each, or none to remove it; nothing for a field that
/// stays as it is. What would end a job by the time that passes is set so that it does not.
pub(crate) fn of(kind: &str, field: &str, schema: &Value, random: &mut Random) -> Vec<(String, Option<Value>)> {
    let value = match (kind, field) {
        // The first two cannot be changed, and a workload would need a kubelet.
        (_, "owner" | "nodeName" | "workload") => return Vec::new(),
        ("Job", "done") => json!(true),
        ("Job", "matchTimeoutSeconds" | "activeDeadlineSeconds") => json!(random.between(100_000, i32::MAX.into())),
        ("Job", "retry") => json!({"limit": 100_000, "backoffSeconds": 0, "maxBackoffSeconds": random.below(300)}),
        ("Job", "constraint") => one_of(
            random,
            &[
                "other.Type == \"Machine\"",
                "other.Memory >= 2048",
                "other.Memory >= 999999",
                "true",
                "false",
                "undefined",
            ],
        ),
        (_, "constraint") => {
            one_of(random, &["other.Type == \"Job\"", "true", "other.App == \"sim\"", "false", "other.NoSuch", "7"])
        }
        (_, "rank" | "gangRank") => {
            one_of(random, &["other.Memory", "-other.Price", "cpu.Memory - license.Price", "0", "1/0"])
        }
        (_, "sharedBy") => {
            one_of(random, &["requester.Members[0].Name", "undefined", "\"all\"", "1/0", "requester.App"])
        }
        (_, "expressions") => {
            let computed = one_of(random, &["Price * 2", "other.Memory", "Loop", "\"x\""]);
            json!({"Computed": computed, *random.pick(&["Loop", "Memory", "App"]).unwrap(): "1024 * 4"})
        }
        (_, "attributes") => attributes(random),
        (_, "private") => {
            random.pick(&[json!(["Price"]), json!(["Memory", "App"]), json!(["Owner"]), json!([])]).unwrap().clone()
        }
        (_, "request") => request(random),
        (_, "ports") => ports(random),
        (_, "capacity" | "defaultRequest") => amounts(random, kind),
        (_, "claimPolicy") => {
            let policy = schema::valid(&schema["properties"][field], random);
            let agent = json!({"username": format!("system:serviceaccount:x:{}", random.below(9))});
            return vec![(field.to_owned(), Some(policy)), ("agent".to_owned(), Some(agent))];
        }
        (_, "allowedNamespaces") => random
            .pick(&[
                json!({"from": "All"}),
                json!({}),
                json!({"from": "Selector", "selector": {"matchLabels": {"a": "b"}}}),
            ])
            .unwrap()
            .clone(),
        (_, "classad") => return text_instead(kind, schema, random),
        _ => schema::valid(&schema["properties"][field], random),
    };
    vec![(field.to_owned(), Some(value))]
}

/// The whole ad as text, and none of the fields that it excludes.
fn text_instead(kind: &str, schema: &Value, random: &mut Random) -> Vec<(String, Option<Value>)> {
    let ad = if kind == "Job" {
        one_of(
            random,
            &["[ Requirements = other.Type == \"Machine\" ]", "Requirements = TARGET.Memory > 1\nRank = 3", "[]"],
        )
    } else {
        one_of(
            random,
            &["[ Memory = 4096; App = \"sim\"; Requirements = true ]", "{\"Memory\": 4096}", "[ Requirements = 1 ]"],
        )
    };
    let fields = ["attributes", "expressions", "constraint", "rank", "request", "ports"];
    let mut all: Vec<(String, Option<Value>)> = vec![("classad".to_owned(), Some(ad))];
    all.extend(
        fields.iter().filter(|name| schema["properties"].get(**name).is_some()).map(|name| ((*name).to_owned(), None)),
    );
    all
}

/// Whether something in this spec is known to be no part of an ad.
pub(crate) fn has_flaw(spec: &Value) -> bool {
    let is_bad = |value: &Value| match value {
        Value::String(text) => UNPARSABLE.iter().any(|bad| text.ends_with(bad)),
        _ => false,
    };
    let texts = |holder: &Value| {
        let single =
            ["constraint", "rank", "gangRank", "classad", "sharedBy"].iter().any(|name| is_bad(&holder[*name]));
        let in_map = ["request", "expressions"].iter().any(|name| {
            let entries = holder[*name].as_object();
            entries.into_iter().flatten().any(|(_, value)| is_bad(value))
        });
        single || in_map
    };
    let attributes = &spec["attributes"];
    let twice = attributes.get("Memory").is_some() && attributes.get("mEmory").is_some();
    let null = attributes.as_object().into_iter().flatten().any(|(_, value)| value.is_null());
    texts(spec) || twice || null || spec["ports"].as_array().into_iter().flatten().any(texts)
}
