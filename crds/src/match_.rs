//! The kind Match (gmatch): turns one gang and its claim into fields.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ClaimPolicy, Job, Res, Vote, rules, schemas};

/// Label of a Match: the metadata.uid of its root.
pub const LABEL_ROOT_UID: &str = "gangmatch.dev/root-uid";
/// Label of a Match: its `spec.attempt`.
pub const LABEL_ATTEMPT: &str = "gangmatch.dev/attempt";
/// Label of the workload and the pods that work for a Match: its metadata.uid.
pub const LABEL_MATCH_UID: &str = "gangmatch.dev/match-uid";
/// Annotation of the workload and the pods that work for a Match: its name.
pub const ANNOTATION_MATCH: &str = "gangmatch.dev/match";
/// Annotation of a workload of a Match: the offers, as `Kind/namespace/name/uid`, with spaces in between.
pub const ANNOTATION_MEMBERS: &str = "gangmatch.dev/members";
/// Label of a batch Job, a JobSet or a Pod: the Job in its namespace that says what it needs. Also of the Jobs that are made so.
pub const LABEL_AD: &str = "gangmatch.dev/ad";
/// The scheduling gate by which a Pod is held until its gang is claimed.
pub const GATE: &str = "gangmatch.dev/hold";
/// The scheduling gate by which a pod of a JobSet is held until it is placed, if its replicated job has several machines.
pub const GATE_PLACE: &str = "gangmatch.dev/place";
/// Annotation of such a pod: these machines.
pub const ANNOTATION_PLACEMENT: &str = "gangmatch.dev/placement";
/// Annotation of what carries that label: who has created it, written by the API server's policy. Of a batch Job that was made from a
/// template: who has created its Job, written by the controller.
pub const ANNOTATION_CREATOR: &str = "gangmatch.dev/created-by";
/// Annotation of a batch Job that was made from a Job's template, and that goes with the Match.
pub const ANNOTATION_MADE: &str = "gangmatch.dev/made-for";
/// All annotations that the controller reads.
pub const ANNOTATIONS: [&str; 4] = [ANNOTATION_MATCH, ANNOTATION_MEMBERS, ANNOTATION_CREATOR, ANNOTATION_MADE];

/// The spec of a Match: which gang was found, and how. Written once, by the controller.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangmatch.dev",
    version = "v1alpha1",
    kind = "Match",
    plural = "matches",
    namespaced,
    shortname = "gmatch",
    category = "gangmatch",
    status = "MatchStatus",
    derive = "PartialEq",
    doc = "A Match (gmatch) records one gang (a job and its partners) and the claim on all its members.",
    printcolumn = r#"{"name":"Decision","type":"string","jsonPath":".status.decision"}"#,
    printcolumn = r#"{"name":"Root","type":"string","jsonPath":".spec.members[0].name"}"#,
    printcolumn = r#"{"name":"Members","type":"string","jsonPath":".spec.summary"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.reason"}"#,
    printcolumn = r#"{"name":"Attempt","type":"integer","jsonPath":".spec.attempt","priority":1}"#,
    printcolumn = r#"{"name":"Rank","type":"string","jsonPath":".spec.rank","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::match_spec()))]
pub struct MatchSpec {
    /// The attempt number, from 1: how many Matches the root has had, including this one. Example: 2
    #[schemars(range(min = 0))]
    pub attempt: i32,

    /// The negotiation cycle that found the gang. Example: {id: c1842, time: 2026-11-21T14:00:00Z, seed: 7}
    pub cycle: Cycle,

    /// The epoch of the leader that created the Match. Example: 48211
    pub epoch: i64,

    /// The longest time from the first reserve to the last vote, in seconds. Example: 30
    pub reserve_timeout_seconds: i64,

    /// The members of the gang, port by port, of a counted port the first two; at most 1024 characters. Example:
    /// node=8:grid/n1,grid/n2,+6 license=eda/sim
    #[schemars(length(max = 1024))]
    pub summary: String,

    /// The rank of the gang, a number as text. Unit: that of the ads. Example: "23.893"
    #[schemars(length(max = 64))]
    pub rank: String,

    /// The account that the claim is charged to; absent if there was no PoolPolicy. Example: ns-eda
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub account: Option<String>,

    /// For a gang that uses offers which are held for another job meanwhile: after so many seconds the claim ends, even if
    /// activeDeadlineSeconds of the job is larger by then. Unit: seconds. Example: 600
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub active_deadline_seconds: Option<i64>,

    /// All members of the gang, 2 to 64, parents before children; the first is the root. Members with the same parent
    /// and parentPort are the set at a counted port. Example: [{id: 0, kind: Job, namespace: grid, name: sim}, {id: 1,
    /// kind: Machine, namespace: grid, name: foo, parent: 0, parentPort: cpu, port: other}]
    #[schemars(extend(
        "minItems" = 2,
        "maxItems" = 64,
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["uid"]
    ))]
    pub members: Vec<Member>,
}

impl Match {
    /// Its decision; Pending, if it has no status yet.
    #[must_use]
    pub fn decision(&self) -> Decision {
        self.status.as_ref().map(|status| status.decision).unwrap_or_default()
    }

    /// When the claim ends at the latest, in seconds since 1970: the smaller of its own `activeDeadlineSeconds` and that of its job after it
    /// was committed. None if it was not committed, or if neither limits it.
    #[must_use]
    pub fn expires_at(&self, job: Option<&Job>) -> Option<i64> {
        let committed_at = self.status.as_ref()?.committed_at.as_ref()?.0.as_second();
        // A gang that uses what is held for another job gets no more time by an edit of its job.
        let of_job = job.and_then(|job| job.spec.active_deadline_seconds).map(i64::from);
        let seconds = of_job.into_iter().chain(self.spec.active_deadline_seconds).min()?;
        Some(committed_at.saturating_add(seconds))
    }
}

/// A negotiation cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cycle {
    /// Its name; at most 63 characters. Example: "1842"
    #[schemars(length(max = 63))]
    pub id: String,
    /// The value of time() in expressions, RFC 3339. Example: 2026-11-21T14:00:00Z
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub time: Time,
    /// The seed of random numbers in expressions. Example: 7
    pub seed: i64,
}

/// One member of a gang.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its number in the gang, 0 to 63; 0 is the root. Example: 1
    #[schemars(range(min = 0, max = 63))]
    pub id: i32,
    /// Its kind. Example: Machine
    #[schemars(length(max = 63))]
    pub kind: String,
    /// Its namespace. Example: grid
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Its name. Example: foo
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its metadata.uid. Example: 0d9e3c52-7a1b-4f6f-8a11-2f7b0c9d8e7f
    #[schemars(length(max = 36))]
    pub uid: String,
    /// The metadata.generation of the ad that was matched. Example: 3
    pub generation: i64,
    /// The id of its parent, the member whose port it fills; absent for the root. Example: 0
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub parent: Option<i32>,
    /// The label of the parent's port that it is bound to. Example: cpu
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub parent_port: Option<String>,
    /// The label of its own port that the parent is bound to. Example: other
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub port: Option<String>,
    /// How much of it the claim holds, in the units of its capacity; absent for the root. Example: {slots: 1}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::holding")]
    pub allocation: Option<Res>,
    /// Its share key, if the claim shares a seat with other claims. Example: node-17
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub share: Option<String>,
    /// What the claim on it costs the account while it is held; absent for the root, and without an account. Unit:
    /// charges. Example: "2.000000"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{1,13}\.[0-9]{6}$"))]
    pub charge: Option<String>,
    /// How it answers a claim; absent for the root. Example: Auto
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClaimPolicy")]
    pub claim_policy: Option<ClaimPolicy>,
    /// For an offer at a port of the job: the numbers, texts and booleans that the expressions of the job read of it,
    /// as they were when the gang was found, without private attributes; at most 32. A real without fraction is
    /// written "/Expr(1.0)/". Example: {Memory: 64, Arch: INTEL}
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schemas::free_values")]
    pub values: BTreeMap<String, Value>,
}

/// The status of a Match. Written by the controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MatchStatus {
    /// The decision on the claim: Pending, then Committed or Aborted; Committed, then Released. Example: Committed
    #[serde(skip_serializing_if = "crate::is_default")]
    #[schemars(extend("default" = "Pending", "x-kubernetes-validations" = rules::decision()))]
    pub decision: Decision,

    /// The reason for the decision, as one word; at most 63 characters. Example: CapacityTaken
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub reason: Option<String>,

    /// The reason for the decision, as a sentence; at most 1024 characters. Example: license eda/sim has 0 of 10
    /// seats free
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,

    /// When the claim was committed, RFC 3339. Example: 2026-11-21T14:00:01Z
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub committed_at: Option<Time>,

    /// When the claim was released, RFC 3339. Example: 2026-11-21T15:00:00Z
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub released_at: Option<Time>,

    /// The votes at the time of the decision, for information only; the entries of the offers are authoritative. At
    /// most 64. Example: [{id: 1, vote: Accepted}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 64, "x-kubernetes-list-type" = "atomic"))]
    pub members: Vec<MemberVote>,

    /// The conditions Reserved, Claimed and Released. Example: [{type: Claimed, status: "True", reason: Committed}]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

/// The decision on a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Decision {
    /// Not decided yet: the members are being reserved, and agents are voting.
    #[default]
    Pending,
    /// All members are claimed.
    Committed,
    /// No member is claimed.
    Aborted,
    /// The claim has ended.
    Released,
}

impl Decision {
    /// True when nothing can follow: Aborted or Released.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Aborted | Self::Released)
    }
}

/// How a member voted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemberVote {
    /// The id of the member. Example: 1
    #[schemars(range(min = 0, max = 63), extend("default" = Option::<()>::None))]
    pub id: i32,
    /// Its vote. Example: Rejected
    #[schemars(extend("default" = Option::<()>::None))]
    pub vote: Vote,
    /// The reason, as one word. Example: Rejected
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub reason: String,
    /// The reason, written by the agent; at most 256 characters. Example: a user is at the keyboard
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub message: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Match;
    use crate::Job;

    /// When a claim ends that was committed at 14:00:00, if its Match and its job have these limits.
    fn ends(of_match: Value, of_job: Value) -> Option<i64> {
        let job: Job =
            serde_json::from_value(json!({"metadata": {}, "spec": {"activeDeadlineSeconds": of_job}})).unwrap();
        let found: Match = serde_json::from_value(json!({
            "metadata": {},
            "spec": {"attempt": 1, "cycle": {"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 0}, "epoch": 1,
                "reserveTimeoutSeconds": 30, "summary": "", "rank": "0", "members": [], "activeDeadlineSeconds": of_match},
            "status": {"decision": "Committed", "committedAt": "2026-11-21T14:00:00Z"},
        }))
        .unwrap();
        let from = found.status.as_ref()?.committed_at.as_ref()?.0.as_second();
        Some(found.expires_at(Some(&job))? - from)
    }

    #[test]
    fn a_claim_ends_at_the_smaller_limit_of_its_match_and_its_job() {
        assert_eq!(ends(json!(600), json!(7200)), Some(600));
        assert_eq!(ends(json!(7200), json!(600)), Some(600));
        assert_eq!(ends(Value::Null, json!(600)), Some(600));
        assert_eq!(ends(Value::Null, Value::Null), None);
        assert!(ends(json!(i64::MAX), Value::Null).is_some(), "it does not overflow");
    }
}
