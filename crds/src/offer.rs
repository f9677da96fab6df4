//! Turns what machines and licenses have in common, in spec and status, into Rust fields.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AdFields, ClaimEntry, ExprText, OfferKind, Res, bounded, rules, schemas};

/// The fields, besides its ad and its capacity, in which an offer says how it is taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferFields {
    /// What a claim holds of a resource when nobody asks for an amount, in the units of capacity. Absent resources: 1 of seats and
    /// slots, else all of it. Example: {memory: 1024}
    #[serde(default)]
    #[schemars(schema_with = "schemas::amounts")]
    pub default_request: Res,

    /// None: claims are made. Hold: no new claims. HoldAndDrain: no new claims, and those that stand are ended. Example: Hold
    #[serde(default)]
    pub stop_policy: StopPolicy,

    /// Whose jobs may take it. More than its own namespace needs the label gangmatch.dev/offers=cluster on its namespace.
    /// Absent: jobs of its own namespace. Example: {from: All}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<AllowedNamespaces>,

    /// Auto: the ad's expressions answer. Agent: a program votes on every claim. Example: Agent
    #[serde(default)]
    pub claim_policy: ClaimPolicy,

    /// The program that speaks for the owner. Example: {username: "system:serviceaccount:grid:agent-foo"}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,

    /// What the agent may publish in status.attributes, typed; at most 32. Example: [{name: LoadAvg, type: Real, minChange: "0.1"}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "maxItems" = 32,
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub dynamic_attributes: Vec<DynamicAttribute>,

    /// What people in other namespaces see in explanations: numbers only, or names and values. Example: Full
    #[serde(default)]
    pub disclosure: Disclosure,
}

/// Whether an offer can be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum StopPolicy {
    /// Claims are made.
    #[default]
    None,
    /// No new claims; those that stand go on.
    Hold,
    /// No new claims, and those that stand are ended.
    HoldAndDrain,
}

/// Whose jobs may take an offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules::allowed_namespaces()))]
pub struct AllowedNamespaces {
    /// Same: of its own namespace. All: of every namespace. Selector: of namespaces with certain labels. Example: Selector
    #[serde(default)]
    pub from: NamespacesFrom,

    /// With from: Selector, the labels of those namespaces. Example: {matchLabels: {team: eda}}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::label_selector")]
    pub selector: Option<LabelSelector>,
}

/// Which namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum NamespacesFrom {
    /// Its own.
    #[default]
    Same,
    /// Every one.
    All,
    /// Those that a selector selects.
    Selector,
}

/// Who answers for an offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ClaimPolicy {
    /// The ad's expressions.
    #[default]
    Auto,
    /// A program.
    Agent,
}

/// The program that speaks for an offer's owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// The name under which the API server knows it. Example: system:serviceaccount:grid:agent-foo
    #[schemars(length(min = 1, max = 512))]
    pub username: String,

    /// How long the agent may be silent, in seconds, 20 to 3600: then it is taken for lost. It renews every third of that.
    /// Example: 200
    #[serde(default = "lease_duration_seconds")]
    #[schemars(range(min = 20, max = 3600))]
    pub lease_duration_seconds: i32,
}

/// One attribute that an agent may publish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DynamicAttribute {
    /// Its name: a letter or underscore, then letters, digits, underscores; at most 63 characters. Example: LoadAvg
    #[schemars(length(max = 63), regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,

    /// Its type; a value of another type is not used. Example: Real
    #[serde(rename = "type")]
    pub type_: DynamicType,

    /// Publish a value only when it differs by at least this much from the last one; in the attribute's unit, seconds for Time. Example: "0.1"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_change: Option<ExprText>,
}

/// Type of an attribute that an agent publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum DynamicType {
    /// A whole number.
    Integer,
    /// A number; `1` is 1.0.
    Real,
    /// True or false.
    Boolean,
    /// Text.
    String,
    /// An instant, as RFC 3339 text or as seconds since 1970; in expressions it is those seconds.
    Time,
}

/// How much of an offer is shown in explanations to other namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Disclosure {
    /// Numbers only.
    #[default]
    Counts,
    /// Names and values.
    Full,
}

/// What became of an offer. Written by the controller, apart from what says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OfferStatus {
    /// The metadata.generation that this status speaks of. Example: 3
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The leadership under which the offer was last claimed: a lower one is refused. Example: 48211
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("default" = 0, "x-kubernetes-validations" = rules::epoch()))]
    pub epoch: i64,

    /// Who holds the offer, by metadata.uid of the Match; at most 256. Example: {6f1c0c0e-8f0e-4b6e-9a53-0f2d3c4b5a69: {match:
    /// grid/sim-1a2b3c4d, allocation: {seats: 1}, vote: Accepted}}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256, "default" = {}))]
    pub claims: BTreeMap<String, ClaimEntry>,

    /// Seats that several claims hold together, by share key, in the units of capacity; at most 256. Example: {node-17: {seats:
    /// 1}}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schemas::seats", extend("default" = {}))]
    pub shared: BTreeMap<String, Res>,

    /// What is used outside the cluster, without what claims hold, in the units of capacity; written by the agent. Example:
    /// {seats: 3}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schemas::amounts", extend("default" = {}))]
    pub external_usage: Res,

    /// Attributes that change often, as literals; written by the agent; only those declared in spec.dynamicAttributes are used,
    /// and only where the spec does not define the name. At most 32. Example: {LoadAvg: 0.25, LastInput: "2026-11-21T14:00:00Z"}
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "bounded::map_or_none")]
    #[schemars(schema_with = "schemas::free_object", extend("maxProperties" = 32, "default" = {}))]
    pub attributes: BTreeMap<String, Value>,

    /// How much is taken, in words. Example: 3/10 seats
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub used: Option<String>,

    /// Where the offer is, in one word; derived from claims and conditions. Example: Available
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OfferState")]
    pub state: Option<OfferState>,

    /// Accepted, Ready, Alive, Overcommitted. Example: [{type: Ready, status: "True", reason: Available}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

/// Where an offer is, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum OfferState {
    /// Nothing of it is taken.
    Available,
    /// Some of it is taken.
    Claimed,
    /// All of it is taken.
    Full,
    /// No new claims; some stand.
    Draining,
    /// The claims that stand are being ended.
    Evicting,
    /// It cannot be taken.
    Unavailable,
}

fn lease_duration_seconds() -> i32 {
    200
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// What every kind of offer can say about itself.
pub trait Offer {
    /// The kind.
    const KIND: OfferKind;

    /// Name, namespace, uid, labels.
    fn metadata(&self) -> &ObjectMeta;

    /// The fields in which its ad is written.
    fn ad_fields(&self) -> &AdFields;

    /// How it is taken.
    fn offer_fields(&self) -> &OfferFields;

    /// How much there is of each resource.
    fn capacity(&self) -> &Res;

    /// What became of it.
    fn offer_status(&self) -> Option<&OfferStatus>;

    /// The cluster's node that it is, if any.
    fn node_name(&self) -> Option<&str>;
}
