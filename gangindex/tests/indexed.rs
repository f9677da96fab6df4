//! The index passes the suite that defines what the plain search finds.

#[cfg(test)]
#[path = "../../matchmaker/tests/suite/mod.rs"]
mod suite;
#[cfg(test)]
#[path = "../../matchmaker/tests/world/mod.rs"]
mod world;

/// Most candidates are no step, and each submitter has a share of them.
#[cfg(test)]
const PLAIN: bool = false;

#[cfg(test)]
use gangindex::negotiate;
