//! What a cluster's objects are for the engine, with a file for each subject.
#![cfg(test)]

mod accounts;
mod cluster;
mod obstacles;
mod preemption;
mod record;
mod snapshot;
