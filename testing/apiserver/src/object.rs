//! An object as JSON into what of its metadata counts.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// A text in the metadata; empty if it is not there.
pub(crate) fn meta<'o>(object: &'o Value, name: &str) -> &'o str {
    object.pointer("/metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str).unwrap_or("")
}

pub(crate) fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0)
}

/// Whether somebody still has to agree to its end.
pub(crate) fn is_held(object: &Value) -> bool {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.is_some_and(|all| !all.is_empty())
}

pub(crate) fn is_ending(object: &Value) -> bool {
    !meta(object, "deletionTimestamp").is_empty()
}

pub(crate) fn set_meta(object: &mut Value, name: &str, value: Value) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert(name.to_owned(), value);
    }
}

/// What the server alone writes is what it was.
pub(crate) fn keep_meta(object: &mut Value, before: &Value, names: &[&str]) {
    let Some(metadata) = metadata_mut(object) else { return };
    for name in names {
        match before.pointer("/metadata").and_then(|metadata| metadata.get(*name)) {
            Some(value) => drop(metadata.insert((*name).to_owned(), value.clone())),
            None => drop(metadata.shift_remove(*name)),
        }
    }
}

fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let fields = object.as_object_mut()?;
    fields.entry("metadata").or_insert_with(|| json!({})).as_object_mut()
}

/// Everything but metadata, and but status if that is written by requests of its own.
pub(crate) fn body(object: &Value, has_status: bool) -> Map<String, Value> {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.shift_remove("metadata");
    if has_status {
        fields.shift_remove("status");
    }
    fields
}

/// As the API server writes times.
pub(crate) fn time(now: Timestamp) -> Value {
    json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
