//! The kind JobSet of jobset.x-k8s.io, as far as claims are concerned.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What is to run.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "jobset.x-k8s.io",
    version = "v1alpha2",
    kind = "JobSet",
    plural = "jobsets",
    namespaced,
    schema = "disabled",
    status = "JobSetStatus"
)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetSpec {
    /// Nothing is to run.
    pub suspend: Option<bool>,
    /// Which controller acts on it; absent: JobSet's own.
    pub managed_by: Option<String>,
}

/// What became of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetStatus {
    /// `Completed`, `Failed`, `Suspended`.
    pub conditions: Vec<JobSetCondition>,
    /// For each replicated job.
    pub replicated_jobs_status: Vec<ReplicatedJobStatus>,
}

/// What its controller says of it. The times in it are not read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobSetCondition {
    /// What it is about.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, for people.
    pub message: String,
}

/// How many batch Jobs there are of each sort.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicatedJobStatus {
    /// All of its pods are ready.
    pub ready: i32,
    /// It has ended well.
    pub succeeded: i32,
    /// It has failed.
    pub failed: i32,
    /// It has pods that run or will.
    pub active: i32,
}
