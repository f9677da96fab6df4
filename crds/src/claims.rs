//! Turns the claims on an offer into the entries of its `status.claims`, one for each Match.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Res, rules, schemas};

/// One claim on an offer. The API server enforces that its terms do not change and that its vote, ballot, commit,
/// release and activity only move forward.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["match", "allocation", "vote"], "x-kubernetes-validations" = rules::entry()))]
pub struct ClaimEntry {
    /// The Match of the claim, as namespace/name; immutable. Example: grid/sim-1a2b3c4d
    #[serde(rename = "match")]
    #[schemars(length(max = 317), extend("default" = REQUIRED))]
    pub match_key: String,

    /// How much of each resource the claim holds, in the units of spec.capacity; immutable. Example: {seats: 1}
    #[schemars(schema_with = "schemas::holding", extend("default" = REQUIRED))]
    pub allocation: Res,

    /// The share key. Claims with the same key hold one seat of status.shared together; immutable. Example: node-17
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub share: Option<String>,

    /// The attributes of the requester that the ad of the offer reads, for the agent; at most 32, of at most 1024 bytes
    /// each and 2048 bytes together. Example: {Owner: raman, Cmd: sim_app}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schemas::free_object", extend("maxProperties" = 32))]
    pub requester: BTreeMap<String, Value>,

    /// The members of the gang, as kind namespace/name; of more than 16, or of more than 1024 bytes
    /// together, the first ones and how many more. Example: [Job grid/sim, License eda/sim]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "atomic"), inner(length(max = 330)))]
    pub members: Vec<String>,

    /// When the agent votes: Now, or after the members below this one in the gang have accepted. Example:
    /// ChildrenAccepted
    #[serde(skip_serializing_if = "crate::is_default")]
    #[schemars(extend("default" = "Now"))]
    pub ask_when: AskWhen,

    /// The answer of the offer, written once by the agent. Without an agent, it is Accepted from the start. Example:
    /// Accepted
    #[schemars(extend("default" = REQUIRED))]
    pub vote: Vote,

    /// The reason for the vote, written by the agent; at most 256 characters. Example: a user is at the keyboard
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub vote_reason: String,

    /// With vote Rejected: whether the offer can be asked again later for this job. Example: Retry
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "VoteRetry")]
    pub retry: Option<VoteRetry>,

    /// A random word that the agent writes together with its vote. The commit refers to it. At most 36 characters.
    /// Empty without an agent. Example: 3f0a52c6-5a1e-4d0b-b7a5-93a4f2f1c0de
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 36), extend("default" = ""))]
    pub ballot: String,

    /// True: the Match is committed, and the agent may start. Cannot be set back to false. Without an agent it stays
    /// false: whether the claim is committed is said by the decision of its Match. Example: true
    #[serde(skip_serializing_if = "crate::is_default")]
    #[schemars(extend("default" = false))]
    pub committed: bool,

    /// True: the claim is released, and the agent must stop. Cannot be set back to false; used for offers with an
    /// agent. Example: true
    #[serde(skip_serializing_if = "crate::is_default")]
    #[schemars(extend("default" = false))]
    pub release: bool,

    /// What the agent does under the claim: Idle, then Active, then Ended. Lost: the agent was silent for too long.
    /// Without an agent it stays Idle. Example: Active
    #[serde(skip_serializing_if = "crate::is_default")]
    #[schemars(extend("default" = "Idle"))]
    pub activity: Activity,
}

/// Marks a field that the reader forgives but the writer may not leave out: no default reaches the schema.
const REQUIRED: Option<()> = None;

/// When an agent votes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum AskWhen {
    /// Immediately.
    #[default]
    Now,
    /// After the members below this one in the gang's tree have accepted.
    ChildrenAccepted,
}

/// An offer's answer to a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Vote {
    /// The offer has not answered yet.
    #[default]
    Pending,
    /// Yes.
    Accepted,
    /// No.
    Rejected,
}

/// Whether an offer that rejected a claim can be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum VoteRetry {
    /// Ask again later.
    Retry,
    /// Do not ask again for this job while neither ad changes.
    Reject,
}

/// What an agent does under a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Activity {
    /// Nothing has started.
    #[default]
    Idle,
    /// The work is running.
    Active,
    /// The work has ended.
    Ended,
    /// The agent was silent for longer than its Lease allows.
    Lost,
}
