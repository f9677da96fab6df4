//! What works for a claim: a gang and a Job's wishes into a batch Job, and workloads as they are into what a claim needs to know.
//!
//! Values in, values out; the requests are made in `claims/work.rs`.

mod adopt;
mod gang;
mod job_set;
mod marks;
mod not_started;
mod patches;
mod place;
mod pod;
mod problem;
mod set_pod;
mod state;
mod template;

pub(crate) use adopt::{Asking, Asks, asks, reference};
pub(crate) use gang::{Gang, gang};
pub(crate) use not_started::why_not_started;
pub(crate) use patches::{hand_back, let_go, never_started, start_made, start_taken, suspend, take_over};
pub(crate) use place::placement;
pub(crate) use problem::{Problem, name_taken, not_held, not_there};
pub(crate) use set_pod::{Unplaced, place_pod, unplaced};
pub(crate) use state::{asked_for, left_of, state_of, version_of, was_up, work, work_of};
pub(crate) use template::batch_job;
