//! The whole controller against an API server in this process, by a clock that stands still where nothing is waited for.
#![cfg(test)]

mod actors;
mod broken;
mod faults;
mod hanging;
mod lenient;
mod matrix;
mod paced;
mod places;
mod process;
mod repairs;
mod scenarios;
mod stage;
mod takeover;
mod unreadable;
mod wire;
mod words;
