//! Turns what the product promises into checks on a real control plane: gangs, claims and their ends, and quiet.
#![cfg(test)]

mod agents;
mod claims;
mod examples;
mod gangs;
mod held;
mod idle;
mod job_set;
mod leader;
mod metrics;
mod nodes;
mod repairs;
mod rights;
mod stage;
mod work;
