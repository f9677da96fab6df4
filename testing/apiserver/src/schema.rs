//! What an object has to look like: a CRD's schema into what is cut off, what is filled in, and what is wrong.

mod shape;

use std::collections::BTreeMap;
use std::fmt;

use kube_cel::{CompiledSchema, ErrorKind, Validator, compile_schema};
use regex::Regex;
use serde_json::{Map, Value};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Where.
    pub field: String,
    /// What sort of mistake, as Kubernetes calls it.
    pub reason: String,
    /// What is wrong.
    pub message: String,
}

impl Cause {
    fn new(field: &str, reason: &str, message: String) -> Cause {
        Cause { field: field.to_owned(), reason: reason.to_owned(), message }
    }

    /// Whether the rules are not even looked at then.
    fn blocks(&self) -> bool {
        let blocking = ["Required", "NotSupported", "TooLong", "TooMany", "TypeInvalid"];
        blocking.iter().any(|kind| self.reason.ends_with(kind))
    }
}

/// The schema of a kind, with its rules.
pub struct Schema {
    root: Value,
    patterns: BTreeMap<String, Regex>,
    rules: CompiledSchema,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

impl Schema {
    /// Takes a CRD's `openAPIV3Schema`.
    #[must_use]
    pub fn new(root: &Value) -> Schema {
        let mut patterns = BTreeMap::new();
        compile_patterns(root, &mut patterns);
        Schema { root: root.clone(), patterns, rules: compile_schema(root) }
    }

    /// The schema as the CRD has it.
    #[must_use]
    pub fn text(&self) -> &Value {
        &self.root
    }

    /// Cuts off what the schema does not know, and fills in defaults. The paths that were cut off.
    pub fn complete(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        if let Some(fields) = object.as_object_mut() {
            let properties = self.root.get("properties").and_then(Value::as_object);
            let known = |name: &String| {
                matches!(name.as_str(), "apiVersion" | "kind" | "metadata")
                    || properties.is_some_and(|all| all.contains_key(name))
            };
            fields.retain(|name, _| {
                known(name) || {
                    unknown.push(name.clone());
                    false
                }
            });
            for (name, schema) in properties.into_iter().flatten().filter(|(name, _)| *name != "metadata") {
                if let Some(value) = fields.get_mut(name) {
                    prune(schema, value, name, &mut unknown);
                }
            }
        }
        fill(&self.root, object);
        unknown
    }

    /// Everything that is wrong with an object; `before` is what it replaces.
    #[must_use]
    pub fn check(&self, validator: &Validator, object: &Value, before: Option<&Value>) -> Vec<Cause> {
        let mut causes = shape::check(&shape::Node { schema: &self.root, patterns: &self.patterns }, object, "");
        if causes.iter().any(Cause::blocks) {
            let message = "Invalid value: null: some validation rules were not checked because the object was invalid; \
                correct the existing errors to complete validation";
            causes.push(Cause::new("<nil>", "FieldValueInvalid", message.to_owned()));
            return causes;
        }
        if let Err(errors) = validator.validate_compiled(&self.rules, object, before) {
            causes.extend(errors.into_vec().into_iter().map(|error| {
                let what = match error.kind {
                    ErrorKind::ValidationFailure => error.message,
                    kind => format!("the rule `{}` cannot be evaluated here ({kind:?}): {}", error.rule, error.message),
                };
                let reason = error.reason.unwrap_or_else(|| "FieldValueInvalid".to_owned());
                Cause::new(&place(&self.root, &error.field_path), &reason, format!("Invalid value: {what}"))
            }));
        }
        causes
    }

    /// The rules that cannot be read here, with why.
    #[must_use]
    pub fn unreadable(&self) -> Vec<String> {
        let mut all = Vec::new();
        unreadable(&self.rules, &mut all);
        all
    }
}

/// A path as the rules' evaluator writes it into one as the API server does: keys of maps stand in brackets.
fn place(root: &Value, path: &str) -> String {
    let (mut schema, mut written) = (Some(root), String::new());
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let name = part.split('[').next().unwrap_or(part);
        let property = schema.and_then(|schema| schema.get("properties")?.get(name));
        let of_map = schema.and_then(|schema| schema.get("additionalProperties"));
        match (property, of_map) {
            (None, Some(_)) => written.push_str(&format!("[{part}]")),
            _ if written.is_empty() => written.push_str(part),
            _ => written.push_str(&format!(".{part}")),
        }
        let next = property.or(of_map);
        schema = if part.contains('[') { next.and_then(|next| next.get("items")) } else { next };
    }
    written
}

fn unreadable(node: &CompiledSchema, all: &mut Vec<String>) {
    all.extend(node.compilation_errors().iter().map(ToString::to_string));
    let children = node.properties.values().chain(node.items.as_deref()).chain(node.additional_properties.as_deref());
    children.for_each(|child| unreadable(child, all));
}

/// All patterns of a schema. One that cannot be read here is left out, and matches nothing.
fn compile_patterns(schema: &Value, patterns: &mut BTreeMap<String, Regex>) {
    match schema {
        Value::Object(fields) => {
            let pattern = fields.get("pattern").and_then(Value::as_str);
            let compiled = pattern.and_then(|pattern| Some((pattern.to_owned(), Regex::new(pattern).ok()?)));
            patterns.extend(compiled);
            fields.values().for_each(|field| compile_patterns(field, patterns));
        }
        Value::Array(items) => items.iter().for_each(|item| compile_patterns(item, patterns)),
        _ => {}
    }
}

fn is_true(schema: &Value, word: &str) -> bool {
    schema.get(word) == Some(&Value::Bool(true))
}

/// Cuts off what the schema does not know.
fn prune(schema: &Value, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let others = schema.get("additionalProperties");
            let keeps = is_true(schema, "x-kubernetes-preserve-unknown-fields") || others.is_some();
            fields.retain(|name, _| {
                let known = keeps || properties.is_some_and(|all| all.contains_key(name));
                if !known {
                    unknown.push(format!("{path}.{name}"));
                }
                known
            });
            for (name, field) in fields {
                let own = properties.and_then(|all| all.get(name)).or(others.filter(|others| others.is_object()));
                if let Some(own) = own {
                    prune(own, field, &format!("{path}.{name}"), unknown);
                }
            }
        }
        Value::Array(items) => {
            if let Some(own) = schema.get("items") {
                for (place, item) in items.iter_mut().enumerate() {
                    prune(own, item, &format!("{path}[{place}]"), unknown);
                }
            }
        }
        _ => {}
    }
}

/// Fills in defaults, also into what was filled in just now. A null that may not be one is as if it were not there.
fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let none = Map::new();
            let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
            let others = schema.get("additionalProperties").filter(|others| others.is_object());
            let nullable = |name: &str| properties.get(name).or(others).is_none_or(|own| is_true(own, "nullable"));
            fields.retain(|name, field| !field.is_null() || nullable(name));
            for (name, own) in properties {
                if let Some(default) = own.get("default").filter(|_| !fields.contains_key(name)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, field) in fields {
                if let Some(own) = properties.get(name).or(others) {
                    fill(own, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(own) = schema.get("items") {
                items.iter_mut().for_each(|item| fill(own, item));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_known_is_cut_off_and_defaults_are_filled_into_defaults() {
        let schema = Schema::new(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "status": {"type": "object", "default": {}, "properties": {
                "claims": {"type": "object", "default": {}, "additionalProperties": {
                    "type": "object", "properties": {"vote": {"type": "string", "default": "Pending"}}}},
            }},
        }}));
        let mut object = json!({"kind": "X", "metadata": {"name": "x"}, "spec": {"n": 1, "m": 2}, "other": 1});
        assert_eq!(schema.complete(&mut object), ["other", "spec.m"]);
        let whole = json!({"kind": "X", "metadata": {"name": "x"}, "spec": {"n": 1}, "status": {"claims": {}}});
        assert_eq!(object, whole);
        let mut claimed = json!({"status": {"claims": {"u": {"vote": null}}}});
        assert!(schema.complete(&mut claimed).is_empty());
        assert_eq!(claimed.pointer("/status/claims/u/vote"), Some(&json!("Pending")));
    }

    #[test]
    fn rules_are_not_looked_at_while_the_shape_is_wrong() {
        let schema = Schema::new(&json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}},
            "x-kubernetes-validations": [{"rule": "self.n > oldSelf.n", "message": "it grows", "fieldPath": ".n"}]}));
        let check = |object: Value, before: Option<Value>| {
            let causes = schema.check(&Validator::new(), &object, before.as_ref());
            causes.into_iter().map(|cause| format!("{} {}", cause.field, cause.reason)).collect::<Vec<_>>()
        };
        assert!(check(json!({"n": 1}), None).is_empty(), "there is nothing before");
        assert!(check(json!({"n": 2}), Some(json!({"n": 1}))).is_empty());
        assert_eq!(check(json!({"n": 1}), Some(json!({"n": 1}))), ["n FieldValueInvalid"]);
        assert_eq!(
            check(json!({"n": "1"}), Some(json!({"n": 1}))),
            ["n FieldValueTypeInvalid", "<nil> FieldValueInvalid"]
        );
    }
}
