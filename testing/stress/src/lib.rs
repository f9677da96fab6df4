//! Turns a control plane, controllers and an appetite for destruction into a verdict: what was broken, revision by revision.
//! The programs are `chaos`, which does that by chance, and `load`, which measures and uses a little of it.
//!
//! Each controller talks to the API server through a [`Proxy`] of its own, which counts its writes and can spoil any of them:
//! the controller dies before a write or after it, an answer is lost, a write is held back until somebody else leads, the
//! server says 429, watches break off. Beside all that a [`Follower`] reads what etcd has stored, from the first revision
//! on, and lets the auditor look at each.

mod ads;
mod attacker;
mod etcd;
mod gate;
mod hostile;
mod proxy;
mod replica;
mod scene;
mod soak;
mod stage;

pub use ads::{
    Ends, ad, job, job_of_a_set, labelled_batch, labelled_pod, license, machine, machine_on, node, working_job,
};
pub use etcd::Follower;
pub use gate::Gate;
pub use hostile::Costly;
pub use proxy::{Fault, FaultPlan, Flow, Logged, Proxy, RequestFacts, Weather};
pub use replica::Replica;
pub use scene::Scene;
pub use soak::{Soak, SoakReport, soak};
pub use stage::{ChaosStage, client};
