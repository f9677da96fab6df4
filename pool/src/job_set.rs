//! The kind JobSet of jobset.x-k8s.io, as far as claims depend on it. All fields are read leniently.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::trimmed::lenient;

/// The used fields of the spec.
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
    /// True: nothing is to run.
    #[serde(deserialize_with = "lenient")]
    pub suspend: Option<bool>,
    /// Which controller acts on it; absent: JobSet's own.
    #[serde(deserialize_with = "lenient")]
    pub managed_by: Option<String>,
}

/// The used fields of the status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSetStatus {
    /// `Completed`, `Failed`, `Suspended`.
    #[serde(deserialize_with = "lenient")]
    pub conditions: Vec<JobSetCondition>,
    /// For each replicated job.
    #[serde(deserialize_with = "lenient")]
    pub replicated_jobs_status: Vec<ReplicatedJobStatus>,
}

/// A condition, without its times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobSetCondition {
    /// Its type.
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "lenient")]
    pub status: String,
    /// The reason as a sentence.
    #[serde(deserialize_with = "lenient")]
    pub message: String,
}

/// How many batch Jobs of a replicated job there are in each state.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicatedJobStatus {
    /// With all pods ready.
    #[serde(deserialize_with = "lenient")]
    pub ready: i32,
    /// Succeeded.
    #[serde(deserialize_with = "lenient")]
    pub succeeded: i32,
    /// Failed.
    #[serde(deserialize_with = "lenient")]
    pub failed: i32,
    /// With pods that run, or are to run.
    #[serde(deserialize_with = "lenient")]
    pub active: i32,
}
