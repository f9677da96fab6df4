//! The kind PoolPolicy (gmp): turns what holds for all accounts of the pool into fields.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExprText, rules, schemas};

/// The name of the PoolPolicy that counts; the API server accepts no other.
pub const POOL_POLICY: &str = "pool";

/// The spec of a PoolPolicy: who is charged, for what, and what quotas count.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangmatch.dev",
    version = "v1alpha1",
    kind = "PoolPolicy",
    plural = "poolpolicies",
    shortname = "gmp",
    category = "gangmatch",
    status = "PoolPolicyStatus",
    derive = "PartialEq",
    doc = "The PoolPolicy (gmp) turns on accounting: jobs are then served by fair shares of accounts, and within quotas. There is one, named pool; without it the namespace that holds the fewest gangs is served first.",
    printcolumn = r#"{"name":"Submitters","type":"string","jsonPath":".spec.submitters"}"#,
    printcolumn = r#"{"name":"Half-life","type":"integer","jsonPath":".spec.halfLifeSeconds"}"#,
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type==\"Accepted\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct PoolPolicySpec {
    /// Which jobs are charged together. Namespace: those of a namespace. Owner: those of a user, their spec.owner.
    /// NamespaceAndOwner: those of a user in a namespace, below the account of the namespace. Example: Owner
    #[serde(default)]
    pub submitters: Submitters,

    /// How long ago something was used that counts half, in seconds, 60 to 31536000 (a year). Example: 86400
    #[serde(default = "a_day")]
    #[schemars(range(min = 60, max = 31_536_000))]
    pub half_life_seconds: i64,

    /// The charge of one unit of each resource, as a number from 0 to 1000000; at most 8. Quote fractions. An offer with
    /// none of these resources is charged 1. Absent: {slots: 1, seats: 1, cpus: 1}. Example: {cpus: 1, gpus: 20,
    /// memory: "0.001"}
    #[serde(default = "default_weights")]
    #[schemars(extend("maxProperties" = 8))]
    pub weights: BTreeMap<String, ExprText>,

    /// What quotas count besides charge and gangs; at most 14. Example: [{name: vcs, constraint: App == "vcs", resource:
    /// seats}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "maxItems" = 14,
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub counters: Vec<QuotaCounter>,

    /// For which jobs offers are held, though no gang is ended for them. Absent: for none. Example: {afterSeconds: 1800,
    /// forSeconds: 14400, max: 1}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationPolicy>,

    /// Which gangs may be ended for jobs that wait. Absent: none. Example: {mode: "On", reasons: [Reclaim, Share]}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<PreemptionPolicy>,
}

impl Default for PoolPolicySpec {
    fn default() -> Self {
        Self {
            submitters: Submitters::default(),
            half_life_seconds: a_day(),
            weights: default_weights(),
            counters: Vec::new(),
            reservation: None,
            preemption: None,
        }
    }
}

/// Which jobs are charged together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Submitters {
    /// Those of a namespace.
    #[default]
    Namespace,
    /// Those of a user.
    Owner,
    /// Those of a user in a namespace.
    NamespaceAndOwner,
}

/// Something that quotas count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules::counter()))]
pub struct QuotaCounter {
    /// Its name in the quotas of accounts: lower-case letters, digits and dashes. Example: vcs
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"))]
    pub name: String,

    /// Of which offers it counts: an expression over the attributes of the offer alone. What is not true does not
    /// count. At most 4096 characters. Example: Type == "License" && App == "vcs"
    #[schemars(extend("maxLength" = 4096))]
    pub constraint: ExprText,

    /// The resource that is counted. Absent: each claim on such an offer counts as 1. Example: seats
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub resource: Option<String>,
}

/// For which jobs offers are held until the gangs that have them end by themselves: those that have waited long, in the order in which
/// jobs are served. Jobs that end before that by their activeDeadlineSeconds may use the offers meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ReservationPolicy {
    /// How long a job has to have waited, in seconds, 60 to 604800 (a week). Example: 1800
    #[schemars(range(min = 60, max = 604_800))]
    pub after_seconds: i64,

    /// How long offers are held for a job, in seconds, 60 to 604800. If its gang was not claimed by then, no offers are held for
    /// its account for as long again, and twice as long each time. Example: 14400
    #[schemars(range(min = 60, max = 604_800))]
    pub for_seconds: i64,

    /// For how many jobs offers are held at the same time, 1 to 16. Example: 1
    #[schemars(range(min = 1, max = 16))]
    pub max: i32,
}

impl Default for ReservationPolicy {
    fn default() -> Self {
        Self { after_seconds: 1800, for_seconds: 14_400, max: 1 }
    }
}

/// Which claimed gangs may be ended so that a job that waits can have its gang. A gang is always ended as a whole, and only if the
/// job can then be claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PreemptionPolicy {
    /// Off: nothing is preempted. DryRun: nothing is preempted, and jobs are told what would be. On: gangs are
    /// preempted. In YAML, write "On" and "Off" with quotes: without them they are booleans. Example: DryRun
    pub mode: PreemptionMode,

    /// For which reasons gangs may be preempted. Rank: all offers in question rank the job that waits higher. Reclaim:
    /// an account takes back what is guaranteed to it. Share: the account of the job holds less for its weight, even
    /// afterwards. Priority: of the same account, the job has the higher priority. Example: [Reclaim, Share]
    #[schemars(extend("maxItems" = 4, "x-kubernetes-list-type" = "set"))]
    pub reasons: Vec<PreemptionReason>,

    /// What has to be true of the two jobs, for every reason but Rank: an expression that reads preemptor and victim, and
    /// names such as RemoteUserPrio and TotalJobRuntime. At most 4096 characters. Example: TotalJobRuntime > 3600
    #[schemars(extend("maxLength" = 4096))]
    pub requirements: ExprText,

    /// Of several gangs, the ones for which this number is largest are preempted first. It reads what requirements
    /// reads. At most 4096 characters. Example: 0 - TotalJobRuntime
    #[schemars(extend("maxLength" = 4096))]
    pub rank: ExprText,

    /// How long a gang runs undisturbed after its commit, in seconds, 10 to 604800 (a week); twice as long for each time
    /// that its job was preempted before. Example: 300
    #[schemars(range(min = 10, max = 604_800))]
    pub min_runtime_seconds: i64,

    /// How many gangs may be preempted for one job, 1 to 16. Example: 4
    #[schemars(range(min = 1, max = 16))]
    pub max_victims: i32,

    /// How many gangs may be preempted in an hour in the whole pool, 1 to 36000. Jobs of one account have no more of them than they leave to
    /// others. Example: 60
    #[schemars(range(min = 1, max = 36_000))]
    pub evictions_per_hour: i32,

    /// How long offers are held for the job that gangs were preempted for, in seconds, 30 to 86400 (a day). Example:
    /// 600
    #[schemars(range(min = 30, max = 86_400))]
    pub nomination_seconds: i64,
}

impl Default for PreemptionPolicy {
    fn default() -> Self {
        Self {
            mode: PreemptionMode::Off,
            reasons: vec![PreemptionReason::Rank],
            requirements: ExprText::Text("true".to_owned()),
            rank: ExprText::Integer(0),
            min_runtime_seconds: 300,
            max_victims: 4,
            evictions_per_hour: 60,
            nomination_seconds: 600,
        }
    }
}

/// Whether gangs are preempted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum PreemptionMode {
    /// Nothing is preempted.
    #[default]
    Off,
    /// Nothing is preempted, and jobs are told what would be.
    DryRun,
    /// Gangs are preempted.
    On,
}

/// Why a gang may be preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum PreemptionReason {
    /// All offers in question rank the job that waits higher.
    Rank,
    /// An account takes back what is guaranteed to it.
    Reclaim,
    /// The account of the job that waits holds less for its weight, even afterwards.
    Share,
    /// Of the same account, the job that waits has the higher priority.
    Priority,
}

impl PreemptionReason {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rank => "Rank",
            Self::Reclaim => "Reclaim",
            Self::Share => "Share",
            Self::Priority => "Priority",
        }
    }
}

/// The status of the PoolPolicy. Written by the controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PoolPolicyStatus {
    /// The metadata.generation that this status was computed for. Example: 3
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The condition Accepted. Example: [{type: Accepted, status: "True", reason: Accepted}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

fn a_day() -> i64 {
    86_400
}

fn default_weights() -> BTreeMap<String, ExprText> {
    ["slots", "seats", "cpus"].into_iter().map(|name| (name.to_owned(), ExprText::Integer(1))).collect()
}
