//! The verbs, one file each.

pub(crate) mod convert;
pub(crate) mod eval;
pub(crate) mod fmt;
pub(crate) mod import;
pub(crate) mod lint;
pub(crate) mod match_;
pub(crate) mod summary;
pub(crate) mod verdicts;
