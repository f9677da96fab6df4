//! The forms in which verbs print lists: a table, JSON, YAML, or names.

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use crate::cluster::Pool;
use crate::screen::Screen;
use crate::table::Table;

/// The form of the output of a verb that prints objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table, as wide as the terminal.
    #[default]
    Table,
    /// A table with all columns and whole texts.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// The names only, as kubectl takes them.
    Name,
}

/// The form of the output of a verb that prints one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum AnswerForm {
    /// Words and tables.
    #[default]
    #[value(alias = "table")]
    Text,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// How to print one answer.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct AnswerOptions {
    /// The form of the output: text, or data.
    #[arg(short, long, value_enum, default_value_t = AnswerForm::Text)]
    output: AnswerForm,
}

impl AnswerOptions {
    /// Whether text is wanted.
    pub(crate) fn is_text(self) -> bool {
        self.output == AnswerForm::Text
    }

    /// Prints an answer: `text` if text is wanted, else `data`.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn print(self, out: &mut impl Write, text: &str, data: &impl Serialize) -> anyhow::Result<()> {
        match self.output {
            AnswerForm::Text => write!(Screen(out), "{text}")?,
            AnswerForm::Json => json(out, data)?,
            AnswerForm::Yaml => yaml(out, data)?,
        }
        Ok(())
    }
}

/// How to print.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct OutputOptions {
    /// The form of the output.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,

    /// Leave out the headings of tables.
    #[arg(long)]
    pub(crate) no_headers: bool,
}

/// A list in all its forms.
pub(crate) struct Listing {
    pub(crate) table: Table,
    /// The names of its objects, such as `job.gangmatch.dev/sim`.
    pub(crate) names: Vec<String>,
    pub(crate) data: Value,
    /// What is said if the list is empty.
    pub(crate) nothing: String,
}

impl OutputOptions {
    /// Whether a table is wanted.
    pub(crate) fn is_table(self) -> bool {
        matches!(self.output, Format::Table | Format::Wide)
    }

    /// Prints a list.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn print(self, out: &mut impl Write, listing: &Listing) -> anyhow::Result<()> {
        match self.output {
            Format::Json => json(out, &listing.data)?,
            Format::Yaml => yaml(out, &listing.data)?,
            Format::Name => listing.names.iter().try_for_each(|name| writeln!(out, "{name}"))?,
            // On standard error, as kubectl does: a script that counts lines finds none.
            Format::Table | Format::Wide if listing.table.rows.is_empty() => {
                writeln!(std::io::stderr(), "{}", listing.nothing)?;
            }
            Format::Table => write!(Screen(out), "{}", listing.table.text(!self.no_headers, terminal_width()))?,
            Format::Wide => write!(Screen(out), "{}", listing.table.wide(!self.no_headers))?,
        }
        Ok(())
    }
}

/// Prints a value as JSON.
///
/// # Errors
/// It cannot be written.
pub(crate) fn json(out: &mut impl Write, data: &impl Serialize) -> anyhow::Result<()> {
    Ok(writeln!(out, "{}", serde_json::to_string_pretty(data)?)?)
}

/// Prints a value as YAML.
///
/// # Errors
/// It cannot be written.
pub(crate) fn yaml(out: &mut impl Write, data: &impl Serialize) -> anyhow::Result<()> {
    Ok(write!(out, "{}", serde_saphyr::to_string(data)?)?)
}

/// The width of the terminal that the output goes to, in columns; `None` if it goes elsewhere. COLUMNS takes precedence.
pub(crate) fn terminal_width() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| *width > 0);
    set.or_else(|| {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|width| *width > 0)
    })
}

/// Writes notes to standard error.
///
/// # Errors
/// They cannot be written.
pub(crate) fn notes(notes: &[String]) -> std::io::Result<()> {
    notes.iter().try_for_each(|note| writeln!(std::io::stderr(), "note: {}", crate::screen::shown(note)))
}

/// Writes to standard error what is wrong with some objects, what is probably not meant, and which objects could not be read. The exit
/// status: 1 if something is wrong.
///
/// # Errors
/// It cannot be written.
pub(crate) fn remarks(pool: &Pool) -> std::io::Result<ExitCode> {
    remarks_on(pool, |_| true)
}

/// The same, without the warnings that `concerns` does not accept.
///
/// # Errors
/// They cannot be written.
pub(crate) fn remarks_on(pool: &Pool, concerns: impl Fn(&str) -> bool) -> std::io::Result<ExitCode> {
    problems(&pool.problems)?;
    for warning in pool.warnings.iter().filter(|warning| concerns(warning)) {
        writeln!(std::io::stderr(), "warning: {}", crate::screen::shown(warning))?;
    }
    notes(&pool.notes)?;
    Ok(if pool.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes what is wrong with some objects to standard error.
///
/// # Errors
/// It cannot be written.
pub(crate) fn problems(problems: &[String]) -> std::io::Result<()> {
    problems.iter().try_for_each(|problem| writeln!(std::io::stderr(), "error: {}", crate::screen::shown(problem)))
}

/// Writes why nothing is done to standard error, for the exit status 1.
///
/// # Errors
/// It cannot be written.
pub(crate) fn refuse(error: &anyhow::Error) -> anyhow::Result<ExitCode> {
    problems(&[format!("{error:#}")])?;
    Ok(ExitCode::FAILURE)
}
