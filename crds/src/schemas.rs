//! Turns field types that schemars cannot describe for the API server into structural schemas written by hand.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Largest quantity of a resource that an offer can have or a claim can take.
pub const QUANTITY_MAX: i64 = 1 << 40;

/// How long the names of the resources of an object may be together, in characters. They stand in every Match that takes some.
const NAMES_MAX: usize = 512;

/// The rule for it.
pub(crate) fn short_names() -> serde_json::Value {
    serde_json::json!([{
        "rule": format!("self.map(name, size(name)).sum() <= {NAMES_MAX}"),
        "message": format!("names of resources have at most {NAMES_MAX} characters together"),
    }])
}

/// An object whose keys and values are free.
pub(crate) fn free_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A map of free values that CEL sees the keys of.
pub(crate) fn free_values(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 32,
        "additionalProperties": { "x-kubernetes-preserve-unknown-fields": true },
    })
}

/// What there is of each resource: nothing of one is allowed.
pub(crate) fn amounts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 8,
        "additionalProperties": { "type": "integer", "format": "int64", "minimum": 0, "maximum": QUANTITY_MAX },
        "x-kubernetes-validations": short_names(),
    })
}

/// What is held of some resources: at least one of one of them.
pub(crate) fn holding(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 8,
        "additionalProperties": { "type": "integer", "format": "int64", "minimum": 1, "maximum": QUANTITY_MAX },
        "x-kubernetes-validations": short_names(),
    })
}

/// Shared seats by share key.
pub(crate) fn seats(generator: &mut SchemaGenerator) -> Schema {
    let seat = holding(generator).to_value();
    json_schema!({ "type": "object", "maxProperties": 256, "additionalProperties": seat })
}

/// A label selector.
pub(crate) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchLabels": {
                "type": "object",
                "maxProperties": 32,
                "additionalProperties": { "type": "string", "maxLength": 63 },
                "x-kubernetes-validations": [{
                    "rule": "self.all(key, size(key) <= 317)",
                    "message": "keys of labels have at most 317 characters",
                }],
                "description": "Labels that are required, with their values; at most 32. Example: {team: eda}",
            },
            "matchExpressions": {
                "type": "array",
                "maxItems": 8,
                "x-kubernetes-list-type": "atomic",
                "description": "Further requirements, at most 8; all of them must be met.",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": { "type": "string", "maxLength": 317, "description": "The key of the label. Example: team" },
                        "operator": {
                            "type": "string",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                            "description": "The relation between the label and the values. Example: In",
                        },
                        "values": {
                            "type": "array",
                            "maxItems": 1024,
                            "x-kubernetes-list-type": "atomic",
                            "items": { "type": "string", "maxLength": 63 },
                            "description": "The values, at most 1024; only for In and NotIn. Example: [eda, cfd]",
                        },
                    },
                },
            },
        },
        "x-kubernetes-map-type": "atomic",
    })
}

/// A list of conditions, one per type.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {
                    "type": "string",
                    "maxLength": 316,
                    "description": "The type of the condition. Example: Accepted",
                },
                "status": {
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                    "description": "Whether the condition holds. Example: \"True\"",
                },
                "reason": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                    "description": "The reason, as one word for programs. Example: NoCandidates",
                },
                "message": {
                    "type": "string",
                    "maxLength": 32768,
                    "description": "The reason, as a sentence for people. Example: 412 machines: Arch is not INTEL",
                },
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When the status last changed, RFC 3339. Example: 2026-11-21T14:00:00Z",
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "The metadata.generation that this condition was computed for. Example: 3",
                },
            },
        },
    })
}
