//! Analyzes a root without a gang, for its author: what stands between it and each offer, which offers it lacks, which changes of its ad
//! would give it a gang, which few offers suffice as evidence for the reason, and what preemption would do.
//!
//! `matchmaker` decides, and gives the reason; nothing here changes a decision. What needs a search calls [`matchmaker::plain`] or the
//! [`matchmaker::Finder`] that it is given, so every answer is the engine's own.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod displaced;
mod evidence;
mod inspect;
mod lacking;
mod suggest;

pub use displaced::{Displacing, Hindrance, by_namespace};
pub use evidence::evidence;
pub use inspect::{Inspected, Pair, inspect, inspect_offer};
pub use lacking::{Lacking, bound_together, withheld};
pub use suggest::{Change, Question, Suggestion, Unknown, Word, suggest, unknown, with_changes};
