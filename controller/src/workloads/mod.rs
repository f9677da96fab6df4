//! What works for a claim: a gang and a Job's wishes into a batch Job, and batch Jobs as they are into what a claim needs to know.
//!
//! Values in, values out; whoever makes the requests is `claims/work.rs`.

mod adopt;
mod gang;
mod patches;
mod place;
mod state;
mod template;

pub(crate) use adopt::adoptions;
pub(crate) use gang::{Gang, gang};
pub(crate) use patches::{hand_back, never_started, start_made, start_taken, suspend, take_over};
pub(crate) use place::placement;
pub(crate) use state::{Whose, batch_of, state_of, was_up, work};
pub(crate) use template::batch_job;
