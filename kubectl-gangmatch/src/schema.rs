//! A manifest held against the schema that the API server would hold it against, into findings with the path of the field.

mod rules;

use std::collections::BTreeMap;

use crds::quantity::{self, Unit};
use serde_json::{Map, Value, json};

use crate::manifests::kind;

/// What is wrong with one field.
pub(crate) struct Finding {
    /// As in `spec.ports[0].rank`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The schemas of all kinds, by kind.
pub(crate) struct Schemas(BTreeMap<String, Value>);

const METADATA: [&str; 15] = [
    "name",
    "namespace",
    "labels",
    "annotations",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "selfLink",
];

impl Schemas {
    /// Those of this version.
    pub(crate) fn load() -> Schemas {
        let schema = |definition: &Value| {
            let version = definition.pointer("/spec/versions/0/schema/openAPIV3Schema")?;
            Some((definition.pointer("/spec/names/kind")?.as_str()?.to_owned(), version.clone()))
        };
        let definitions = crds::definitions();
        Schemas(definitions.iter().filter_map(|found| schema(&serde_json::to_value(found).ok()?)).collect())
    }

    /// Everything that the schema of `kind` refuses in an object, its status left out.
    pub(crate) fn check(&self, kind: &str, object: &Map<String, Value>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let fields = ["apiVersion", "kind", "metadata", "spec", "status"];
        for name in object.keys().filter(|name| !fields.contains(&name.as_str())) {
            findings.push(no_such_field("", name, fields.into_iter()));
        }
        match object.get("metadata") {
            Some(Value::Object(metadata)) => {
                for name in metadata.keys().filter(|name| !METADATA.contains(&name.as_str())) {
                    findings.push(no_such_field("metadata", name, METADATA.into_iter()));
                }
                for field in ["labels", "annotations"] {
                    let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
                    let map = metadata.get(field).filter(|map| !map.is_null());
                    map.into_iter().for_each(|map| shape(&format!("metadata.{field}"), map, &schema, &mut findings));
                }
            }
            Some(other) => findings.push(expected("metadata", other, "a map: `metadata: {name: ...}`")),
            None => {}
        }
        let schema = self.0.get(kind).and_then(|schema| schema.pointer("/properties/spec"));
        match (schema, object.get("spec")) {
            (Some(schema), Some(spec)) => walk("spec", spec, schema, &mut findings),
            (_, None) => findings.push(Finding { path: "spec".to_owned(), text: "missing; write it".to_owned() }),
            (None, _) => {}
        }
        findings
    }
}

fn walk(path: &str, value: &Value, schema: &Value, findings: &mut Vec<Finding>) {
    if schema.get("x-kubernetes-int-or-string").is_some_and(|flag| flag == true) {
        expression(path, value, schema, findings);
        return;
    }
    let before = findings.len();
    shape(path, value, schema, findings);
    // As the API server does: rules are for what has the right form.
    if findings.len() == before {
        findings.extend(rules::check(path, value, schema));
    }
}

/// What does not have the types, the fields and the bounds of a schema.
fn shape(path: &str, value: &Value, schema: &Value, findings: &mut Vec<Finding>) {
    let wanted = schema.get("type").and_then(Value::as_str).unwrap_or("");
    match (wanted, value) {
        ("object", Value::Object(map)) => object(path, map, schema, findings),
        ("object", other) => findings.push(expected(path, other, "a map")),
        ("array", Value::Array(list)) => {
            most(path, list.len(), schema, "maxItems", "items", findings);
            let items = schema.get("items").unwrap_or(&Value::Null);
            for (place, item) in list.iter().enumerate() {
                walk(&format!("{path}[{place}]"), item, items, findings);
            }
            findings.extend(rules::repeated(path, list, schema));
        }
        ("array", other) => findings.push(expected(path, other, "a list")),
        ("string", Value::String(text)) => string(path, text, schema, findings),
        ("string", other) => {
            let is_switch =
                schema.get("enum").and_then(Value::as_array).is_some_and(|words| words.contains(&"On".into()));
            let quoted = match other {
                Value::Bool(is_on) if is_switch => {
                    let word = if *is_on { "On" } else { "Off" };
                    format!("\"{word}\" with quotes: without them, YAML takes the word for a boolean")
                }
                Value::Bool(_) | Value::Number(_) => format!("text: quote it, \"{other}\""),
                _ => "text".to_owned(),
            };
            findings.push(expected(path, other, &quoted));
        }
        ("boolean", Value::Bool(_)) => {}
        ("boolean", other) => findings.push(expected(path, other, "true or false")),
        ("integer", Value::Number(number)) if number.is_i64() || number.is_u64() => {
            bounds(path, number, schema, findings)
        }
        ("integer", Value::Number(number)) if is_too_large(number) => bounds(path, number, schema, findings),
        ("integer", other) => {
            findings.push(no_amount(path, other).unwrap_or_else(|| expected(path, other, "a whole number")))
        }
        _ => {}
    }
}

/// An amount of a capacity that is written as a quantity of Kubernetes, and what to write instead; none if it is something else.
fn no_amount(path: &str, found: &Value) -> Option<Finding> {
    let (field, resource) = path.rsplit_once('.')?;
    let text = found.as_str().filter(|_| ["spec.capacity", "spec.defaultRequest"].contains(&field))?;
    let text = match (quantity::amount(resource, text)?, Unit::of(resource)) {
        (Ok(amount), Unit::Mebibytes) => format!("found `{text}`; write {amount}, in MiB"),
        (Ok(amount), Unit::Pieces) => format!("found `{text}`; write {amount}"),
        (Err(wrong), _) => wrong.to_string(),
    };
    Some(Finding { path: path.to_owned(), text })
}

fn object(path: &str, map: &Map<String, Value>, schema: &Value, findings: &mut Vec<Finding>) {
    most(path, map.len(), schema, "maxProperties", "keys", findings);
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    let free = schema.get("x-kubernetes-preserve-unknown-fields").is_some_and(|flag| flag == true);
    for (name, value) in map {
        match (known.and_then(|known| known.get(name)), others) {
            (Some(inner), _) => walk(&format!("{path}.{name}"), value, inner, findings),
            (None, Some(inner)) if inner.is_object() => walk(&format!("{path}.{name}"), value, inner, findings),
            (None, _) if free || known.is_none() => {}
            (None, _) => {
                findings.push(no_such_field(path, name, known.into_iter().flat_map(Map::keys).map(String::as_str)));
            }
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        let default = known.and_then(|known| known.get(name)).is_some_and(|inner| inner.get("default").is_some());
        if !map.contains_key(name) && !default {
            findings.push(Finding { path: format!("{path}.{name}"), text: "missing; write it".to_owned() });
        }
    }
}

/// An expression is text or a whole number: the API server would keep nothing else as it was written.
fn expression(path: &str, value: &Value, schema: &Value, findings: &mut Vec<Finding>) {
    match value {
        Value::String(text) => string(path, text, schema, findings),
        Value::Number(number) if number.is_i64() => {}
        Value::Number(_) if is_amount(path) => findings.push(expected(path, value, "a whole number")),
        Value::Bool(_) | Value::Number(_) => {
            findings.push(expected(path, value, &format!("an expression as text: quote it, \"{value}\"")));
        }
        Value::Null => findings.push(expected(path, value, "an expression, or remove the field")),
        _ => findings.push(expected(path, value, "an expression as text, such as `cpu.Memory >= 64`")),
    }
}

/// Whether a path is that of an amount of a resource: an expression whose value is a whole number.
fn is_amount(path: &str) -> bool {
    let field = path.rsplit_once('.').map_or("", |(field, _)| field);
    field.ends_with(".request") || field.ends_with(".capacity")
}

/// Whether a number is larger than any integer, so that the reader of YAML takes it for a real one.
fn is_too_large(number: &serde_json::Number) -> bool {
    number.is_f64() && number.as_f64().is_some_and(|value| value.abs() >= 2_f64.powi(63))
}

fn string(path: &str, text: &str, schema: &Value, findings: &mut Vec<Finding>) {
    most(path, text.chars().count(), schema, "maxLength", "characters", findings);
    let Some(words) = schema.get("enum").and_then(Value::as_array) else { return };
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    if !words.contains(&text) {
        let list = words.join(", ");
        let text = match similar(text, words.into_iter()) {
            Some(word) => format!("found `{text}`; did you mean {word}? The values are {list}"),
            None => format!("found `{text}`; write one of {list}"),
        };
        findings.push(Finding { path: path.to_owned(), text });
    }
}

fn bounds(path: &str, number: &serde_json::Number, schema: &Value, findings: &mut Vec<Finding>) {
    let (Some(value), limit) = (number.as_f64(), |name: &str| schema.get(name).and_then(Value::as_f64)) else { return };
    let text = match (limit("minimum"), limit("maximum")) {
        (Some(least), _) if value < least => format!("found {number}; write at least {least}"),
        (_, Some(most)) if value > most => format!("found {number}; write at most {most}"),
        _ => return,
    };
    findings.push(Finding { path: path.to_owned(), text });
}

fn most(path: &str, count: usize, schema: &Value, limit: &str, what: &str, findings: &mut Vec<Finding>) {
    let Some(limit) = schema.get(limit).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok()) else {
        return;
    };
    if count > limit {
        findings.push(Finding { path: path.to_owned(), text: format!("found {count} {what}; write at most {limit}") });
    }
}

fn expected(path: &str, found: &Value, what: &str) -> Finding {
    Finding { path: path.to_owned(), text: format!("found {}; write {what}", kind(found)) }
}

/// Names of fields that other programs have, and what they are called here.
const ELSEWHERE: [(&str, &str); 8] = [
    ("concurrencylimits", "ports"),
    ("factor", "weight"),
    ("machinecount", "count"),
    ("requestcpus", "request"),
    ("requestmemory", "request"),
    ("requirement", "constraint"),
    ("requirements", "constraint"),
    ("start", "constraint"),
];

fn no_such_field<'n>(path: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Finding {
    let known: Vec<&str> = known.collect();
    let plain = name.replace('_', "").to_ascii_lowercase();
    let elsewhere = ELSEWHERE.iter().find(|(other, own)| *other == plain && known.contains(own)).map(|(_, own)| *own);
    let hint = elsewhere
        .or_else(|| similar(name, known.iter().copied()))
        .map(|other| format!("; did you mean {other}?"))
        .unwrap_or_default();
    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    Finding { path, text: format!("there is no such field{hint}") }
}

/// The word that was probably meant: at most two letters inserted, left out or changed, and not more than half of them.
pub(crate) fn similar<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let far = |other: &str| distance(&word.to_ascii_lowercase(), &other.to_ascii_lowercase());
    let near = words.map(|other| (far(other), other)).min()?;
    (near.0 <= 2 && near.0 * 2 <= near.1.len()).then_some(near.1)
}

/// How many letters must be inserted, left out or changed to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (place, letter) in from.chars().enumerate() {
        let mut next = vec![place + 1];
        for (column, other) in to.chars().enumerate() {
            let cell = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(0);
            let change = cell(&row, column) + usize::from(letter != other);
            next.push(change.min(cell(&row, column + 1) + 1).min(cell(&next, column) + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Schemas, similar};

    #[test]
    fn slips_of_the_pen_are_seen_and_other_words_are_not() {
        let fields = ["constraint", "rank", "request", "ports"];
        assert_eq!(similar("constrant", fields.into_iter()), Some("constraint"));
        assert_eq!(similar("Rank", fields.into_iter()), Some("rank"));
        assert_eq!(similar("color", fields.into_iter()), None);
    }

    #[test]
    fn every_kind_has_a_schema() {
        let schemas = Schemas::load();
        for kind in ["Job", "Machine", "License", "Match"] {
            assert!(schemas.0[kind].pointer("/properties/spec/properties").is_some(), "{kind}");
        }
    }
}
