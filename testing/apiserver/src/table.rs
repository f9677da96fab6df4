//! Objects into a table, which is what `kubectl get` asks for.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::call::Call;
use crate::kinds::Kind;

/// How a call wants its table.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// What of an object stands beside its cells: `Metadata`, `Object` or `None`.
    include: String,
}

impl Wish {
    /// `None` if it wants the objects themselves.
    pub(crate) fn of(call: &Call) -> Option<Wish> {
        let accepts = |form: &str| {
            let mut parts = form.split(';').map(str::trim);
            parts.next() == Some("application/json") && {
                let parts: Vec<&str> = parts.collect();
                ["as=Table", "v=v1", "g=meta.k8s.io"].iter().all(|part| parts.contains(part))
            }
        };
        let include = Some(call.asks("includeObject")).filter(|include| !include.is_empty()).unwrap_or("Metadata");
        call.accept.split(',').any(accepts).then(|| Wish { include: include.to_owned() })
    }

    /// A list, or an object, as a table.
    pub(crate) fn table(&self, kind: &Kind, body: &Value, now: Timestamp) -> Value {
        match body.get("items").and_then(Value::as_array) {
            Some(items) => {
                let metadata = body.get("metadata").cloned().unwrap_or_default();
                table(&metadata, kind, items.iter().map(|item| self.row(kind, item, now)).collect())
            }
            None => self.single(kind, body, now),
        }
    }

    /// One object as a table.
    pub(crate) fn single(&self, kind: &Kind, object: &Value, now: Timestamp) -> Value {
        let version = json!({"resourceVersion": object.pointer("/metadata/resourceVersion")});
        table(&version, kind, vec![self.row(kind, object, now)])
    }

    fn row(&self, kind: &Kind, object: &Value, now: Timestamp) -> Value {
        let cells: Vec<Value> = kind.listing.columns.iter().map(|column| column.cell(object, now)).collect();
        let object = match self.include.as_str() {
            "Object" => object.clone(),
            "None" => Value::Null,
            _ => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object.get("metadata")})
            }
        };
        json!({"cells": cells, "object": object})
    }
}

/// A table without its header, as a watch sends it after the first one.
pub(crate) fn without_header(mut table: Value) -> Value {
    if let Some(fields) = table.as_object_mut() {
        fields.insert("columnDefinitions".to_owned(), Value::Null);
    }
    table
}

fn table(metadata: &Value, kind: &Kind, rows: Vec<Value>) -> Value {
    let definitions: Vec<Value> = kind.listing.columns.iter().map(crate::columns::Column::definition).collect();
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": definitions,
        "rows": rows})
}
