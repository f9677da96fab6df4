//! The operator: turns watch events into ads, gangs into claims, and claims into API writes, until it is told to stop.
//!
//! [`run`] is the program: a process with signals, probes and a kubeconfig. [`Operator`] is all of it but those: it operates on
//! whatever API a client leads to, by whatever clock it is given.
//!
//! The modules stand in the order in which data goes through them.

// The process.
mod app;
mod clock;
mod config;
mod context;
mod leader;

// Watch events into the cache.
mod cache;
mod watch;

// What is in the cache into gangs, claims, accounts, statuses, Machines and work.
mod accounts;
mod claims;
mod cycle;
mod nodes;
mod nominations;
mod status;
mod workloads;

// All of that into requests.
mod write;

// What is shown to people.
mod page;

// What is said of the process itself.
mod connections;
mod metrics;
mod probes;
mod rights;
mod telemetry;

#[cfg(test)]
mod testing;

pub use app::{Operator, run};
pub use clock::Clock;
pub use config::Config;
pub use telemetry::start as start_log;
