//! The schemas of our kinds as an OpenAPI 3 document, which `kubectl explain` prints, and the paths, by which kubectl knows that the
//! server validates fields.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::discovery::groups;
use crate::kinds::{Kind, Kinds};

/// The schema of the metadata of every object.
const OBJECT_META: &str = include_str!("object_meta.json");
const META_NAME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What the server answers to a GET of this path; `None` if it is no path of a document.
pub(crate) fn answer(kinds: &Kinds, path: &str) -> Option<Answer> {
    let rest = path.strip_prefix("/openapi/v3")?.trim_start_matches('/');
    if rest.is_empty() {
        let paths: Map<String, Value> = groups(kinds)
            .iter()
            .map(|(group, version)| place(group, version))
            .map(|place| (place.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{place}?hash=1")})))
            .collect();
        return Some(Answer::done(200, json!({"paths": paths})));
    }
    let (group, version) = groups(kinds).into_iter().find(|(group, version)| place(group, version) == rest)?;
    let own: Vec<&Kind> = kinds.all().filter(|kind| kind.group == group && kind.version == version).collect();
    Some(Answer::done(200, document(&own)))
}

fn place(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn document(kinds: &[&Kind]) -> Value {
    let (mut paths, mut schemas) = (Map::new(), definitions());
    for kind in kinds {
        let root = format!("/{}", place(&kind.group, &kind.version));
        let all = if kind.namespaced {
            format!("{root}/namespaces/{{namespace}}/{}", kind.plural)
        } else {
            format!("{root}/{}", kind.plural)
        };
        paths.insert(
            all.clone(),
            json!({"get": operation(kind, "list", false), "post": operation(kind, "post", true),
            "delete": operation(kind, "deletecollection", false)}),
        );
        paths.insert(
            format!("{all}/{{name}}"),
            json!({"get": operation(kind, "get", false),
            "put": operation(kind, "put", true), "patch": operation(kind, "patch", true),
            "delete": operation(kind, "delete", false)}),
        );
        schemas.insert(name(kind), schema(kind));
    }
    json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.0"}, "paths": paths,
        "components": {"schemas": schemas}})
}

fn definitions() -> Map<String, Value> {
    serde_json::from_str(OBJECT_META).unwrap_or_default()
}

/// What kubectl reads of an operation: what it is about, and which parameters it has.
fn operation(kind: &Kind, action: &str, writes: bool) -> Value {
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let names: &[&str] = if writes { &["dryRun", "fieldManager", "fieldValidation"] } else { &[] };
    json!({"x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk(kind),
        "parameters": names.iter().copied().map(parameter).collect::<Vec<Value>>(),
        "responses": {"200": {"description": "OK"}}})
}

fn gvk(kind: &Kind) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.name})
}

/// `dev.gangmatch.v1alpha1.Job`: the group in reverse, as kube-apiserver names the schemas of CRDs.
fn name(kind: &Kind) -> String {
    let group: Vec<&str> = kind.group.split('.').rev().collect();
    let group = if kind.group.is_empty() { "core".to_owned() } else { group.join(".") };
    format!("{group}.{}.{}", kind.version, kind.name)
}

fn schema(kind: &Kind) -> Value {
    let nothing = json!({"type": "object", "description":
        "This embedded API server describes only the kinds of gangmatch.dev, and takes others as they are."});
    let mut schema = kind.schema.as_ref().map_or(nothing, |schema| schema.text().clone());
    let Some(fields) = schema.as_object_mut() else { return schema };
    fields.insert("x-kubernetes-group-version-kind".to_owned(), json!([gvk(kind)]));
    if !kind.listing.selectable.is_empty() {
        let paths: Vec<Value> = kind.listing.selectable.iter().map(|path| json!({"fieldPath": path})).collect();
        fields.insert("x-kubernetes-selectable-fields".to_owned(), json!(paths));
    }
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.values_mut().for_each(publish);
        properties.extend(common());
    }
    schema
}

/// The form in which the schema of a CRD is published: bounds as integers, and the two types of what may be either.
fn publish(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for bound in ["minimum", "maximum"] {
                let whole = fields.get(bound).and_then(Value::as_f64).filter(|bound| bound.fract() == 0.0);
                // The bounds of our kinds are small enough for that.
                if let (Some(whole), false) = (whole, fields.get(bound).is_some_and(Value::is_i64)) {
                    fields.insert(bound.to_owned(), serde_json::from_str(&format!("{whole:.0}")).unwrap_or_default());
                }
            }
            if fields.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
                fields.insert("anyOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}]));
            }
            fields.values_mut().for_each(publish);
        }
        Value::Array(items) => items.iter_mut().for_each(publish),
        _ => {}
    }
}

/// What every object has.
fn common() -> Vec<(String, Value)> {
    let meta = json!({"allOf": [{"$ref": format!("#/components/schemas/{META_NAME}")}],
        "description": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"});
    let text = |description: &str| json!({"type": "string", "description": description});
    vec![
        (
            "apiVersion".to_owned(),
            text(
                "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
            ),
        ),
        (
            "kind".to_owned(),
            text(
                "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
            ),
        ),
        ("metadata".to_owned(), meta),
    ]
}
