//! Which of several controllers writes: elected by a Lease, replaced when it is silent.

mod elector;
mod lease_state;
mod record;
mod term;
#[cfg(test)]
mod tests;

pub(crate) use elector::Elector;
pub(crate) use record::Timing;
pub(crate) use term::Leadership;
