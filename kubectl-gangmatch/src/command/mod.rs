//! The verbs, one file each.

mod accounts;
pub(crate) mod convert;
pub(crate) mod eval;
pub(crate) mod fmt;
pub(crate) mod gridcam;
pub(crate) mod import;
pub(crate) mod lint;
pub(crate) mod match_;
mod placing;
pub(crate) mod quota;
pub(crate) mod summary;
mod together;
pub(crate) mod userprio;
pub(crate) mod verdicts;

/// The form of the output of a verb that prints text or JSON.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum TextOrJson {
    Text,
    Json,
}
