//! The verbs, one file each.

pub(crate) mod match_;
