//! The search for a root's best gang over what the index knows.

pub(crate) mod branch_and_bound;
pub(crate) mod candidates;
pub(crate) mod check;
pub(crate) mod hash_index;
pub(crate) mod join_partitions;
pub(crate) mod order;
pub(crate) mod star_join;
pub(crate) mod verified;
