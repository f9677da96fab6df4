//! Turns the history of a cluster, one stored revision after the other, into everything that was broken in it.
//!
//! etcd keeps every state that an object ever had, in one order over all objects. A claim is several objects, and what it
//! promises is about all of them at once: that nobody is claimed unless everybody is, that no offer is given away twice. So
//! the promise is looked at in every revision, not only where everything has come to rest.
//!
//! [`Change`] is one revision; an [`Audit`] takes one after the other and keeps the [`Violation`]s. Each check is a function
//! of a [`Step`]: the object before and after, all other objects as they are after it, and what was ever true.
//! [`at_rest`] looks at what has to hold once nothing is under way any more. No check uses the code that it checks, but for
//! one: whether a gang fits together is what the engine's plain search says (`checks/validity.rs`).

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod audit;
mod change;
mod checks;
mod past;
mod rest;
mod violation;
mod world;

pub use audit::{Audit, Figures};
pub use change::{Change, Key, Object, ObjectKind};
pub use checks::Step;
pub use past::Past;
pub use rest::at_rest;
pub use violation::{Invariant, Violation};
pub use world::World;
