//! The plugin: turns manifests, a cluster, and questions about them into answers.

mod ages;
mod amounts;
mod cluster;
mod command;
mod foreign;
mod locate;
mod manifests;
mod offline;
mod output;
mod schema;
mod screen;
mod snapshot;
mod subject;
mod table;
mod text_kind;
mod texts;
mod why;
mod yaml;

use clap::{CommandFactory, Parser, Subcommand};

/// Gangs of jobs, machines and licenses: which would match, and why others do not.
#[derive(Debug, Parser)]
#[command(name = "kubectl-gangmatch", bin_name = "kubectl gangmatch", version)]
struct CommandLine {
    #[command(subcommand)]
    verb: PluginVerb,
}

#[derive(Debug, Subcommand)]
enum PluginVerb {
    /// Print the pool at a glance: controller, machines, seats, and jobs by phase and reason.
    #[command(after_help = command::status::AFTER_HELP)]
    Status(command::status::StatusArguments),
    /// Print the jobs that wait, in the order in which they are served, and why each waits.
    #[command(after_help = command::queue::AFTER_HELP)]
    Queue(command::queue::QueueArguments),
    /// Show the status and the queue on the whole terminal, again and again.
    #[command(after_help = command::top::AFTER_HELP)]
    Top(command::top::TopArguments),
    /// Print the claims that have ended: which job ran where, from when to when, and why it ended.
    #[command(after_help = command::history::AFTER_HELP)]
    History(command::history::HistoryArguments),
    /// Print a job, machine or license in detail.
    #[command(after_help = command::describe::AFTER_HELP)]
    Describe(command::describe::DescribeArguments),
    /// Print the jobs, machines or licenses for which a constraint is true.
    #[command(after_help = command::query::AFTER_HELP)]
    Query(command::query::QueryArguments),
    /// End jobs that wait or run, and keep their records.
    #[command(after_help = command::cancel::AFTER_HELP)]
    Cancel(command::change::JobsArguments),
    /// End the claims of jobs.
    #[command(after_help = command::release::AFTER_HELP)]
    Release(command::release::ReleaseArguments),
    /// Take jobs out of the queue for a while.
    #[command(after_help = command::suspend::AFTER_SUSPEND)]
    Suspend(command::change::JobsArguments),
    /// Put suspended jobs back into the queue.
    #[command(after_help = command::suspend::AFTER_RESUME)]
    Resume(command::change::JobsArguments),
    /// Let machines or licenses accept no new claims.
    #[command(after_help = command::drain::AFTER_DRAIN)]
    Drain(command::drain::DrainArguments),
    /// Let machines or licenses accept claims again.
    #[command(after_help = command::drain::AFTER_UNDRAIN)]
    Undrain(command::drain::OffersArguments),
    /// Print the Matches that would be created for a folder of manifests, and why the other jobs wait. Needs no cluster.
    #[command(after_help = command::match_::AFTER_HELP)]
    Match(command::match_::MatchArguments),
    /// Explain why a job waits or where it runs, or which jobs use a machine or a license.
    #[command(after_help = command::why::AFTER_HELP)]
    Why(command::why::WhyArguments),
    /// Print what jobs would get in the cluster now, without creating them.
    #[command(after_help = command::simulate::AFTER_HELP)]
    Simulate(command::simulate::SimulateArguments),
    /// Save the pool of a cluster as a file, to compute its cycles elsewhere.
    #[command(after_help = command::snapshot::AFTER_HELP)]
    Snapshot(command::snapshot::SnapshotArguments),
    /// Compare two pools or policies: which jobs run in one of them only.
    #[command(after_help = command::diff::AFTER_HELP)]
    Diff(command::diff::DiffArguments),
    /// Print what a pool, of a cluster or of manifests, would publish of itself to other pools, and its size.
    #[command(after_help = command::summary::AFTER_HELP)]
    Summary(command::summary::SummaryArguments),
    /// Print what accounts have used, hold and deserve, as condor_userprio does. Needs the right to list accounts.
    #[command(after_help = command::userprio::AFTER_HELP)]
    Userprio(command::accounts::AccountsArguments),
    /// Print the quotas of accounts: what is guaranteed, what is held, and how much more each can have. Needs the right to list accounts.
    #[command(after_help = command::quota::AFTER_HELP)]
    Quota(command::accounts::AccountsArguments),
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
    /// Print a script by which a shell completes this program's command lines.
    #[command(after_help = command::completion::AFTER_HELP)]
    Completion(command::completion::CompletionArguments),
    /// Print the words that the last word of a command line may become.
    #[command(name = "__complete", hide = true, disable_help_flag = true)]
    Complete(command::completion::CompleteArguments),
    /// Print docs/cli.md.
    #[command(name = "__reference", hide = true)]
    Reference,
    /// Write man pages, for releases.
    #[command(name = "__man", hide = true)]
    Man(command::reference::ManArguments),
}

/// The command line, or the exit status if it is none; what is wrong with it has been said.
fn command_line() -> Result<CommandLine, std::process::ExitCode> {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let verb = words.first().map_or("", String::as_str);
    let is_own = |word: &str| CommandLine::command().find_subcommand(word).is_some();
    // An expression may look like anything.
    let like_a_namespace = || foreign::option_like_a_namespace(&words).filter(|_| is_own(verb) && verb != "eval");
    let said = foreign::verb(verb, is_own).or_else(like_a_namespace);
    let said = match said {
        Some(said) => said,
        None => match CommandLine::try_parse() {
            Ok(parsed) => return Ok(parsed),
            Err(wrong) => match foreign::option(&words).filter(|_| wrong.use_stderr()) {
                Some(said) => said,
                None => wrong.exit(),
            },
        },
    };
    texts::report(&said);
    Err(std::process::ExitCode::from(2))
}

fn main() -> std::process::ExitCode {
    let mut out = output();
    let parsed = match command_line() {
        Ok(parsed) => parsed,
        Err(status) => return status,
    };
    let done = match parsed.verb {
        PluginVerb::Status(arguments) => command::status::run(&arguments, &mut out),
        PluginVerb::Queue(arguments) => command::queue::run(&arguments, &mut out),
        // it draws on the terminal
        PluginVerb::Top(arguments) => command::top::run(&arguments, &mut std::io::stdout()),
        PluginVerb::History(arguments) => command::history::run(&arguments, &mut out),
        PluginVerb::Describe(arguments) => command::describe::run(&arguments, &mut out),
        PluginVerb::Query(arguments) => command::query::run(&arguments, &mut out),
        PluginVerb::Cancel(arguments) => command::cancel::run(&arguments, &mut out),
        PluginVerb::Release(arguments) => command::release::run(&arguments, &mut out),
        PluginVerb::Suspend(arguments) => command::suspend::suspend(&arguments, &mut out),
        PluginVerb::Resume(arguments) => command::suspend::resume(&arguments, &mut out),
        PluginVerb::Drain(arguments) => command::drain::drain(&arguments, &mut out),
        PluginVerb::Undrain(arguments) => command::drain::undrain(&arguments, &mut out),
        PluginVerb::Match(arguments) => command::match_::run(&arguments, &mut out),
        PluginVerb::Why(arguments) => command::why::run(&arguments, &mut out),
        PluginVerb::Simulate(arguments) => command::simulate::run(&arguments, &mut out),
        PluginVerb::Snapshot(arguments) => command::snapshot::run(&arguments, &mut out),
        PluginVerb::Diff(arguments) => command::diff::run(&arguments, &mut out),
        PluginVerb::Summary(arguments) => command::summary::run(&arguments, &mut out),
        PluginVerb::Userprio(arguments) => command::userprio::run(&arguments, &mut out),
        PluginVerb::Quota(arguments) => command::quota::run(&arguments, &mut out),
        // its remarks are coloured, and show their sources as they are
        PluginVerb::Lint(arguments) => command::lint::run(&arguments, &mut std::io::stdout().lock()),
        PluginVerb::Fmt(arguments) => command::fmt::run(&arguments, &mut out),
        PluginVerb::Convert(arguments) => command::convert::run(&arguments, &mut out),
        PluginVerb::Import(arguments) => command::import::run(&arguments, &mut out),
        PluginVerb::Gridcam(arguments) => command::gridcam::run(&arguments, &mut out),
        PluginVerb::Eval(arguments) => command::eval::run(&arguments, &mut out),
        PluginVerb::Completion(arguments) => command::completion::run(&arguments, &mut out),
        PluginVerb::Complete(arguments) => command::completion::complete(&arguments, &CommandLine::command(), &mut out),
        PluginVerb::Reference => command::reference::run(&CommandLine::command(), &mut out),
        PluginVerb::Man(arguments) => command::reference::man(&arguments, CommandLine::command()),
    };
    match done {
        Ok(code) => code,
        // The reader of the output has closed it, as `| head` does.
        Err(error) if is_broken_pipe(&error) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            // Nothing is left to be told if standard error is closed.
            let _ = writeln!(std::io::stderr(), "error: {}", screen::shown(&format!("{error:#}")));
            std::process::ExitCode::from(2)
        }
    }
}

/// Whether an error is that the output was closed by its reader.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Files and programs get every byte as it is; a terminal gets nothing that it would obey.
fn output() -> Box<dyn std::io::Write> {
    let out = std::io::stdout();
    if std::io::IsTerminal::is_terminal(&out) { Box::new(screen::Screen(out.lock())) } else { Box::new(out.lock()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a shell command, up to the first operator.
    fn words(line: &str) -> Vec<String> {
        let mut all = Vec::new();
        for (place, part) in line.split('\'').enumerate() {
            match place % 2 {
                0 => all.extend(part.split_whitespace().map(|word| word.trim_end_matches(')').to_owned())),
                _ => all.push(part.to_owned()),
            }
        }
        let end = all.iter().position(|word| ["|", ">", ";"].contains(&word.as_str())).unwrap_or(all.len());
        all.truncate(end);
        all
    }

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn verbs_of_other_programs_are_none_of_this_one() {
        let whole = CommandLine::command();
        for verb in foreign::VERBS.iter().flat_map(|(verbs, _)| verbs.iter()) {
            assert!(whole.find_subcommand(verb).is_none(), "{verb}");
        }
    }

    #[test]
    fn every_example_in_the_help_is_a_command_that_exists() {
        let whole = CommandLine::command();
        let texts = whole.get_subcommands().filter_map(|verb| Some(verb.get_after_help()?.to_string()));
        let mut count = 0;
        for text in texts {
            for line in text.lines().filter(|line| line.starts_with("  ")) {
                let Some((_, command)) = line.split_once("kubectl gangmatch ") else { continue };
                // In a table, another column follows after several spaces.
                let words = words(command.split("   ").next().unwrap());
                let parsed = CommandLine::try_parse_from(std::iter::once("kubectl-gangmatch".to_owned()).chain(words));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                count += 1;
            }
        }
        assert!(count > 25, "only {count} examples");
    }
}
