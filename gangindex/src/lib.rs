//! The index: finds the gangs that [`matchmaker::Plain`] defines, sooner, by way of a table of all ads.
//!
//! The definition of a gang is in `matchmaker` alone. `table` -> `term` -> `index` -> `search`; `why` finds the reasons of all roots at
//! once. The guide is `docs/engine.md`.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod engine;
mod index;
mod meter;
/// The paper's algorithms over the same tables: part of the crate `baselines`, and compiled for it only.
#[cfg(feature = "baselines")]
#[path = "../../testing/baselines/orders/mod.rs"]
pub mod orders;
mod search;
mod table;
mod term;
mod why;

pub use engine::{Engine, Indexed, Stats, negotiate};
pub use why::never_satisfied;
