//! The plugin: turns manifests, a cluster, and questions about them into answers.

mod cluster;
mod command;
mod locate;
mod manifests;
mod offline;
mod output;
mod schema;
mod screen;
mod subject;
mod table;
mod texts;

use clap::{Parser, Subcommand};

/// Gangs of jobs, machines and licenses: which would match, and why others do not.
#[derive(Debug, Parser)]
#[command(name = "kubectl-gangmatch", bin_name = "kubectl gangmatch", version)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the Matches that would be created for a folder of manifests, and why the other jobs wait. Needs no cluster.
    #[command(after_help = command::match_::AFTER_HELP)]
    Match(command::match_::MatchArguments),
    /// Print what a pool, of a cluster or of manifests, would publish of itself to other pools, and its size.
    #[command(after_help = command::summary::AFTER_HELP)]
    Summary(command::summary::SummaryArguments),
    /// Print all mistakes in manifests, including expressions that are valid but probably not intended. Needs no cluster.
    #[command(after_help = command::lint::AFTER_HELP)]
    Lint(command::lint::LintArguments),
    /// Format ads and expressions.
    #[command(after_help = command::fmt::AFTER_HELP)]
    Fmt(command::fmt::FmtArguments),
    /// Convert ads into another form: brackets, HTCondor's long form or JSON.
    #[command(after_help = command::convert::AFTER_HELP)]
    Convert(command::convert::ConvertArguments),
    /// Convert submit files and machine ads of HTCondor into manifests.
    #[command(after_help = command::import::AFTER_HELP)]
    Import(command::import::ImportArguments),
    /// Simulate jobs that arrive over time and are matched in windows, under several schemes. Needs no cluster.
    #[command(after_help = command::gridcam::AFTER_HELP)]
    Gridcam(command::gridcam::GridcamArguments),
    /// Print the value of an expression.
    #[command(after_help = command::eval::AFTER_HELP)]
    Eval(command::eval::EvalArguments),
}

fn main() -> std::process::ExitCode {
    let mut out = output();
    let done = match CommandLine::parse().verb {
        Verb::Match(arguments) => command::match_::run(&arguments, &mut out),
        Verb::Summary(arguments) => command::summary::run(&arguments, &mut out),
        // its remarks are coloured, and show their sources as they are
        Verb::Lint(arguments) => command::lint::run(&arguments, &mut std::io::stdout().lock()),
        Verb::Fmt(arguments) => command::fmt::run(&arguments, &mut out),
        Verb::Convert(arguments) => command::convert::run(&arguments, &mut out),
        Verb::Import(arguments) => command::import::run(&arguments, &mut out),
        Verb::Gridcam(arguments) => command::gridcam::run(&arguments, &mut out),
        Verb::Eval(arguments) => command::eval::run(&arguments, &mut out),
    };
    match done {
        Ok(code) => code,
        // Whoever read the output has seen enough, as in `| head`.
        Err(error) if is_broken_pipe(&error) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            // Nothing is left to be told if standard error is closed.
            let _ = writeln!(std::io::stderr(), "error: {}", screen::shown(&format!("{error:#}")));
            std::process::ExitCode::from(2)
        }
    }
}

/// Whether an error is that nobody reads the output any more.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Files and programs get every byte as it is; a terminal gets nothing that it would obey.
fn output() -> Box<dyn std::io::Write> {
    let out = std::io::stdout();
    if std::io::IsTerminal::is_terminal(&out) { Box::new(screen::Screen(out.lock())) } else { Box::new(out.lock()) }
}
