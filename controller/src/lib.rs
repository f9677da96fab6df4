//! The operator: turns watch events into ads, gangs into claims, and claims into API writes, until it is told to stop.
//!
//! [`run`] is the program: a process with signals, probes and a kubeconfig. [`Operator`] is all of it but those: it operates on
//! whatever API a client leads to, by whatever clock it is given.

mod adopter;
mod alarm;
mod api;
mod app;
mod backoff;
#[cfg(test)]
mod churn;
mod claims;
mod clock;
mod collector;
mod config;
mod context;
mod events;
mod fair;
#[cfg(test)]
mod fixtures;
mod flights;
mod gate;
mod holdoffs;
mod kept;
#[cfg(test)]
mod kept_tests;
mod lane;
mod leader;
mod metrics;
mod negotiator;
mod nodes;
mod overdrafts;
mod pacing;
mod patch;
mod probes;
mod proofs;
mod pulses;
mod refusals;
mod rereader;
mod rights;
mod shallow;
mod status;
mod statuses;
mod telemetry;
mod work_api;
mod workloads;
mod world;

pub use app::{Operator, run};
pub use clock::Clock;
pub use config::Config;
pub use telemetry::start as start_log;
