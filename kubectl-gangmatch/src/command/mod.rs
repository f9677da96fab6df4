//! The verbs, one file each.

pub(crate) mod convert;
pub(crate) mod eval;
pub(crate) mod fmt;
pub(crate) mod gridcam;
pub(crate) mod import;
pub(crate) mod lint;
pub(crate) mod match_;
mod placing;
