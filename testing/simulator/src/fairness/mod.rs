//! Fair shares and preemption over many half-lives: a pool that is full all the time, with the product's engine, order, preemption and step
//! functions. Nothing fails here; what becomes of lost writes and crashes is in [`crate::world`].

mod accounts;
mod claims;
mod nominations;
mod pool;
mod report;
mod reservations;
mod setting;
mod world;

pub use report::{FairnessReport, NominationCount, Put};
pub use setting::{BigJob, Machine, PriorUse, ReservationRules, Rules, Setting, Workload};

use anyhow::Result;

use world::Simulation;

/// Runs a setting to its end.
///
/// # Errors
/// If an expression of the setting cannot be parsed.
pub fn run(setting: &Setting) -> Result<FairnessReport> {
    let mut world = Simulation::new(setting)?;
    world.run();
    Ok(world.report)
}
