//! Worlds and random numbers for tests.

pub(crate) mod chance;
pub(crate) mod churn;
pub(crate) mod fixtures;
