//! An object and a patch into the patched object.
//!
//! As the library of the API server does it (evanphx/json-patch v4), which differs from RFC 6902 where the protocol depends on
//! it: `test` with `null` holds of what is not there, and `replace` of what is not there adds it.

use serde_json::Value;

/// Applies a JSON Patch, all of it or nothing; why not, if it does not apply.
pub(crate) fn json_patch(object: &Value, operations: &[Value]) -> Result<Value, String> {
    let mut patched = object.clone();
    for operation in operations {
        apply(&mut patched, operation)?;
    }
    Ok(patched)
}

fn apply(object: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str).unwrap_or_default();
    let (op, path) = (text("op"), text("path"));
    let value = operation.get("value").cloned().unwrap_or_default();
    let missing = || format!("{op} operation does not apply: doc is missing path: {path}");
    let (parent, key) = parent(object, path).ok_or_else(missing)?;
    match op {
        "test" => {
            let found = child(parent, &key)?.filter(|found| !found.is_null());
            match (found, value.is_null()) {
                (None, true) => Ok(()),
                (Some(found), false) if same(found, &value) => Ok(()),
                _ => Err(format!("testing value {path} failed")),
            }
        }
        "add" => insert(parent, &key, value, true),
        "replace" => insert(parent, &key, value, false),
        "remove" => take_out(parent, &key),
        _ => Err(format!("Unexpected kind: {op}")),
    }
}

/// What holds the last part of a path, and that part.
fn parent<'o>(object: &'o mut Value, path: &str) -> Option<(&'o mut Value, String)> {
    let mut parts = path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~"));
    parts.next().filter(String::is_empty)?;
    let parts: Vec<String> = parts.collect();
    let (key, way) = parts.split_last()?;
    let mut place = object;
    for part in way {
        place = match place {
            Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?)?,
            Value::Object(fields) => fields.get_mut(part)?,
            _ => return None,
        };
    }
    (place.is_object() || place.is_array()).then(|| (place, key.clone()))
}

fn child<'p>(parent: &'p Value, key: &str) -> Result<Option<&'p Value>, String> {
    match parent {
        Value::Array(items) => {
            let found = key.parse::<usize>().ok().and_then(|place| items.get(place));
            found.map(Some).ok_or_else(|| format!("Unable to access invalid index: {key}"))
        }
        other => Ok(other.get(key)),
    }
}

fn insert(parent: &mut Value, key: &str, value: Value, shifts: bool) -> Result<(), String> {
    match parent {
        Value::Array(items) => {
            let place =
                if key == "-" { items.len() } else { key.parse::<usize>().map_err(|error| error.to_string())? };
            match (shifts, place <= items.len(), items.get_mut(place)) {
                (true, true, _) => items.insert(place, value),
                (false, _, Some(item)) => *item = value,
                _ => return Err(format!("Unable to access invalid index: {key}")),
            }
        }
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        _ => return Err("no container".to_owned()),
    }
    Ok(())
}

fn take_out(parent: &mut Value, key: &str) -> Result<(), String> {
    match parent {
        Value::Array(items) => {
            let place = key.parse::<usize>().ok().filter(|place| *place < items.len());
            let place = place.ok_or_else(|| format!("Unable to access invalid index: {key}"))?;
            items.remove(place);
        }
        Value::Object(fields) => {
            fields.shift_remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}"))?;
        }
        _ => return Err("no container".to_owned()),
    }
    Ok(())
}

/// Whether two values are the same; the order of fields does not count, and 1 is 1.0.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let has = |(name, value): (&String, &Value)| right.get(name).is_some_and(|other| same(value, other));
            left.len() == right.len() && left.iter().all(has)
        }
        (left, right) => left == right,
    }
}

/// Applies a merge patch (RFC 7396).
pub(crate) fn merge_patch(object: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(serde_json::Map::new());
    }
    let Some(fields) = object.as_object_mut() else { return };
    for (name, change) in changes {
        if change.is_null() {
            fields.shift_remove(name);
        } else {
            merge_patch(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patched(object: &Value, operations: &Value) -> Option<Value> {
        json_patch(object, operations.as_array().unwrap()).ok()
    }

    #[test]
    fn a_patch_is_applied_whole_or_not_at_all() {
        let object = json!({"a": {"b": 1, "c/d": [1, 2]}, "n": null});
        let test = |path: &str, value: Value| patched(&object, &json!([{"op": "test", "path": path, "value": value}]));
        assert!(test("/a/b", json!(1)).is_some() && test("/a/b", json!(2)).is_none());
        assert!(test("/a/x", Value::Null).is_some() && test("/n", Value::Null).is_some(), "null is what is not there");
        assert!(test("/a/b", Value::Null).is_none() && test("/x/y", Value::Null).is_none());
        let both = json!([{"op": "add", "path": "/a/c~1d/1", "value": 9}, {"op": "remove", "path": "/a/b"}]);
        assert_eq!(patched(&object, &both), Some(json!({"a": {"c/d": [1, 9, 2]}, "n": null})));
        assert_eq!(patched(&object, &json!([{"op": "remove", "path": "/a/x"}])), None);
        let replaced = json!([{"op": "replace", "path": "/a/x", "value": 3}]);
        assert_eq!(patched(&object, &replaced).and_then(|object| object.pointer("/a/x").cloned()), Some(json!(3)));
    }

    #[test]
    fn a_merge_patch_takes_out_what_is_null() {
        let mut object = json!({"a": {"b": 1, "c": 2}});
        merge_patch(&mut object, &json!({"a": {"b": null, "d": {"e": null, "f": 1}}}));
        assert_eq!(object, json!({"a": {"c": 2, "d": {"f": 1}}}));
    }
}
