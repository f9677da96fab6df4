//! The kind MachineClass (gmc): turns the nodes that become Machines, and the terms on which they can be claimed,
//! into fields.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AdFields, ExprText, OfferFields, rules, schemas};

/// The spec of a MachineClass: which nodes become Machines, and on which terms. The attributes of the node are added
/// to each Machine; an attribute that is written here takes precedence.
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
    doc = "A MachineClass (gmc) creates a Machine for every node that it selects, and keeps it up to date with the node.",
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
    /// The labels of the nodes that become Machines. An empty selector selects every node. A node that several
    /// classes select belongs to the oldest of them. Example: {matchLabels: {pool: lab}}
    #[schemars(schema_with = "schemas::label_selector")]
    pub selector: LabelSelector,

    /// The namespace in which the Machines are created; immutable. Example: grid
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,

    /// The ad, without the attributes of the node. It cannot be written as text.
    #[serde(flatten)]
    pub ad: AdFields,

    /// The amount of each resource, as expressions over the attributes of the node; at most 8 resources. A resource
    /// whose expression does not give a whole number is left out. Units: memory in MiB, or as a quantity such as 4Gi.
    /// Absent: one slot. Example: {cpus: Cpus - 2, memory: Memory - 4096}
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 8, "x-kubernetes-validations" = crate::schemas::short_names()))]
    pub capacity: BTreeMap<String, ExprText>,

    /// The tolerations that are added to pods on these nodes once the nodes are claimed; at most 16. Example: [{key:
    /// lab, operator: Exists, effect: NoSchedule}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "atomic"))]
    pub tolerations: Vec<Toleration>,

    /// The terms on which the Machines can be claimed. `stopPolicy` applies to new Machines only; the stopPolicy of
    /// an existing Machine is not changed.
    #[serde(flatten)]
    pub offer: OfferFields,
}

/// A toleration: the taint, or the taints, that pods may tolerate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Toleration {
    /// The key of the taint. Absent, with operator Exists: every taint. Example: lab
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 316))]
    pub key: String,
    /// Exists, or Equal, which also compares the value. Absent: Equal. Example: Exists
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 16))]
    pub operator: String,
    /// The value of the taint. Example: eda
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub value: String,
    /// The effect of the taint. Absent: all effects. Example: NoSchedule
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

/// The status of a MachineClass. Written by the controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineClassStatus {
    /// The metadata.generation that this status was computed for. Example: 3
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How many nodes belong to the class. Example: 20
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<i32>,

    /// How many of these nodes have their Machine. Example: 20
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<i32>,

    /// The condition Accepted. Example: [{type: Accepted, status: "True", reason: Accepted}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}
