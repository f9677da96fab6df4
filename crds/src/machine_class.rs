//! The kind MachineClass (gmc): turns which nodes become Machines, and on whose terms, into fields.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AdFields, ExprText, OfferFields, rules, schemas};

/// Which nodes become Machines, and on whose terms. What the node itself says is added to each Machine's attributes; what is
/// written here wins.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangmatch.dev",
    version = "v1alpha1",
    kind = "MachineClass",
    plural = "machineclasses",
    shortname = "gmc",
    category = "gangmatch",
    status = "MachineClassStatus",
    derive = "PartialEq",
    doc = "A MachineClass (gmc) makes a Machine of every node that it selects, and keeps it in line with the node.",
    printcolumn = r#"{"name":"Namespace","type":"string","jsonPath":".spec.namespace"}"#,
    printcolumn = r#"{"name":"Nodes","type":"integer","jsonPath":".status.nodes"}"#,
    printcolumn = r#"{"name":"Machines","type":"integer","jsonPath":".status.machines"}"#,
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type==\"Accepted\")].reason"}"#,
    printcolumn = r#"{"name":"Owner","type":"string","jsonPath":".spec.owner","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::machine_class_spec()))]
pub struct MachineClassSpec {
    /// The labels of the nodes that are meant. An empty selector means every node. A node that several classes mean belongs to the
    /// oldest of them. Example: {matchLabels: {pool: lab}}
    #[schemars(schema_with = "schemas::label_selector")]
    pub selector: LabelSelector,

    /// Where the Machines are made; immutable. Example: grid
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,

    /// The ad, but for what is known of the node. Not as text.
    #[serde(flatten)]
    pub ad: AdFields,

    /// How much there is of each resource; at most 8. Expressions over the node's attributes; one that gives no whole number is
    /// left out. Absent: one slot. Example: {cpus: Cpus - 2, memory: Memory - 4096}
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 8))]
    pub capacity: BTreeMap<String, ExprText>,

    /// What pods on these nodes may tolerate, once they are claimed; at most 16. Example: [{key: lab, operator: Exists, effect:
    /// NoSchedule}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "atomic"))]
    pub tolerations: Vec<Toleration>,

    /// How they are taken. `stopPolicy` is what a new Machine begins with; on one that is there it is left alone.
    #[serde(flatten)]
    pub offer: OfferFields,
}

/// One taint, or several, that pods may tolerate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Toleration {
    /// The taint's key; absent with operator Exists: every taint. Example: lab
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 316))]
    pub key: String,
    /// Exists, or Equal, which compares the value too. Absent: Equal. Example: Exists
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 16))]
    pub operator: String,
    /// The taint's value. Example: eda
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub value: String,
    /// The taint's effect; absent: all. Example: NoSchedule
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub effect: String,
}

impl Toleration {
    /// As an ad in the attribute `Tolerations` of a Machine.
    pub fn ad(&self) -> Value {
        let fields =
            [("Key", &self.key), ("Operator", &self.operator), ("Value", &self.value), ("Effect", &self.effect)];
        let written = fields.into_iter().filter(|(_, text)| !text.is_empty());
        Value::Object(written.map(|(name, text)| (name.to_owned(), Value::String(text.clone()))).collect())
    }
}

/// What became of a class; written by the controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineClassStatus {
    /// The metadata.generation that this status speaks of. Example: 3
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How many nodes belong to it. Example: 20
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<i32>,

    /// How many of them have their Machine. Example: 20
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<i32>,

    /// Accepted. Example: [{type: Accepted, status: "True", reason: Accepted}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}
