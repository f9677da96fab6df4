//! The pool: turns Kubernetes objects into the snapshot that a negotiation cycle works on, and gangs back into Matches.
//!
//! The controller and the offline tools share it: the same objects give the same gangs with a cluster and without. It
//! holds no client and no clock. [`Trimmed`] is an object as it is read from an API server. [`Objects`] is what is known now.
//! [`snapshot()`] is an unchanging copy of it for a negotiation cycle; [`record()`] writes a gang down as a Match; [`gang_of`] reads a
//! gang back from its Match, to be verified on the members as they are.
//!
//! The modules stand in the order in which data goes through them.

// Objects of the API server, read without what is not used.
mod job_set;
mod key;
mod trimmed;

// What counts of each object, and the cache of all of them.
mod account_index;
mod accounts;
mod ads;
mod agents;
mod budget;
mod changes;
mod claim_ref;
mod known_accounts;
mod known_claims;
mod known_namespaces;
mod known_policy;
mod matches;
mod multi_map;
mod node;
mod node_machine;
mod objects;
mod offer_ref;
mod store;
mod workload;
mod workload_scope;
mod workloads;

// The cache into a snapshot.
mod account_usage;
mod accounting;
mod closure;
mod consent;
mod cycle_inputs;
mod nominations;
mod obstacles;
mod preemption;
mod readiness;
mod reservation;
mod returns;
mod shares;
mod snapshot;
mod snapshot_builder;
mod summaries;
mod unmatchable;
mod usage;

// A gang into a Match, and back.
mod record;
mod recorded_gang;
mod requester_attributes;

pub use account_usage::{AccountUsage, AllUsage, StoredUsage, account_usage};
pub use accounting::{AccountsBuilder, Charged, charged_claim, recorded_charges};
pub use accounts::{AccountList, Payer, Submitting, account_problems};
pub use ads::{Advertises, Prepared};
pub use agents::{AgentLiveness, is_lease_of_agent, lease_key};
pub use budget::Limits;
pub use changes::Changes;
pub use claim_ref::{ClaimRef, is_foreign};
pub use closure::{Closure, NodeProblem};
pub use consent::{consent, selects, trusted};
pub use cycle_inputs::{AssumedGang, CycleInputs};
pub use job_set::{JobSet, JobSetCondition, JobSetSpec, JobSetStatus, ReplicatedJobStatus};
pub use key::{ObjectKey, asks_of};
pub use known_accounts::KnownAccounts;
pub use known_claims::KnownClaim;
pub use known_namespaces::KnownNamespaces;
pub use known_policy::KnownPolicy;
pub use matches::Matches;
pub use multi_map::MultiMap;
pub use node::{NodeFacts, Nodes, SystemFact};
pub use node_machine::{check_class, class_of_node, classes_in_order, machine_of_node, node_attribute_names};
pub use nominations::{
    NominatedGang, OtherNominations, free_offers, idle_claim, idle_claim_id, nominated, nominated_charges,
    nominated_gang, nominated_gangs, nomination_of, taken_by_nomination,
};
pub use objects::{Objects, Preemptor, Stored};
pub use obstacles::{Cause, Explanation, Obstacle, Obstacles, Unavailable, explained, why_held_for_others};
pub use offer_ref::OfferRef;
pub use preemption::{PreemptionInput, preemption_input, reason_of};
pub use readiness::{alive, matched_reason, not_ready, offer_state, overcommitted, ready, why_not_others};
pub use record::{Provenance, record};
pub use recorded_gang::{RecordedGang, gang_of};
pub use requester_attributes::requester_attributes;
pub use reservation::{ReservationInput, reservation_input};
pub use shares::{demands, pool_charge};
pub use snapshot::{JobState, admits, job_state, missing_entries, returning};
pub use snapshot_builder::{SnapshotBuilder, snapshot};
pub use store::{AdStore, Cached, OwnerTrust};
pub use summaries::{offer_facts, published, verdict};
pub use trimmed::{AgentLease, Page, Parsed, ReadTrimmed, Trimmed, Unreadable, trimmed_metadata};
pub use unmatchable::Unmatchable;
pub use usage::{usage, usage_without, used_text};
pub use workload::{Controller, Marks, Origin, RunState, WorkloadObject, has_finished, noun};
pub use workload_scope::WorkloadScope;
pub use workloads::Workloads;
