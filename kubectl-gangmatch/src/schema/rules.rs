//! The validation rules of the schemas that the API server checks at creation, by hand: a program without an API server has nothing that
//! evaluates CEL. Rules are recognized by their messages; a test sees to it that none is forgotten.

use serde_json::Value;

use super::Finding;

/// Whether an object keeps a rule.
type Keeps = fn(&Value) -> bool;

/// Each rule that is checked here, by its message.
const CHECKS: [(&str, Keeps); 10] = [
    ("min must not be larger than max", |quota| match (number(quota, "min"), number(quota, "max")) {
        (Some(min), Some(max)) => min <= max,
        _ => true,
    }),
    ("a submitter needs a namespace or an owner; leave it out for an account that groups others", |submitter| {
        has(submitter, "namespace") || has(submitter, "owner")
    }),
    ("the counters charge and gangs are always there: choose another name", |counter| {
        !["charge", "gangs"].contains(&text(counter, "name"))
    }),
    ("use either jobTemplate or workloadRef", |workload| has(workload, "jobTemplate") != has(workload, "workloadRef")),
    ("name is too long: at most 63 characters", |reference| {
        text(reference, "kind") == "Pod" || text(reference, "name").chars().count() <= 63
    }),
    ("selector is required with from: Selector, and not allowed otherwise", |namespaces| {
        (text(namespaces, "from") == "Selector") == has(namespaces, "selector")
    }),
    ("agent is required with claimPolicy Agent", |offer| text(offer, "claimPolicy") != "Agent" || has(offer, "agent")),
    ("classad is not allowed in a class: use the fields", |class| !has(class, "classad")),
    ("keys of labels have at most 317 characters", |labels| lengths(labels).all(|length| length <= 317)),
    ("names of resources have at most 512 characters together", |names| lengths(names).sum::<usize>() <= 512),
];

/// The rules of a schema that a value breaks. `path` is where the value stands.
pub(super) fn check(path: &str, value: &Value, schema: &Value) -> Vec<Finding> {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    let broken = rules.filter_map(|rule| {
        let (message, _) = CHECKS.iter().find(|(message, keeps)| *message == text(rule, "message") && !keeps(value))?;
        Some(Finding { path: format!("{path}{}", text(rule, "fieldPath")), text: (*message).to_owned() })
    });
    broken.collect()
}

/// The items of a list that have the same key as an earlier one.
pub(super) fn repeated(path: &str, list: &[Value], schema: &Value) -> Vec<Finding> {
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array).into_iter().flatten();
    let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
    let key = |item: &Value| -> Vec<Option<Value>> { keys.iter().map(|name| item.get(*name).cloned()).collect() };
    let is_set = schema.get("x-kubernetes-list-type").is_some_and(|kind| kind == "set");
    let same = |one: &Value, other: &Value| match keys.is_empty() {
        true => is_set && one == other,
        false => key(one) == key(other),
    };
    let mut found = Vec::new();
    for (place, item) in list.iter().enumerate() {
        let Some(first) = list.iter().take(place).position(|earlier| same(earlier, item)) else { continue };
        let what = match keys.first() {
            Some(name) => format!("{name} {}", item.get(*name).map(ToString::to_string).unwrap_or_default()),
            None => item.to_string(),
        };
        let text = format!("{what} stands already at {path}[{first}]; remove one of them");
        found.push(Finding { path: format!("{path}[{place}]"), text });
    }
    found
}

/// How many characters the keys of a map have.
fn lengths(map: &Value) -> impl Iterator<Item = usize> + '_ {
    map.as_object().into_iter().flat_map(serde_json::Map::keys).map(|key| key.chars().count())
}

fn has(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|found| !found.is_null())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

fn number(value: &Value, name: &str) -> Option<i64> {
    value.get(name).and_then(Value::as_i64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Schemas;
    use super::*;

    /// What the reader of ads says of its own accord, with the place and what to write.
    const TOLD_BY_THE_AD: [&str; 7] = [
        "use either classad or the fields, not both",
        "constraint, rank and request are not allowed beside ports: write them in the ports",
        "port labels must be unique; case is ignored",
        "this name is reserved: choose another label",
        "use either count, or minCount and maxCount",
        "minCount and maxCount are written together",
        "same, distinct, groupConstraint and groupRank need a count, or minCount and maxCount",
    ];

    fn messages(schema: &Value, found: &mut BTreeSet<String>) {
        for rule in schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
            // What compares with the object before is no rule on creation.
            if !text(rule, "rule").contains("oldSelf") {
                found.insert(text(rule, "message").to_owned());
            }
        }
        match schema {
            Value::Object(fields) => fields.values().for_each(|inner| messages(inner, found)),
            Value::Array(list) => list.iter().for_each(|inner| messages(inner, found)),
            _ => {}
        }
    }

    #[test]
    fn every_rule_on_creation_is_checked_here_or_told_by_the_ad() {
        let mut found = BTreeSet::new();
        for kind in ["Job", "Machine", "License", "MachineClass", "Account", "PoolPolicy"] {
            messages(Schemas::load().0[kind].pointer("/properties/spec").unwrap(), &mut found);
        }
        let known: BTreeSet<String> =
            CHECKS.iter().map(|(message, _)| *message).chain(TOLD_BY_THE_AD).map(str::to_owned).collect();
        assert_eq!(found, known);
    }
}
