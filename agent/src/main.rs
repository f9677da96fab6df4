//! The agent of one machine, or of one licence server: publishes what changes, votes on claims, works while they stand.

mod actions;
mod agent;
mod app;
mod choice;
mod cluster;
mod config;
mod guard;
mod host;
mod lmstat;
mod measure;
mod patches;
mod tasks;
mod token;
mod value;
mod work;

use clap::Parser;

use crate::config::{Command, Config};

fn main() -> anyhow::Result<()> {
    let config = Config::parse();
    if let Some(Command::Guard { command }) = &config.guard {
        return guard::run(command);
    }
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info,kube_client=off,kube_runtime=error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(app::run(config))
}
