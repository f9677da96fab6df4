//! Turns the schemas of the kinds into a page with a table of their fields.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::{HEADER, cell, code};

const INTRODUCTION: &str = "\
# API fields

The kinds of `gangmatch.dev/v1alpha1`, with all fields of `spec` and `status`. `kubectl explain gmj.spec` shows the same text. A name that ends with `[]` is a list;
`<key>` stands for any key of a map. A field without a default is optional, unless it is marked as required.

";
/// Fields whose parts are those of a type of Kubernetes that its own documentation describes.
const KNOWN: [&str; 4] = ["conditions", "selector", "namespaceSelector", "jobTemplate"];

/// The page.
///
/// # Errors
/// When a definition has no schema.
pub(super) fn page(definitions: &[Value]) -> Result<String> {
    let mut text = format!("{HEADER}{INTRODUCTION}");
    for definition in definitions {
        text.push_str(&kind(definition)?);
    }
    Ok(format!("{}\n", text.trim_end()))
}

fn kind(definition: &Value) -> Result<String> {
    let at = |path: &str| definition.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema").context("a kind without a schema")?;
    let (name, short, scope) = (at("/spec/names/kind"), at("/spec/names/shortNames/0"), at("/spec/scope"));
    let scope = if scope == "Cluster" { "cluster-scoped" } else { "namespaced" };
    let mut text = format!("## {name}\n\n{}\n\n", cell(description(schema)));
    text.push_str(&format!(
        "`kubectl get {}.gangmatch.dev`, short name `{short}`; {scope}.\n\n",
        at("/spec/names/plural")
    ));
    for part in ["spec", "status"] {
        let Some(part_schema) = schema.pointer(&format!("/properties/{part}")) else { continue };
        let mut rows = Vec::new();
        fields(part, part_schema, &mut rows);
        text.push_str("| field | type | default | meaning |\n|---|---|---|---|\n");
        text.extend(rows.iter().map(|row| format!("{row}\n")));
        text.push('\n');
    }
    let mut rules = Vec::new();
    collect_rules("", schema, &mut rules);
    if !rules.is_empty() {
        text.push_str(&format!("The API server refuses a {name} with these messages:\n\n"));
        text.extend(rules.iter().map(|rule| format!("- {rule}\n")));
        text.push('\n');
    }
    Ok(text)
}

/// One row for each field below this one, outer fields first.
fn fields(path: &str, schema: &Value, rows: &mut Vec<String>) {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in properties(schema) {
        let path = format!("{path}.{name}");
        let default = match field.get("default") {
            Some(default) => code(&default.to_string()),
            None if required.contains(&name.as_str()) => "required".to_owned(),
            None => String::new(),
        };
        // The column has it already.
        let about = description(field);
        let about =
            about.rsplit_once(". Default: ").filter(|_| !default.is_empty()).map_or(about, |(before, _)| before);
        rows.push(format!("| {} | {} | {default} | {} |", code(&path), kind_of(field), meaning(about)));
        if !KNOWN.contains(&name.as_str()) {
            let (path, inner) = inside(&path, field);
            fields(&path, inner, rows);
        }
    }
}

/// The schema whose properties are the parts of a field, and how they are named.
fn inside<'a>(path: &str, field: &'a Value) -> (String, &'a Value) {
    match (field.get("items"), field.get("additionalProperties").filter(|inner| inner.is_object())) {
        (Some(items), _) => (format!("{path}[]"), items),
        (None, Some(values)) => (format!("{path}.<key>"), values),
        (None, None) => (path.to_owned(), field),
    }
}

fn kind_of(field: &Value) -> String {
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().filter_map(Value::as_str).map(code).collect();
        return values.join(", ");
    }
    let (_, inner) = inside("", field);
    match field.get("type").and_then(Value::as_str) {
        Some("array") => format!("list of {}", kind_of(inner)),
        Some("object") if field.get("additionalProperties").is_some_and(Value::is_object) => {
            format!("map of {}", kind_of(inner))
        }
        Some(name) => name.to_owned(),
        None if field.get("x-kubernetes-int-or-string") == Some(&json!(true)) => "integer or string".to_owned(),
        None => "any".to_owned(),
    }
}

/// The description, with its example as code.
fn meaning(description: &str) -> String {
    match description.rsplit_once("Example: ") {
        Some((text, example)) if !example.contains('`') => format!("{}Example: {}", cell(text), code(example)),
        _ => cell(description),
    }
}

/// The messages of all rules, each with the field that it belongs to.
fn collect_rules(path: &str, schema: &Value, rules: &mut Vec<String>) {
    let own = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    for message in own.into_iter().flatten().filter_map(|rule| rule.get("message")).filter_map(Value::as_str) {
        let place = if path.is_empty() { String::new() } else { format!("{}: ", code(path)) };
        rules.push(format!("{place}{}", cell(message)));
    }
    for (name, field) in properties(schema) {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        collect_rules(&path, field, rules);
        let (inner_path, inner) = inside(&path, field);
        if !std::ptr::eq(inner, field) {
            collect_rules(&inner_path, inner, rules);
        }
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}
