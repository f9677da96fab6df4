//! The plugin: turns manifests and questions about them into answers, without a cluster where it can.

mod command;
mod locate;
mod manifests;
mod offline;
mod schema;
mod table;

use clap::{Parser, Subcommand};

/// Gangs of jobs, machines and licenses: what would match, and why not.
#[derive(Debug, Parser)]
#[command(name = "kubectl-gangmatch", bin_name = "kubectl gangmatch", version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the Matches that would be made of a folder of manifests, and why the other jobs wait. Needs no cluster.
    #[command(after_help = command::match_::AFTER_HELP)]
    Match(command::match_::Arguments),
}

fn main() -> std::process::ExitCode {
    let done = match Arguments::parse().verb {
        Verb::Match(arguments) => command::match_::run(&arguments, &mut std::io::stdout().lock()),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            use std::io::Write;
            // Nothing is left to be told if standard error is closed.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            std::process::ExitCode::from(2)
        }
    }
}
