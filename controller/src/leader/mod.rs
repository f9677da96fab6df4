//! Which of several controllers writes: elected by a Lease, replaced when it is silent.

mod campaign;
mod candidate;
mod record;
mod term;
#[cfg(test)]
mod tests;

pub(crate) use campaign::Campaign;
pub(crate) use record::Timing;
pub(crate) use term::Leadership;
