//! The tests of the plain search: the suite that every finder passes, and a file for each subject.
#![cfg(test)]

mod collective;
mod oracle;
mod preemption;
mod reservation;
mod suite;
mod world;

/// Every candidate is a step, and no submitter has a share of them.
const PLAIN: bool = true;

fn negotiate(snapshot: &matchmaker::Snapshot, config: &matchmaker::Config, now: i64) -> matchmaker::Cycle {
    matchmaker::negotiate(snapshot, config, now, &mut matchmaker::Plain::default())
}
