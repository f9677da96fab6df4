//! Claims, in reading order: what the objects show of each, why it should end, which of them are due; then how one is driven, with a
//! file for each step.
//!
//! An offer's no: `reserve.rs` (a refused write), `view.rs` (a vote) or `verify.rs` (a constraint), then `claiming`'s `objection`, `decide.rs` `abort`, `free.rs` `free_root`, and
//! `status/job.rs` `job_freed`.

// Pure: objects in, claims and patches out.
mod dirty;
mod due;
mod exit_reason;
mod observation;
mod registers;
mod view;
mod writes;

// What the claims of this process share.
mod batcher;
mod offers;
mod shared;
mod stalls;

// One claim, step by step.
mod agents;
mod confirm_exit;
mod create;
mod decide;
mod drive;
mod force;
mod free;
mod refusal;
mod reserve;
mod step;
mod stop;
mod verify;
mod work;

// Beside the claims that are driven.
mod restore;
mod verify_offers;

#[cfg(test)]
mod agent_tests;
#[cfg(test)]
mod dirty_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work_tests;

pub(crate) use dirty::DirtyClaims;
pub(crate) use due::{Known, newest_epoch, newest_epoch_of};
pub(crate) use restore::lost_entries;
pub(crate) use shared::Claims;
pub(crate) use view::View;
