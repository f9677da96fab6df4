//! Turns Kubernetes objects of gangmatch.dev into ads, and their types into CRD manifests.
//!
//! The kinds, all of `gangmatch.dev/v1alpha1`: [`Job`] (gmj), [`Machine`] (gmm), [`License`] (gml), [`Match`] (gmatch),
//! [`MachineClass`] (gmc), which makes Machines of nodes, and, for fair shares and quotas, [`Account`] (gma) and [`PoolPolicy`] (gmp).

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod account;
pub mod ad;
mod ad_fields;
mod bounded;
mod claims;
pub mod conditions;
mod expr_text;
mod generate;
mod job;
mod job_status;
mod keys;
mod kind;
mod license;
mod machine;
mod machine_class;
mod match_;
mod micros;
mod offer;
mod pool_policy;
pub mod quantity;
pub mod rules;
mod schemas;

use std::collections::BTreeMap;

pub use account::{
    Account, AccountQuota, AccountSpec, AccountStatus, LABEL_MADE_BY, LABEL_MADE_FOR, MADE_BY_CONTROLLER, Submitter,
};
pub use ad_fields::{AdFields, Port, SetFields};
pub use bounded::{ValueLimits, bounded_value};
pub use claims::{Activity, AskWhen, ClaimEntry, Vote, VoteRetry};
pub use expr_text::{EXPRESSION_LENGTH_MAX, ExprText};
pub use generate::{Generated, HEADER, definitions, generated};
pub use job::{Job, JobSpec, Retry, WorkKind, Workload, WorkloadRef};
pub use job_status::{
    JobClaim, JobPhase, JobStatus, Nomination, NominationKind, Refusal, StartedWorkload, Unmatched, UnmatchedConjunct,
    UnmatchedPort, UnmatchedPreemption,
};
pub use keys::{account_name, match_name};
pub use kind::{AdKind, OfferKind, UnknownKind};
pub use license::{License, LicenseSpec};
pub use machine::{Machine, MachineSpec};
pub use machine_class::{MachineClass, MachineClassSpec, MachineClassStatus, Toleration};
pub use match_::{
    ANNOTATION_CREATOR, ANNOTATION_MADE, ANNOTATION_MATCH, ANNOTATION_MEMBERS, ANNOTATION_PLACEMENT, ANNOTATIONS,
    Cycle, Decision, GATE, GATE_PLACE, LABEL_AD, LABEL_ATTEMPT, LABEL_MATCH_UID, LABEL_ROOT_UID, Match, MatchSpec,
    MatchStatus, Member, MemberVote,
};
pub use micros::{charge_micros, charge_text};
pub use offer::{
    Agent, AllowedNamespaces, ClaimPolicy, Disclosure, DynamicAttribute, DynamicType, NamespacesFrom, Offer,
    OfferFields, OfferState, OfferStatus, StopPolicy,
};
pub use pool_policy::{
    POOL_POLICY, PoolPolicy, PoolPolicySpec, PoolPolicyStatus, PreemptionMode, PreemptionPolicy, PreemptionReason,
    QuotaCounter, ReservationPolicy, Submitters,
};
pub use schemas::QUANTITY_MAX;

/// The API group.
pub const GROUP: &str = "gangmatch.dev";
/// The API version.
pub const VERSION: &str = "v1alpha1";

/// Quantities by resource. Example: `{cpus: 2, memory: 1024}`
pub type Res = BTreeMap<String, i64>;

/// Whether a field has its default, and is left out where it is written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
