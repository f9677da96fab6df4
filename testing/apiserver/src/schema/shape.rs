//! Types, bounds and lists of words: a schema without its rules and an object into what is wrong with it.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::{Cause, is_true};

/// A part of a schema, and all patterns of the whole.
#[derive(Clone, Copy)]
pub(super) struct Node<'s> {
    pub(super) schema: &'s Value,
    pub(super) patterns: &'s BTreeMap<String, Regex>,
}

/// Everything that is wrong with a value.
pub(super) fn check(node: &Node<'_>, value: &Value, path: &str) -> Vec<Cause> {
    let schema = node.schema;
    let own = |schema| Node { schema, patterns: node.patterns };
    if let Some(cause) = wrong_type(schema, value, path) {
        return vec![cause];
    }
    let mut causes = wrong_word(schema, value, path);
    match value {
        Value::Object(fields) => {
            causes.extend(sized(schema, ("minProperties", "maxProperties"), fields.len(), path));
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let missing = required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name));
            causes.extend(missing.map(|name| required_value(&below(path, name))));
            let properties = schema.get("properties").and_then(Value::as_object);
            let others = schema.get("additionalProperties").filter(|others| others.is_object());
            for (name, field) in fields.iter().filter(|(name, _)| !path.is_empty() || *name != "metadata") {
                if let Some(schema) = properties.and_then(|all| all.get(name)).or(others) {
                    causes.extend(check(&own(schema), field, &below(path, name)));
                }
            }
        }
        Value::Array(items) => {
            causes.extend(sized(schema, ("minItems", "maxItems"), items.len(), path));
            causes.extend(duplicates(schema, items, path));
            if let Some(schema) = schema.get("items") {
                let each = items.iter().enumerate();
                causes.extend(each.flat_map(|(place, item)| check(&own(schema), item, &format!("{path}[{place}]"))));
            }
        }
        Value::String(text) => causes.extend(wrong_text(node, text, path)),
        Value::Number(_) => causes.extend(wrong_number(schema, value, path)),
        Value::Bool(_) | Value::Null => {}
    }
    causes
}

/// Items of a list by keys that have the keys of an earlier one.
fn duplicates(schema: &Value, items: &[Value], path: &str) -> Vec<Cause> {
    let Some(keys) = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array) else { return Vec::new() };
    let key_of = |item: &Value| -> Map<String, Value> {
        let keys = keys.iter().filter_map(Value::as_str);
        keys.filter_map(|key| Some((key.to_owned(), item.get(key)?.clone()))).collect()
    };
    let all: Vec<Map<String, Value>> = items.iter().map(key_of).collect();
    let is_again = |place: usize, key: &Map<String, Value>| all.iter().take(place).any(|earlier| earlier == key);
    let again = all.iter().enumerate().filter(|(place, key)| is_again(*place, key));
    again
        .map(|(place, key)| {
            let message = format!("Duplicate value: {}", Value::Object(key.clone()));
            Cause::new(&format!("{path}[{place}]"), "FieldValueDuplicate", message)
        })
        .collect()
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn required_value(path: &str) -> Cause {
    Cause::new(path, "FieldValueRequired", "Required value".to_owned())
}

fn wrong_type(schema: &Value, value: &Value, path: &str) -> Option<Cause> {
    let wanted = schema.get("type").and_then(Value::as_str);
    let fits = match wanted {
        None if is_true(schema, "x-kubernetes-int-or-string") => value.is_string() || value.is_i64(),
        None => true,
        Some(_) if value.is_null() => is_true(schema, "nullable"),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some(_) => true,
    };
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let message = || {
        let wanted = wanted.unwrap_or("integer,string");
        format!("Invalid value: \"{found}\": {path} in body must be of type {wanted}: \"{found}\"")
    };
    (!fits).then(|| Cause::new(path, "FieldValueTypeInvalid", message()))
}

fn wrong_word(schema: &Value, value: &Value, path: &str) -> Vec<Cause> {
    let Some(words) = schema.get("enum").and_then(Value::as_array).filter(|words| !words.contains(value)) else {
        return Vec::new();
    };
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let message = format!("Unsupported value: {value}: supported values: {}", words.join(", "));
    vec![Cause::new(path, "FieldValueNotSupported", message)]
}

fn wrong_text(node: &Node<'_>, text: &str, path: &str) -> Vec<Cause> {
    let schema = node.schema;
    let length = text.chars().count();
    let limit = |word: &str| schema.get(word).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
    let mut causes = Vec::new();
    if let Some(max) = limit("maxLength").filter(|max| length > *max) {
        causes.push(Cause::new(path, "FieldValueTooLong", format!("Too long: may not be more than {max} bytes")));
    }
    if let Some(min) = limit("minLength").filter(|min| length < *min) {
        let message = format!("Invalid value: \"{text}\": {path} in body should be at least {min} chars long");
        causes.push(Cause::new(path, "FieldValueInvalid", message));
    }
    let pattern = schema.get("pattern").and_then(Value::as_str);
    let matches = |pattern: &str| node.patterns.get(pattern).is_some_and(|pattern| pattern.is_match(text));
    if let Some(pattern) = pattern.filter(|pattern| !matches(pattern)) {
        let message = format!("Invalid value: \"{text}\": {path} in body should match '{pattern}'");
        causes.push(Cause::new(path, "FieldValueInvalid", message));
    }
    let is_date = schema.get("format").and_then(Value::as_str) == Some("date-time");
    if is_date && text.parse::<jiff::Timestamp>().is_err() {
        let message = format!("Invalid value: \"{text}\": {path} in body must be of type date-time: \"{text}\"");
        causes.push(Cause::new(path, "FieldValueInvalid", message));
    }
    causes
}

fn wrong_number(schema: &Value, value: &Value, path: &str) -> Vec<Cause> {
    let Some(number) = value.as_f64() else { return Vec::new() };
    let limit = |word: &str| schema.get(word).and_then(Value::as_f64);
    let low = limit("minimum").filter(|min| number < *min).map(|min| format!("greater than or equal to {min}"));
    let high = limit("maximum").filter(|max| number > *max).map(|max| format!("less than or equal to {max}"));
    let said = |bound| format!("Invalid value: {value}: {path} in body should be {bound}");
    low.into_iter().chain(high).map(|bound| Cause::new(path, "FieldValueInvalid", said(bound))).collect()
}

fn sized(schema: &Value, (min, max): (&str, &str), count: usize, path: &str) -> Vec<Cause> {
    let limit = |word: &str| schema.get(word).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
    let few = limit(min).filter(|min| count < *min).map(|min| {
        let message = format!("Invalid value: {count}: {path} in body should have at least {min} items");
        Cause::new(path, "FieldValueInvalid", message)
    });
    let many = limit(max)
        .filter(|max| count > *max)
        .map(|max| Cause::new(path, "FieldValueTooMany", format!("Too many: {count}: must have at most {max} items")));
    few.into_iter().chain(many).collect()
}
