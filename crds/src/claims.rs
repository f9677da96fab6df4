//! Turns what an offer has promised into the entries of its `status.claims`, one per Match.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Res, rules, schemas};

/// One claim on an offer. Its terms are immutable, its registers go forward only: the API server sees to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["match", "allocation", "vote"], "x-kubernetes-validations" = rules::entry()))]
pub struct ClaimEntry {
    /// The Match, as namespace/name; immutable. Example: grid/sim-1a2b3c4d
    #[serde(rename = "match")]
    #[schemars(length(max = 317), extend("default" = REQUIRED))]
    pub match_key: String,

    /// What the claim holds of each resource of spec.capacity, in its units; immutable. Example: {seats: 1}
    #[schemars(schema_with = "schemas::holding", extend("default" = REQUIRED))]
    pub allocation: Res,

    /// The share key: claims with the same key hold one seat of status.shared together; immutable. Example: node-17
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub share: Option<String>,

    /// What the offer's agent may know of who asks: the attributes that the offer's ad mentions; at most 32. Example: {Owner:
    /// raman, Cmd: sim_app}
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schemas::free_object", extend("maxProperties" = 32))]
    pub requester: BTreeMap<String, Value>,

    /// Who else is in the gang, as kind namespace/name; at most 16. Example: [Job grid/sim, License eda/sim]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "atomic"), inner(length(max = 330)))]
    pub members: Vec<String>,

    /// When the agent votes: at once, or after the members below this one have accepted. Example: ChildrenAccepted
    #[serde(skip_serializing_if = "AskWhen::is_default")]
    #[schemars(extend("default" = "Now"))]
    pub ask_when: AskWhen,

    /// The offer's answer: cast once, by the agent; without an agent it is Accepted from the start. Example: Accepted
    #[schemars(extend("default" = REQUIRED))]
    pub vote: Vote,

    /// Why, in the agent's words; at most 256 characters. Example: somebody is at the keyboard
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub vote_reason: String,

    /// With vote Rejected: whether to ask again later. Example: Retry
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "VoteRetry")]
    pub retry: Option<VoteRetry>,

    /// A random word that the agent writes together with its vote; a commit names it. At most 36 characters. Example:
    /// 3f0a52c6-5a1e-4d0b-b7a5-93a4f2f1c0de
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 36), extend("default" = ""))]
    pub ballot: String,

    /// True: the Match is committed, the agent may start. Final; for offers with an agent. Example: true
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(extend("default" = false))]
    pub committed: bool,

    /// True: the Match has ended, the agent stops now. Final; for offers with an agent. Example: true
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(extend("default" = false))]
    pub release: bool,

    /// What goes on: Idle, then Active, then Ended; Lost once the agent has been silent too long. Example: Active
    #[serde(skip_serializing_if = "Activity::is_default")]
    #[schemars(extend("default" = "Idle"))]
    pub activity: Activity,
}

/// Marks a field that the reader forgives but the writer may not leave out: no default reaches the schema.
const REQUIRED: Option<()> = None;

fn is_false(flag: &bool) -> bool {
    !flag
}

/// When an agent is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum AskWhen {
    /// At once.
    #[default]
    Now,
    /// After the members below this one in the gang's tree have accepted.
    ChildrenAccepted,
}

impl AskWhen {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// An offer's answer to a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Vote {
    /// Not answered yet.
    #[default]
    Pending,
    /// Yes.
    Accepted,
    /// No.
    Rejected,
}

/// What a rejection asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum VoteRetry {
    /// Ask again later.
    Retry,
    /// Do not ask again for this job.
    Reject,
}

/// What goes on under a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Activity {
    /// Nothing has started.
    #[default]
    Idle,
    /// The work goes on.
    Active,
    /// The work has ended.
    Ended,
    /// The agent has been silent longer than its lease allows.
    Lost,
}

impl Activity {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
