//! The engine: turns a frozen [`Snapshot`] of ads into a [`Cycle`] of gangs, and says for every other root why it waits.
//!
//! One function, [`negotiate`], and an [`Engine`] for those who call it again and again. It knows ClassAds and nothing of
//! Kubernetes, of claims or of time: what it needs of those is in the snapshot. A gang is a tree of ads in which every port
//! is bound, every edge is a bilateral match and every request fits (R. Raman, M. Livny, M. Solomon, *Policy Driven
//! Heterogeneous Resource Co-Allocation with Gangmatching*, sections 4.1 and 4.2); the best gang of a root is the one with
//! the largest [`Score`].
//!
//! The plain search, [`naive`], is the definition of what is found: all gangs, one after the other. The engine finds the
//! same by way of a table of all ads: `table` -> `term` -> `index` -> `search`.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod assembly;
mod budget;
mod capacity;
mod consent;
mod cycle;
mod early;
mod engine;
mod explain;
mod gang;
mod index;
mod introduce;
mod model;
pub mod naive;
pub mod paper;
mod ports;
mod score;
mod search;
mod sentences;
mod share;
mod table;
mod term;
mod verify;
mod why;

pub use budget::Stop;
pub use capacity::{Ask, Res, Unfit, Usage};
pub use consent::Consent;
pub use cycle::{Cycle, negotiate};
pub use engine::{Engine, Stats};
pub use explain::explain;
pub use gang::{Bond, Gang, Member, Members};
pub use introduce::introduce;
pub use model::{AdId, AdKey, Config, Offer, PoolAd, Prefer, Role, Root, Search, Snapshot};
pub use ports::{Port, PortLists, Ports, Rules};
pub use score::{Fx, Score};
pub use sentences::{hint, summary, why};
pub use share::{NoSeat, share_key};
pub use verify::{Disagreement, evaluate, verify};
pub use why::{
    ConjunctCount, JoinWhy, Limit, Misfits, Nearest, OwnerCount, PortCount, Relaxation, Relaxed, Unmatched, Verdict,
    WhyNot,
};
