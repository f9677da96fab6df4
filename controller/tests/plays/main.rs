//! The whole controller against an API server in this process, by a clock that stands still where nothing is waited for.
#![cfg(test)]

mod accounts;
mod actors;
mod broken;
mod faults;
mod hanging;
mod histories;
mod lenient;
mod matrix;
mod mistakes;
mod paced;
mod places;
mod plan;
mod preemption;
mod process;
mod repairs;
mod reservation;
mod scenarios;
mod stage;
mod takeover;
mod unreadable;
mod weather;
mod wire;
mod words;
mod worker;

/// That of the product: half of what the API server in this process does is to make and drop values.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
