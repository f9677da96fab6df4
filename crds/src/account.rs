//! The kind Account (gma): turns a party that is charged for gangs into fields.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{rules, schemas};

/// Label of an Account that the controller has created.
pub const LABEL_MADE_BY: &str = "gangmatch.dev/made-by";
/// The value of that label.
pub const MADE_BY_CONTROLLER: &str = "accountant";
/// Label of such an Account: the namespace of the job for which it was created.
pub const LABEL_MADE_FOR: &str = "gangmatch.dev/made-for";

impl Account {
    /// The namespace of the job for which the controller has created the account; none if somebody else has created it.
    #[must_use]
    pub fn made_for(&self) -> Option<&str> {
        let labels = self.metadata.labels.as_ref()?;
        labels.get(LABEL_MADE_BY).filter(|by| *by == MADE_BY_CONTROLLER)?;
        Some(labels.get(LABEL_MADE_FOR).map_or("", String::as_str))
    }
}

/// The spec of an Account: who is charged to it, its place in the tree, its weight and its quotas.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangmatch.dev",
    version = "v1alpha1",
    kind = "Account",
    plural = "accounts",
    shortname = "gma",
    category = "gangmatch",
    status = "AccountStatus",
    derive = "PartialEq",
    doc = "An Account (gma) is a party that is charged for gangs: one node of the tree of accounts, with a weight and quotas. Accounts count if there is a PoolPolicy.",
    printcolumn = r#"{"name":"Submitter","type":"string","jsonPath":".spec.submitter.namespace"}"#,
    printcolumn = r#"{"name":"Owner","type":"string","jsonPath":".spec.submitter.owner"}"#,
    printcolumn = r#"{"name":"Parent","type":"string","jsonPath":".spec.parent"}"#,
    printcolumn = r#"{"name":"Weight","type":"integer","jsonPath":".spec.weight"}"#,
    printcolumn = r#"{"name":"Usage","type":"string","jsonPath":".status.usage"}"#,
    printcolumn = r#"{"name":"Held","type":"string","jsonPath":".status.charge"}"#,
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type==\"Accepted\")].reason"}"#,
    printcolumn = r#"{"name":"Since","type":"date","jsonPath":".status.usageTime","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::account_spec()))]
pub struct AccountSpec {
    /// The submitter whose gangs are charged to the account; immutable. Absent: no submitter; the account groups those below it.
    /// Example: {namespace: eda}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitter: Option<Submitter>,

    /// The name of the account above it; at most 253 characters. Absent: the pool. Example: chips
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub parent: Option<String>,

    /// Its weight among the accounts with the same parent, 1 to 1000000. An account of weight 1000 deserves twice as
    /// much as one of weight 500. Example: 2000
    #[serde(default = "default_weight")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub weight: i64,

    /// How much the account, with all below it, can have, by counter; at most 16. Example: [{counter: vcs, min: 5, max:
    /// 20}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "maxItems" = 16,
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["counter"]
    ))]
    pub quotas: Vec<AccountQuota>,
}

impl Default for AccountSpec {
    fn default() -> Self {
        Self { submitter: None, parent: None, weight: default_weight(), quotas: Vec::new() }
    }
}

/// Whose gangs are charged to an account. Which fields count is said by `submitters` of the PoolPolicy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules::submitter()))]
pub struct Submitter {
    /// The namespace of the jobs. Example: eda
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,

    /// The user who created the jobs: their spec.owner. Example: alice
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub owner: Option<String>,
}

/// How much of one counter an account can have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules::quota()))]
pub struct AccountQuota {
    /// The counter: charge, gangs, or the name of a counter of the PoolPolicy. Example: vcs
    #[schemars(length(min = 1, max = 63))]
    pub counter: String,

    /// How much is guaranteed, in the units of the counter; of charge, in whole charges. Absent: nothing. Example: 5
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = schemas::QUANTITY_MAX))]
    pub min: Option<i64>,

    /// How much is never exceeded, in the units of the counter. Absent: no limit. Example: 20
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = schemas::QUANTITY_MAX))]
    pub max: Option<i64>,

    /// How much of what is guaranteed, and not held, other accounts can use meanwhile, in the units of the counter.
    /// Absent: all. Example: 3
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = schemas::QUANTITY_MAX))]
    pub lend: Option<i64>,
}

/// The status of an Account. Written by the controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AccountStatus {
    /// What was used until usageTime: the decayed average of the charge that was held. Unit: charges. Example:
    /// "12.375283"
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{1,13}\.[0-9]{6}$"))]
    pub usage: Option<String>,

    /// The time of usage, RFC 3339. The usage of a later time follows from usage, charge and halfLifeSeconds. Example:
    /// 2026-11-21T14:00:00Z
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub usage_time: Option<Time>,

    /// The charge of the claims that are held since usageTime. Unit: charges. Example: "9.000000"
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{1,13}\.[0-9]{6}$"))]
    pub charge: Option<String>,

    /// The half-life with which usage was computed, in seconds. Example: 86400
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_life_seconds: Option<i64>,

    /// The metadata.generation that this status was computed for. Example: 3
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The condition Accepted. Example: [{type: Accepted, status: "True", reason: Accepted}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

fn default_weight() -> i64 {
    1000
}
