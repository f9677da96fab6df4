//! Strategic merge patches, which kubectl sends for Kubernetes' own kinds: lists are merged by the key of their items.

use serde_json::{Map, Value, json};

/// The key by which the items of a list are merged; other lists are replaced. Lists of this name have the same key in all kinds that
/// are served here.
const MERGE_KEYS: [(&str, &str); 12] = [
    ("addresses", "type"),
    ("conditions", "type"),
    ("containers", "name"),
    ("env", "name"),
    ("ephemeralContainers", "name"),
    ("hostAliases", "ip"),
    ("imagePullSecrets", "name"),
    ("initContainers", "name"),
    ("ownerReferences", "uid"),
    ("ports", "containerPort"),
    ("volumeMounts", "mountPath"),
    ("volumes", "name"),
];
/// Lists of words that are united.
const UNITED: [&str; 2] = ["finalizers", "podCIDRs"];

/// The key by which the items of a list of this name are merged.
pub(crate) fn merge_key(list: &str) -> Option<&'static str> {
    MERGE_KEYS.iter().find(|(name, _)| *name == list).map(|(_, key)| *key)
}

/// Applies a strategic merge patch.
pub(crate) fn strategic_patch(object: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *object = patch.clone();
        return;
    };
    if changes.get("$patch") == Some(&json!("replace")) {
        *object = without_directives(patch);
        return;
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(fields) = object.as_object_mut() else { return };
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            take_out(fields.get_mut(list), change);
        } else if name.starts_with('$') {
            continue;
        } else if change.is_null() || change.get("$patch") == Some(&json!("delete")) {
            fields.shift_remove(name);
        } else if let Value::Array(items) = change {
            let list = fields.entry(name.clone()).or_insert_with(|| json!([]));
            merge_list(name, list, items);
        } else {
            strategic_patch(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

fn merge_list(name: &str, list: &mut Value, changes: &[Value]) {
    let Some(items) = list.as_array_mut() else { return };
    match merge_key(name) {
        Some(key) => changes.iter().for_each(|change| merge_item(items, key, change)),
        None if UNITED.contains(&name) => {
            for change in changes {
                if !items.contains(change) {
                    items.push(change.clone());
                }
            }
        }
        None => *items = changes.iter().map(without_directives).collect(),
    }
}

fn merge_item(items: &mut Vec<Value>, key: &str, change: &Value) {
    let place = items.iter().position(|item| item.get(key) == change.get(key));
    match (place, change.get("$patch").and_then(Value::as_str)) {
        (_, Some("replace")) => items.clear(),
        (Some(place), Some("delete")) => drop(items.remove(place)),
        (None, Some("delete")) => {}
        (Some(place), _) => {
            if let Some(item) = items.get_mut(place) {
                strategic_patch(item, change);
            }
        }
        (None, _) => items.push(without_directives(change)),
    }
}

fn take_out(list: Option<&mut Value>, gone: &Value) {
    if let (Some(items), Some(gone)) = (list.and_then(Value::as_array_mut), gone.as_array()) {
        items.retain(|item| !gone.contains(item));
    }
}

/// What is new, without what is said of the merge.
fn without_directives(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let own = fields.iter().filter(|(name, value)| !name.starts_with('$') && !value.is_null());
            Value::Object(own.map(|(name, value)| (name.clone(), without_directives(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_directives).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_merged_by_their_keys() {
        let mut pod = json!({"metadata": {"finalizers": ["a", "b"], "labels": {"x": "1"}}, "spec": {
            "containers": [{"name": "c", "image": "old", "args": ["1", "2"]}, {"name": "d"}]}});
        let patch = json!({"metadata": {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"],
            "labels": {"x": null}, "$setElementOrder/finalizers": ["b", "c"]}, "spec": {"containers": [
            {"name": "c", "image": "new", "args": ["3"]}, {"name": "d", "$patch": "delete"}, {"name": "e"}]}});
        strategic_patch(&mut pod, &patch);
        assert_eq!(
            pod,
            json!({"metadata": {"finalizers": ["b", "c"], "labels": {}}, "spec": {"containers": [
            {"name": "c", "image": "new", "args": ["3"]}, {"name": "e"}]}})
        );
        strategic_patch(&mut pod, &json!({"spec": {"$patch": "replace", "nodeName": "n"}}));
        assert_eq!(pod.pointer("/spec"), Some(&json!({"nodeName": "n"})));
    }
}
