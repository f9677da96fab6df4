//! The search for a root's best gang over what the index knows.

pub(crate) mod agreed;
pub(crate) mod check;
pub(crate) mod domain;
pub(crate) mod finders;
pub(crate) mod guided;
pub(crate) mod lanes;
pub(crate) mod list;
pub(crate) mod order;
