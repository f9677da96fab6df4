//! Turns faults between the real controller and the real API server into histories that the auditor finds nothing in.
#![cfg(test)]

mod agents;
mod behind;
mod leaders;
mod matrix;
mod members;
mod outages;
mod play;
mod work;
