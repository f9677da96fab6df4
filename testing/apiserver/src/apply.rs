//! Server-side apply: what is stored, and what a manager wants of it, into what is stored next.
//!
//! Only fields that were applied have managers here. Fields that were written in other ways belong to no one, so applying them makes no
//! conflict.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::strategic::merge_key;

/// A part of an object: the names, keys of items, or values on the way to it.
type Path = Vec<String>;

/// The next object, or which fields have other values by other managers.
pub(crate) fn apply(before: &Value, wanted: &Value, manager: &Manager<'_>) -> Result<Value, Vec<Conflict>> {
    let mut own = BTreeSet::new();
    paths(wanted, manager.schema, &mut Vec::new(), &mut own);
    let entries = entries(before);
    let others: Vec<(String, BTreeSet<Path>)> = entries
        .iter()
        .filter(|entry| !is_of(entry, manager.name))
        .map(|entry| (text(entry, "manager"), leaves(entry.get("fieldsV1").unwrap_or(&Value::Null))))
        .collect();
    let differs = |path: &Path| at(before, path) != at(wanted, path);
    let conflicts: Vec<Conflict> = others
        .iter()
        .flat_map(|(name, held)| held.intersection(&own).map(move |path| (name, path)))
        .filter(|(_, path)| differs(path))
        .map(|(name, path)| Conflict { manager: name.clone(), field: spelled(path) })
        .collect();
    if !conflicts.is_empty() && !manager.forces {
        return Err(conflicts);
    }
    let last_entry = entries.iter().find(|entry| is_of(entry, manager.name)).cloned();
    let last =
        last_entry.as_ref().map(|entry| leaves(entry.get("fieldsV1").unwrap_or(&Value::Null))).unwrap_or_default();
    let mut next = before.clone();
    for path in last.difference(&own).filter(|path| !others.iter().any(|(_, held)| held.contains(*path))) {
        take_out(&mut next, path);
    }
    merge(&mut next, wanted, manager.schema, "");
    let lost = |path: &Path| own.contains(path) && differs(path);
    let mut kept: Vec<Value> = Vec::new();
    for entry in entries.into_iter().filter(|entry| !is_of(entry, manager.name)) {
        let held = leaves(entry.get("fieldsV1").unwrap_or(&Value::Null)).into_iter().filter(|path| !lost(path));
        kept.push(with_fields(entry, &held.collect()));
    }
    let entry = json!({"manager": manager.name, "operation": "Apply", "apiVersion": wanted.get("apiVersion"),
        "time": manager.time, "fieldsType": "FieldsV1"});
    // An apply that changes nothing leaves the time of the last one.
    kept.push(last_entry.filter(|_| last == own).unwrap_or_else(|| with_fields(entry, &own)));
    crate::object::set_meta(&mut next, "managedFields", Value::Array(kept));
    Ok(next)
}

/// A field that another manager has applied with another value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) manager: String,
    pub(crate) field: String,
}

/// Who applies.
pub(crate) struct Manager<'m> {
    pub(crate) name: &'m str,
    /// Whether conflicts are won.
    pub(crate) forces: bool,
    pub(crate) time: Value,
    /// The schema of the kind; without one, lists are merged as strategic merge patches merge them.
    pub(crate) schema: Option<&'m Value>,
}

fn text(entry: &Value, field: &str) -> String {
    entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn is_of(entry: &Value, manager: &str) -> bool {
    text(entry, "manager") == manager && text(entry, "operation") == "Apply"
}

fn entries(object: &Value) -> Vec<Value> {
    object.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The key by which the items of a list are merged; `None`: the list is one value.
fn list_key(schema: Option<&Value>, name: &str) -> Option<String> {
    match schema {
        Some(schema) if schema.get("x-kubernetes-list-type") == Some(&json!("map")) => {
            schema.pointer("/x-kubernetes-list-map-keys/0").and_then(Value::as_str).map(str::to_owned)
        }
        Some(_) => None,
        None => merge_key(name).map(str::to_owned),
    }
}

fn below<'s>(schema: Option<&'s Value>, name: &str) -> Option<&'s Value> {
    let schema = schema?;
    let property = schema.get("properties").and_then(|all| all.get(name));
    property.or_else(|| schema.get("additionalProperties")).or(Some(&Value::Null))
}

/// The paths of all values in an object that belong to whoever applies it.
fn paths(value: &Value, schema: Option<&Value>, way: &mut Path, found: &mut BTreeSet<Path>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                if !is_managed(way, name) {
                    continue;
                }
                way.push(format!("f:{name}"));
                let schema = if name == "metadata" { None } else { below(schema, name) };
                match (field, list_key(schema, name)) {
                    (Value::Array(items), Some(key)) => {
                        for item in items {
                            way.push(item_key(&key, item));
                            found.insert(way.clone());
                            paths(item, schema.map(|schema| schema.get("items").unwrap_or(&Value::Null)), way, found);
                            way.pop();
                        }
                    }
                    _ => paths(field, schema, way, found),
                }
                way.pop();
            }
        }
        _ => drop(found.insert(way.clone())),
    }
}

/// What names an object belongs to no manager.
fn is_managed(way: &Path, name: &str) -> bool {
    match way.as_slice() {
        [] => !["apiVersion", "kind"].contains(&name),
        [first] if first == "f:metadata" => {
            !["name", "namespace", "managedFields", "creationTimestamp"].contains(&name)
        }
        _ => true,
    }
}

fn item_key(key: &str, item: &Value) -> String {
    format!("k:{}", json!({key: item.get(key)}))
}

/// A tree of fields into the paths of its leaves.
fn leaves(tree: &Value) -> BTreeSet<Path> {
    fn collect(tree: &Value, way: &mut Path, found: &mut BTreeSet<Path>) {
        let fields = tree.as_object().filter(|fields| !fields.is_empty());
        if fields.is_none_or(|fields| fields.contains_key(".")) && !way.is_empty() {
            found.insert(way.clone());
        }
        for (name, below) in fields.into_iter().flatten().filter(|(name, _)| *name != ".") {
            way.push(name.clone());
            collect(below, way, found);
            way.pop();
        }
    }
    let mut found = BTreeSet::new();
    collect(tree, &mut Vec::new(), &mut found);
    found
}

fn with_fields(mut entry: Value, leaves: &BTreeSet<Path>) -> Value {
    let mut tree = json!({});
    for leaf in leaves {
        let itself = leaf.last().filter(|last| last.starts_with("k:")).map(|_| ".".to_owned());
        let parts: Path = leaf.iter().cloned().chain(itself).collect();
        grow(&mut tree, &parts);
    }
    if let Some(fields) = entry.as_object_mut() {
        fields.insert("fieldsV1".to_owned(), tree);
    }
    entry
}

fn grow(tree: &mut Value, way: &[String]) {
    if let (Some((part, rest)), Some(fields)) = (way.split_first(), tree.as_object_mut()) {
        grow(fields.entry(part.clone()).or_insert_with(|| json!({})), rest);
    }
}

fn at<'o>(object: &'o Value, path: &[String]) -> Option<&'o Value> {
    path.iter().try_fold(object, |place, part| match part.split_once(':')? {
        ("f", name) => place.get(name),
        (_, key) => place.as_array()?.iter().find(|item| is_item(item, key)),
    })
}

fn is_item(item: &Value, key: &str) -> bool {
    let key: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
    key.iter().all(|(name, value)| item.get(name) == Some(value))
}

fn take_out(object: &mut Value, path: &[String]) {
    let Some((last, way)) = path.split_last() else { return };
    let mut place = object;
    for part in way {
        let next = match part.split_once(':') {
            Some(("f", name)) => place.get_mut(name),
            Some((_, key)) => place.as_array_mut().and_then(|items| items.iter_mut().find(|item| is_item(item, key))),
            None => None,
        };
        let Some(next) = next else { return };
        place = next;
    }
    match (last.split_once(':'), place) {
        (Some(("f", name)), Value::Object(fields)) => drop(fields.shift_remove(name)),
        (Some((_, key)), Value::Array(items)) => items.retain(|item| !is_item(item, key)),
        _ => {}
    }
}

/// `.spec.ports[label="cpu"].rank`
fn spelled(path: &[String]) -> String {
    path.iter().fold(String::new(), |said, part| match part.split_once(':') {
        Some(("f", name)) => format!("{said}.{name}"),
        Some((_, key)) => {
            let key: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
            let pairs: Vec<String> = key.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{said}[{}]", pairs.join(","))
        }
        None => said,
    })
}

fn merge(object: &mut Value, wanted: &Value, schema: Option<&Value>, name: &str) {
    match (wanted, list_key(schema, name)) {
        (Value::Object(changes), _) if !changes.is_empty() => {
            if !object.is_object() {
                *object = json!({});
            }
            let Some(fields) = object.as_object_mut() else { return };
            for (name, change) in changes {
                let schema = if name == "metadata" { None } else { below(schema, name) };
                merge(fields.entry(name.clone()).or_insert(Value::Null), change, schema, name);
            }
        }
        (Value::Array(changes), Some(key)) => {
            if !object.is_array() {
                *object = json!([]);
            }
            let Some(items) = object.as_array_mut() else { return };
            let schema = schema.map(|schema| schema.get("items").unwrap_or(&Value::Null));
            for change in changes {
                match items.iter_mut().find(|item| item.get(&key) == change.get(&key)) {
                    Some(item) => merge(item, change, schema, ""),
                    None => items.push(change.clone()),
                }
            }
        }
        _ => *object = wanted.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(before: &Value, wanted: &Value, name: &str, forces: bool) -> Result<Value, Vec<Conflict>> {
        let schema = json!({"properties": {"spec": {"properties": {"ports": {"x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["label"], "items": {}}, "tags": {"x-kubernetes-list-type": "atomic"}}}}});
        apply(before, wanted, &Manager { name, forces, time: json!("now"), schema: Some(&schema) })
    }

    #[test]
    fn what_is_applied_no_more_goes_and_what_others_apply_stays() {
        let before = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"n": 1}});
        let ours = json!({"metadata": {"name": "j"}, "spec": {"rank": "1", "tags": ["a"], "ports": [{"label": "p", "rank": "2"}]}});
        let first = applied(&before, &ours, "us", false).unwrap();
        assert_eq!(
            first.pointer("/spec"),
            Some(&json!({"n": 1, "rank": "1", "tags": ["a"], "ports": [{"label": "p", "rank": "2"}]}))
        );
        let fields = json!({"f:spec": {"f:ports": {"k:{\"label\":\"p\"}": {"f:label": {}, "f:rank": {}, ".": {}}}, "f:rank": {}, "f:tags": {}}});
        assert_eq!(first.pointer("/metadata/managedFields/0/fieldsV1"), Some(&fields));

        let theirs = json!({"spec": {"rank": "1", "ports": [{"label": "q"}]}});
        let second = applied(&first, &theirs, "them", false).unwrap();
        assert_eq!(second.pointer("/spec/ports/1"), Some(&json!({"label": "q"})));
        let third = applied(&second, &json!({"spec": {"tags": ["b"]}}), "us", false).unwrap();
        assert_eq!(
            third.pointer("/spec"),
            Some(&json!({"n": 1, "rank": "1", "tags": ["b"], "ports": [{"label": "q"}]}))
        );

        let other = json!({"spec": {"rank": "3"}});
        let why = applied(&third, &other, "us", false).unwrap_err();
        assert_eq!(why, [Conflict { manager: "them".to_owned(), field: ".spec.rank".to_owned() }]);
        let won = applied(&third, &other, "us", true).unwrap();
        assert_eq!(won.pointer("/spec/rank"), Some(&json!("3")));
        assert_eq!(won.pointer("/metadata/managedFields/0/fieldsV1/f:spec/f:rank"), None);
    }
}
