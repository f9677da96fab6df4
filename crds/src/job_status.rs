//! The status of a Job, as fields.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Job, Member, PreemptionReason, schemas};

/// The status of a Job. Written by the controller only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// The metadata.generation that this status was computed for. Example: 3
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The phase of the job in one word, derived from the conditions. Example: Claimed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "JobPhase")]
    pub phase: Option<JobPhase>,

    /// The Match that holds the job. While it is set, no other Match can hold the job. Example: {match: sim-1a2b3c4d,
    /// uid: 6f1c0c0e-8f0e-4b6e-9a53-0f2d3c4b5a69}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<JobClaim>,

    /// The members that are claimed for the job, port by port. For a finished job, those of its last claim. Example:
    /// cpu=grid/foo license=eda/sim
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub members: Option<String>,

    /// The last Match that held the job; it may have been deleted since. Example: sim-1a2b3c4d
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub last_match: Option<String>,

    /// Why the job is not claimed, in short; at most 256 characters. Example: "port `cpu`: 2 ads that would match are
    /// taken"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub why: Option<String>,

    /// How many Matches have been created for the job. Example: 2
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i32>,

    /// How many attempts in a row were aborted because a member refused, or released because the workload did not start
    /// in time. Absent again once the job is claimed or, if it has a workload, once that has started. spec.retry.limit
    /// limits this number. Example: 2
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejections: Option<i32>,

    /// When the job started to wait for its claim, RFC 3339. Absent while the job is claimed, suspended or finished.
    /// Example: 2026-11-21T14:00:00Z
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub waiting_since: Option<Time>,

    /// How long the job had waited before waitingSince, in seconds. spec.matchTimeoutSeconds limits the sum of both
    /// waits. Example: 3600
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_seconds: Option<i64>,

    /// The gang that is held for the job until it is free. It is set or removed, never replaced. Example: {kind:
    /// Preemption, mode: Share, time: 2026-11-21T14:00:00Z}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nomination: Option<Nomination>,

    /// How often gangs of the job were preempted. Each time, the next one runs undisturbed for twice as long. Example: 1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<i32>,

    /// The last rejections, newest first; at most 5. Example: [{kind: License, namespace: eda, name: sim, reason: Rejected}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 5, "x-kubernetes-list-type" = "atomic"))]
    pub refusals: Vec<Refusal>,

    /// Counts from the last search. Example: {ports: [{label: cpu, candidates: 412, refusedByJob: 412}]}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmatched: Option<Unmatched>,

    /// The workload that runs under the claim. Example: {name: sim-1a2b3c4d, uid:
    /// 0d9e3c52-7a1b-4f6f-8a11-2f7b0c9d8e7f}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<StartedWorkload>,

    /// When the workload started, RFC 3339. Example: 2026-11-21T14:00:00Z
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub started_at: Option<Time>,

    /// When the job finished, RFC 3339. A finished job is not claimed again. Example: 2026-11-21T15:00:00Z
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub finished_at: Option<Time>,

    /// The conditions Accepted, Matched, Claimed, Started, Preempted and Finished. Example: [{type: Matched, status: "False",
    /// reason: NoCandidates}]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

/// The phase of a job in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum JobPhase {
    /// The job is waiting for a gang.
    Pending,
    /// A Match holds the job; its members are being reserved, and agents are voting.
    Reserving,
    /// All members are claimed.
    Claimed,
    /// The workload has started.
    Running,
    /// The job is suspended.
    Suspended,
    /// The job finished successfully.
    Succeeded,
    /// The job finished with a failure.
    Failed,
    /// spec.done was set before the job was claimed, or before its workload had ended.
    Cancelled,
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

/// One rejection of the job by an offer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Refusal {
    /// The kind of the offer that refused. Example: License
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub kind: String,
    /// The namespace of the offer. Example: eda
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// The name of the offer. Example: sim
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub name: String,
    /// The reason, as one word. Example: Rejected
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub reason: String,
    /// The reason, as written by the agent or the controller; at most 256 characters. Example: seats are reserved for
    /// the tape-out
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub message: String,
    /// When the offer refused, RFC 3339. Example: 2026-11-21T14:00:00Z
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub time: Option<Time>,
}

/// The result of the last search that found no gang.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Unmatched {
    /// When the search ran, RFC 3339. Example: 2026-11-21T14:00:00Z
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub at: Option<Time>,
    /// Counts per port; at most 8. Example: [{label: cpu, candidates: 412, refusedByJob: 400, refusedByOffer: 12, busy: 0}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 8, "x-kubernetes-list-type" = "atomic"))]
    pub ports: Vec<UnmatchedPort>,
    /// How many offers each part of the job's constraints refused; at most 16. Example: [{port: cpu, text: cpu.Arch
    /// == "INTEL", rejects: 400}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "atomic"))]
    pub conjuncts: Vec<UnmatchedConjunct>,
    /// A change to the job that would find candidates; at most 512 characters. Example: "17 ads fit with 32 as the
    /// number in `cpu.Memory >= 64`; without it, 20 ads fit"
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub hint: Option<String>,
    /// What preemption would do for the job; absent if there is none. Example: {mode: Share, victims: 2}
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<UnmatchedPreemption>,
}

/// What preemption would do for a job that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmatchedPreemption {
    /// The reason for which gangs would be preempted; absent if none would. Example: Share
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PreemptionReason")]
    pub mode: Option<PreemptionReason>,
    /// How many gangs would be preempted. Example: 2
    #[serde(default)]
    pub victims: i64,
    /// Why none would be, as one word: NotEnoughVictims, TooYoung, TooManyVictims, QuotaExceeded, BudgetSpent, Withdrawn, CutShort or Ending.
    /// Example: NotEnoughVictims
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub refused: Option<String>,
    /// With TooYoung: from when on gangs may be preempted for the job, RFC 3339; until then they run undisturbed. With Withdrawn: until when
    /// nothing is preempted for its account. Example: 2026-11-21T14:30:00Z
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub from: Option<Time>,
}

/// What is held for a job that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nomination {
    /// Preemption: gangs are ended for the job. Reservation: it waits until the gangs that have its offers end by themselves.
    /// Example: Preemption
    #[serde(default)]
    pub kind: NominationKind,
    /// When it was decided, RFC 3339. Example: 2026-11-21T14:00:00Z
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub time: Time,
    /// The reason for which gangs are preempted; of several, the last in the order Rank, Reclaim, Share, Priority. Absent if
    /// none are. Example: Share
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PreemptionReason")]
    pub mode: Option<PreemptionReason>,
    /// The gang: the job and its offers, 2 to 64 members, as a Match records them. Example: [{id: 0, kind: Job, namespace:
    /// grid, name: sim}, {id: 1, kind: Machine, namespace: grid, name: foo, parent: 0, parentPort: cpu, port: other}]
    #[schemars(extend("minItems" = 2, "maxItems" = 64, "x-kubernetes-list-type" = "atomic"))]
    pub gang: Vec<Member>,
    /// The metadata.uid of each Match that is ended for it; at most 16. Example: [6f1c0c0e-8f0e-4b6e-9a53-0f2d3c4b5a69]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "atomic"), inner(length(max = 36)))]
    pub victims: Vec<String>,
}

/// Why offers are held for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum NominationKind {
    /// Gangs are ended for the job.
    #[default]
    Preemption,
    /// The job has waited long, and the gangs that have its offers end by themselves.
    Reservation,
}

impl NominationKind {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preemption => "Preemption",
            Self::Reservation => "Reservation",
        }
    }
}

impl JobStatus {
    /// How long the job has waited to be claimed at a time, in seconds.
    #[must_use]
    pub fn waited(&self, now: i64) -> i64 {
        let since = self.waiting_since.as_ref().map_or(0, |since| now.saturating_sub(since.0.as_second()));
        self.waited_seconds.unwrap_or(0).saturating_add(since.max(0))
    }
}

impl Job {
    /// How long it has waited to be claimed at a time, in seconds. Before the controller has seen it, it waits since it was created.
    #[must_use]
    pub fn waited(&self, now: i64) -> i64 {
        let is_new = |status: &JobStatus| status.waiting_since.is_none() && status.waited_seconds.is_none();
        match self.status.as_ref().filter(|status| !is_new(status)) {
            Some(status) => status.waited(now),
            None => {
                self.metadata.creation_timestamp.as_ref().map_or(0, |at| now.saturating_sub(at.0.as_second()).max(0))
            }
        }
    }
}

/// Counts of the candidates of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnmatchedPort {
    /// The label of the port. Example: cpu
    #[schemars(length(max = 63))]
    pub label: String,
    /// How many offers were considered: of the kind that the constraint names, as in cpu.Type == "Machine". Example:
    /// 412
    #[serde(default)]
    pub candidates: i64,
    /// How many offers the job's constraint refused. Example: 400
    #[serde(default)]
    pub refused_by_job: i64,
    /// How many offers refused the job. Example: 12
    #[serde(default)]
    pub refused_by_offer: i64,
    /// How many offers would match but have no free capacity. Example: 0
    #[serde(default)]
    pub busy: i64,
    /// Of a counted port: the fewest offers that it needs. Example: 8
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<i64>,
    /// Of a counted port: the most offers that match one by one, and that its same and distinct leave together. Example:
    /// 5
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<i64>,
}

/// One part of a constraint of the job, and how many offers it refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmatchedConjunct {
    /// The label of the port. Example: cpu
    #[schemars(length(max = 63))]
    pub port: String,
    /// The text of this part; at most 256 characters. Example: cpu.Arch == "INTEL"
    #[serde(default)]
    #[schemars(length(max = 256), extend("default" = ""))]
    pub text: String,
    /// How many offers this part refused. Example: 400
    #[serde(default)]
    pub rejects: i64,
}

/// The workload that runs under a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StartedWorkload {
    /// The name of the workload. Example: sim-1a2b3c4d
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its metadata.uid. Example: 0d9e3c52-7a1b-4f6f-8a11-2f7b0c9d8e7f
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 36))]
    pub uid: String,
}
