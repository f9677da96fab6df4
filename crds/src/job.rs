//! The kind Job (gmj): turns what somebody needs together into fields.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AdFields, ExprText, JobStatus, bounded, rules, schemas};

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
    doc = "A Job (gmj) is a classified ad that asks for partners: machines, licenses, all of them together or none.",
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Members","type":"string","jsonPath":".status.members"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.why"}"#,
    printcolumn = r#"{"name":"Priority","type":"integer","jsonPath":".spec.priority","priority":1}"#,
    printcolumn = r#"{"name":"Attempts","type":"integer","jsonPath":".status.attempts","priority":1}"#,
    printcolumn = r#"{"name":"Match","type":"string","jsonPath":".status.claim.match","priority":1}"#,
    printcolumn = r#"{"name":"Owner","type":"string","jsonPath":".spec.owner","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::ad_spec()))]
pub struct JobSpec {
    /// The ad.
    #[serde(flatten)]
    pub ad: AdFields,

    /// How good a whole gang is, over all port labels: the larger the better. Replaces the sum of the ports' ranks. At most 16384
    /// characters. Unit: the author's. Example: cpu.KFlops / 1E3 - 10 * license.Price
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang_rank: Option<ExprText>,

    /// Order among the jobs of one submitter, -1000 to 1000: the larger the sooner. Example: 10
    #[serde(default)]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: i32,

    /// True: give the claim back and wait until it is false again. Example: true
    #[serde(default)]
    pub suspend: bool,

    /// True: the work is finished, release everything. Final. Example: true
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = rules::done()))]
    pub done: bool,

    /// Longest time that the claim is held, in seconds; then it is released and the job is finished. Absent: no limit.
    /// Example: 3600
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub active_deadline_seconds: Option<i32>,

    /// Longest time in all that the job waits unclaimed, in seconds, without the time in which it is suspended; then it is
    /// finished. Absent: it waits for ever.
    /// Example: 86400
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub match_timeout_seconds: Option<i32>,

    /// Longest time that one attempt may take from the first reserve to the last vote, in seconds, 5 to 3600. Example: 30
    #[serde(default = "reserve_timeout_seconds")]
    #[schemars(range(min = 5, max = 3600))]
    pub reserve_timeout_seconds: i32,

    /// How often and how soon the job is matched again after a rejection. Example: {limit: 10}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,

    /// What is started once everybody is claimed. Absent: nothing; whoever watches the job starts its own. Example: {workloadRef:
    /// {name: simulate}}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,

    /// How many ended Matches of this job are kept, 0 to 20. Example: 3
    #[serde(default = "match_history_limit")]
    #[schemars(range(min = 0, max = 20))]
    pub match_history_limit: i32,
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
            match_history_limit: match_history_limit(),
        }
    }
}

/// How often and how soon a job is matched again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// How many rejections in a row the job survives; one more and it is finished. Starts that took too long count, too. It is counted
    /// anew once the job's work has started; without a workload, once it was claimed. Absent: no limit. Example: 10
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub limit: Option<i32>,

    /// First pause after a rejection, in seconds; it doubles each time. Example: 5
    #[serde(default = "backoff_seconds")]
    #[schemars(range(min = 0))]
    pub backoff_seconds: i32,

    /// Longest pause, in seconds. Example: 300
    #[serde(default = "max_backoff_seconds")]
    #[schemars(range(min = 0))]
    pub max_backoff_seconds: i32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { limit: None, backoff_seconds: backoff_seconds(), max_backoff_seconds: max_backoff_seconds() }
    }
}

/// What is started once everybody is claimed: either a template or a reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::workload()))]
pub struct Workload {
    /// The template of a batch/v1 Job (metadata and spec of a JobTemplateSpec) that is made, started and deleted for each
    /// claim. Example: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: sim, image: sim:1}]}}}}
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "bounded::map")]
    #[schemars(schema_with = "schemas::free_object")]
    pub job_template: Option<BTreeMap<String, Value>>,

    /// Work of the same namespace that is held, and is let go: a suspended batch/v1 Job or JobSet, a Pod behind the scheduling gate
    /// gangmatch.dev/hold. Example: {name: simulate}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<WorkloadRef>,

    /// Environment of the containers made from the template, by name; at most 64. Expressions that see every port's partner by its
    /// label, as gangRank does; what is undefined is not set. Example: {LM_LICENSE_FILE: license.Server}
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub env: BTreeMap<String, ExprText>,

    /// Longest time from the start until a pod is ready or finished, in seconds; then the claim is given back and the job is
    /// matched again. Example: 300
    #[serde(default = "start_timeout_seconds")]
    #[schemars(range(min = 1))]
    pub start_timeout_seconds: i32,
}

impl Default for Workload {
    fn default() -> Self {
        Self { job_template: None, workload_ref: None, env: BTreeMap::new(), start_timeout_seconds: start_timeout_seconds() }
    }
}

/// Work in the same namespace that somebody else has made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules::workload_ref()))]
pub struct WorkloadRef {
    /// What it is. Example: Pod
    #[serde(default)]
    pub kind: WorkKind,

    /// Its name. Example: simulate
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What can work for a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WorkKind {
    /// A batch/v1 Job.
    #[default]
    Job,
    /// A jobset.x-k8s.io/v1alpha2 JobSet, where there are any.
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
