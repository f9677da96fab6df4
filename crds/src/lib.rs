//! Turns Kubernetes objects of gangmatch.dev into ads, and their types into CRD manifests.
//!
//! The kinds, all of `gangmatch.dev/v1alpha1`: [`Job`] (gmj), [`Machine`] (gmm), [`License`] (gml), [`Match`] (gmatch),
//! and [`MachineClass`] (gmc), which makes Machines of nodes.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

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
mod offer;
pub mod quantity;
pub mod rules;
mod schemas;

use std::collections::BTreeMap;

pub use ad_fields::{AdFields, Port};
pub use bounded::{ValueLimits, bounded_value};
pub use claims::{Activity, AskWhen, ClaimEntry, Vote, VoteRetry};
pub use expr_text::{EXPRESSION_LENGTH_MAX, ExprText};
pub use generate::{Generated, HEADER, definitions, generated};
pub use job::{Job, JobSpec, Retry, WorkKind, Workload, WorkloadRef};
pub use job_status::{
    JobClaim, JobPhase, JobStatus, Refusal, StartedWorkload, Unmatched, UnmatchedConjunct, UnmatchedPort,
};
pub use keys::match_name;
pub use kind::{AdKind, OfferKind, UnknownKind};
pub use license::{License, LicenseSpec};
pub use machine::{Machine, MachineSpec};
pub use machine_class::{MachineClass, MachineClassSpec, MachineClassStatus, Toleration};
pub use match_::{
    ANNOTATION_CREATOR, ANNOTATION_MADE, ANNOTATION_MATCH, ANNOTATION_MEMBERS, ANNOTATIONS, Cycle, Decision, GATE,
    LABEL_AD, LABEL_ATTEMPT, LABEL_MATCH_UID, LABEL_ROOT_UID, Match, MatchSpec, MatchStatus, Member, MemberVote,
};
pub use offer::{
    Agent, AllowedNamespaces, ClaimPolicy, Disclosure, DynamicAttribute, DynamicType, NamespacesFrom, Offer,
    OfferFields, OfferState, OfferStatus, StopPolicy,
};
pub use schemas::QUANTITY_MAX;

/// The API group.
pub const GROUP: &str = "gangmatch.dev";
/// The API version.
pub const VERSION: &str = "v1alpha1";

/// Quantities by resource. Example: `{cpus: 2, memory: 1024}`
pub type Res = BTreeMap<String, i64>;
