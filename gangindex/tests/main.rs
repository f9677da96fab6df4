//! The tests of the index, but for those of memory: the suite that the plain search passes, too, and a file for each subject.
#![cfg(test)]

mod adversarial;
mod budgets;
mod collective;
mod costly;
mod engine;
mod explaining;
mod fruitless;
mod history;
mod indexed;
mod preempting;
mod set_laws;
mod set_pools;
mod sets;
#[path = "../../matchmaker/tests/suite/mod.rs"]
mod suite;
mod verify_gangs;
mod why;
#[path = "../../matchmaker/tests/world/mod.rs"]
mod world;

use gangindex::negotiate;

/// Most candidates are no step, and each submitter has a share of them.
const PLAIN: bool = false;
