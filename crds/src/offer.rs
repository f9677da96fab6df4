//! Turns what machines and licenses have in common, in spec and status, into Rust fields.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::Resource;
use kube::core::object::HasStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AdFields, ClaimEntry, ExprText, OfferKind, Res, bounded, rules, schemas};

/// The fields of an offer, besides its ad and its capacity, that state on which terms it can be claimed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferFields {
    /// How much of a resource a claim holds if no port requests an amount, in the units of capacity. Resources that
    /// are not listed: 1 for seats and slots, otherwise the whole capacity. Example: {memory: 1024}
    #[serde(default)]
    #[schemars(schema_with = "schemas::amounts")]
    pub default_request: Res,

    /// Whether the offer accepts claims. None: yes. Hold: no new claims; existing claims continue. HoldAndDrain: no
    /// new claims, and existing claims are ended. Example: Hold
    #[serde(default)]
    pub stop_policy: StopPolicy,

    /// The namespaces whose jobs can claim the offer. To allow namespaces other than its own, its namespace also
    /// needs the label gangmatch.dev/offers=cluster. Absent: only its own namespace. Example: {from: All}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<AllowedNamespaces>,

    /// How the offer answers a claim. Auto: by the expressions of its ad alone. Agent: a program also votes on every
    /// claim. Example: Agent
    #[serde(default)]
    pub claim_policy: ClaimPolicy,

    /// The program that acts for the owner of the offer. Example: {username: "system:serviceaccount:grid:agent-foo"}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,

    /// The attributes that the agent may publish in status.attributes, with their types; at most 32. Example: [{name:
    /// LoadAvg, type: Real, minChange: "0.1"}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "maxItems" = 32,
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub dynamic_attributes: Vec<DynamicAttribute>,

    /// What explanations of jobs in other namespaces show of the offer. Counts: it is counted, and nothing else. Full:
    /// also its values, such as the number that a constraint would have to ask for. Example: Full
    #[serde(default)]
    pub disclosure: Disclosure,

    /// What a claim on the offer costs its account while it is held: an expression over the attributes of the offer and
    /// Allocation, the amounts that are claimed. Cut to 0..1000000. Absent, or not a number: by the weights of the
    /// PoolPolicy, without which nothing is charged. At most 4096 characters. Example: Allocation.cpus + 4 *
    /// Allocation.gpus
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 4096))]
    pub charge_weight: Option<ExprText>,
}

/// Whether an offer accepts claims, and what happens to existing claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum StopPolicy {
    /// New claims are accepted.
    #[default]
    None,
    /// No new claims; existing claims continue.
    Hold,
    /// No new claims, and existing claims are ended.
    HoldAndDrain,
}

/// The namespaces whose jobs can claim an offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules::allowed_namespaces()))]
pub struct AllowedNamespaces {
    /// Same: the namespace of the offer. All: every namespace. Selector: the namespaces with certain labels. Example:
    /// Selector
    #[serde(default)]
    pub from: NamespacesFrom,

    /// The labels of the allowed namespaces; only with from: Selector. Example: {matchLabels: {team: eda}}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::label_selector")]
    pub selector: Option<LabelSelector>,
}

/// Which namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum NamespacesFrom {
    /// The namespace of the offer.
    #[default]
    Same,
    /// Every namespace.
    All,
    /// The namespaces that a selector selects.
    Selector,
}

/// How an offer answers a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ClaimPolicy {
    /// By the expressions of its ad.
    #[default]
    Auto,
    /// By its ad and by the vote of an agent.
    Agent,
}

/// The program that acts for the owner of an offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// The user name of the agent, as the API server authenticates it. Example: system:serviceaccount:grid:agent-foo
    #[schemars(length(min = 1, max = 512))]
    pub username: String,

    /// How long the agent may be silent, in seconds, 20 to 3600. After that, it is considered lost. The agent renews
    /// its Lease three times in this period. Example: 200
    #[serde(default = "lease_duration_seconds")]
    #[schemars(range(min = 20, max = 3600))]
    pub lease_duration_seconds: i32,
}

/// One attribute that an agent may publish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicAttribute {
    /// The name of the attribute: a letter or underscore, then letters, digits or underscores; at most 63 characters.
    /// Example: LoadAvg
    #[schemars(length(max = 63), regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,

    /// The type of the attribute; a value of another type is ignored. Example: Real
    #[serde(rename = "type")]
    pub type_: DynamicType,

    /// The smallest change that is published: a value is published only if it differs by at least this much from the
    /// last published value. Unit: that of the attribute; seconds for Time. Example: "0.1"
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
    /// A point in time, as RFC 3339 text or as seconds since 1970. In expressions, it is the number of seconds.
    Time,
}

/// What explanations show of an offer to users in other namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Disclosure {
    /// Counts only.
    #[default]
    Counts,
    /// Values, too.
    Full,
}

/// The status of an offer. Written by the controller, except for the fields that say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OfferStatus {
    /// The metadata.generation that this status was computed for. Example: 3
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The epoch of the leader that last changed the claims. A lower value is refused. Example: 48211
    #[serde(skip_serializing_if = "crate::is_default")]
    #[schemars(extend("default" = 0, "x-kubernetes-validations" = rules::epoch()))]
    pub epoch: i64,

    /// The claims on the offer, by metadata.uid of the Match; at most 256. Example:
    /// {6f1c0c0e-8f0e-4b6e-9a53-0f2d3c4b5a69: {match: grid/sim-1a2b3c4d, allocation: {seats: 1}, vote: Accepted}}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256, "default" = {}))]
    pub claims: BTreeMap<String, ClaimEntry>,

    /// Seats that several claims hold together, by share key, in the units of capacity; at most 256. Example:
    /// {node-17: {seats: 1}}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schemas::seats", extend("default" = {}))]
    pub shared: BTreeMap<String, Res>,

    /// How much is used outside the cluster, not counting what claims hold, in the units of capacity. Written by the
    /// agent. Example: {seats: 3}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schemas::amounts", extend("default" = {}))]
    pub external_usage: Res,

    /// Attributes that change often, as literals; at most 32. Written by the agent. Only attributes that are declared
    /// in spec.dynamicAttributes are used, and only if the spec does not define an attribute of that name. Example:
    /// {LoadAvg: 0.25, LastInput: "2026-11-21T14:00:00Z"}
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "bounded::map_or_none")]
    #[schemars(schema_with = "schemas::free_object", extend("maxProperties" = 32, "default" = {}))]
    pub attributes: BTreeMap<String, Value>,

    /// How much of the capacity is claimed, as text. Example: 3/10 seats
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub used: Option<String>,

    /// The state of the offer in one word, derived from claims and conditions. Example: Available
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OfferState")]
    pub state: Option<OfferState>,

    /// The conditions Accepted, Ready, Alive and Overcommitted. Example: [{type: Ready, status: "True", reason:
    /// Available}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

/// The state of an offer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum OfferState {
    /// Nothing is claimed.
    Available,
    /// Part of the capacity is claimed.
    Claimed,
    /// All of the capacity is claimed.
    Full,
    /// No new claims are accepted; existing claims continue.
    Draining,
    /// Existing claims are being ended.
    Evicting,
    /// It cannot be claimed.
    Unavailable,
}

fn lease_duration_seconds() -> i32 {
    200
}

/// What all kinds of offers have in common.
pub trait Offer: Resource<DynamicType = ()> + HasStatus<Status = OfferStatus> {
    /// The kind.
    const KIND: OfferKind;

    /// The fields in which its ad is written.
    fn ad_fields(&self) -> &AdFields;

    /// The terms on which it can be claimed.
    fn offer_fields(&self) -> &OfferFields;

    /// The capacity, by resource.
    fn capacity(&self) -> &Res;

    /// The name of its node, if it is a node of the cluster.
    fn node_name(&self) -> Option<&str> {
        None
    }
}
