//! The status of a Job: turns what came of it into fields.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schemas;

/// What became of a Job; written by the controller only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// The metadata.generation that this status speaks of. Example: 3
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Where the job is, in one word; derived from the conditions. Example: Claimed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "JobPhase")]
    pub phase: Option<JobPhase>,

    /// The Match that holds the job; while it is set no other Match can hold it. Example: {match: sim-1a2b3c4d, uid:
    /// 6f1c0c0e-8f0e-4b6e-9a53-0f2d3c4b5a69}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<JobClaim>,

    /// Who works for the job, port by port. Example: cpu=grid/foo license=eda/sim
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub members: Option<String>,

    /// Why the job is not claimed, in a few words; at most 256 characters. Example: cpu: 412 machines, none with Arch INTEL
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub why: Option<String>,

    /// How many Matches have been made for the job. Example: 2
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i32>,

    /// How many attempts were called off because somebody said no, since the job was claimed last; spec.retry.limit counts these.
    /// Example: 2
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejections: Option<i32>,

    /// Since when the job waits to be claimed, RFC 3339; absent while it is claimed, suspended or finished. Example:
    /// 2026-11-21T14:00:00Z
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub waiting_since: Option<Time>,

    /// How long it had waited before that, in seconds; spec.matchTimeoutSeconds counts both. Example: 3600
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_seconds: Option<i64>,

    /// The last rejections, newest first; at most 5. Example: [{kind: License, namespace: eda, name: sim, reason: Rejected}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 5, "x-kubernetes-list-type" = "atomic"))]
    pub refusals: Vec<Refusal>,

    /// What the last search found, counted. Example: {ports: [{label: cpu, candidates: 412, refusedByJob: 412}]}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmatched: Option<Unmatched>,

    /// The batch Job that works for the claim. Example: {name: sim-1a2b3c4d, uid: 0d9e3c52-7a1b-4f6f-8a11-2f7b0c9d8e7f}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<StartedWorkload>,

    /// When the work started, RFC 3339. Example: 2026-11-21T14:00:00Z
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub started_at: Option<Time>,

    /// When the job finished, RFC 3339; a finished job is not claimed again. Example: 2026-11-21T15:00:00Z
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub finished_at: Option<Time>,

    /// Accepted, Matched, Claimed, Started, Finished. Example: [{type: Matched, status: "False", reason: NoCandidates}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

/// Where a job is, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum JobPhase {
    /// Not matched yet, or again.
    Pending,
    /// A Match holds it; its members are being reserved and asked.
    Reserving,
    /// Everybody is claimed.
    Claimed,
    /// The work has started.
    Running,
    /// Its owner paused it.
    Suspended,
    /// Finished well.
    Succeeded,
    /// Finished badly.
    Failed,
}

/// The Match that holds a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobClaim {
    /// The Match's name. Example: sim-1a2b3c4d
    #[serde(rename = "match")]
    #[schemars(length(max = 253))]
    pub match_name: String,
    /// The Match's metadata.uid. Example: 6f1c0c0e-8f0e-4b6e-9a53-0f2d3c4b5a69
    #[schemars(length(max = 36))]
    pub uid: String,
}

/// One rejection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Refusal {
    /// Kind of the offer that said no. Example: License
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub kind: String,
    /// Its namespace. Example: eda
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Its name. Example: sim
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub name: String,
    /// Why, as one word. Example: Rejected
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub reason: String,
    /// Why, in the words of whoever said no; at most 256 characters. Example: seats are reserved for the tape-out
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub message: String,
    /// When, RFC 3339. Example: 2026-11-21T14:00:00Z
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub time: Option<Time>,
}

/// What the last search found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Unmatched {
    /// When the search was made, RFC 3339. Example: 2026-11-21T14:00:00Z
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub at: Option<Time>,
    /// Counts per port; at most 8. Example: [{label: cpu, candidates: 412, refusedByJob: 400, refusedByOffer: 12, busy: 0}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 8, "x-kubernetes-list-type" = "atomic"))]
    pub ports: Vec<UnmatchedPort>,
    /// Which parts of the job's own constraints refused how many; at most 16. Example: [{port: cpu, text: cpu.Arch == "INTEL",
    /// rejects: 400}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "atomic"))]
    pub conjuncts: Vec<UnmatchedConjunct>,
    /// What to change so that somebody would do; at most 512 characters. Example: with Memory >= 32, 17 machines remain
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub hint: Option<String>,
}

/// What happened to the candidates of one port, in numbers of offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnmatchedPort {
    /// The port's label. Example: cpu
    #[schemars(length(max = 63))]
    pub label: String,
    /// How many offers were looked at. Example: 412
    #[serde(default)]
    pub candidates: i64,
    /// How many the job's constraint refused. Example: 400
    #[serde(default)]
    pub refused_by_job: i64,
    /// How many refused the job. Example: 12
    #[serde(default)]
    pub refused_by_offer: i64,
    /// How many would do but are taken. Example: 0
    #[serde(default)]
    pub busy: i64,
}

/// One part of a constraint of the job, and how many offers it refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmatchedConjunct {
    /// The port's label. Example: cpu
    #[schemars(length(max = 63))]
    pub port: String,
    /// The part's text; at most 256 characters. Example: cpu.Arch == "INTEL"
    #[serde(default)]
    #[schemars(length(max = 256), extend("default" = ""))]
    pub text: String,
    /// How many offers it refused. Example: 400
    #[serde(default)]
    pub rejects: i64,
}

/// The batch Job that works for a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StartedWorkload {
    /// Its name. Example: sim-1a2b3c4d
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its metadata.uid. Example: 0d9e3c52-7a1b-4f6f-8a11-2f7b0c9d8e7f
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 36))]
    pub uid: String,
}
