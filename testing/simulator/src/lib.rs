//! The simulator: turns a seed into a history of several coordinators, agents and people around one API server in memory, and says
//! what of the invariants it broke. Coordinators run the product's engine ([`matchmaker`]) and the product's claims ([`claiming`]); messages are
//! lost, doubled and late, caches lag behind, processes crash and freeze; then all of that stops, and everything must come
//! to rest with nothing leaked and no job waiting in vain. [`fairness`] runs many half-lives of a pool with accounts instead, in which nothing
//! fails.

pub mod agent;
pub mod chance;
pub mod coordinator;
pub mod fairness;
pub mod invariants;
pub mod nominated;
pub mod objects;
pub mod plan;
pub mod planted;
pub mod rules;
pub mod scheme;
pub mod server;
pub mod world;

pub use plan::HistoryPlan;
pub use planted::Planted;
pub use world::{HistoryOutcome, run};

/// The smallest plan that still goes wrong in the same way, by taking away one thing at a time.
pub fn shrink(plan: &HistoryPlan) -> HistoryPlan {
    let kind =
        |outcome: &HistoryOutcome| outcome.wrong.as_ref().and_then(|wrong| wrong.split(':').next().map(str::to_owned));
    let wanted = kind(&run(plan, false));
    let mut best = plan.clone();
    while let Some(next) = best.smaller().into_iter().find(|plan| kind(&run(plan, false)) == wanted) {
        best = next;
    }
    best
}
