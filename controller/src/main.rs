//! The operator: turns watch events into ads, gangs into claims, and claims into API writes, until it is told to stop.

mod api;
mod app;
mod claims;
mod collector;
mod config;
mod events;
#[cfg(test)]
mod fixtures;
mod flights;
mod negotiator;
mod patch;
mod probes;
mod refusals;
mod status;
mod telemetry;
mod world;

use clap::Parser;

fn main() -> anyhow::Result<()> {
    let config = config::Config::parse();
    telemetry::start(&config);
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(app::run(config))
}
