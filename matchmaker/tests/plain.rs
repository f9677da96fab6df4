//! The plain search passes the suite.

#[cfg(test)]
mod suite;
#[cfg(test)]
mod world;

/// Every candidate is a step, and no submitter has a share of them.
#[cfg(test)]
const PLAIN: bool = true;

#[cfg(test)]
fn negotiate(snapshot: &matchmaker::Snapshot, config: &matchmaker::Config, now: i64) -> matchmaker::Cycle {
    matchmaker::negotiate(snapshot, config, now, &mut matchmaker::Plain::default())
}
