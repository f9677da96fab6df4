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
    /// Who created the ad: stamped by the API server from the authenticated user, immutable. In expressions it is
    /// Owner. Example: system:serviceaccount:eda:deployer
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub owner: Option<String>,

    /// The whole ad as text: in brackets, in HTCondor's long form (one Name = expression per line), or in its JSON form; told
    /// apart by the first character. Excludes attributes, expressions, constraint, rank, request and ports. At most 262144
    /// characters. Example: "[ Memory = 64; Requirements = other.Memory >= Memory ]"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262144))]
    pub classad: Option<String>,

    /// Attributes of the ad as literals: numbers, strings, booleans, lists, maps; at most 256. Reals with an integral value
    /// (1.0) are expressions, null is not a literal. Example: {Cmd: sim_app, ImageSize: 28000000, Tags: [fast, cheap]}
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "bounded::map")]
    #[schemars(schema_with = "schemas::free_object", extend("maxProperties" = 256))]
    pub attributes: Option<BTreeMap<String, Value>>,

    /// Attributes of the ad as ClassAd expressions, by name; at most 256 of at most 16384 characters. Booleans and fractions
    /// are quoted. Example: {RequestMemory: ImageSize / 1000000, KeyboardIdle: time() - LastInput}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 256))]
    pub expressions: Option<BTreeMap<String, ExprText>>,

    /// Must be true for a partner to be accepted, for an ad without ports; the partner is called other. At most 16384
    /// characters. Absent: everybody is accepted. Example: other.Type == "Machine" && other.Memory >= 64
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ExprText>,

    /// How much a partner is preferred, for an ad without ports: the larger the better, what is no number counts 0. Unit: the
    /// author's. Example: other.KFlops / 1E3
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<ExprText>,

    /// What is asked of the partner, for an ad without ports, by resource; at most 8. Units: as in the offer's capacity (memory
    /// in MiB, cpus whole). Example: {cpus: 2, memory: ImageSize / 1024}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 8))]
    pub request: Option<BTreeMap<String, ExprText>>,

    /// The partners that the ad needs together, in this order: a port sees the partners of earlier ports by their labels. At most
    /// 8. Excludes constraint, rank and request of the ad. Example: [{label: cpu, constraint: cpu.Memory >= 64}]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxItems" = 8, "x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = rules::ports()))]
    pub ports: Option<Vec<Port>>,

    /// Names of attributes that the ad's own expressions may use, but that no partner and no explanation is to see; at most 64.
    /// NO EFFECT YET in this version: partners can read them. Example: ["ContractPrice"]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxItems" = 64, "x-kubernetes-list-type" = "set"), inner(length(min = 1, max = 256)))]
    pub private: Option<Vec<String>>,
}

/// One needed partner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// The partner's name in the expressions of this port and of later ports; a letter or underscore, then letters, digits,
    /// underscores; at most 63 characters, not a word of the language. Example: cpu
    #[schemars(
        length(max = 63),
        regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"),
        extend("x-kubernetes-validations" = rules::label())
    )]
    pub label: String,

    /// Attributes that only the partner at this port sees, as literals; they shadow the ad's. At most 256. Example: {Kind: batch}
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "bounded::map")]
    #[schemars(schema_with = "schemas::free_object", extend("maxProperties" = 256))]
    pub attributes: Option<BTreeMap<String, Value>>,

    /// Attributes that only the partner at this port sees, as expressions, which may use the labels of earlier ports. At most
    /// 256 of at most 16384 characters. Example: {Host: cpu.Name}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 256))]
    pub expressions: Option<BTreeMap<String, ExprText>>,

    /// Must be true for a partner to be accepted at this port; at most 16384 characters. Absent: everybody is accepted.
    /// Example: license.Type == "License" && license.App == Cmd
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ExprText>,

    /// How much a partner is preferred at this port: the larger the better, what is no number counts 0. Unit: the author's.
    /// Example: cpu.KFlops / 1E3 + cpu.Memory / 32
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<ExprText>,

    /// What is asked of the partner, by resource; at most 8. Units: as in the offer's capacity (memory in MiB, cpus whole).
    /// Example: {seats: 2}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 8))]
    pub request: Option<BTreeMap<String, ExprText>>,
}
