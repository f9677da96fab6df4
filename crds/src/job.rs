//! The kind Job (gmj): turns the partners that a job needs together into fields.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AdFields, ExprText, JobClaim, JobStatus, bounded, rules, schemas};

/// What a Job asks for: its ad, and how it is served.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangmatch.dev",
    version = "v1alpha1",
    kind = "Job",
    plural = "jobs",
    namespaced,
    shortname = "gmj",
    category = "gangmatch",
    status = "JobStatus",
    derive = "PartialEq",
    doc = "A Job (gmj) is a classified ad that asks for partners, such as machines and licenses. It gets all of them together, or none.",
    selectable = ".status.phase",
    selectable = ".spec.owner",
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Members","type":"string","jsonPath":".status.members"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.why"}"#,
    printcolumn = r#"{"name":"Priority","type":"integer","jsonPath":".spec.priority","priority":1}"#,
    printcolumn = r#"{"name":"Attempts","type":"integer","jsonPath":".status.attempts","priority":1}"#,
    printcolumn = r#"{"name":"Match","type":"string","jsonPath":".status.lastMatch","priority":1}"#,
    printcolumn = r#"{"name":"Owner","type":"string","jsonPath":".spec.owner","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::ad_spec()))]
pub struct JobSpec {
    /// The ad.
    #[serde(flatten)]
    pub ad: AdFields,

    /// The rank of a whole gang, as an expression over all port labels; larger is better. It replaces the sum of the
    /// ranks of the ports. At most 16384 characters. Unit: chosen by the author. Example: cpu.KFlops / 1E3 - 10 *
    /// license.Price
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang_rank: Option<ExprText>,

    /// The order among the jobs of one namespace, -1000 to 1000: a job with a larger value is matched earlier.
    /// Example: 10
    #[serde(default)]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: i32,

    /// True: the claim is released, and the job is not matched until the value is false again. Example: true
    #[serde(default)]
    pub suspend: bool,

    /// True: the job is finished and its claim is released. A job that is not claimed yet, or whose workload has not
    /// ended, is Cancelled. Cannot be set back to false. Example: true
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = rules::done()))]
    pub done: bool,

    /// The longest time that the claim is held, in seconds. After that, the claim is released and the job is
    /// finished. Absent: no limit. Example: 3600
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub active_deadline_seconds: Option<i32>,

    /// The longest total time that the job waits to be claimed, in seconds, not counting the time in which it is
    /// suspended. After that, the job is finished. Absent: no limit. Example: 86400
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub match_timeout_seconds: Option<i32>,

    /// The longest time from the first reserve to the last vote of one attempt, in seconds, 5 to 3600. Example: 30
    #[serde(default = "reserve_timeout_seconds")]
    #[schemars(range(min = 5, max = 3600))]
    pub reserve_timeout_seconds: i32,

    /// How often and how soon the job is matched again after a rejection. Example: {limit: 10}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,

    /// The workload that is started when all members are claimed. Absent: gangmatch starts nothing, and a program
    /// that watches the job starts its own workload. Example: {workloadRef: {name: simulate}}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,

    /// How long the job is kept after it has finished, in seconds. After that, it is deleted, together with its Matches.
    /// Absent: until a user deletes it. Has no effect on a job that was created for a labelled workload: that is
    /// deleted with the workload. Example: 86400
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,

    /// How many ended Matches of this job are kept, 0 to 20. Example: 3
    #[serde(default = "match_history_limit")]
    #[schemars(range(min = 0, max = 20))]
    pub match_history_limit: i32,
}

impl Job {
    /// The claim that holds it, if any.
    #[must_use]
    pub fn claim(&self) -> Option<&JobClaim> {
        self.status.as_ref()?.claim.as_ref()
    }
}

impl Default for JobSpec {
    fn default() -> Self {
        Self {
            ad: AdFields::default(),
            gang_rank: None,
            priority: 0,
            suspend: false,
            done: false,
            active_deadline_seconds: None,
            match_timeout_seconds: None,
            reserve_timeout_seconds: reserve_timeout_seconds(),
            retry: None,
            workload: None,
            ttl_seconds_after_finished: None,
            match_history_limit: match_history_limit(),
        }
    }
}

/// How often and how soon a job is matched again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// How many rejections in a row are allowed; after one more, the job is finished. A start that takes too long
    /// also counts as a rejection. The count starts again when the workload has started or, for a job without a
    /// workload, when the job is claimed. Absent: no limit. Example: 10
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub limit: Option<i32>,

    /// The pause after the first rejection, in seconds; it doubles with each further rejection. Example: 5
    #[serde(default = "backoff_seconds")]
    #[schemars(range(min = 0))]
    pub backoff_seconds: i32,

    /// The longest pause, in seconds. Example: 300
    #[serde(default = "max_backoff_seconds")]
    #[schemars(range(min = 0))]
    pub max_backoff_seconds: i32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { limit: None, backoff_seconds: backoff_seconds(), max_backoff_seconds: max_backoff_seconds() }
    }
}

/// The workload that is started when all members are claimed: either a template or a reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::workload()))]
pub struct Workload {
    /// The template of a batch/v1 Job (metadata and spec of a JobTemplateSpec) that is created, started and deleted
    /// for each claim. Example: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: sim, image:
    /// sim:1}]}}}}
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "bounded::map")]
    #[schemars(schema_with = "schemas::free_object")]
    pub job_template: Option<BTreeMap<String, Value>>,

    /// An existing workload in the same namespace that is held until the job is claimed: a suspended batch/v1 Job or
    /// JobSet, or a Pod with the scheduling gate gangmatch.dev/hold. Example: {name: simulate}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<WorkloadRef>,

    /// Environment variables of the containers that are created from the template, by name; at most 64. The values
    /// are expressions that can read the partner at every port by its label, as in gangRank. A variable with an
    /// undefined value is not set. Example: {LM_LICENSE_FILE: license.Server}
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub env: BTreeMap<String, ExprText>,

    /// The longest time from the start until a pod is ready or has finished, in seconds. After that, the claim is
    /// released and the job is matched again. Example: 300
    #[serde(default = "start_timeout_seconds")]
    #[schemars(range(min = 1))]
    pub start_timeout_seconds: i32,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            job_template: None,
            workload_ref: None,
            env: BTreeMap::new(),
            start_timeout_seconds: start_timeout_seconds(),
        }
    }
}

/// A workload in the same namespace that was created by another program or by a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules::workload_ref()))]
pub struct WorkloadRef {
    /// The kind of the workload. Example: Pod
    #[serde(default)]
    pub kind: WorkKind,

    /// The name of the workload. Example: simulate
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// The kinds of workload that a claim can start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WorkKind {
    /// A batch/v1 Job.
    #[default]
    Job,
    /// A jobset.x-k8s.io/v1alpha2 JobSet, if the cluster has that kind.
    JobSet,
    /// A Pod.
    Pod,
}

fn reserve_timeout_seconds() -> i32 {
    30
}

fn match_history_limit() -> i32 {
    3
}

fn backoff_seconds() -> i32 {
    5
}

fn max_backoff_seconds() -> i32 {
    300
}

fn start_timeout_seconds() -> i32 {
    300
}
