//! The pool: turns Kubernetes objects into the snapshot that a negotiation cycle works on, and gangs back into Matches.
//!
//! The controller and the offline tools share it: the same objects give the same gangs with a cluster and without. It
//! holds no client and no clock. [`Sent`] is an object as an API server sends it. [`Objects`] is what is known now; [`snapshot`] freezes it; [`record`] writes a gang down
//! as a Match; [`gang_of`] reads one back, to be looked at once more on the members as they are.

mod ads;
mod agents;
mod budget;
mod changes;
mod consent;
mod freezer;
mod introduction;
mod job_set;
mod key;
mod matches;
mod node;
mod objects;
mod reach;
mod recall;
mod record;
mod sent;
mod snapshot;
mod summaries;
mod usage;
mod whose;
mod work;
mod works;

pub use ads::{Advertises, Prepared};
pub use agents::{Life, is_lease_of_agent, lease_key};
pub use budget::Limits;
pub use changes::Changes;
pub use consent::{consent, selects, trusted};
pub use freezer::Freezer;
pub use introduction::introduction;
pub use job_set::{JobSet, JobSetCondition, JobSetSpec, JobSetStatus, ReplicatedJobStatus};
pub use key::ObjectKey;
pub use matches::Matches;
pub use node::{NodeFacts, NodeTrouble, Nodes, node_trouble};
pub use objects::{AdStore, Held, Objects, OfferRef, OwnerTrust};
pub use reach::Reach;
pub use recall::{Recalled, gang_of};
pub use record::{Occasion, record};
pub use sent::{Guarded, Heartbeat, Lean, Page, Sent, Unreadable, lean_metadata};
pub use snapshot::{CycleInputs, Flight, JobState, admits, forgotten, job_state, returning, snapshot};
pub use summaries::{offer_facts, published, verdict};
pub use usage::{usage, usage_without, used_text};
pub use whose::{Whose, is_foreign};
pub use work::{Controller, Origin, WorkObject, has_finished, noun};
pub use works::Works;
