//! Turns the part of a spec in which an ad is written, the same in every kind, into Rust fields.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{bounded, expr_text::ExprText, rules, schemas};

/// The fields in which an ad is written; part of the spec of every kind of ad.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdFields {
    /// The user who created the ad. The API server sets it to the authenticated user; immutable. In expressions it is
    /// Owner. Example: system:serviceaccount:eda:deployer
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub owner: Option<String>,

    /// The whole ad as text: in brackets, in HTCondor's long form (one Name = expression on each line), or in
    /// HTCondor's JSON form. The first character tells which form it is. Cannot be combined with attributes,
    /// expressions, constraint, rank, request or ports. At most 262144 characters. Example: "[ Memory = 64;
    /// Requirements = other.Memory >= Memory ]"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262144))]
    pub classad: Option<String>,

    /// Attributes of the ad as literals: numbers, strings, booleans, lists and maps; at most 256. Write reals with an
    /// integral value (1.0) in expressions; null is not a literal. Example: {Cmd: sim_app, ImageSize: 28000000, Tags:
    /// [fast, cheap]}
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "bounded::map")]
    #[schemars(schema_with = "schemas::free_object", extend("maxProperties" = 256))]
    pub attributes: Option<BTreeMap<String, Value>>,

    /// Attributes of the ad as ClassAd expressions, by name; at most 256, each of at most 16384 characters. Quote
    /// booleans and fractions. Example: {RequestMemory: ImageSize / 1000000, KeyboardIdle: time() - LastInput}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 256))]
    pub expressions: Option<BTreeMap<String, ExprText>>,

    /// The condition on the partner of an ad without ports: only a partner for which it is true is accepted. The
    /// partner is called other. Absent: every partner is accepted. At most 16384 characters. Example: other.Type ==
    /// "Machine" && other.Memory >= 64 (in a Job), other.Owner != "riffraff" (in an offer)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ExprText>,

    /// How much a partner is preferred, for an ad without ports. Larger is better; a value that is not a number
    /// counts as 0. Unit: chosen by the author. Example: other.KFlops / 1E3
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<ExprText>,

    /// How much of the partner is requested, by resource, for an ad without ports; at most 8 resources. Units: those
    /// of the offer's capacity (memory in MiB, cpus as a whole number). A quantity of Kubernetes is converted if it is
    /// a whole number of these units. Absent in a job with a jobTemplate: what its pods request. Example: {cpus: 2,
    /// memory: 4Gi}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 8))]
    pub request: Option<BTreeMap<String, ExprText>>,

    /// The partners that the ad needs at the same time, one for each port without a count. A port can read the partners of earlier
    /// ports by their labels. At most 8. Cannot be combined with constraint, rank or request of the ad. Example:
    /// [{label: cpu, constraint: cpu.Memory >= 64}]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxItems" = 8, "x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = rules::ports()))]
    pub ports: Option<Vec<Port>>,

    /// Names of attributes that the ad's own expressions can use, but that no partner can read and no explanation
    /// shows; at most 64. An attribute that is computed from them is not private itself. Not allowed: attributes that
    /// the system sets, and those that say which partners are wanted. Example: ["ContractPrice"]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxItems" = 64, "x-kubernetes-list-type" = "set"), inner(length(min = 1, max = 256)))]
    pub private: Option<Vec<String>>,
}

/// One partner that the ad needs, or a set of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::port()))]
pub struct Port {
    /// The name of the partner in the expressions of this port and of later ports: a letter or underscore, then
    /// letters, digits or underscores; at most 63 characters, and not a reserved word of the language. Example: cpu
    #[schemars(
        length(max = 63),
        regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"),
        extend("x-kubernetes-validations" = rules::label())
    )]
    pub label: String,

    /// Attributes that only the partner at this port can read, as literals. They hide attributes of the ad with the
    /// same name. At most 256. Example: {Kind: batch}
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "bounded::map")]
    #[schemars(schema_with = "schemas::free_object", extend("maxProperties" = 256))]
    pub attributes: Option<BTreeMap<String, Value>>,

    /// Attributes that only the partner at this port can read, as expressions, which can use the labels of earlier
    /// ports. At most 256, each of at most 16384 characters. Example: {Host: cpu.Name}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 256))]
    pub expressions: Option<BTreeMap<String, ExprText>>,

    /// The condition on the partner at this port: only a partner for which it is true is accepted. Absent: every
    /// partner is accepted. At most 16384 characters. Example: license.Type == "License" && license.App == Cmd
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ExprText>,

    /// How much a partner is preferred at this port. Larger is better; a value that is not a number counts as 0.
    /// Unit: chosen by the author. Example: cpu.KFlops / 1E3 + cpu.Memory / 32
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<ExprText>,

    /// How much of the partner is requested, by resource; at most 8 resources. Units: those of the offer's capacity
    /// (memory in MiB, cpus as a whole number). A quantity of Kubernetes is converted if it is a whole number of these
    /// units. Example: {cpus: 2, memory: 4Gi}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 8))]
    pub request: Option<BTreeMap<String, ExprText>>,

    /// What a counted port says of its partners together.
    #[serde(flatten)]
    pub set: SetFields,
}

/// The fields of a counted port: how many offers it binds, and which of them go together. All are absent if the port has one partner.
#[expect(
    rustdoc::broken_intra_doc_links,
    reason = "an example such as [Rack] is a list, as in `kubectl explain`, and no link"
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetFields {
    /// How many different offers the port binds at the same time: an integer, 1 to 63. It can read the labels of earlier
    /// ports. With a count, even 1, the label is a list of the partners afterwards; in constraint, rank and request it is
    /// one of them. Absent, and without minCount: one partner, which the label is. Example: 8
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<ExprText>,

    /// The fewest offers that the port binds, 1 to 63; together with maxCount, instead of count. Example: 4
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_count: Option<ExprText>,

    /// The most offers that the port binds, 1 to 63; together with minCount. Example: 8
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_count: Option<ExprText>,

    /// Names of attributes that have one and the same value in all partners at this port; case counts in texts, and
    /// undefined is no value. At most 4. Example: [Rack]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        extend("minItems" = 1, "maxItems" = 4, "x-kubernetes-list-type" = "set"),
        inner(length(min = 1, max = 63))
    )]
    pub same: Option<Vec<String>>,

    /// Names of attributes that have a different value in each partner at this port; undefined is no value. At most 4.
    /// Example: [Switch]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        extend("minItems" = 1, "maxItems" = 4, "x-kubernetes-list-type" = "set"),
        inner(length(min = 1, max = 63))
    )]
    pub distinct: Option<Vec<String>>,

    /// The condition on the partners at this port together; the label is their list. At most 16384 characters. Example:
    /// sum(node.Memory) >= 512000
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_constraint: Option<ExprText>,

    /// How much the partners at this port are preferred together; the label is their list. It replaces the sum of
    /// their ranks. Unit: chosen by the author. Example: min(node.KFlops) * size(node)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_rank: Option<ExprText>,
}
