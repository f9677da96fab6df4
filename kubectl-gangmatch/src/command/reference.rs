//! The help of all verbs as one page of Markdown, `docs/cli.md`, and as man pages.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Arg, ArgAction, Command};

use crate::cluster::HEADING;

const INTRODUCTION: &str = "\
# The kubectl plugin

This page is the help of `kubectl gangmatch` and its verbs. It is generated from the program:
`kubectl-gangmatch/tests/reference.rs` compares them, and writes this page anew with `UPDATE=1`.

The verbs that ask a cluster do it with kubectl, so contexts, credentials and rights are those of the user. What may not be listed in all
namespaces is listed in one, and a note says so. If a right is missing, the message names it, and the command that grants it. JSON and
YAML are for programs, tables are for people; a table is as wide as the terminal, or as COLUMNS says. Results go to standard
output; errors, warnings and notes go to standard error.

To install it, put the program on the PATH, without the files that cargo writes beside it. kubectl then finds it as `kubectl gangmatch`:

```text
cargo build --release --bin kubectl-gangmatch
install target/release/kubectl-gangmatch ~/.local/bin/
```

";

/// Where to write man pages.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArguments {
    /// The folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes a man page for the program and one for each verb.
pub(crate) fn man(arguments: &ManArguments, whole: Command) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    let write = || {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(whole, folder)
    };
    write().with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the page.
pub(crate) fn run(whole: &Command, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    write!(out, "{}", page(whole))?;
    Ok(ExitCode::SUCCESS)
}

fn page(whole: &Command) -> String {
    let mut text = String::from(INTRODUCTION);
    let verbs: Vec<&Command> = whole.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
    text.push_str("| verb | what it does |\n|---|---|\n");
    for verb in &verbs {
        let name = verb.get_name();
        let _ = writeln!(text, "| [{name}](#{name}) | {} |", cell(&about(verb)));
    }
    let cluster: Vec<&Arg> =
        verbs.iter().flat_map(|verb| verb.get_arguments()).filter(|arg| is_of_cluster(arg)).collect();
    let mut listed: Vec<&Arg> = Vec::new();
    for arg in cluster {
        if !listed.iter().any(|known| known.get_long() == arg.get_long()) {
            listed.push(arg);
        }
    }
    let _ = write!(
        text,
        "\n## Cluster options\n\nThe verbs that ask a cluster have these options.\n\n{}",
        options(&listed)
    );
    for verb in &verbs {
        text.push_str(&section(verb, &listed));
    }
    text
}

/// What is said of a verb. `cluster`: the options that most verbs that ask a cluster have.
fn section(verb: &Command, cluster: &[&Arg]) -> String {
    let mut named = verb.clone().bin_name(format!("kubectl gangmatch {}", verb.get_name()));
    let usage = named.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let mut text = format!("\n## {}\n\n{}\n\n```text\n{usage}\n```\n\n", verb.get_name(), about(verb));
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help" && !is_of_cluster(arg);
    let own: Vec<&Arg> = verb.get_arguments().filter(shown).collect();
    text.push_str(&options(&own));
    if verb.get_arguments().any(is_of_cluster) {
        let has = |arg: &&Arg| verb.get_arguments().any(|own| own.get_long() == arg.get_long());
        let missing: Vec<String> = cluster.iter().filter(|arg| !has(arg)).map(|arg| name(arg)).collect();
        let but = if missing.is_empty() { String::new() } else { format!(", but not {}", missing.join(", ")) };
        let _ = writeln!(text, "\nIt has the [cluster options](#cluster-options), too{but}.");
    }
    if let Some(after) = verb.get_after_help() {
        let _ = write!(text, "\n```text\n{}\n```\n", after.to_string().trim_end());
    }
    text
}

fn is_of_cluster(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(HEADING)
}

fn about(verb: &Command) -> String {
    let text = verb.get_about().map(ToString::to_string).unwrap_or_default();
    if text.ends_with('.') { text } else { format!("{text}.") }
}

/// A table of options; empty if there are none.
fn options(args: &[&Arg]) -> String {
    if args.is_empty() {
        return String::new();
    }
    let rows = args.iter().map(|arg| format!("| {} | {} |\n", name(arg), cell(&meaning(arg))));
    format!("| option | meaning |\n|---|---|\n{}", rows.collect::<String>())
}

fn name(arg: &Arg) -> String {
    let names: Vec<&str> = arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let value = if takes_value(arg) { names.join(" ") } else { String::new() };
    let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let aliases = arg.get_visible_aliases().unwrap_or_default();
    let others: String = aliases.iter().map(|other| format!(", `--{other}`")).collect();
    match arg.get_long() {
        Some(long) if value.is_empty() => format!("{short}`--{long}`{others}"),
        Some(long) => format!("{short}`--{long} {value}`{others}"),
        None => format!("`{value}`"),
    }
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    if !text.is_empty() && !text.ends_with('.') {
        text.push('.');
    }
    let values = if takes_value(arg) { arg.get_possible_values() } else { Vec::new() };
    if !values.is_empty() {
        let one = |value: &clap::builder::PossibleValue| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), help.to_string().trim_end_matches('.')),
            None => format!("`{}`", value.get_name()),
        };
        let all: Vec<String> = values.iter().map(one).collect();
        let _ = write!(text, " One of {}.", all.join(", "));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if takes_value(arg) && !defaults.is_empty() {
        let _ = write!(text, " Default: {}.", defaults.join(", "));
    }
    text
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
