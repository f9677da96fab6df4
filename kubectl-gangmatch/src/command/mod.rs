//! The verbs, one file each.

mod accounts;
pub(crate) mod change;
pub(crate) mod completion;
pub(crate) mod convert;
pub(crate) mod describe;
pub(crate) mod diff;
pub(crate) mod drain;
pub(crate) mod eval;
pub(crate) mod fmt;
pub(crate) mod gridcam;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod lint;
pub(crate) mod match_;
mod placing;
mod preemption;
pub(crate) mod query;
pub(crate) mod queue;
pub(crate) mod quota;
pub(crate) mod reference;
pub(crate) mod release;
pub(crate) mod simulate;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod suspend;
mod together;
pub(crate) mod top;
pub(crate) mod userprio;
pub(crate) mod verdicts;
pub(crate) mod why;

/// The form of the output of a verb that prints text or JSON.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum TextOrJson {
    Text,
    Json,
}
